"""Stacks for people and programs: rows of a list, and every term with its source."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp
from typing import TYPE_CHECKING, Any

from yantra.fabric.stacks.types import NOTHING

if TYPE_CHECKING:
    from yantra.fabric.stacks.types import Stack, Terms

HEAD = (
    "name",
    "machine",
    "products",
    "attention",
    "rest",
    "communication",
    "launch",
    "interval",
    "steps",
    "models",
)


def rows_of(stack: Stack) -> Iterator[tuple[str, ...]]:
    """Yield a row in the columns of `HEAD` for each machine of a stack."""
    for machine, terms in stack.machines:
        yield (
            stack.name,
            machine,
            f"{terms.products.value:.2f}",
            f"{terms.attention.value:.2f}",
            f"{terms.rest.value:.2f}",
            f"{terms.communication.value:.2f}" if terms.communication.value else "-",
            terms.launch.written if terms.launch.value else "-",
            _interval(terms),
            str(terms.rows),
            str(terms.models),
        )


def _interval(terms: Terms) -> str:
    width = terms.interval.value
    return f"-{1 - exp(-width):.0%} +{exp(width) - 1:.0%}" if width else "-"


def overview(stack: Stack) -> dict[str, Any]:
    """Return a stack for JSON: every term by machine, and the table of sources."""
    return {
        "name": stack.name,
        "title": stack.title,
        "framework": stack.framework,
        "names": list(stack.names),
        "year": stack.year,
        "kind": stack.kind,
        "machines": {
            machine: {"rows": terms.rows, "models": terms.models, "profile": terms.profile or None}
            | {
                key: {name: getattr(number, name) for name in number.field_names}
                for key, number in terms.numbers()
            }
            for machine, terms in stack.machines
        },
        "copies": None if stack.copies is None else int(stack.copies.value),
        "host_waits": stack.host_waits is not None,
        "memory": None
        if stack.memory is None
        else {key: int(number.value) for key, number in stack.memory.numbers()},
        "graphs": None if stack.graphs is None else stack.graphs.jobs,
        "sources": dict(stack.sources),
    }


def report(stack: Stack) -> str:
    from yantra.base.text import table

    rows = [
        (f"  {machine}: {key}", number.written, number.basis, number.source)
        for machine, terms in stack.machines
        for key, number in terms.numbers()
        if number != NOTHING
    ]
    rows += [
        (f"  {machine}: profile", terms.profile, "published", "kernels measured on that machine")
        for machine, terms in stack.machines
        if terms.profile
    ]
    if stack.copies is not None:
        copies = stack.copies
        rows.append(("  copies", copies.written, copies.basis, copies.source))
    for key, number in () if stack.memory is None else stack.memory.numbers():
        rows.append((f"  {key}", number.written, number.basis, number.source))
    if stack.graphs is not None:
        rows.append(("  graphs", stack.graphs.jobs, "published", stack.graphs.source))
        if (own := stack.graphs.interval) is not None:
            rows.append(("  graphs: interval", own.written, own.basis, own.source))
    if stack.host_waits is not None:
        rows.append(("  host_waits", "yes", "published", stack.host_waits))
    if stack.attention_library:
        known = "in place of older_attention: docs/reference/kernels.md"
        rows.append(("  attention_library", stack.attention_library, "derived", known))
    called = ", ".join(stack.names)
    lines = [
        stack.title,
        f"framework {stack.framework}"
        + (f", in jobs {called}" if called else "")
        + (f"; {stack.year}" if stack.year else ""),
        "",
        *table(("  term", "value", "basis", "source"), rows, left=4),
        "",
        "sources",
        *(f"  [{key}] {title}" for key, title in stack.sources),
    ]
    return "\n".join(lines) + "\n"
