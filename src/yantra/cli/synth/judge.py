"""`yantra synth judge`: drawn jobs beside real ones."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json


@click.command(
    cls=WithExamples,
    examples=[
        "yantra synth judge jobs drawn --report judge.html",
        "yantra synth judge jobs drawn --others held --json",
    ],
)
@click.argument("real", type=click.Path())
@click.argument("drawn", type=click.Path())
@click.option("--others", type=click.Path(), help="Real jobs that were not fitted.")
@click.option("--report", type=click.Path(), help="Also a page, .html.")
@json_option
def command(real: str, drawn: str, others: str | None, report: str | None, as_json: bool) -> None:
    """Judge the jobs of the folder DRAWN beside those of REAL.

    How far apart they are, how they run on three clusters, what was copied, and what an attacker
    who has REAL finds.
    """
    from yantra.base.errors import ConfigError, expected_got
    from yantra.base.output import write_text
    from yantra.synth import verdict
    from yantra.synth.judge import judge
    from yantra.synth.observe import observe

    if report is not None and not report.endswith(".html"):
        raise ConfigError("--report", expected_got("a name that ends in .html", report))
    judged = judge(observe(real), observe(drawn), observe(others) if others else ())
    if report is not None:
        write_text(report, verdict.page(judged))
    if as_json:
        print_json(verdict.as_dict(judged))
    else:
        sys.stdout.write(verdict.text(judged))
