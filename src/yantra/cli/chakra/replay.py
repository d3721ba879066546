"""`yantra chakra replay`: the operators of a trace, run again with PyTorch."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from yantra.cli.command import WithExamples, json_option, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yantra.tracing.replay import Report

_MOST_ROWS = 20
_MOST_NAMES = 3


@click.command(
    cls=WithExamples,
    limited=False,
    examples=[
        "yantra chakra replay operators.json",
        "yantra chakra replay operators.json --iterations 1 --json",
        "yantra chakra replay operators.json --operator mkldnn::_linear_pointwise",
        "yantra chakra replay 'job.{rank}.et' --iterations 1",
    ],
)
@click.argument("traces", nargs=-1, required=True, type=click.Path(), metavar="TRACE...")
@click.option("--device-trace", type=click.Path(), help="The times of TRACE, a host trace.")
@click.option(
    "--iterations", type=click.IntRange(1), default=3, show_default=True, help="Passes to measure."
)
@click.option(
    "--device", default="cpu", show_default=True, help="Where to run: cpu, cuda or cuda:<n>."
)
@click.option(
    "--operator",
    "also",
    multiple=True,
    metavar="NAME",
    help="Also run this operator, which is not one of those that are known to compute; may be "
    "repeated.",
)
@json_option
def command(
    traces: tuple[str, ...],
    device_trace: str | None,
    iterations: int,
    device: str,
    also: tuple[str, ...],
    as_json: bool,
) -> int:
    """Run the operators of TRACE with PyTorch and compare the times; of several, communication.

    TRACE is a linked trace, a host trace, a recording of PyTorch's profiler with shapes, or a
    Chakra trace made from one. Only operators that compute are run, whatever TRACE names. Traces
    of all ranks of a job, or a pattern with {rank}, replay its collectives and messages, a local
    process a rank: over gloo, with --device cuda over NCCL.
    """
    from yantra.cli.progress import progress
    from yantra.tracing.pytorch.ranks import given
    from yantra.tracing.replay import replay

    if len(given(traces)) > 1:
        if device_trace is not None or also:
            raise click.UsageError("--device-trace and --operator go with one trace")
        return _communication(traces, iterations, device, as_json)
    with progress("replaying") as report:
        found = replay(
            given(traces)[0].path,
            iterations=iterations,
            device=device,
            device_trace=device_trace,
            also=also,
            progress=report,
        )
    if as_json:
        import json

        sys.stdout.write(json.dumps(found.as_dict(), indent=1) + "\n")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in _lines(found)))
    return 0


def _communication(traces: tuple[str, ...], iterations: int, device: str, as_json: bool) -> int:
    from yantra.base.text import count, table
    from yantra.base.units import format_size, format_time
    from yantra.cli import warn
    from yantra.tracing.replay.communication import replay_communication

    found = replay_communication(traces, iterations=iterations, device=device)
    warn(found.problems)
    if as_json:
        print_json(found.as_dict())
        return 0
    head = ("call", "ranks", "size", "calls", "recorded", "measured", "ratio")
    rows = [
        (row.kind, str(row.ranks), format_size(row.bytes), str(row.calls),
         format_time(row.recorded_ns), "-" if row.reason else format_time(row.measured_ns),
         "-" if row.ratio is None else f"{row.ratio:.2f}")
        for row in found.rows
    ]  # fmt: skip
    told = [f"left out: {row.kind}: {row.reason}" for row in found.rows if row.reason]
    told += [f"left out: {count(found.left_out, 'call')} of one rank alone"] * bool(found.left_out)
    passes = count(found.iterations, "pass", "passes")
    about = f"{found.ranks} processes over {found.backend}, {passes}"
    sys.stdout.write("\n".join([about, *table(head, rows), *told]) + "\n")
    return 0


def _lines(report: Report) -> Iterator[str]:
    from yantra.base.text import count

    rows = [row for row in report.rows() if row.replayed]
    width = max([8, *(len(row.name) for row in rows[:_MOST_ROWS])])
    heads = f"{'calls':>6}  {'recorded us':>12}  {'measured us':>12}  {'ratio':>6}"
    yield f"{'operator':{width}}  {heads}"
    for row in rows[:_MOST_ROWS]:
        yield _row(row.name, row.replayed, row.recorded_ns, row.measured_ns, row.ratio, width)
    if len(rows) > _MOST_ROWS:
        yield f"... and {count(len(rows) - _MOST_ROWS, 'more operator')}"
    done = report.replayed
    yield _row("all", len(done), report.recorded_ns, report.measured_ns, report.ratio, width)
    share = (
        "of the recorded time" if any(o.recorded_ns for o in report.operators) else "of the calls"
    )
    counts = f"{len(done)} of {count(len(report.operators), 'operator')}"
    yield f"replayed {counts}, {report.coverage:.1%} {share}"
    if report.communication:
        yield f"left out: {count(report.communication, 'communication')}, which need other ranks"
    for reason, names in report.reasons().items():
        yield f"left out: {count(len(names), 'operator')} ({_some(names)}): {reason}"
    different = [operator for operator in done if operator.different]
    for operator in different[:_MOST_NAMES]:
        yield f"different: {operator.name} (node {operator.id}): {operator.different}"


def _row(
    name: str, calls: int, recorded: int, measured: int, ratio: float | None, width: int
) -> str:
    shown = "-" if ratio is None else f"{ratio:.2f}"
    times = f"{recorded / 1000:>12.1f}  {measured / 1000:>12.1f}"
    return f"{name:{width}}  {calls:>6}  {times}  {shown:>6}"


def _some(names: list[str]) -> str:
    different = list(dict.fromkeys(names))
    more = ", ..." if len(different) > _MOST_NAMES else ""
    return ", ".join(different[:_MOST_NAMES]) + more
