"""`yantra explore report`: the page of a study."""

from __future__ import annotations

import click

from yantra.base.errors import ConfigError, expected_got
from yantra.cli.command import WithExamples, json_option, print_json


@click.command(
    cls=WithExamples,
    examples=[
        "yantra explore report finished-study -o study.html",
        "yantra explore report finished-study -o study.html --json",
    ],
)
@click.argument("study", type=click.Path())
@click.option("-o", "--output", type=click.Path(), required=True, help="The page, .html.")
@json_option()
def command(study: str, output: str, as_json: bool) -> int:
    """Write a page of the study in the folder STUDY: front, trials, next dollar, odds.

    It is one file that opens offline.
    """
    from yantra.base.output import write_text
    from yantra.explore.next_dollar import next_dollar
    from yantra.explore.odds import odds_of
    from yantra.explore.study import kept
    from yantra.explore.study_page import study_page
    from yantra.explore.why import winner

    if not output.endswith(".html"):
        raise ConfigError("--output", expected_got("a name that ends in .html", output))
    of, finished = kept(study)
    dollar = next_dollar(of, winner(of, finished))
    odds = odds_of(of, finished)
    write_text(output, study_page(of, finished, dollar, odds))
    if as_json:
        print_json({"page": output, "best": dollar.trial, "front": finished.front})
    return 0
