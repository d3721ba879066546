"""`yantra explore breaks`: at which speed of a part another plan, or another trial, wins."""

from __future__ import annotations

import sys

import click

from yantra.base.errors import ConfigError, expected_got
from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.explore.trials import trial_of, trial_option
from yantra.cli.plugin_option import option as plugin_option


@click.command(
    cls=WithExamples,
    seldom=(
        "from",
        "to",
        "against",
    ),
    examples=[
        'yantra explore breaks finished-study --vary "links 0" --simulate',
        "yantra explore breaks finished-study --vary peak --from 0.2 --to 2 \\\n"
        "    --against 0 --json",
    ],
)
@click.argument("study", type=click.Path())
@click.option("--vary", "rate", required=True, metavar="RATE", help="peak, memory, links 0, ...")
@click.option("--from", "low", type=float, default=0.25, show_default=True, help="Least factor.")
@click.option("--to", "high", type=float, default=4.0, show_default=True, help="Largest factor.")
@trial_option()
@click.option("--against", type=click.IntRange(0), help="Trial to break even with.")
@click.option("--simulate", is_flag=True, help="Confirm each break point on both sides.")
@plugin_option
@json_option
def command(
    study: str,
    rate: str,
    low: float,
    high: float,
    trial: int | None,
    against: int | None,
    simulate: bool,
    as_json: bool,
) -> int:
    """Say which plan of a trial in the folder STUDY is best at which factors of a rate.

    With --against also at which factor the trial is as good as another one in the first objective.
    """
    from yantra.explore.answers.breaks import break_even, confirm, even_words, plans_by_rate, words
    from yantra.explore.study.study import kept

    if not 0 < low < high <= 1e6:
        problem = expected_got("0 < --from < --to <= 1e6", f"{low:g} and {high:g}")
        raise ConfigError("--from, --to", problem)
    of, finished = kept(study)
    number = trial_of(of, finished, trial)
    reaches = plans_by_rate(of, number, rate, low, high)
    found = confirm(of, number, rate, reaches) if simulate else []
    text = list(words(of, number, rate, reaches, found))
    form = {
        "trial": number,
        "rate": rate,
        "plans": [one._asdict() for one in reaches],
        "simulated": [{**one._asdict(), "holds": one.holds} for one in found],
    }
    if against is not None:
        other = trial_of(of, finished, against)
        even = break_even(of, number, other, rate, low, high)
        form["even"] = {"against": other, **even._asdict()}
        text.append(even_words(of, (number, other), rate, even))
    if as_json:
        print_json(form)
    else:
        sys.stdout.write("\n".join(text) + "\n")
    return 0
