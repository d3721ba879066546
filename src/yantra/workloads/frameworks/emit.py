"""The files that start a plan in a framework, read back before they are handed over."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError, did_you_mean, expected_got, show
from yantra.workloads.frameworks import hugging_face, megatron, nemo, torchtitan
from yantra.workloads.frameworks.launch import Nodes, kubernetes, nodes_of, slurm
from yantra.workloads.frameworks.recognise import read
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.model import Model
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan.plan import Plan

Write = Callable[[Transformer, Plan, int, Nodes], Mapping[str, str]]


class Start(NamedTuple):
    """Files by name, and the one that starts the job, which is read back, too."""

    files: Mapping[str, str]
    command: str
    reads: str


def _megatron(model: Transformer, plan: Plan, sequence: int, nodes: Nodes) -> dict[str, str]:
    return {"train.sh": megatron.script(model, plan, sequence, nodes)}


class Framework(NamedTuple):
    """Its name, what it writes (the first file is read back), and what it can say of plans."""

    called: str
    write: Write
    says: Mapping[str, tuple[Any, ...]]


FRAMEWORKS: Mapping[str, Framework] = {
    "megatron": Framework(megatron.PROGRAM, _megatron, megatron.SAYS),
    "nemo": Framework(nemo.PROGRAM, nemo.files, nemo.SAYS),
    "torchtitan": Framework(torchtitan.PROGRAM, torchtitan.files, torchtitan.SAYS),
    "deepspeed": Framework(hugging_face.PROGRAM, hugging_face.files, hugging_face.SAYS),
}


_STACKS = {"megatron": "megatron", "primus": "megatron", "nemo": "nemo"}
"""Frameworks by how the names of their stacks begin."""


def schedules_on(stack: str) -> tuple[str, tuple[str, ...]]:
    """Return the framework of a stack and the schedules that it has; of others nothing."""
    name = _STACKS.get(stack.partition("-")[0], "")
    return (name, FRAMEWORKS[name].says["schedule"]) if name else ("", ())


def check_name(framework: str) -> None:
    """Raises ConfigError for a framework that nothing is written for."""
    if framework not in FRAMEWORKS:
        hint = did_you_mean(framework, FRAMEWORKS)
        expected = expected_got(f"one of {', '.join(FRAMEWORKS)}", framework)
        raise ConfigError("--emit", expected + hint)


def emit(
    framework: str,
    described: Transformer | Model,
    plan: Plan,
    sequence: int | None = None,
    devices: int = 8,
    *,
    any_layout: bool = False,
) -> Start:
    """Write a plan for a framework, nodes having at most `devices`.

    `any_layout` is the cluster's. Raises ConfigError that names the field for what the framework
    has no word for.
    """
    check_name(framework)
    called, write, _ = FRAMEWORKS[framework]
    if isinstance(described, Model):
        problem = f"{called} has no words for a model of blocks; expected sizes of a transformer"
        raise ConfigError(described.name, problem)
    length = sequence or described.seq_length
    nodes = nodes_of(plan.ranks, devices)
    files = dict(write(described, plan, length, nodes))
    first = next(iter(files))
    _check(called, files, described, plan, length, any_layout)
    name = re.sub(r"[^a-z0-9]+", "-", f"{framework}-{described.name}".lower())
    wrapped = {"kubernetes.yaml": kubernetes(name, nodes, files, "train.sh")}
    wrapped["slurm.sh"] = slurm(name, nodes, "train.sh")
    return Start(files | wrapped, "bash train.sh", first)


def _check(
    called: str,
    files: Mapping[str, str],
    described: Transformer,
    plan: Plan,
    length: int,
    any_layout: bool,
) -> None:
    from yantra.workloads.job_file import request_of, resolve
    from yantra.workloads.plan.precision import for_machine

    name, text = next(iter(files.items()))
    tree = read(text, name, files, quiet=True)
    job = resolve(request_of(tree, name, ""))
    plan, back = _meant(plan), _meant(for_machine(job.plan, any_layout=any_layout))
    for field in Plan.field_names:
        _same(f"plan.{field}", getattr(plan, field), getattr(back, field), called)
    _same("sequence", length, job.sequence, called)
    wanted = model_of(described)
    for part in ("front", "layers", "tail"):
        _same(f"model {described.name}", getattr(wanted, part), getattr(job.model, part), called)


def _meant(plan: Plan) -> Plan:
    """Without what changes nothing: weights that are whole are not gathered."""
    return plan if plan.zero else plan.replace(overlap_parameters=True)


def _same(field: str, wanted: Any, got: Any, called: str) -> None:
    if wanted == got:
        return
    problem = f"{called} has no argument for {show(wanted)}; what it can say is {show(got)}"
    if isinstance(got, str | int | bool):
        said = str(got).lower() if isinstance(got, bool) else got
        name = field.removeprefix("plan.")
        problem += f" (--dtype {said})" if name == "dtype" else f" (--allow {name}={said})"
    if field.startswith("model"):
        problem = f"{called} builds it otherwise; it has no arguments for these layers"
    raise ConfigError(field, problem)
