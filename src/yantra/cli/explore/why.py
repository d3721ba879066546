"""`yantra explore why`: why a study did not choose a plan."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.explore.trials import trial_of, trial_option
from yantra.cli.plugin_option import option as plugin_option


@click.command(
    cls=WithExamples,
    examples=[
        'yantra explore why finished-study --not "tp=16 pp=4"',
        'yantra explore why finished-study --not "tp=8 recompute=full" --trial 0 --json',
    ],
)
@click.argument("study", type=click.Path())
@click.option(
    "--not",
    "named",
    required=True,
    metavar="FIELD=VALUE ...",
    help="Fields of the other plan; the fastest plan that has them is taken.",
)
@trial_option()
@plugin_option
@json_option
def command(study: str, named: str, trial: int | None, as_json: bool) -> int:
    """Say every constraint that a plan breaks, or by which causes it loses, in the folder STUDY.

    Differences by cause add up to the difference of the times.
    """
    from yantra.explore.answers.why import read_plan, why_not, words
    from yantra.explore.study.study import kept

    given = read_plan(named)
    of, finished = kept(study)
    answer = why_not(of, trial_of(of, finished, trial), given)
    if as_json:
        print_json(answer._asdict())
    else:
        sys.stdout.write("\n".join(words(of, answer)) + "\n")
    return 0
