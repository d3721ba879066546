"""A workload for people and programs: what it is made from, its totals, its memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil
from textwrap import wrap
from typing import Any

from yantra.base import units
from yantra.base.errors import ConfigError
from yantra.base.text import count, format_bytes, table
from yantra.workloads.templates.workload import Workload, is_size

_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 64

Row = tuple[str, ...]


def as_dict(workload: Workload) -> dict[str, Any]:
    """The manifest's sections, with sums over all ranks."""
    compute, communication = _sums(workload)
    return {
        "ranks": workload.ranks,
        "grids": {grid.name: {v: dict(axes) for v, axes in grid.views} for grid in workload.grids},
        "groups": list(workload.groups),
        "templates": workload.ranks_of_template(),
        "compute": [
            {"op_class": key[0], "phase": key[1], "nodes": n, "operations": ops, "bytes": size}
            for key, (n, ops, size) in compute.items()
        ],
        "communication": [
            {"kind": key[0], "group": key[1], "nodes": n, "bytes": size}
            for key, (n, size) in communication.items()
        ],
    } | workload.sections


def report(workload: Workload) -> str:
    """Return the text of `yantra workload show`."""
    parts = [
        _head(workload),
        _templates(workload),
        _compute(workload),
        _communication(workload),
        _memory(workload),
        ["schedule", *workload.schedule.rstrip("\n").splitlines()] if workload.schedule else [],
        _notes(workload),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _head(workload: Workload) -> list[str]:
    lines = [f"{workload.name}: {count(workload.ranks, 'rank')}"]
    if isinstance(workload.about, dict):
        for key, value in workload.about.items():
            shown = _chosen(value) if key.endswith("plan") else value
            lines += wrap(
                f"{key}: {_plain(shown)}", 100, initial_indent="  ", subsequent_indent="    "
            )
    for grid in workload.grids:
        for view, axes in grid.views:
            sizes = ", ".join(f"{axis} {size}" for axis, size in axes)
            lines.append(f"  grid {grid.name}, {view}: {sizes}")
    return lines


def _chosen(plan: Any) -> Any:
    from yantra.workloads.plan.plan import Plan
    from yantra.workloads.serving import InferencePlan

    for kind in (Plan, InferencePlan):
        if isinstance(plan, dict) and set(plan) == set(kind.field_names):
            usual = kind()
            changed = {key: value for key, value in plan.items() if getattr(usual, key) != value}
            return changed or "as by default"
    return plan


def _templates(workload: Workload) -> list[str]:
    peaks = workload.peaks()
    rows = []
    for name, ranks in workload.ranks_of_template().items():
        total = _total(workload, name)
        operations = sum(row[3] for row in total["compute"])
        sent = sum(row[3] for row in total["communication"])
        peak = format_bytes(peaks[name]) if name in peaks else "?"
        size = format_bytes(sent)
        rows.append((name, str(ranks), str(total["nodes"]), _scaled(operations), size, peak))
    head = ("of one rank", "ranks", "nodes", "operations", "communicated", "memory")
    return table(head, rows, left=1)


def _compute(workload: Workload) -> list[str]:
    compute, _ = _sums(workload)
    rows = [
        (op_class or "?", phase or "?", str(nodes), _scaled(operations), format_bytes(size))
        for (op_class, phase), (nodes, operations, size) in compute.items()
    ]
    head = ("all ranks compute", "phase", "nodes", "operations", "bytes moved")
    return table(head, rows, left=2) if rows else []


def _communication(workload: Workload) -> list[str]:
    _, communication = _sums(workload)
    rows = [
        (kind, group or "all", str(nodes), format_bytes(size))
        for (kind, group), (nodes, size) in communication.items()
    ]
    head = ("all ranks communicate", "group", "nodes", "bytes of input")
    return table(head, rows, left=2) if rows else []


def _memory(workload: Workload) -> list[str]:
    peaks = workload.peaks()
    if not peaks:
        return []
    parts = {name: workload.memory[name] for name in peaks}
    columns = list(
        dict.fromkeys(key for part in parts.values() for key, n in part.items() if is_size(n))
    )
    rows = [
        (name, *(format_bytes(part[key]) if key in part else "" for key in columns))
        for name, part in parts.items()
    ]
    lines = table(("memory of one rank", *columns), rows, left=1)
    drawn = {name: part.get("timeline") for name, part in parts.items()}
    return lines + list(_over_time(drawn))


def _over_time(drawn: dict[str, Any]) -> Iterator[str]:
    lines = {
        name: sizes
        for name, sizes in drawn.items()
        if isinstance(sizes, list) and sizes and all(map(is_size, sizes))
    }
    if not lines:
        return
    highest = max(max(sizes) for sizes in lines.values())
    width = max(map(len, lines))
    yield f"over the step, what comes and goes; full height {format_bytes(highest)}"
    for name, sizes in lines.items():
        yield f"  {name.ljust(width)} {''.join(_bars(sizes, highest))}".rstrip()


def _bars(sizes: list[int], highest: int) -> Iterable[str]:
    columns = min(len(sizes), _WIDTH)
    for at in range(columns):
        part = sizes[at * len(sizes) // columns : (at + 1) * len(sizes) // columns]
        share = max(part) / highest if highest > 0 else 0
        yield _BARS[ceil(share * (len(_BARS) - 1))]


def _notes(workload: Workload) -> list[str]:
    notes = workload.sections.get("notes", [])
    return [f"note: {_plain(note)}" for note in (notes if isinstance(notes, list) else [notes])]


def _sums(
    workload: Workload,
) -> tuple[dict[tuple[str, str], list[int]], dict[tuple[str, str], list[int]]]:
    sums: tuple[dict[tuple[str, str], list[int]], dict[tuple[str, str], list[int]]] = ({}, {})
    for name, ranks in workload.ranks_of_template().items():
        total = _total(workload, name)
        for part, key in zip(sums, ("compute", "communication"), strict=True):
            for first, second, *numbers in total[key]:
                sum_of = part.setdefault((first, second), [0] * len(numbers))
                for at, number in enumerate(numbers):
                    sum_of[at] += ranks * number
    return sums


def _total(workload: Workload, template: str) -> dict[str, Any]:
    try:
        total: dict[str, Any] = workload.totals[template]
        forms = (("compute", 3), ("communication", 2))
        for key, numbers in forms:
            for row in total[key]:
                _check_row(row, numbers)
        if is_size(total["nodes"]):
            return total
    except (KeyError, TypeError, ValueError):
        pass
    raise ConfigError(f"{workload.name}: totals.{template}", "not in the form that Yantra writes")


def _check_row(row: Any, numbers: int) -> None:
    first, second, *rest = row
    if not (isinstance(first, str) and isinstance(second, str)):
        raise ValueError
    if len(rest) != numbers or not all(map(is_size, rest)):
        raise ValueError


def _scaled(operations: int) -> str:
    return units.format_flops(operations).removesuffix("/s")


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(part)}" for key, part in value.items())
    return str(value)
