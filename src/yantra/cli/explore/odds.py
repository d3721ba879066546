"""`yantra explore odds`: how sure the winner of a study is."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.plugin_option import option as plugin_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra explore odds finished-study",
        "yantra explore odds finished-study --stack megatron-2022",
        "yantra explore odds finished-study --within 10% --within hgx-h100=5% --json",
    ],
)
@click.argument("study", type=click.Path())
@click.option(
    "--within",
    "widths",
    multiple=True,
    metavar="[CLUSTER=]N%",
    help="The 90 % interval of the values, in place of the interval of their estimates.",
)
@click.option(
    "--stack",
    metavar="NAME",
    help="The framework whose measured steps say how wide estimates are: a name or a file; by "
    "default the study's own, unknown at speeds alone.",
)
@plugin_option
@json_option
def command(study: str, widths: tuple[str, ...], stack: str | None, as_json: bool) -> int:
    """Say how probable each trial in the folder STUDY is to be the best in the first objective.

    Trials of one cluster share the error of machine and framework, which changes no order between
    them; those of different clusters err independently.
    """
    from yantra.explore.answers.odds import odds_of, read_within, words
    from yantra.explore.study.study import kept

    within = dict(read_within(text) for text in widths)
    of, finished = kept(study)
    found = odds_of(of, finished, within, stack)
    if as_json:
        print_json({"objective": of.objectives[0], "odds": [one._asdict() for one in found]})
    else:
        sys.stdout.write("\n".join(words(of, finished, found)) + "\n")
    return 0
