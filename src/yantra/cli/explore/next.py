"""`yantra explore next`: what the next dollar is best spent on."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.explore.trials import trial_of, trial_option
from yantra.cli.plugin_option import option as plugin_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra explore next finished-study",
        'yantra explore next finished-study --offer "links 0 x2 0.15 USD/h" \\\n'
        '    --offer "memory x1.2 0.10 USD/h" --offer "ranks x2" --json',
    ],
)
@click.argument("study", type=click.Path())
@click.option(
    "--offer",
    "offers",
    multiple=True,
    metavar="RATE xFACTOR [PRICE]",
    help="A faster part and its extra cost per hour and device, or 'ranks x2'.",
)
@trial_option()
@plugin_option
@json_option
def command(study: str, offers: tuple[str, ...], trial: int | None, as_json: bool) -> int:
    """Say what faster parts, or more devices, are worth to a trial in the folder STUDY.

    Rates are peak, memory, latency and links 0, 1, ... from the innermost. Without offers: 5 % more
    of each, and twice the devices.
    """
    from yantra.explore.answers.next_dollar import next_dollar, read_offer, words
    from yantra.explore.study.study import kept

    read = [read_offer(text) for text in offers]
    of, finished = kept(study)
    answer = next_dollar(of, trial_of(of, finished, trial), read)
    if as_json:
        form = {**answer._asdict(), "worths": []}
        for one in answer.worths:
            form["worths"].append({**one._asdict(), "offer": one.offer._asdict(), "pays": one.pays})
        print_json(form)
    else:
        sys.stdout.write("\n".join(words(of, answer)) + "\n")
    return 0
