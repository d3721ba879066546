"""What a training step does and needs, for `yantra workload train`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from yantra.base.text import room_text

if TYPE_CHECKING:
    from yantra.workloads.job_file import TrainingJob
    from yantra.workloads.plan.plan import Plan
    from yantra.workloads.templates import Workload

_PARTS = ("weights", "gradients", "optimizer", "activations", "buffers", "peak")
_AXES = ("tp", "cp", "pp", "vpp", "ep", "etp", "dp")


def write_summary(
    workload: Workload, job: TrainingJob, capacity: int | None, reserve: int = 0, said: str = ""
) -> None:
    plan = job.plan
    templates = workload.ranks_of_template()
    nodes = sum(workload.totals[name]["nodes"] for name in templates)
    click.echo(f"{job.model.name}, {job.sequence} tokens, {plan.dtype}: {_split(plan)}")
    counts = (
        _count(workload.ranks, "rank"),
        _count(len(templates), "template"),
        *([_count(plan.steps, "step")] if plan.steps > 1 else []),
        _count(plan.micro_batches, "micro-batch"),
        _count(nodes, "node"),
    )
    click.echo(f"{', '.join(counts)}, schedule {plan.schedule}")
    by_rank = {name: _operations(workload.totals[name]["compute"]) for name in templates}
    total = sum(by_rank[name] * ranks for name, ranks in templates.items())
    click.echo(f"operations: {total:.4e} FLOP, at most {max(by_rank.values()):.4e} on a rank")
    click.echo("communication of a rank, at most:")
    _table(("collective", "over", "calls", "size"), _communication(workload.totals, templates))
    head = "memory of a rank" + (f", of {room_text(capacity, reserve)}" if capacity else "")
    click.echo(f"{head}:")
    _table(("stage", *_PARTS), _memory(workload.memory))
    if said:
        click.echo(f"reserve: {said}")


def _split(plan: Plan) -> str:
    axes = (f"{axis} {getattr(plan, axis)}" for axis in _AXES if getattr(plan, axis) > 1)
    zero = [f"zero {plan.zero}"] if plan.zero else []
    return ", ".join([*axes, *zero]) or "one rank"


def _count(number: int, what: str) -> str:
    ending = "" if number == 1 else "es" if what.endswith("h") else "s"
    return f"{number} {what}{ending}"


def _size(size_bytes: int) -> str:
    for unit, power in (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size_bytes >= 2**power:
            return f"{size_bytes / 2**power:.2f} {unit}"
    return f"{size_bytes} B"


def _operations(rows: Iterable[Sequence[Any]]) -> int:
    return sum(row[3] for row in rows)


def _communication(totals: Mapping[str, Any], templates: Iterable[str]) -> list[tuple[str, ...]]:
    most: dict[tuple[str, str], tuple[int, int]] = {}
    for name in templates:
        for kind, group, calls, size in totals[name]["communication"]:
            before = most.get((kind, group), (0, 0))
            most[kind, group] = max(calls, before[0]), max(size, before[1])
    return [
        (kind.replace("_", "-"), group or "a peer", str(calls), _size(size))
        for (kind, group), (calls, size) in sorted(most.items())
    ]


def _memory(memory: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [(stage, *(_size(parts[part]) for part in _PARTS)) for stage, parts in memory.items()]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if not rows:
        click.echo("  none")
        return
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    for row in (head, *rows):
        cells = [
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        click.echo(f"  {'  '.join(cells)}".rstrip())
