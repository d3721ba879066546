"""`yantra chakra convert pytorch`: linked PyTorch traces -> Chakra traces."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from yantra.chakra.pytorch.convert import ConvertOptions

_ALL_RECORDED = 0


@click.command()
@click.argument("traces", nargs=-1, required=True, type=click.Path())
@click.option("-o", "--output", required=True, help="OUTPUT.<rank>.et, or one file: name.et.")
@click.option("--compat", type=click.Choice(["upstream"]), help="Write what upstream writes.")
@click.option("--no-gaps", is_flag=True, help="Leave out the delays that fill unexplained time.")
@click.option("--reduce", is_flag=True, help="Leave out dependencies that follow from others.")
@click.option(
    "--replicate",
    type=click.IntRange(0),
    is_flag=False,
    flag_value=_ALL_RECORDED,
    help="Let one rank stand for RANKS ranks (default: as many as recorded).",
    metavar="[RANKS]",
)
@click.option(
    "--exact-collectives",
    is_flag=True,
    help="Write reduce, gather, scatter and barrier, which ASTRA-sim does not run, as such.",
)
@click.option(
    "--memory-nodes", is_flag=True, help="Write copies to and from the host as MEM nodes."
)
def command(
    traces: tuple[str, ...],
    output: str,
    compat: str | None,
    no_gaps: bool,
    reduce: bool,
    replicate: int | None,
    exact_collectives: bool,
    memory_nodes: bool,
) -> int:
    """Convert TRACES, the linked traces (or host traces) of the ranks of one job.

    Give all ranks in one call, so that sends meet receives and groups have the same ids everywhere.
    Writes OUTPUT.<rank>.et, and OUTPUT.groups.json for --comm-group-configuration.
    """
    from yantra.errors import ConfigError

    single = output.endswith((".et", ".et.gz"))
    if single and (len(traces) > 1 or replicate is not None):
        raise ConfigError("-o", f"several traces are written; give a prefix, not {output}")
    if compat:
        if no_gaps or reduce or replicate is not None or exact_collectives or memory_nodes:
            raise ConfigError("--compat", "upstream's converter has none of the other options")
        return _upstream(traces, output)
    from yantra.chakra.pytorch.convert import ConvertOptions

    options = ConvertOptions(
        gaps=not no_gaps,
        reduce=reduce,
        replicate=replicate,
        exact_collectives=exact_collectives,
        memory_nodes=memory_nodes,
    )
    return _convert(traces, output, options)


def _upstream(traces: tuple[str, ...], output: str) -> int:
    from yantra.chakra.pytorch.files import trace_name
    from yantra.chakra.pytorch.upstream.convert import convert

    for place, path in enumerate(traces):
        convert(path).write(trace_name(output, place))
    return 0


def _convert(traces: tuple[str, ...], output: str, options: ConvertOptions) -> int:
    from yantra.chakra.pytorch.files import convert_files
    from yantra.cli import warn

    with _progress() as report:
        done = convert_files(traces, output, options, report)
    warn(done.problems)
    sys.stderr.write(done.summary())
    return 0


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """Yield what to call with how many traces are written, of how many: a bar on a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("converting", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
