"""What the controls of the page say, as a run or a search over plans."""

from __future__ import annotations

from typing import Any, NamedTuple

from yantra.base.errors import ConfigError, UnsupportedError, did_you_mean, expected_got
from yantra.base.text import count, format_bytes
from yantra.base.units import format_time
from yantra.base.whole_numbers import whole
from yantra.explore.answers.best import best_plans
from yantra.explore.closed_form.on_stack import parts_for
from yantra.explore.closed_form.space import PlanSpace
from yantra.fabric import clusters
from yantra.result import Result
from yantra.run.simulate import run as rerun
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates
from yantra.workloads.models import catalogue
from yantra.workloads.plan.plan import CHOICES as DTYPES
from yantra.workloads.plan.plan import Dtype, Plan
from yantra.workloads.training.train import train

MOST_RANKS = 131_072
CHOICES: dict[str, tuple[str, ...]] = {
    "zero": ("0", "1", "2", "3"),
    "recompute": ("none", "selective", "full"),
    "dtype": DTYPES["dtype"],
}
"""The controls that are one of a few; `dtype` is that of the job, not of its plan."""
NUMBERS = {
    "ranks": "8",
    "global_batch": "16",
    "sequence": "",
    "tp": "4",
    "pp": "1",
    "vpp": "1",
    "cp": "1",
    "ep": "1",
    "micro_batch": "1",
}
"""The controls that are whole numbers, with what they begin with; only `sequence` may be empty."""

POWERS = {
    "ranks": (0, 17),
    "global_batch": (0, 14),
    "sequence": (8, 17),
    "tp": (0, 6),
    "pp": (0, 6),
    "vpp": (0, 4),
    "cp": (0, 6),
    "ep": (0, 8),
    "micro_batch": (0, 6),
}
"""The powers of two over which the slider of a number goes; other numbers are typed."""

_SPLIT = ("tp", "pp", "vpp", "cp", "ep", "zero", "micro_batch", "recompute")
_BEST = 5
_MOST_RECORDED = 256 << 20


class Job(NamedTuple):
    """A training step as the controls describe it; `sequence` is None for the model's usual."""

    model: str
    cluster: str
    recompute: str
    zero: int
    ranks: int
    global_batch: int
    sequence: int | None
    tp: int
    pp: int
    vpp: int
    cp: int
    ep: int
    micro_batch: int
    dtype: Dtype

    def plan(self) -> Plan:
        """Return the plan; ranks that tensors, context and pipeline leave are replicas."""
        inner = self.tp * self.pp * self.cp
        if self.ranks % inner:
            raise ConfigError("ranks", f"{self.ranks} is no multiple of tp x pp x cp = {inner}")
        names = {name: getattr(self, name) for name in _SPLIT}
        batch, dtype = self.global_batch, self.dtype
        return Plan(dp=self.ranks // inner, global_batch=batch, dtype=dtype, **names)


def read(form: Any) -> Job:
    """Return the job of a form, which may hold anything. Raises ConfigError with the control."""
    if not isinstance(form, dict):
        raise ConfigError("form", expected_got("an object", form))
    wanted = {"model": catalogue.names(), "cluster": clusters.names(), **CHOICES}
    found: dict[str, Any] = {}
    for name, known in wanted.items():
        value = form.get(name)
        if not isinstance(value, str) or value not in known:
            hint = did_you_mean(str(value), known) or f", one of {', '.join(known)}"
            raise ConfigError(name, expected_got("a known name", value) + hint)
        found[name] = int(value) if name == "zero" else value
    for name in NUMBERS:
        found[name] = _number(name, form.get(name))
    if found["ranks"] > MOST_RANKS:
        raise ConfigError("ranks", f"at most {MOST_RANKS} here; yantra run takes more")
    return Job(**found)


def _number(name: str, text: Any) -> int | None:
    if name == "sequence" and text == "":
        return None
    number = whole(text) if isinstance(text, str) else None
    if number is None or not 0 < number < 2**31:
        raise ConfigError(name, expected_got("a whole number above 0", text))
    return number


def run(job: Job) -> Result:
    """Run a job."""
    machine = clusters.load(job.cluster)
    parts = parts_for(machine, job.ranks, job.dtype)
    has, kept = machine.memory_bytes, machine.reserve_bytes
    workload = train(job.model, job.plan(), job.sequence, memory_bytes=has, reserve_bytes=kept)
    return simulate(Scenario(workload=Templates(workload=workload), **parts))


def recorded(result: Result) -> Result:
    """Return the same run recorded, for its critical path; as it is where that takes too much."""
    try:
        return rerun(result.model, record=_MOST_RECORDED)
    except UnsupportedError:
        return result


def answer(result: Result) -> dict[str, Any]:
    """Return what the page shows of a run, in words."""
    parts = [(gain.text, gain.ticks) for gain in result.gains or ()]
    whole = max(result.outcome.finish) or 1
    return {
        "time": format_time(result.makespan_ns),
        "ran": result.what_ran.text,
        "bound": result.bound_by.sentence(),
        "figures": result.figures.lines(),
        "gains": [
            [text, ticks / whole]
            for text, ticks in sorted(parts, key=lambda part: -part[1])
            if ticks / whole >= 0.001
        ],
        "warnings": result.warnings,
    }


def best(job: Job) -> dict[str, Any]:
    """Return the best plans for the model, cluster, ranks and batch, whatever plan is set."""
    space = PlanSpace(
        ranks=job.ranks,
        global_batch=job.global_batch,
        sequence=job.sequence,
        dtype=job.dtype,
        recompute=CHOICES["recompute"],
        etp=(1,),  # for which the page has no control, nor for the rest
        gradient_dtype=("fp32",),
        embedding_as_layer=(False,),
        loss_as_layer=(False,),
    )
    found = best_plans(catalogue.find(job.model), job.cluster, space, top=_BEST, refined=False)
    return {
        "judged": f"{count(found.legal, 'legal plan')}, {found.fitting} fit, "
        f"{found.simulated} simulated",
        "plans": [
            {
                "time": format_time(one.time_ns),
                "mfu": "" if one.mfu is None else f"{100 * one.mfu:.1f} %",
                "memory": format_bytes(one.memory_bytes),
                "set": {name: str(getattr(one.plan, name)) for name in _SPLIT},
            }
            for one in found.ranked
        ],
    }
