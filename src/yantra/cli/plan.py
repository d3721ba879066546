"""`yantra plan`: the best splits of a training job over a cluster."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.whole_numbers import is_whole
from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.file_options import stack_option
from yantra.cli.model_options import clusters_option, model_option
from yantra.cli.plugin_option import option as plugin_option
from yantra.fabric.stacks.choice import DEFAULT
from yantra.workloads.plan.fields import MEANINGS
from yantra.workloads.plan.plan import CHOICES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from yantra.cli.progress import Tell
    from yantra.explore.answers.best import Answer
    from yantra.explore.answers.runner import Shared
    from yantra.explore.answers.sensitivity import Sensitivity
    from yantra.explore.closed_form.space import PlanSpace
    from yantra.fabric.clusters.types import Cluster

_CHOICES = ("tp", "cp", "ep", "etp", "pp", "vpp", "zero", "micro-batch")
_SWITCHES = ("sequence-parallel", "overlap", "embedding-as-layer", "loss-as-layer")
_NAMES = ("gradient-dtype", "recompute", "cp-kind")
_DTYPE = f"{MEANINGS['dtype'][0].upper()}{MEANINGS['dtype'][1:]}: {', '.join(CHOICES['dtype'])}."
_HELD: dict[str, Any] = {
    "lora_rank": click.IntRange(min=1),
    "lora_targets": str,
    "overlap_experts": click.Choice(CHOICES["overlap_experts"]),
    "exposed_experts": float,
    "dispatch": click.Choice(CHOICES["dispatch"]),
    "recompute_modules": str,
    "cuda_graphs": str,
    "unfused_kernels": str,
    "overlap_products": bool,
    "exposed_gradients": float,
    "scaling": click.Choice(CHOICES["scaling"]),
    "narrow_weights": bool,
    "transposed_weights": bool,
    "reuse_gradients": bool,
    "master_dtype": click.Choice(CHOICES["master_dtype"]),
    "exp_avg_dtype": click.Choice(CHOICES["exp_avg_dtype"]),
    "exp_avg_sq_dtype": click.Choice(CHOICES["exp_avg_sq_dtype"]),
}
_FIELDS = tuple(name.replace("-", "_") for name in (*_CHOICES, *_NAMES, *_SWITCHES, *_HELD))


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _choices(command: Any) -> Any:
    for name, kind in reversed(_HELD.items()):
        command = click.option(_flag(name), name, type=kind, hidden=True)(command)
    for name in reversed((*_CHOICES, *_NAMES, *_SWITCHES)):
        command = click.option(f"--{name}", hidden=True)(command)
    return command


def _allowed(
    context: click.Context, _option: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, _, values = text.partition("=")
        field = name.strip().replace("-", "_")
        if field in found:
            raise ConfigError("--allow", f"names {field} twice")
        found[field] = values
    return found


@click.command(
    cls=WithExamples,
    examples=[
        "yantra plan --model llama3-8b --ranks 64 --cluster hgx-h100 \\\n    --global-batch 256",
        "yantra plan --model llama3-8b --ranks 8 --cluster hgx-h100 \\\n"
        "    --global-batch 16 --top 1 --json",
        "yantra plan --model llama3-8b --ranks 16 --cluster hgx-h100 \\\n"
        '    --cluster hgx-b200 --global-batch 32 --price "2.50 USD/h" -o plans.html',
        "yantra plan --model llama3-8b --cluster hgx-h100 --cluster hgx-b200 \\\n"
        '    --budget "200 USD/h" --global-batch 64',
    ],
)
@model_option(required=True)
@click.option("--ranks", type=int, help="Devices of the job.")
@click.option(
    "--budget", metavar="PRICE", help="In place of --ranks: what all may cost, 500 USD/h."
)
@click.option("--power", metavar="POWER", help="In place of --ranks: what they may draw, 1 MW.")
@clusters_option
@click.option("--global-batch", type=int, required=True, help="Sequences per step.")
@click.option(
    "--seq",
    type=click.IntRange(1, 2**31 - 1),
    help="Tokens of a sequence; the model's usual number if left out.",
)
@click.option("--dtype", default="bf16", show_default=True, help=_DTYPE)
@stack_option
@_choices
@click.option(
    "--refine/--no-refine",
    default=True,
    show_default=True,
    help="Also try fields that have no closed form, by simulation: schedules, buckets, ...",
)
@click.option(
    "--allow",
    multiple=True,
    metavar="FIELD=VALUE,...",
    callback=_allowed,
    help=f"Allowed values of a field of plans, such as tp=1,2,4 or schedule=1f1b,interleaved: "
    f"{', '.join(_FIELDS)}, or one that plans are refined by; may be repeated.",
)
@click.option(
    "--top",
    type=click.IntRange(1, 50),
    default=5,
    show_default=True,
    help="Number of plans to show.",
)
@click.option("--price", help="Price of a device, such as 2.50 USD/h, in place of the cluster's.")
@click.option("--sensitivity", is_flag=True, help="Also show what faster parts would gain.")
@click.option(
    "--emit",
    metavar="FRAMEWORK",
    help="Write to the folder -o the files that start the best plan in megatron, torchtitan, nemo "
    "or deepspeed, also under Slurm and Kubernetes.",
)
@click.option(
    "-o", "--output", type=click.Path(), help="Write a page (.html), .json, or a folder (--emit)."
)
@plugin_option
@json_option
def command(
    model: str,
    ranks: int | None,
    budget: str | None,
    power: str | None,
    names: tuple[str, ...],
    global_batch: int,
    seq: int | None,
    dtype: str,
    stack: str | None,
    refine: bool,
    allow: dict[str, str],
    top: int,
    price: str | None,
    sensitivity: bool,
    emit: str | None,
    output: str | None,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Judge every legal plan of a training job by closed forms, and simulate the best.

    Plans split tensors, context, experts, pipeline and replicas, with ZeRO, micro-batch and
    recomputation. Differences by cause add up.
    """
    from yantra.base.text import count
    from yantra.explore.answers.runner import Shared
    from yantra.explore.answers.sensitivity import sensitivities
    from yantra.explore.closed_form.on_stack import check_stack
    from yantra.fabric.stacks.find import of_kind
    from yantra.workloads.job_file import described_by
    from yantra.workloads.models.assemble import model_of
    from yantra.workloads.models.experts import experts_of

    _check_output(emit, output, names)
    stack = stack or DEFAULT
    check_stack(stack, "--stack")
    machines = [_priced(name, price) for name in names]
    described = model_of(described_by(model))
    stack = of_kind(stack, experts_of(described) is not None)
    limits = _limits(ranks, budget, power)
    others = _others(_moved(allow, chosen))
    given = {"dtype": dtype, "ranks": 1 if ranks is None else ranks, "sequence": seq}
    fields, others = _said(emit, _fields(chosen, allow), others, refine=refine)
    space = _space(fields | given | {"global_batch": global_batch}, machines)
    more = {"top": top, "refined": refine, "others": others}
    shared = Shared(described, seq, space.held)
    spaces, answers = _searched(described, machines, space, limits, shared, stack, more)
    rates = [
        sensitivities(described, one, of, stack=stack)
        for one, of in zip(machines, spaces, strict=True)
        if sensitivity
    ]
    size = " and ".join(filter(None, (budget, power))) or count(space.ranks, "rank")
    batch = f"{global_batch} x {space.sequence or described.sequence:,} tokens"
    title = f"{described.name} on {size}, global batch {batch}{_of(dtype)}"
    _tell(title, answers, rates, None if emit else output, as_json=as_json)
    _start(emit, model, machines[0], answers[0], output or "", quiet=as_json)
    return 0


def _start(
    emit: str | None, model: str, machine: Cluster, answer: Answer, folder: str, *, quiet: bool
) -> None:
    if emit is not None:
        from yantra.cli.emitted import write_training

        write_training(emit, model, machine, answer, folder, quiet=quiet)


def _check_output(emit: str | None, output: str | None, names: Sequence[str]) -> None:
    is_file = output is not None and output.endswith((".html", ".json"))
    if emit is None and output is not None and not is_file:
        raise ConfigError("--output", expected_got("a name that ends in .html or .json", output))
    if emit is None:
        return
    from yantra.workloads.frameworks import check_name

    check_name(emit)
    if output is None or is_file:
        raise ConfigError("--output", expected_got("a folder, as --emit writes files", output))
    if len(names) > 1:
        raise ConfigError("--cluster", "--emit writes for one cluster; give the one to start on")


def _fields(chosen: dict[str, Any], allow: Collection[str]) -> dict[str, Any]:
    held = {name: value for name in _HELD if (value := chosen.pop(name)) is not None}
    if "lora_targets" in held and "lora_rank" not in held:
        raise ConfigError("--lora-targets", "adapts nothing without --lora-rank; give one")
    return {
        name: _values(name, text, f"--allow {name}" if name in allow else _flag(name))
        for name, text in chosen.items()
        if text is not None
    } | held


def _said(
    emit: str | None, fields: dict[str, Any], others: dict[str, Any], *, refine: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same choices; where left open, those that the framework can say.

    Raises ConfigError where `others`, which plans are refined by, are given without.
    """
    if others and not refine:
        problem = f"{next(iter(others))} is what plans are refined by; leave out --no-refine"
        raise ConfigError("--allow", problem)
    if emit is None:
        return fields, others
    from yantra.explore.answers.refine import REFINED
    from yantra.workloads.frameworks import FRAMEWORKS

    called, _, says = FRAMEWORKS[emit]
    for name, known in says.items():
        wanted = {**fields, **others}.get(name)
        if wanted and not set(wanted) & set(known):
            problem = f"{called} has no argument for {wanted[0]}; what it can say is "
            raise ConfigError(_flag(name), problem + ", ".join(map(str, known)))
    refined = {name: says[name] for name in says if name in REFINED and refine}
    columns = {name: values for name, values in says.items() if name not in REFINED}
    return columns | fields, refined | others


def _searched(
    model: Any,
    machines: Sequence[Cluster],
    space: PlanSpace,
    limits: dict[str, float],
    shared: Shared,
    stack: str,
    more: dict[str, Any],
) -> tuple[list[PlanSpace], list[Answer]]:
    from yantra.cli.progress import progress
    from yantra.explore.answers.best import best_plans
    from yantra.explore.answers.sizes import sized

    spaces, answers = [], []
    with progress("plans", counted=True) as report:
        for at, machine in enumerate(machines):
            tell = _note(report, at, len(machines))
            tell(f"{machine.name}: judging plans")
            of = space
            if limits:
                of = sized(model, machine, space, shared.works, stack, **limits)
            found = best_plans(model, machine, of, tell=tell, shared=shared, stack=stack, **more)
            spaces.append(of)
            answers.append(found)
    return spaces, answers


def _tell(
    title: str,
    answers: Sequence[Answer],
    rates: Sequence[tuple[Sensitivity, ...]],
    output: str | None,
    *,
    as_json: bool,
) -> None:
    from json import dumps

    from yantra.base.output import write_text
    from yantra.explore.answers.sensitivity import words
    from yantra.explore.answers.words import as_dict, compared, lines, page

    form = {"title": title, "clusters": [as_dict(answer) for answer in answers]}
    for written, of in zip(form["clusters"], rates, strict=False):
        written["sensitivity"] = [one._asdict() for one in of]  # type: ignore[index]
    if output is not None:
        is_page = output.endswith(".html")
        write_text(output, page(title, answers) if is_page else dumps(form, indent=1) + "\n")
    if as_json:
        print_json(form)
        return
    text = [title, *(line for answer in answers for line in lines(answer)), *compared(answers)]
    for told, of in zip(answers, rates, strict=False):
        text += [f"{told.cluster}: step time by rate, at the best plan and with plans chosen again"]
        text += [f"  {line}" for line in words(of)]
    sys.stdout.write("\n".join(text) + "\n")


def _of(dtype: str) -> str:
    return "" if dtype == "bf16" else f", {dtype}"


def _space(given: dict[str, Any], machines: Sequence[Cluster]) -> PlanSpace:
    from yantra.explore.closed_form.on_stack import check_rates
    from yantra.explore.closed_form.space import PlanSpace

    try:
        space = PlanSpace(**given)
    except ConfigError as error:
        raise ConfigError(_flag(error.where), error.problem) from None
    for one in machines:
        check_rates(one, space.dtype, "--dtype")
    return space


def _note(report: Tell | None, done: int, clusters: int) -> Callable[[str], None]:
    def tell(note: str) -> None:
        if report is not None:
            report(done, clusters, note)

    return tell


def _limits(ranks: int | None, budget: str | None, power: str | None) -> dict[str, float]:
    from yantra.base import units

    if (ranks is None) == (budget is None and power is None):
        raise ConfigError("--ranks", "give --ranks, or in its place --budget, --power or both")
    limits = {}
    if budget is not None:
        limits["usd_per_h"] = units.parse(budget, "price", "USD/h", "--budget")
    if power is not None:
        limits["power_w"] = units.parse(power, "power", "W", "--power")
    return limits


def _moved(allow: dict[str, str], chosen: dict[str, Any]) -> dict[str, str]:
    for name in chosen.keys() & allow.keys():
        if chosen[name] is not None:
            problem = f"{name} is given by {_flag(name)}, too; give one of the two"
            raise ConfigError("--allow", problem)
        chosen[name] = allow[name]
    for name in _HELD.keys() & allow.keys():
        try:
            chosen[name] = click.types.convert_type(_HELD[name]).convert(allow[name], None, None)
        except click.BadParameter as error:
            raise ConfigError("--allow", f"{name}: {error.message}") from None
    return {name: text for name, text in allow.items() if name not in chosen}


def _others(allow: dict[str, str]) -> dict[str, tuple[Any, ...]]:
    from yantra.explore.answers.refine import REFINED, read_choice

    for name in allow.keys() - REFINED:
        known = (*_FIELDS, *REFINED)
        expected = expected_got(f"one of {', '.join(known)}", name)
        raise ConfigError("--allow", expected + did_you_mean(name, known))
    return {name: read_choice(name, text, "--allow") for name, text in allow.items()}


def _priced(name: str, price: str | None) -> Cluster:
    from yantra.base import units
    from yantra.fabric import clusters
    from yantra.fabric.clusters.ownership import priced

    machine = clusters.load(name)
    if price is None:
        return machine
    value = units.parse(price, "price", "USD/h", "--price")
    if not value > 0:
        raise ConfigError("--price", expected_got("a price above 0 USD/h", price))
    return priced(machine, value, price)


def _values(name: str, text: str, where: str) -> tuple[Any, ...]:
    words = text.split(",")
    if name.replace("_", "-") in _NAMES:
        return tuple(words)
    if name.replace("_", "-") in _SWITCHES:
        known = {"true": True, "false": False}
        if not all(word in known for word in words) or len(set(words)) < len(words):
            raise ConfigError(where, expected_got("true, false, or true,false", text))
        return tuple(known[word] for word in words)
    if not all(is_whole(word.strip()) for word in words):
        raise ConfigError(where, expected_got("whole numbers such as 1,2,4", text))
    return tuple(int(word) for word in words)
