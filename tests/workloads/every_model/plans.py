"""Legal plans on 8 to 64 ranks for the known models, and a few that represent them.

Plans are drawn field by field from a fixed seed; one that a model does not allow loses the fields
that its broken rules name. Of a stream of them, `covering` takes those that bring new pairs of
values together: most faults need no more than two fields to show (Kuhn et al., "Software fault
interactions and implications for software testing", IEEE TSE 2004).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations, count, islice
from random import Random
from typing import Any, NamedTuple

from yantra.workloads.models import catalogue
from yantra.workloads.models.blocks.resnet import Bottleneck
from yantra.workloads.models.model import Model
from yantra.workloads.plan.check import Facts, facts_of, problems
from yantra.workloads.plan.plan import Plan

RANKS = range(8, 65)
_VALUES: dict[str, tuple[Any, ...]] = {
    "tp": (1, 2, 2, 3, 4, 8),
    "cp": (1, 1, 2, 4),
    "pp": (1, 2, 2, 4, 8),
    "dp": (1, 2, 4, 6, 8, 16),
    "ep": (1, 2, 4, 8),
    "etp": (1, 1, 2),
    "sequence_parallel": (None, None, False),
    "cp_kind": ("p2p", "all_gather", "a2a"),
    "zero": (0, 1, 2, 3),
    "shard": (None, None, 2, 4),
    "reshard_after_forward": (True, False),
    "prefetch": (1, 2),
    "micro_batch": (1, 2),
    "recompute": ("none", "selective", "operators", "full"),
    "dtype": ("bf16", "fp16", "fp32", "fp8"),
    "gradient_dtype": ("fp32", "bf16"),
    "optimizer": ("adam", "sgd"),
    "order": ("tp-cp-ep-dp-pp", "tp-pp-dp", "tp-cp-ep-pp-dp"),
    "overlap_gradients": (True, False),
    "overlap_parameters": (True, False),
    "overlap_p2p": (True, False),
    "overlap_tensor": (True, False),
    "overlap_experts": ("none", "none", "1f1b"),
    "dispatch": ("once", "each"),
    "gather_again": (True, False),
    "messages": ("whole", "sliced", "scattered"),
    "bucket_elements": (None, 50_000_000),
    "offload_optimizer": (False, True),
    "offload_activations": (False, True),
    "flash_attention": (True, False),
    "dropout": (False, True),
    "fused_loss": (True, False),
    "routing": ("uniform", "zipf:1.2"),
    "capacity_factor": (None, 1.25),
}
_SCHEDULES = (
    ("1f1b", 1),
    ("gpipe", 1),
    ("interleaved", 2),
    ("interleaved", 3),
    ("interleaved-rounds", 2),
    ("zb-h1", 1),
    ("zb-h2", 1),
    ("zb-v", 2),
    ("dualpipe", 1),
    ("dualpipev", 2),
)
_SPREAD = (1, 2, 3)
"""Micro-batches of a step, as multiples of what the schedule likes: twice the stages."""


class Trial(NamedTuple):
    """A plan of a model; `layers` is how many it keeps, all if None."""

    name: str
    plan: Plan
    layers: int | None = None

    @property
    def model(self) -> Model:
        whole = _model(self.name)
        kept = len(whole.layers) if self.layers is None else self.layers
        if kept >= len(whole.layers) or any(isinstance(one, Bottleneck) for one in whole.layers):
            return whole
        first = (self.layers + 1) // 2
        last = len(whole.layers) - (self.layers - first)
        return whole.replace(layers=whole.layers[:first] + whole.layers[last:])

    @property
    def work(self) -> int:
        layers = len(self.model.layers)
        return self.plan.ranks * self.plan.micro_batches * -(-layers // self.plan.pp)

    def __str__(self) -> str:
        usual = Plan(tp=self.plan.tp)
        changed = {
            field: value
            for field, value in vars(self.plan).items()
            if value != getattr(usual, field) or field == "tp"
        }
        layers = "" if self.layers is None else f", {self.layers} layers"
        return f"{self.name}{layers}: " + " ".join(f"{k}={v}" for k, v in changed.items())


def trials(seed: int = 1, *, full: bool = False, most_work: int = 2000) -> Iterator[Trial]:
    """Yield legal plans without end, all models in turn; `full` keeps all of their layers.

    Without it a chunk of the pipeline has 1 to 3 layers. Plans of more than `most_work` layers,
    over micro-batches and ranks, are passed over.
    """
    dice = Random(seed)
    while True:
        for name in catalogue.names():
            drawn = (
                _legal(name, None if full else dice.choice((1, 1, 2, 3)), dice) for _ in count()
            )
            yield next(trial for trial in drawn if trial.work <= most_work)


def covering(stream: Iterable[Trial], draws: int, most: int) -> list[Trial]:
    """Return up to `most` of the first `draws` trials, those with the most new pairs first."""
    open_ = {trial: pairs(trial) for trial in islice(stream, draws)}
    covered: set[Any] = set()
    chosen: list[Trial] = []
    while open_ and len(chosen) < most:
        best = max(open_, key=lambda trial: len(open_[trial]))
        new = open_.pop(best)
        if not new:
            break
        chosen.append(best)
        covered |= new
        for trial in open_:
            open_[trial] -= new
    return chosen


def pairs(trial: Trial) -> set[Any]:
    """Return the pairs of values that a trial brings together, where they mean something."""
    plan = trial.plan
    told = {field: getattr(plan, field) for field in _VALUES} | {"model": trial.name}
    told["schedule"] = plan.schedule if plan.pp > 1 else "one stage"
    if plan.cp == 1:
        del told["cp_kind"]
    if plan.zero < 3:
        del told["reshard_after_forward"], told["prefetch"]
    if plan.dp * plan.cp == 1:
        told["zero"] = 0
        del told["overlap_gradients"], told["bucket_elements"]
    if plan.tp == 1:
        del told["sequence_parallel"], told["overlap_tensor"]
    if plan.pp == 1 or plan.tp == 1:
        del told["messages"]
    if plan.pp == 1:
        del told["overlap_p2p"]
    del told["shard"]
    told["copies"] = min(plan.replicas, 2)
    return set(combinations(sorted((field, str(value)) for field, value in told.items()), 2))


def _legal(name: str, layers: int | None, dice: Random) -> Trial:
    while True:
        drawn: dict[str, Any] = {field: dice.choice(of) for field, of in _VALUES.items()}
        drawn["schedule"], drawn["vpp"] = dice.choice(_SCHEDULES)
        spread = dice.choice(_SPREAD)
        kept = None if layers is None else layers * drawn["pp"] * drawn["vpp"]
        plan = _without_broken(drawn, spread, facts(name, kept), _model(name).sequence)
        if plan is not None and plan.ranks in RANKS:
            return Trial(name, plan, kept)


def _without_broken(drawn: dict[str, Any], spread: int, sizes: Facts, sequence: int) -> Plan | None:
    usual = vars(Plan())
    for _ in range(len(drawn)):
        batch = 2 * drawn["pp"] * spread * drawn["micro_batch"] * drawn["dp"]
        plan = Plan(**drawn, global_batch=batch)
        broken = {rule.field for rule in problems(plan, sizes, sequence)}
        if not broken:
            return plan
        for field in broken & drawn.keys():
            if field in ("schedule", "vpp"):
                drawn |= {"schedule": "1f1b", "vpp": 1}
            elif field == "sequence_parallel":
                drawn[field] = not plan.sequence_parallel
            else:
                drawn[field] = usual[field]
    return None


@cache
def facts(name: str, layers: int | None) -> Facts:
    return facts_of(Trial(name, Plan(), layers).model)


@cache
def _model(name: str) -> Model:
    return catalogue.find(name)
