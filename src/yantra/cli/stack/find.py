"""`yantra stack find`: ranks the named stacks on your own measured steps."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from yantra.cli.command import WithExamples, json_option

if TYPE_CHECKING:
    from yantra.accuracy.own_stack import Rank
    from yantra.accuracy.rows import Row

HEAD = ("stack", "mean", "median", "bias", "in 90 %")


@click.command(
    cls=WithExamples,
    examples=[
        "yantra stack find steps.csv",
        "yantra stack find steps.csv --json",
    ],
    epilog="steps.csv is that of yantra calibrate, with the columns model, cluster, plan, "
    "seconds, and optionally dtype, profile and framework.",
)
@click.argument("file", type=click.Path())
@json_option
def command(file: str, as_json: bool) -> None:
    """Rank the named stacks by how far they are from your own measured steps.

    Steps run as in yantra run --stack; unknown is beside them, as no candidate. Mean and median are
    of absolute errors; a negative bias means too fast.
    """
    from yantra.accuracy.user_steps import frameworks, read_steps

    rows = read_steps(file)
    found = ranking(rows)
    if as_json:
        form = {"steps": len(rows), "frameworks": frameworks(rows), "stacks": forms(found)}
        sys.stdout.write(json.dumps(form, ensure_ascii=False, indent=1) + "\n")
        return
    nearest = f"the nearest: --stack {found[0].stack}; moved to your steps: {_next(file)}"
    sys.stdout.write("\n".join([*table_of(found), named(rows), nearest]) + "\n")


def _next(file: str) -> str:
    from shlex import quote

    return f"yantra calibrate {quote(file)}"


def ranking(rows: Sequence[Row]) -> list[Rank]:
    """Return the ranking of stacks, `unknown` last.

    Raises ConfigError if all refuse a step.
    """
    from yantra.accuracy.mixture import shipped
    from yantra.accuracy.own_stack import best_of, ranked
    from yantra.cli.progress import progress
    from yantra.fabric import stacks
    from yantra.fabric.stacks.choice import UNKNOWN

    every = [*shipped(), stacks.load(UNKNOWN)]
    with progress("running each step with each stack") as told:
        found = ranked(rows, every, told or (lambda *_: None))
    found.sort(key=lambda one: one.stack == UNKNOWN)
    best_of(found, every)
    return found


def table_of(found: Sequence[Rank]) -> list[str]:
    from yantra.base.text import table

    cells = []
    for one in found:
        if one.refused:
            cells.append((one.stack, *["-"] * 4))
            continue
        held = "-" if one.covered is None else f"{one.covered:.0%}"
        cells.append((one.stack, f"{one.mean:.1%}", f"{one.median:.1%}", f"{one.bias:+.1%}", held))
    refused = [f"refused with {one.stack}: {one.refused}" for one in found if one.refused]
    return [*table(HEAD, cells, left=1), *refused]


def forms(found: Sequence[Rank]) -> list[dict[str, Any]]:
    return [
        {
            "stack": one.stack,
            "title": one.title,
            "mean_error": None if one.refused else one.mean,
            "median_error": None if one.refused else one.median,
            "bias": None if one.refused else one.bias,
            "covered": one.covered,
            "refused": one.refused or None,
        }
        for one in found
    ]


def named(rows: Sequence[Row]) -> str:
    from yantra.accuracy.user_steps import frameworks
    from yantra.fabric import stacks

    names = frameworks(rows)
    if not names:
        return "the steps name no framework"
    said = (f"{one} (a named stack)" if one in stacks.names() else one for one in names)
    return f"the steps name {', '.join(said)}"
