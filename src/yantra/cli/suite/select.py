"""`yantra suite select`: representatives of a folder of traces, or of the library."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from yantra.cli.command import WithExamples, json_option, print_json

if TYPE_CHECKING:
    from yantra.suites.choose import Suite


@click.command(
    cls=WithExamples,
    examples=["yantra suite select -k 8 -o eight.json", "yantra suite select traces -k 2 --json"],
)
@click.argument("folder", required=False, metavar="[DIR]", type=click.Path())
@click.option("-k", "count", type=int, default=8, show_default=True, help="How many to choose.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write the suite (JSON).")
@json_option
def command(folder: str | None, count: int, output: str | None, as_json: bool) -> None:
    """Choose traces that stand for all of DIR (.yw, NAME.{rank}.et), or of the library without it.

    Equal traces count once.
    """
    from yantra.cli.progress import progress
    from yantra.suites.choose import choose, write
    from yantra.suites.traces import in_folder, of_library

    with progress("reading", counted=True) as tell:
        given = of_library() if folder is None else in_folder(folder, tell)
    suite = choose(given, count)
    if output:
        write(suite, output)
    if as_json:
        print_json(suite.as_dict())
    else:
        _show(suite, output)


def _show(suite: Suite, output: str | None) -> None:
    from yantra.base.text import count, table

    rows = [
        (one.name, f"{one.weight:.1%}", str(len(one.covers)), f"{one.farthest:.2f}")
        for one in suite.chosen
    ]
    lines = table(("trace", "weight", "stands for", "farthest"), rows, left=1)
    copies = f"; {count(suite.copies, 'copy', 'copies')} left out" if suite.copies else ""
    lines.append(
        f"coverage {suite.coverage:.0%} of {count(suite.of, 'trace')}: mean distance "
        f"{suite.mean:.2f}, where two differ by {suite.scale:.2f}{copies}"
    )
    lines += [f"wrote {output}"] if output else []
    sys.stdout.write("\n".join(lines) + "\n")
