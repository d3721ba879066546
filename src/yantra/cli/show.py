"""A result on standard output: plain text in a file or pipe, ruled tables on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from yantra.result import Result
from yantra.result.summary import Grid, summarise
from yantra.simulate import Progress

if TYPE_CHECKING:
    from yantra.sweep import SweepProgress


def show(result: Result) -> None:
    """Print the summary of a result."""
    if not sys.stdout.isatty():
        sys.stdout.write(result.summary() + "\n")
        return
    from rich.console import Console

    console = Console(highlight=False)
    summary = summarise(result)
    for grid in (summary.ranks, summary.dimensions):
        console.print(_ruled(grid))
    console.print(summary.bound_by, style="bold", markup=False)


@contextmanager
def progress(what: str = "simulating") -> Iterator[Progress | None]:
    """Yield what to call with the progress of `what`: a bar on a terminal, else nothing."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def sweep_progress(runs: int) -> Iterator[SweepProgress | None]:
    """Yield what to call with the progress of so many runs: a bar with the time left, or nothing.

    While the bar stands, lines for a terminal appear above it; those for a file go there.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    with Bar(
        TextColumn("simulating"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
        speed_estimate_period=600,
    ) as bar:
        task = bar.add_task("", total=runs)
        yield lambda done, total: bar.update(task, completed=done)


def _ruled(grid: Grid) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    for column, head in enumerate(grid.head):
        table.add_column(head, justify="right" if column else "left")
    for row in grid.rows:
        table.add_row(*row)
    return table
