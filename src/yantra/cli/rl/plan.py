"""`yantra rl plan`: mode, split and plans that train the most samples a second."""

from __future__ import annotations

import sys
from typing import Any

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.model_options import cluster_option, model_option


@click.command(
    cls=WithExamples,
    seldom=("top", "objective"),
    examples=[
        "yantra rl plan --model llama3-8b --cluster hgx-h100 --gpus 32 --prompts 64 \\\n"
        "    --generations 16 --lengths lengths.jsonl --staleness 1 --json",
    ],
)
@model_option(required=True)
@cluster_option(required=True)
@click.option("--gpus", type=click.IntRange(min=1), required=True, help="Of the whole job.")
@click.option("--prompts", type=click.IntRange(min=1), required=True, help="Prompts of a step.")
@click.option(
    "--generations", type=click.IntRange(min=1), required=True, help="Samples of a prompt."
)
@click.option(
    "--lengths",
    metavar="FILE|RULE",
    required=True,
    help="Tokens of samples, as yantra rl has them.",
)
@click.option(
    "--staleness", type=click.IntRange(min=0), default=1, show_default=True,
    help="Mini-batches that samples may be stale; 0: synchronous steps alone.",
)  # fmt: skip
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="As yantra rl has it.")
@click.option(
    "--top", type=click.IntRange(1, 20), default=3, show_default=True, help="Plans that are shown."
)
@click.option(
    "--objective", type=click.Choice(["samples", "usd"]), default="samples", show_default=True,
    help="Samples a second, or for a USD, on at most so many GPUs.",
)  # fmt: skip
@json_option
def command(
    settings: tuple[str, ...], staleness: int, top: int, objective: str, as_json: bool, **named: Any
) -> int:
    """Find the mode, the split and both plans that train the most samples a second."""
    from yantra.cli.progress import progress
    from yantra.rl.plan import as_dict, lines, planned
    from yantra.rl.question import made
    from yantra.rl.settings import settings_of

    with progress("modes and splits"):
        found = planned(made(**named, **settings_of(settings)), staleness, objective)
    if as_json:
        print_json(as_dict(found, top))
    else:
        sys.stdout.write("\n".join(lines(found, top)) + "\n")
    return 0
