"""What ran: the job, its plan, the machine, the level of the network and the version of Yantra;
unknown is None.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import path as paths
from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.text import count
from yantra.compile import Model
from yantra.compile.templates import TemplateGraphs
from yantra.network import describe
from yantra.result.network import linked

if TYPE_CHECKING:
    from yantra.scenario import Scenario

_AXES = ("tp", "cp", "pp", "vpp", "ep", "dp")


class WhatRan(NamedTuple):
    """What ran; `job` is training, or the phase of inference.

    `plan` and `load` are in words: `tp 8, pp 4, dp 2` and `32 x 8192 tokens`.
    """

    model: str | None
    job: str | None
    plan: str | None
    load: str | None
    dtype: str | None
    cluster: str | None
    topology: str
    ranks: int
    network: str
    semantics: str
    yantra_version: str
    fabric: str | None = None

    @property
    def clauses(self) -> tuple[str, ...]:
        where = f"on {self.cluster}" if self.cluster else self.topology
        ranks = count(self.ranks, "rank")
        job = [" ".join(filter(None, (self.model, self.job))), self.plan, self.load, self.dtype]
        machine = [f"{ranks} {where}" if self.cluster else f"{ranks}, {where}"]
        over = f" over {self.fabric}" if self.fabric else ""
        machine.append(f"{self.network} network{over}")
        if self.semantics != "yantra":
            machine.append(f"{self.semantics} semantics")
        machine.append(f"Yantra {self.yantra_version}")
        return tuple(", ".join(filter(None, part)) for part in (job, machine) if any(part))

    @property
    def text(self) -> str:
        return "; ".join(self.clauses)

    @property
    def short(self) -> str:
        job = ", ".join(filter(None, (self.model, self.plan)))
        where = self.cluster or self.topology
        return f"{job} on {where}" if job else where

    def as_dict(self) -> dict[str, Any]:
        known = {name: value for name, value in self._asdict().items() if value is not None}
        return known | {"text": self.text}


def what_ran(model: Model) -> WhatRan:
    from yantra import __version__

    scenario = model.scenario
    about = about_of(model)
    plan = plan_of(about)
    return WhatRan(
        model=_text(about, "model"),
        job=_text(about, "phase") or _text(about, "kind"),
        plan=_plans(about),
        load=_load(about),
        dtype=_text(plan, "dtype"),
        cluster=scenario.machine.name,
        topology=" x ".join(map(linked, scenario.topology.dimensions)),
        ranks=model.ranks,
        network=_network(scenario),
        semantics=scenario.semantics,
        yantra_version=__version__,
        fabric=_fabric(scenario),
    )


def _fabric(scenario: Scenario) -> str | None:
    if scenario.fabric is None:
        return None
    from yantra.fabric.graphs import builders, files

    kind = scenario.fabric.kind
    is_path = isinstance(kind, str) and files.is_file(kind)
    return paths.basename(str(kind)) if is_path else builders.shown(kind)


def about_of(model: Model) -> Mapping[str, Any]:
    graphs = model.graphs
    about = graphs.workload.about if isinstance(graphs, TemplateGraphs) else {}
    return about if isinstance(about, dict) else {}


def plan_of(about: Mapping[str, Any]) -> Mapping[str, Any]:
    plan = about.get("plan", about.get("prefill_plan"))
    return plan if isinstance(plan, dict) else {}


def whole(of: Mapping[str, Any], name: str) -> int | None:
    value = of.get(name)
    return value if type(value) is int and value > 0 else None


def _text(of: Mapping[str, Any], name: str) -> str | None:
    value = of.get(name)
    return value if isinstance(value, str) and value.isprintable() and value else None


def _plans(about: Mapping[str, Any]) -> str | None:
    if isinstance(about.get("decode_plan"), dict):
        parts = (about.get(f"{name}_plan") for name in ("prefill", "decode"))
        told = [_plan(part) for part in parts if isinstance(part, dict)]
        return " and ".join(told)
    plan = plan_of(about)
    return _plan(plan) if plan else None


def _plan(plan: Mapping[str, Any]) -> str:
    return ", ".join(_choices(plan)) or "one device"


def _choices(plan: Mapping[str, Any]) -> Iterator[str]:
    for axis in _AXES:
        if (whole(plan, axis) or 1) > 1:
            yield f"{axis} {plan[axis]}"
    if whole(plan, "zero"):
        yield f"zero {plan['zero']}"
    if whole(plan, "lora_rank"):
        yield f"lora {plan['lora_rank']}"
    schedule = _text(plan, "schedule")
    if schedule and (whole(plan, "pp") or 1) > 1:
        yield schedule
    again = _text(plan, "recompute")
    if again and again != "none":
        yield f"recompute {again}"


def _load(about: Mapping[str, Any]) -> str | None:
    if about.get("kind") == "training":
        batch, sequence = whole(plan_of(about), "global_batch"), whole(about, "sequence")
        steps = whole(plan_of(about), "steps") or 1
        times = f"{steps} steps of " if steps > 1 else ""
        return f"{times}{batch} x {sequence} tokens" if batch and sequence else None
    batch, prompt, context = (whole(about, name) for name in ("batch", "prompt", "context"))
    if not batch:
        return None
    if about.get("phase") == "decode":
        return f"{count(batch, 'sequence')} after {context} tokens" if context else None
    if about.get("phase") == "mixed":
        prompts = count(whole(about, "prompts") or 0, "prompt")
        return f"{count(batch, 'sequence')} and {prompts} of {prompt} tokens"
    before = f" after {context}" if context else ""
    return f"{batch} x {prompt} tokens{before}" if prompt else None


def _network(scenario: Scenario) -> str:
    tiers = [f"{name} {network}" for name, network in scenario.tier_networks]
    return ", ".join([describe(scenario.network), *tiers])
