"""What a framework's file says of a job."""

from __future__ import annotations

from collections.abc import Mapping
from math import lcm
from typing import Any, NamedTuple

from yantra.base.notes import note
from yantra.base.open_values import Open, Taken
from yantra.base.shell import NODE
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan import names
from yantra.workloads.plan.plan import Plan

_MOST_NAMED = 8
_WORDS = ("name", "source", "notes")


class Said(NamedTuple):
    """A job in the words of job files; `ignored` costs nothing, `notes` are assumptions."""

    framework: str
    model: Any
    plan: Mapping[str, Any]
    sequence: int | None = None
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def tree(self, where: str) -> dict[str, Any]:
        """It as a job file; notes name what was ignored and assumed."""
        plan = {name: value for name, value in self.plan.items() if value is not None}
        told = list(self.notes)
        if (said := _ranks_of(plan)) is None or said % _least(plan):
            for name in ("ranks", "world_size", "dp"):
                plan.pop(name, None)
            plan["ranks"] = Taken(_node_of(plan))
            is_said = f"starts on {said} devices, which its plan does not divide"
            missing = "does not say on how many devices it starts" if said is None else is_said
            told.append(
                f"{missing}; taken as {plan['ranks']} (--set workload.plan.ranks=N says another "
                "number)"
            )
        if self.ignored:
            rest = len(self.ignored) - _MOST_NAMED
            more = f" and {rest} more" if rest > 0 else ""
            shown = ", ".join(self.ignored[:_MOST_NAMED])
            told.append(f"ignored, as it changes no time: {shown}{more}")
        for text in told:
            note(f"{where}: {text}")
        tree = {"plan": plan, "framework": self.framework}
        if self.model is not None:
            tree["model"] = self.model
        return tree if self.sequence is None else tree | {"sequence": self.sequence}


def sizes_of(model: Transformer) -> dict[str, Any]:
    """A transformer as the sizes of a job file, without those that it has anyway."""
    own = {field: getattr(model, field) for field in model.field_names if field not in _WORDS}
    found = {field: value for field, value in own.items() if value != _default(field)}
    return {f: list(v) if isinstance(v, tuple) else v for f, v in found.items()}


def _default(field: str) -> Any:
    return Transformer.__dict__.get(field)


def _ranks_of(plan: Mapping[str, Any]) -> int | None:
    for name in ("ranks", "world_size"):
        if name in plan:
            ranks: int = plan[name]
            return ranks
    if "dp" not in plan:
        return None
    return _sizes(plan).ranks


def _sizes(plan: Mapping[str, Any]) -> Plan:
    return Plan.of(_stated(plan))


def _stated(plan: Mapping[str, Any]) -> dict[str, Any]:
    known = (pair for pair in plan.items() if not isinstance(pair[1], Open))
    return {name: value for name, value in known if name not in names.COMPUTED}


def _node_of(plan: Mapping[str, Any]) -> int:
    """The ranks of one node, as far as the global batch goes, or the fewest that the plan takes."""
    least, made = _least(plan), _sizes(plan)
    is_given = any(names.field_of(name) == "global_batch" for name in _stated(plan))
    micro_batches = made.global_batch // made.micro_batch
    for times in range(-(-NODE // least), 1, -1):
        copies = least * times // (made.tp * made.cp * made.pp)
        if not is_given or micro_batches % copies == 0:
            return least * times
    return least


def _least(plan: Mapping[str, Any]) -> int:
    """The fewest ranks of a plan; others are multiples."""
    made = _sizes(plan)
    copies = plan.get("data_parallel_replicate_degree") or 1
    copies *= plan.get("num_distributed_optimizer_instances") or 1
    return made.pp * lcm(made.tp * made.cp * copies, made.ep * made.etp)
