"""`yantra compare`: what changed from one result to another, and what explains it."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json


@click.command(
    cls=WithExamples,
    examples=[
        "yantra compare result.json other.json",
        "yantra compare result.json other.json --json",
        "yantra compare result.json other.json --report changes.html",
    ],
)
@click.argument("a", type=click.Path())
@click.argument("b", type=click.Path())
@click.option("--report", type=click.Path(), help="Write it as one HTML file that opens offline.")
@json_option("Print the comparison as JSON.")
def command(a: str, b: str, report: str | None, as_json: bool) -> int:
    """Tell what changed from result A to result B, both in JSON.

    By how much, in which kinds, phases and nodes of the critical path, and what differs in the
    scenarios. The parts of the critical path add up to the change.
    """
    from yantra.explain import compare

    comparison = compare(a, b)
    if report:
        comparison.to_report(report)
    if as_json:
        print_json(comparison.data)
    else:
        sys.stdout.write(comparison.text() + "\n")
    return 0
