"""The user's names for a plan's fields, and how two plans differ in these words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from yantra.workloads.plan.plan import Plan


def called(plan: Plan, field: str) -> str:
    spelling: Mapping[str, str] = plan.spelling
    return spelling[field] if field in spelling else _own(plan, field)


def difference(plan: Plan, other: Plan) -> str:
    return " ".join(_differences(plan, other))


def _differences(plan: Plan, other: Plan) -> Iterator[str]:
    from yantra.workloads.plan.names import computed_from, takes_values

    was, now = plan.given, other.given
    for field, value in now.items():
        name = called(plan, field)
        if value is not None and computed_from(name, plan) is not None:
            number = computed_from(name, other)
            if number != computed_from(name, plan):
                yield _typed(name, number)
        elif value != was[field] and (was[field] is not None or not _follows(other, field)):
            yield _typed(name if value is None or takes_values(name) else _own(plan, field), value)


def _follows(plan: Plan, field: str) -> bool:
    return plan.replace(**{field: None}) == plan


def _own(plan: Plan, field: str) -> str:
    dashed = any(name.startswith("-") for name in plan.spelling.values())
    return f"--{field.replace('_', '-')}" if dashed else field


def _typed(name: str, value: object) -> str:
    if value is None:
        return f"without {name}"
    if not name.startswith("-"):
        return f"{name}={value!r}"
    if isinstance(value, bool):
        return name if value else f"--no-{name.lstrip('-')}"
    return f"{name} {value}"
