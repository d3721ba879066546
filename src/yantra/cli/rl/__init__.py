"""`yantra rl`: how long a step of post-training by reinforcement takes, and where its GPUs wait."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar

import click

from yantra.base.errors import ConfigError
from yantra.cli.command import json_option, print_json
from yantra.cli.group import Commands
from yantra.cli.model_options import cluster_option, model_option

if TYPE_CHECKING:
    from yantra.rl.answer import Answer

_NEEDED = ("model", "cluster", "gpus", "prompts", "generations", "lengths")
_SHOWN = 12


class _Tools(Commands):
    package = "yantra.cli.rl"
    known: ClassVar = {
        "plan": "Find the mode, the split and both plans that train the most samples a second.",
    }


@click.command(
    cls=_Tools,
    invoke_without_command=True,
    examples=[
        "yantra rl --model qwen3-32b --cluster hgx-h100 --gpus 64 --prompts 64 \\\n"
        "    --generations 32 --lengths lengths.jsonl --generate tp=4 --train tp=4,pp=4",
        "yantra rl --model llama3-8b --cluster hgx-h100 --gpus 16 --prompts 64 \\\n"
        "    --generations 32 --lengths mean=1000,cap=4096 --compare --report rl.html",
        "yantra rl --config grpo.yaml --cluster hgx-h100 \\\n    --lengths lengths.jsonl",
    ],
)
@model_option()
@cluster_option()
@click.option("--gpus", type=click.IntRange(min=1), help="Of the whole job.")
@click.option("--prompts", type=click.IntRange(min=1), help="Prompts of a step.")
@click.option("--generations", type=click.IntRange(min=1), help="Samples of a prompt.")
@click.option(
    "--lengths",
    metavar="FILE|RULE",
    help="Tokens of samples: JSON lines, a trace, lognormal:mean=800,sigma=0.9,cap=4096, a mixture "
    "0.9*lognormal:... + 0.1*fixed:tokens=4096, or mean=800,cap=4096 alone.",
)
@click.option(
    "--mode",
    help="sync (if nothing is said), sync-split, one-off, k-off, async, partial, or a .py file.",
)
@click.option(
    "--staleness", type=click.IntRange(min=0), help="Of async, in mini-batches; of k-off, in steps."
)
@click.option(
    "--generate", metavar="PLAN", help="The generating plan: tp=4,gpus=32,max_num_seqs=256."
)
@click.option("--train", metavar="PLAN", help="The training plan: tp=4,pp=4,recompute=full.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="prompt_tokens=128, train_batch=512 samples of an optimizer step, micro_tokens=8192 and "
    "score_tokens of a packed micro-batch, reward='20 ms', reward_workers=8, algorithm=dapo or a "
    ".py file, framework=nemo-rl, stack=megatron-bridge, reference=off, policy=off, at_once=128 "
    "groups, refit=direct, refit_rule=in-flight, kv=recompute, filtered=0.3, seed=1, turns=4, "
    "tool_delay='2 s', tool_tokens=300, reward_gpus=4, reward_model=llama3-8b, reward_batch=8, "
    "checkpoint_every=10, storage='40 GB/s', checkpoint=async, validate_every=10, "
    "validate_samples=256, validate_batch=64, oversampling=3, most_rounds=10, packing=off, "
    "async_engine=on, convert=after. May be repeated.",
)
@click.option(
    "--config",
    type=click.Path(),
    help="A configuration of NeMo-RL, verl or SkyRL, YAML or script, in place of options; what is "
    "not understood is named.",
)
@click.option("--compare", is_flag=True, help="All modes, side by side.")
@click.option("--report", type=click.Path(), help="Write a report as one HTML file.")
@json_option
@click.pass_context
def command(context: click.Context, /, **given: Any) -> int:
    """Say how long a step of post-training by reinforcement takes, and where its GPUs wait."""
    if context.invoked_subcommand is not None:
        return 0
    return _rl(**given)


def _rl(
    *,
    settings: tuple[str, ...],
    config: str | None,
    compare: bool,
    report: str | None,
    as_json: bool,
    **named: Any,
) -> int:
    from yantra.cli.progress import progress
    from yantra.rl.answer import answered, as_dict, compared, lines
    from yantra.rl.question import made, modes_of

    asked = _asked(settings, config, named)
    if compare:
        questions, found = modes_of(asked), []
        with progress("modes", counted=True) as tell:
            for done, one in enumerate(questions):
                if tell:
                    tell(done, len(questions), one.mode)
                found.append(answered(one))
        _write(report, found)
        if as_json:
            print_json([as_dict(one) for one in found])
        else:
            sys.stdout.write("\n".join(compared(found)) + "\n")
        return 0
    with progress("step"):
        answer = answered(made(**asked))
    _write(report, [answer])
    if as_json:
        print_json(as_dict(answer))
    else:
        sys.stdout.write("\n".join(lines(answer)) + "\n")
    return 0


def _write(report: str | None, answers: list[Answer]) -> None:
    if report is not None:
        from yantra.rl.page import write_page

        write_page(answers, report)


def _asked(settings: tuple[str, ...], config: str | None, named: dict[str, Any]) -> dict[str, Any]:
    """The fields of a question: those of a configuration, and over them those of options."""
    from yantra.base.notes import note
    from yantra.rl.configurations import read
    from yantra.rl.settings import plan_of, settings_of

    asked: dict[str, Any] = {}
    if config is not None:
        found = read(config)
        asked |= found.fields
        if found.unknown:
            shown = ", ".join(found.unknown[:_SHOWN])
            more = len(found.unknown) - _SHOWN
            note(f"{config}: not understood: {shown}{f' and {more} more' if more > 0 else ''}")
        for name in found.assumed.keys() - settings_of(settings).keys():
            note(f"{config}: does not state how many groups are thrown away: {found.assumed[name]}")
    for side in ("generate", "train"):
        asked[side] = asked.get(side, {}) | plan_of(named.pop(side), f"--{side}")
    asked |= {name: value for name, value in named.items() if value is not None}
    asked |= settings_of(settings)
    for name in _NEEDED:
        if name not in asked:
            raise ConfigError("rl", f"--{name} is not given")
    return asked
