"""What a run draws: devices over time by `yantra.compute.power`, then what is around them.

A device works while a kernel of its trace runs, whose operations are the trace's; else, in exposed
communication and waiting, it draws its floor. Energy is the integral, to the end of the run. Hosts
and switches draw the same at all times, and the building PUE times all.

Trade-off: memory operations and collectives draw nothing of their own, and power follows work at
once: power supplies smooth what is shorter than they hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import repeat
from math import exp, fsum, hypot, log
from typing import Any, NamedTuple

import numpy as np

from yantra import _core
from yantra.compile import Model
from yantra.compute.power import UNJUDGED, Power
from yantra.result.tables import NEVER, NODE_TYPES
from yantra.scenario.power import law_of

J_PER_KWH = 3.6e6
PUBLISHED = "fleets"
"""The file of how long checkpoints and restarts take."""
PARTS = 20
"""Of a run, in its profile."""
_COMPUTE = NODE_TYPES.index("COMP")
_FIELDS = {
    "host": ("host_power_w", "cluster.machine.host_power"),
    "switch": ("switch_power_w", "cluster.machine.switch_power"),
    "pue": ("pue", "cluster.machine.pue"),
}


class Drawn(NamedTuple):
    """Power of equal devices over time: from `times_s[i]` on each draws `watts[i]`."""

    devices: int
    times_s: np.ndarray
    watts: np.ndarray

    def joules_to(self, times_s: np.ndarray) -> np.ndarray:
        """The energy of all of them from the start to some times within the run."""
        spent = np.cumsum(self.watts[:-1] * np.diff(self.times_s))
        found: np.ndarray = np.interp(times_s, self.times_s, np.concatenate([[0.0], spent]))
        return found * self.devices


class Phase(NamedTuple):
    """What a job does for so long, `times` in all, and the W of the building meanwhile."""

    name: str
    seconds: float
    watts: float
    times: float = 1.0

    @property
    def kwh(self) -> float:
        """Of all times."""
        return self.times * self.seconds * self.watts / J_PER_KWH

    def as_dict(self) -> dict[str, Any]:
        return self._asdict() | {"kwh": self.kwh}


class Energy(NamedTuple):
    """Joules of a run of `seconds`, and power in W; what nobody states is None.

    `profile_w` is the mean of each part of the run, `peak_w` and `least_w` of any moment, all of
    what the building draws, as far as it is known; `idle_w` likewise while all devices wait, as in
    a checkpoint or a restart. `unknown` names the inputs that are missing.
    """

    seconds: float
    devices: int
    device_j: float
    host_j: float | None
    switch_j: float | None
    pue: float | None
    profile_w: tuple[float, ...]
    peak_w: float
    least_w: float
    idle_w: float
    grid_g_per_kwh: float | None
    tokens: int | None
    interval: float
    unknown: tuple[str, ...]
    step_s: float | None = None
    """Of training."""

    @property
    def facility_j(self) -> float:
        """What the building draws; without what is unknown."""
        inside = self.device_j + (self.host_j or 0.0) + (self.switch_j or 0.0)
        return inside * (self.pue or 1.0)

    @property
    def carbon_g(self) -> float | None:
        """Grams of CO2 of the building's energy, at least if something is unknown."""
        grid = self.grid_g_per_kwh
        return None if grid is None else self.facility_j / J_PER_KWH * grid

    @property
    def phases(self) -> tuple[Phase, ...]:
        """A step of training, a checkpoint, and a restart, for as long as published ones take.

        Empty for other jobs. A checkpoint blocks while state goes to the host.
        """
        if self.step_s is None:
            return ()
        from yantra.fabric.failures import load

        of = load(PUBLISHED)
        low, high = of.restart_low.value, of.restart_high.value
        mean = low if low == high else (high - low) / log(high / low)  # of even logarithms
        return (
            Phase("step", self.step_s, self.facility_j / self.seconds),
            Phase("checkpoint", of.pause.value, self.idle_w),
            Phase("restart", mean, self.idle_w),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values; None for what is unknown."""
        told = self._asdict() | {"facility_j": self.facility_j, "carbon_g": self.carbon_g}
        told["facility_kwh"] = self.facility_j / J_PER_KWH
        if self.tokens:
            told["facility_j_per_token"] = self.facility_j / self.tokens
        told["phases"] = [one.as_dict() for one in self.phases]
        return told | {"profile_w": list(self.profile_w), "unknown": list(self.unknown)}


def device_joules(model: Model, outcome: _core.Outcome) -> float | None:
    """The energy of all devices of a run, None without a power."""
    each = [(one.devices, one._replace(devices=1)) for one in _drawn(model, outcome)]
    if not each:
        return None
    ends = ((count, float(one.joules_to(one.times_s[-1:])[0])) for count, one in each)
    return fsum(joules for count, one in ends for joules in repeat(one, count))  # as if unfolded


def energy(
    model: Model,
    outcome: _core.Outcome,
    tokens: int | None,
    step_ns: float | None,
    time: tuple[float, float] | None,
) -> Energy | None:
    """The energy of a run; `time` are the ends of the 90 % interval of its time, as shares.

    None where nobody states the power of a device.
    """
    drawn = list(_drawn(model, outcome))
    if not drawn:
        return None
    machine, ranks = model.scenario.machine, model.ranks
    seconds = float(drawn[0].times_s[-1])
    around_w = ranks * ((machine.host_power_w or 0.0) + (machine.switch_power_w or 0.0))
    pue = machine.pue or 1.0
    edges = np.linspace(0.0, seconds, PARTS + 1)
    spent: np.ndarray = np.sum([np.diff(one.joules_to(edges)) for one in drawn], axis=0)
    least, most = _extremes(drawn)
    idle = sum(one.devices * float(one.watts[-1]) for one in drawn)
    hosts, switches = (
        None if each is None else each * ranks * seconds
        for each in (machine.host_power_w, machine.switch_power_w)
    )
    return Energy(
        seconds=seconds,
        devices=ranks,
        device_j=float(np.sum(spent)),
        host_j=hosts,
        switch_j=switches,
        pue=machine.pue,
        profile_w=tuple(((spent / (seconds / PARTS) + around_w) * pue).tolist()),
        peak_w=(most + around_w) * pue,
        least_w=(least + around_w) * pue,
        idle_w=(idle + around_w) * pue,
        grid_g_per_kwh=machine.grid_g_per_kwh,
        tokens=tokens,
        interval=width_of(time),
        step_s=None if step_ns is None else step_ns / 1e9,
        unknown=tuple(name for field, name in _FIELDS.values() if getattr(machine, field) is None),
    )


def width_of(time: tuple[float, float] | None) -> float:
    """The half-width of 90 % of energies, as a logarithm, given the ends of the time's."""
    of_time = 0.0 if time is None else max(abs(log(end)) for end in time)
    return hypot(of_time, UNJUDGED)


def ends_of(value: float, width: float) -> tuple[float, float]:
    return value / exp(width), value * exp(width)


def _drawn(model: Model, outcome: _core.Outcome) -> Iterator[Drawn]:
    """The power of each class of devices that do the same, to the end of the run."""
    graphs, scenario = model.graphs, model.scenario
    end, ticks = max(outcome.finish), model.ticks_per_ns * 1e9
    if not end:
        return
    start_of, end_of = np.asarray(outcome.start), np.asarray(outcome.end)
    kernels = [_kernels(graph) for graph in graphs.distinct]
    own = {rank: of.device for of in scenario.devices for rank in of.ranks}
    laws = [law_of(scenario.machine, own.get(at, scenario.device)) for at in range(model.ranks)]
    for (graph, first, law), count in Counter(
        zip(graphs.by_rank, outcome.first_node, laws, strict=False)
    ).items():
        if law is None:
            return
        at, operations = kernels[graph]
        starts, ends = start_of[first + at], end_of[first + at]
        ran = (ends != NEVER) & (ends > starts)
        spans = starts[ran] / ticks, ends[ran] / ticks
        yield Drawn(count, *timeline(law, end / ticks, *spans, operations[ran]))


def _kernels(graph: _core.Graph) -> tuple[np.ndarray, np.ndarray]:
    on_device = np.asarray(graph.type) == _COMPUTE
    at = np.flatnonzero(on_device & (_stated(graph.is_cpu_op, len(graph)) == 0))
    return at, _stated(graph.num_ops, len(graph))[at].astype(float)


def _stated(column: _core.IntColumn, nodes: int) -> np.ndarray:
    value = np.asarray(column.value)
    return value if len(value) else np.zeros(nodes)  # no node has one


def timeline(
    law: Power, end: float, starts: np.ndarray, ends: np.ndarray, operations: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Times in s, from 0 to `end`, at which a device's power changes, and W from each on.

    Its kernels run from `starts` to `ends`, also at once.
    """
    rates = operations / np.maximum(ends - starts, 1e-15)
    times = np.concatenate([starts, ends])
    order = np.argsort(times, kind="stable")
    at_once = np.cumsum(np.repeat([1, -1], len(starts))[order])
    rate = np.cumsum(np.concatenate([rates, -rates])[order])
    works = at_once > 0
    watts = law.joules(1.0, works.astype(float), np.where(works, np.maximum(rate, 0.0), 0.0))
    idle = [law.idle_w]
    return np.concatenate([[0.0], times[order], [end]]), np.concatenate([idle, watts, idle])


def _extremes(drawn: list[Drawn]) -> tuple[float, float]:
    """The least and the most that all devices draw at one time."""
    times = np.concatenate([one.times_s for one in drawn])
    steps = [np.diff(one.watts, prepend=0.0) * one.devices for one in drawn]
    order = np.argsort(times, kind="stable")
    at, watts = times[order], np.cumsum(np.concatenate(steps)[order])
    lasts = np.diff(at, append=at[-1]) > 0  # what lasts no time is between two changes
    return float(watts[lasts].min()), float(watts[lasts].max())
