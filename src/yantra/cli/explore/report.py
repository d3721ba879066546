"""`yantra explore report`: the page of a study."""

from __future__ import annotations

import click

from yantra.base.errors import ConfigError, expected_got
from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.plugin_option import option as plugin_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra explore report finished-study -o study.html",
        "yantra explore report finished-study -o study.html --json",
        "yantra explore report finished-study -o study.html --runs front",
    ],
)
@click.argument("study", type=click.Path())
@click.option("-o", "--output", type=click.Path(), required=True, help="The page, .html.")
@click.option(
    "--runs",
    type=click.Choice(["none", "front", "all"]),
    default="none",
    show_default=True,
    help="Simulate these trials; their points link to reports of the runs, beside the page.",
)
@plugin_option
@json_option
def command(study: str, output: str, runs: str, as_json: bool) -> int:
    """Write a page of the study in the folder STUDY: front, trials, next dollar, odds.

    It is one file that opens offline. Reports of runs are in a folder beside it.
    """
    from yantra.base.output import write_text
    from yantra.cli.progress import progress
    from yantra.explore.answers.next_dollar import next_dollar
    from yantra.explore.answers.odds import odds_of
    from yantra.explore.answers.why import winner
    from yantra.explore.pages.study_page import study_page
    from yantra.explore.study.point import write_reports
    from yantra.explore.study.study import kept

    if not output.endswith(".html"):
        raise ConfigError("--output", expected_got("a name that ends in .html", output))
    of, finished = kept(study)
    dollar = next_dollar(of, winner(of, finished))
    odds = odds_of(of, finished)
    feasible = [number for number, one in enumerate(finished.trials) if not one["broken"]]
    chosen = {"none": [], "front": finished.front, "all": feasible}[runs]
    with progress("simulating trials", counted=True) as report:
        reports = write_reports(of, finished, chosen, output, report)
    write_text(output, study_page(of, finished, dollar, odds, reports))
    if as_json:
        form = {"page": output, "best": dollar.trial, "front": finished.front}
        form["runs"] = {str(number): run._asdict() for number, run in reports.items()}
        print_json(form)
    return 0
