"""The critical path: by kind, as a bar, and its steps. Only recorded runs have one.

Neighbouring steps of one kind, rank and node are merged. The longest path that a page shows has
20,000 steps; of a longer one the shortest steps are merged into "other", so the length stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from yantra.export.report.markup import Cell, Content, Head, Html, element, join, table
from yantra.export.report.run import Run
from yantra.units import format_time

KINDS = (
    "compute",
    "memory",
    "host",
    "latency",
    "wire",
    "queued",
    "hand_over",
    "reduction",
    "waiting",
    "other",
)
ABOUT = {
    "compute": "kernels",
    "memory": "remote memory",
    "host": "work of the host",
    "latency": "hops of messages",
    "wire": "bytes of messages on a link",
    "queued": "messages that wait for a link",
    "hand_over": "hand-overs between network and memory",
    "reduction": "local sums",
    "waiting": "a slot or queue that others hold",
    "other": "anything else",
}
_MOST_STEPS = 20_000
_ROWS = 400


class Step(NamedTuple):
    """A step as the page shows it; times in ns. `node` and `peer` may be None."""

    kind: str
    rank: int
    node: int | None
    name: str
    start_ns: float
    end_ns: float
    peer: int | None
    dimension: int | None


def steps_of(run: Run) -> list[Step] | None:
    """Return the steps of the critical path, or None if the run was not recorded."""
    if not run.result.recorded:
        return None
    return _merged(Step(*step) for step in run.result.critical_path.steps)


def section(run: Run, steps: list[Step] | None) -> Html:
    """Return the bar by kind and the longest steps, or how to get them."""
    if steps is None:
        text = (
            "This run was not recorded, so there is no critical path: use yantra run --report, or "
            "simulate(scenario, record=True) in Python."
        )
        return element("p", text, class_="note")
    return join([_by_kind(run, steps), _table(run, steps)])


def as_data(run: Run, steps: list[Step] | None) -> dict[str, Any] | None:
    """Embed the steps for the timeline; return how to read them."""
    if steps is None:
        return None
    shown = _shortened(steps)
    columns = run.columns
    columns.add("path.kind", [KINDS.index(step.kind) for step in shown], delta=False)
    columns.add("path.rank", [step.rank for step in shown])
    columns.add_texts("path.node", [_id(step.node) for step in shown])
    columns.add_texts("path.name", [step.name for step in shown])
    columns.add("path.start", [_ticks(run, step.start_ns) for step in shown])
    columns.add("path.end", [_ticks(run, step.end_ns) for step in shown])
    columns.add("path.peer", [-1 if step.peer is None else step.peer for step in shown])
    return {"kinds": list(KINDS), "steps": len(shown), "all": len(steps)}


def by_kind(steps: Iterable[Step]) -> dict[str, float]:
    """Return the time of each kind that occurs, in ns."""
    sums: dict[str, float] = {}
    for step in steps:
        sums[step.kind] = sums.get(step.kind, 0) + step.end_ns - step.start_ns
    return {kind: sums[kind] for kind in KINDS if kind in sums}


def _merged(steps: Iterable[Step]) -> list[Step]:
    merged: list[Step] = []
    for step in steps:
        if merged and _continues(merged[-1], step):
            merged[-1] = merged[-1]._replace(end_ns=step.end_ns)
        else:
            merged.append(step)
    return merged


def _continues(last: Step, step: Step) -> bool:
    return (last.kind, last.rank, last.node, last.peer) == (
        step.kind,
        step.rank,
        step.node,
        step.peer,
    )


def _shortened(steps: list[Step]) -> list[Step]:
    """Return at most so many steps as a page draws, by merging the shortest."""
    if len(steps) <= _MOST_STEPS:
        return steps
    lengths = sorted((step.end_ns - step.start_ns for step in steps), reverse=True)
    least = lengths[_MOST_STEPS // 2]
    coarse = [
        step
        if step.end_ns - step.start_ns > least
        else step._replace(kind="other", node=None, name="many short steps", peer=None)
        for step in steps
    ]
    return _merged(
        step if step.node is not None else step._replace(rank=coarse[0].rank) for step in coarse
    )


def _by_kind(run: Run, steps: Sequence[Step]) -> Html:
    sums = by_kind(steps)
    whole = sum(sums.values()) or 1
    at = 0.0
    pieces, keys = [], []
    for kind, length in sums.items():
        share = 100 * length / whole
        told = f"{kind.replace('_', '-')}: {format_time(length)}, {share:.1f} %"
        box = element("rect", x=f"{at:.3f}%", width=f"{share:.3f}%", height="100%",
                      class_=f"step-{kind}")
        pieces.append(element("g", element("title", told), box))
        swatch = element("span", class_=f"swatch step-{kind}")
        keys.append(element("li", swatch, told, element("small", f" {ABOUT[kind]}"), class_="key"))
        at += share
    label = "; ".join(f"{kind} {100 * length / whole:.0f} %" for kind, length in sums.items())
    picture = element("svg", *pieces, role="img", aria_label=f"critical path: {label}",
                      class_="bar tall")
    return join([picture, element("ul", *keys, class_="legend list")])


def _table(run: Run, steps: list[Step]) -> Html:
    heads = [
        Head("step"),
        Head("kind", False),
        Head("rank"),
        Head("node", False),
        Head("start"),
        Head("length"),
        Head("with", False, "the other rank, and the dimension of the network"),
    ]
    longest = sorted(range(len(steps)), key=lambda at: steps[at].start_ns - steps[at].end_ns)
    rows = [_cells(at, steps[at]) for at in sorted(longest[:_ROWS])]
    name = "Steps of the critical path, from the start to the end of the run"
    if len(steps) > _ROWS:
        name = f"The {_ROWS} longest of {len(steps):,} steps of the critical path"
    return table(name, heads, rows)


def _cells(at: int, step: Step) -> list[Cell | Content]:
    length = step.end_ns - step.start_ns
    node = step.name if step.node is None else f"{step.name} ({step.node})"
    return [
        Cell(f"{at:,}", at),
        step.kind.replace("_", "-"),
        Cell(f"{step.rank:,}", step.rank),
        element("button", node, type="button", class_="to-node", data_step=at),
        Cell(format_time(step.start_ns), step.start_ns),
        Cell(format_time(length), length),
        _with(step),
    ]


def _with(step: Step) -> str:
    parts = [f"rank {step.peer}"] if step.peer is not None else []
    parts += [f"dimension {step.dimension}"] if step.dimension is not None else []
    return ", ".join(parts)


def _ticks(run: Run, ns: float) -> int:
    return round(ns * run.ticks_per_ns)


def _id(node: int | None) -> str | None:
    return None if node is None else str(node)
