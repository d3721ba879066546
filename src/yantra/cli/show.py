"""A result on standard output: plain text in a file or pipe, ruled tables on a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from yantra.base.printable import printable
from yantra.cli.terminal import is_styled

if TYPE_CHECKING:
    from yantra.base.text import Grid
    from yantra.result import Result


def show(result: Result) -> None:
    if not is_styled(sys.stdout):
        sys.stdout.write(result.summary() + "\n")
        return
    from rich.console import Console

    from yantra.export.summary import summarise

    console = Console(highlight=False)
    summary = summarise(result)
    console.print(printable(summary.head()), markup=False)
    for grid in (summary.ranks, summary.dimensions):
        console.print(_ruled(grid))
    for sentence in summary.packets:
        console.print(printable(sentence), markup=False)
    console.print(printable(summary.bound_by), style="bold", markup=False)
    for sentence in summary.disturbed:
        console.print(printable(sentence), markup=False)


def _ruled(grid: Grid) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    for column, head in enumerate(grid.head):
        table.add_column(head, justify="right" if column else "left")
    for row in grid.rows:
        table.add_row(*map(printable, row))
    return table
