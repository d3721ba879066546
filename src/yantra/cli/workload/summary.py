"""What a training step does and needs, on a page: for `yantra workload train`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from yantra.units import format_size

if TYPE_CHECKING:
    from yantra.workloads.job import TrainingJob
    from yantra.workloads.plan import Plan
    from yantra.workloads.template import Workload

_PARTS = ("weights", "gradients", "optimizer", "activations", "buffers", "peak")
_AXES = ("tp", "cp", "pp", "vpp", "ep", "etp", "dp")


def write_summary(workload: Workload, job: TrainingJob, capacity: int | None) -> None:
    """Print the size of a step, its operations, its communication and its memory."""
    plan = job.plan
    templates = workload.ranks_of_template()
    nodes = sum(workload.totals[name]["nodes"] for name in templates)
    click.echo(f"{job.model.name}, {job.sequence} tokens, {plan.dtype}: {_split(plan)}")
    click.echo(
        f"{workload.ranks} ranks of {len(templates)} classes, {plan.micro_batches} micro-batches "
        f"of {plan.micro_batch}, schedule {plan.schedule}, {nodes} nodes"
    )
    by_rank = {name: _operations(workload.totals[name]["compute"]) for name in templates}
    total = sum(by_rank[name] * ranks for name, ranks in templates.items())
    click.echo(f"operations: {total:.4e} FLOP, {max(by_rank.values()):.4e} on a rank at most")
    click.echo("communication of a rank, at most:")
    _table(("collective", "over", "calls", "size"), _communication(workload.totals, templates))
    head = "memory of a rank" + (f", of {format_size(capacity)}" if capacity else "")
    click.echo(f"{head}:")
    _table(("stage", *_PARTS), _memory(workload.memory))


def _split(plan: Plan) -> str:
    axes = (f"{axis} {getattr(plan, axis)}" for axis in _AXES if getattr(plan, axis) > 1)
    zero = [f"zero {plan.zero}"] if plan.zero else []
    return ", ".join([*axes, *zero]) or "one rank"


def _operations(rows: Iterable[Sequence[Any]]) -> int:
    return sum(row[3] for row in rows)


def _communication(totals: Mapping[str, Any], templates: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the largest number of calls and of bytes of a rank, by kind and group."""
    most: dict[tuple[str, str], tuple[int, int]] = {}
    for name in templates:
        for kind, group, calls, size in totals[name]["communication"]:
            before = most.get((kind, group), (0, 0))
            most[kind, group] = max(calls, before[0]), max(size, before[1])
    return [
        (kind.replace("_", "-"), group or "pp", str(calls), format_size(size))
        for (kind, group), (calls, size) in sorted(most.items())
    ]


def _memory(memory: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [
        (stage, *(f"{parts[part] / 2**30:.2f} GiB" for part in _PARTS))
        for stage, parts in memory.items()
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns, the first to the left, the others to the right."""
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
