"""Rules: each amount of a job's passes as a sum of shares that settings determine.

A component is what jobs of one family and ZeRO stage, with experts over ranks or not, share.
Trade-off: one job does not tell which setting drives an amount; then the usual one does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from yantra.synth.law import Law
from yantra.synth.motifs import Motif, grammar_of
from yantra.synth.observe import Observed
from yantra.synth.passes import BACKWARD, DENSE, END, FORWARD, LATE, START, Call, Passes, Used
from yantra.synth.settings import (
    FEATURES,
    MESSAGE,
    Settings,
    job_features,
    stage_features,
)
from yantra.synth.solve import solve

_SHARES = (1 / 16, 1 / 4, 1, 4)
CLASSES = len(_SHARES) + 1
"""Of operators, by operations a byte, between these shares of `DENSE`."""

AMOUNTS = ("ops", "bytes", "light", "ns")

WORK = ("ns", *(f"{name} {n}" for n in range(CLASSES) for name in ("ops", "bytes")))
_UNUSUAL = 30.0
_USUAL = {
    FORWARD: ("layer tokens/tp",),
    BACKWARD: ("layer tokens/tp",),
    END: ("layer weights/tp",),
    START: ("layer weights/tp",),
    LATE: ("layer weights/tp",),
}
_SPLITS = ("tp", "cp", "pp", "dp", "ep")
AXES = (*_SPLITS, "etp", "edp")


class CallLaw(NamedTuple):
    """`Used` by law; `beside` and `place` by position of the stage; `after` of all."""

    calls: Law
    size: Law
    beside: dict[str, float]
    place: dict[str, float]
    after: float


class Component(NamedTuple):
    """`seen`: the values of each setting, sorted, so that no job's are together."""

    jobs: int
    seen: dict[str, list[int | str]]
    work: dict[str, Law]
    calls: dict[Call, CallLaw]
    messages: dict[str, Law]
    grammar: dict[str, list[Motif]]

    def amounts(
        self, kind: str, features: Sequence[float], factors: Mapping[str, float] | None = None
    ) -> dict[str, float]:
        """Work of a pass, by `AMOUNTS`: each class is dense or not as its sums are."""
        found = dict.fromkeys(AMOUNTS, 0.0)
        given = {}
        for name in WORK:
            key = f"{kind} {name}"
            if key in self.work:
                given[name] = self.work[key].at(features) * (factors or {}).get(key, 1.0)
        found["ns"] = given.get("ns", 0.0)
        for n in range(CLASSES):
            ops, moved = (given.get(f"{name} {n}", 0.0) for name in ("ops", "bytes"))
            if ops >= DENSE * moved:
                found["ops"] += ops
                found["bytes"] += moved
            else:
                found["light"] += moved
        return found

    def has(self, axis: str) -> bool:
        """Whether a job split along an axis."""
        return any(value != 1 for value in self.seen[axis])


class Rules(NamedTuple):
    """A component counts as often as it has jobs."""

    tier: str
    components: list[Component]


def fit(jobs: Iterable[Observed], tier: str = "rules") -> Rules:
    """Solve for the rules of jobs."""
    kinds: dict[tuple[str, int, bool], list[Observed]] = defaultdict(list)
    for job in jobs:
        kinds[job.family, job.settings.zero, job.settings.ep > 1].append(job)
    return Rules(tier, [_component(some, tier) for some in kinds.values()])


def position(stage: int, pp: int) -> str:
    if pp == 1:
        return "only"
    return "first" if stage == 0 else "last" if stage == pp - 1 else "middle"


def at_position(values: dict[str, float], where: str) -> float:
    """Else the mean of the others."""
    return values[where] if where in values else sum(values.values()) / max(len(values), 1)


def _component(jobs: list[Observed], tier: str) -> Component:
    rows = [
        stage_features(job.settings, n, job.layers) for job in jobs for n in range(len(job.stages))
    ]
    work = {}
    stages = [stage for job in jobs for stage in job.stages]
    for kind in (FORWARD, BACKWARD, END):
        for name, values in _values(kind, stages).items():
            if any(values):
                work[f"{kind} {name}"] = Law(*solve(rows, values, _cost(kind, FEATURES)))
    messages = {}
    for kind in (FORWARD, BACKWARD):
        piped = [job for job in jobs if job.settings.pp > 1]
        sizes = [max(s.messages.get(kind, 0.0) for s in job.stages) for job in piped]
        if any(sizes):
            given = [job_features(job.settings) for job in piped]
            messages[kind] = Law(*solve(given, sizes, [1.0, 1.0, _UNUSUAL, _UNUSUAL]))
    words = sorted({call for job in jobs for stage in job.stages for call in stage.calls})
    calls = {call: _call_law(call, jobs) for call in words}
    settings = [job.settings._asdict() for job in jobs]
    seen = {name: sorted(one[name] for one in settings) for name in Settings._fields}
    grammar = {}
    if tier == "grammar":
        cost = [1.0 if name in _COUNTS else _UNUSUAL for name in FEATURES]
        for kind in (FORWARD, BACKWARD, END):
            found = [stage.rows.get(kind, []) for job in jobs for stage in job.stages]
            grammar[kind] = grammar_of(found, rows, cost)
    return Component(len(jobs), seen, work, calls, messages, grammar)


def _values(kind: str, stages: Sequence[Passes]) -> dict[str, list[float]]:
    """Of each stage, by names of `WORK`."""
    found = {name: [0.0] * len(stages) for name in WORK}
    found["ns"] = [stage.work.get(kind, {}).get("ns", 0.0) for stage in stages]
    sums: dict[str, tuple[float, float]] = {}
    for stage in stages:
        for word, (ops, moved) in stage.kinds.get(kind, {}).items():
            before = sums.get(word, (0.0, 0.0))
            sums[word] = before[0] + ops, before[1] + moved
    for at, stage in enumerate(stages):
        for word, (ops, moved) in stage.kinds.get(kind, {}).items():
            all_ops, all_moved = sums[word]
            n = sum(all_ops >= DENSE * share * all_moved for share in _SHARES)
            found[f"ops {n}"][at] += ops
            found[f"bytes {n}"][at] += moved
    return found


def _call_law(call: Call, jobs: list[Observed]) -> CallLaw:
    rows, calls, sizes = [], [], []
    beside: dict[str, list[float]] = defaultdict(list)
    place: dict[str, list[float]] = defaultdict(list)
    whole = is_whole(call)
    nothing = Used(0.0, 0.0, 0.0, 0.0, 0.0)
    after = 0.0
    for job in jobs:
        if not any(call in stage.calls for stage in job.stages):
            if spans(job.settings, call):
                rows.append(job_features(job.settings) if whole else _mean_row(job))
                calls.append(0.0)
                sizes.append(0.0)
            continue
        for n, stage in enumerate(job.stages):
            used = stage.calls.get(call, nothing)
            if used.calls:
                where = position(n, job.settings.pp)
                beside[where].append(used.beside)
                place[where].append(used.place)
                after = max(after, used.after)
            if whole and not used.calls:
                continue
            given = job_features(job.settings)
            rows.append(given if whole else stage_features(job.settings, n, job.layers))
            calls.append(used.calls)
            sizes.append(used.size)
    names = MESSAGE if whole else FEATURES
    cost = _cost(call.when, names, "tokens" if "tp" in call.axes else "")
    often = [1.0 if name in _COUNTS else _UNUSUAL for name in names]
    return CallLaw(
        Law(*solve(rows, calls, often)),
        Law(*solve(rows, sizes, cost)),
        {where: sum(some) / len(some) for where, some in beside.items()},
        {where: sum(some) / len(some) for where, some in place.items()},
        after,
    )


_COUNTS = ("layer weights", "first weights", "last weights", "one")


def _mean_row(job: Observed) -> list[float]:
    rows = [stage_features(job.settings, n, job.layers) for n in range(len(job.stages))]
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def is_whole(call: Call) -> bool:
    """Whether stages make it together, so that its size is the job's."""
    return "pp" in call.axes.removeprefix("ends:").split("+")


def spans(settings: Settings, call: Call) -> bool:
    """Whether a call's group has more than one rank."""
    sizes = sizes_of(settings)
    return any(sizes[axis] > 1 for axis in call.axes.removeprefix("ends:").split("+"))


def sizes_of(settings: Settings) -> dict[str, int]:
    """Ranks along each axis of both views."""
    sizes = {axis: getattr(settings, axis) for axis in _SPLITS}
    return sizes | {"etp": 1, "edp": settings.tp * settings.cp * settings.dp // settings.ep}


def _cost(kind: str, names: Sequence[str], more: str = "") -> list[float]:
    usual = {*_USUAL[kind], f"layer {more}", "one"}
    return [1.0 if name in usual else _UNUSUAL for name in names]


def lacks(component: Component, settings: Settings) -> str:
    """What no job of a component had; empty if nothing."""
    for axis in _SPLITS:
        if getattr(settings, axis) > 1 and not component.has(axis):
            return f"{axis} > 1"
    if component.seen["zero"][0] != settings.zero:
        return f"zero {settings.zero}"
    return "ep 1" if settings.ep == 1 and component.has("ep") else ""
