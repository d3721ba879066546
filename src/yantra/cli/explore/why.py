"""`yantra explore why`: why a study did not choose a plan."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json


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
    help="The plan, by some of its fields; the fastest one that has them is meant.",
)
@click.option(
    "--trial",
    type=click.IntRange(0),
    help="Number of a trial; that on the front with the best first objective if left out.",
)
@json_option()
def command(study: str, named: str, trial: int | None, as_json: bool) -> int:
    """Say every constraint that a plan breaks, or by which causes it loses, in the folder STUDY.

    Differences by cause add up to the difference of the times.
    """
    from yantra.base.errors import ConfigError, expected_got
    from yantra.explore.study import kept
    from yantra.explore.why import read_plan, why_not, winner, words

    given = read_plan(named)
    of, finished = kept(study)
    if trial is not None and trial >= len(finished.trials):
        most = f"a trial from 0 to {len(finished.trials) - 1}"
        raise ConfigError("--trial", expected_got(most, trial))
    answer = why_not(of, winner(of, finished) if trial is None else trial, given)
    if as_json:
        print_json(answer._asdict())
    else:
        sys.stdout.write("\n".join(words(of, answer)) + "\n")
    return 0
