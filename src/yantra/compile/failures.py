"""A scenario's failures: changes of links and slow spells of ranks, in ticks.

By rate, times of use are exponential (a Poisson process that stops during repair), drawn by (seed,
what, its number), so a part fails at the same times whatever else exists, or how long the run is.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from math import inf, log, prod

import numpy as np

from yantra import _core
from yantra import network as networks
from yantra.base.errors import ConfigError, UnsupportedError, did_you_mean
from yantra.compile.fabric import OnFabric
from yantra.compile.what_fails import NO_FAILURES, FailureEvent, Failures, Part
from yantra.scenario import Scenario
from yantra.scenario.disturbances import Failure
from yantra.scenario.fields import check_ranks

DRAWN_AT_FIRST = 256
MOST_DRAWN = 100_000
MOST_CHANGES = 2_000_000
"""Most changes of links and speeds by failures at stated times."""
_PURPOSES = {"switch": 1, "nic": 2, "link": 3, "ranks": 4}


def failures_of(scenario: Scenario, on: OnFabric | None, until_ns: float | None = None) -> Failures:
    """What fails, by rate until a time; default: a few hundred draws.

    Raises ConfigError for an unknown part, UnsupportedError for too many draws.
    """
    if not scenario.failures:
        return NO_FAILURES
    finder = None if on is None else _Finder(on)
    parts = [
        _parts(failure, scenario.topology.ranks, finder, f"cluster.failures[{at}]")
        for at, failure in enumerate(scenario.failures)
    ]
    both = list(zip(scenario.failures, parts, strict=True))
    per_ns = sum(len(of) / one.mean_ns for one, of in both if one.mean_ns is not None)
    until = inf if per_ns == 0 else DRAWN_AT_FIRST / per_ns if until_ns is None else until_ns
    if per_ns and per_ns * until > MOST_DRAWN:
        raise UnsupportedError(
            f"cluster.failures: more than {MOST_DRAWN} failures by rate; take a lower rate"
        )
    stated = sum(
        one.times * sum(max(len(part.links), 1) for part in of)
        for one, of in both
        if one.mean_ns is None
    )
    if 2 * stated > MOST_CHANGES:
        problem = f"{2 * stated} changes of links and ranks; expected at most {MOST_CHANGES}"
        raise UnsupportedError(f"cluster.failures: {problem}; let less of it flap, or less often")
    before: dict[tuple[str, int], int] = {}
    events: list[FailureEvent] = []
    for failure, of in both:
        what = _what(failure)
        for part in of:
            again = before.setdefault((what, part.number), 0)
            before[what, part.number] += 1
            for at_ns, until_of_it in _times(failure, (what, part.number, again), until):
                slower = failure.slower if failure.slower is not None else 1.0
                events.append(FailureEvent(what, part, at_ns, until_of_it, failure.keeps, slower))
    return Failures(tuple(sorted(events, key=lambda event: event.at_ns)), until)


def set_failures(
    builder: _core.ModelBuilder,
    scenario: Scenario,
    on: OnFabric | None,
    failures: Failures,
    ticks_per_ns: int,
    slower: float = 1.0,
) -> None:
    """Set failures and stated changes of links.

    Messages take `slower` times as long.
    """
    changes = [] if on is None else _link_changes(on, failures, ticks_per_ns, slower)
    if changes:
        _check_network(scenario)
        builder.set_link_changes(changes, round(scenario.reroute_delay_ns * ticks_per_ns))
    spells = _slow_spells(failures, ticks_per_ns)
    if spells:
        builder.set_slow_spells(spells)


def _check_network(scenario: Scenario) -> None:
    level = networks.level_of(scenario.network)
    if level.has("links_change"):
        return
    able = [name for name in networks.names() if networks.find(name).has("links_change")]
    problem = f"links of the network {level.name} do not change; take one of {', '.join(able)}"
    key = "link_changes" if scenario.link_changes is not None else "failures"
    raise ConfigError(f"cluster.{key}", problem)


def _what(failure: Failure) -> str:
    return next(name for name in _PURPOSES if getattr(failure, name) is not None)


def _times(
    failure: Failure, key: tuple[str, int, int], until_ns: float
) -> Iterator[tuple[float, float]]:
    lasts = inf if failure.for_ns is None else failure.for_ns
    if failure.mean_ns is None:
        assert failure.at_ns is not None
        for turn in range(failure.times):
            at_ns = failure.at_ns + turn * (failure.every_ns or 0.0)
            yield at_ns, at_ns + lasts
        return
    what, number, again = key
    draws = np.random.default_rng((failure.seed, _PURPOSES[what], number, again))
    at_ns = 0.0
    while True:
        at_ns += -failure.mean_ns * log(1.0 - draws.random())
        if at_ns > until_ns:
            return
        yield at_ns, at_ns + lasts
        at_ns += lasts


def _parts(failure: Failure, ranks: int, finder: _Finder | None, where: str) -> list[Part]:
    of_ranks = failure.ranks if failure.ranks is not None else failure.nic
    check_ranks(of_ranks or (), ranks, f"{where}.{_what(failure)}")
    if failure.ranks is not None:
        return [Part(f"rank {rank}", rank, rank=rank) for rank in failure.ranks]
    assert finder is not None  # link failures imply a fabric
    if failure.nic is not None:
        return [finder.nic(rank, failure.to, f"{where}.to") for rank in failure.nic]
    if failure.switch is not None:
        return finder.switches(failure.switch, f"{where}.switch")
    assert failure.link is not None
    return finder.cables(failure.link, f"{where}.link")


class _Finder:
    """Finds the parts of a fabric by their names."""

    def __init__(self, on: OnFabric) -> None:
        self.graph = graph = on.graph
        self.placement = on.placement
        self.names = {graph.name_of(at): at for at in range(graph.devices)}
        self.names |= {str(rank): rank for rank in range(graph.ranks)}

    def devices(self, name: str, where: str) -> list[int]:
        if name in self.names:
            return [self.names[name]]
        first = 0
        for tier in self.graph.tiers:
            if tier.name == name and tier.size:
                return list(range(first, first + tier.size))
            first += tier.size
        tiers = [tier.name for tier in self.graph.tiers]
        hint = did_you_mean(name, [*self.names, *tiers])
        raise ConfigError(where, f"no device, and no tier of devices, is called {name!r}{hint}")

    def switches(self, name: str, where: str) -> list[Part]:
        devices = self.devices(name, where)
        if devices[0] < self.graph.ranks:
            one = self.graph.name_of(devices[0])
            problem = f"{one} is a rank; expected a device that passes bytes on"
            raise ConfigError(where, problem)
        return [Part(self.graph.name_of(one), one, self._links_at(one)) for one in devices]

    def nic(self, rank: int, to: str | None, where: str) -> Part:
        device = int(self.placement[rank])
        if to is None:
            return Part(f"NIC of rank {rank}", device, self._links_at(device))
        others = self.devices(to, where)
        links = self.graph.links
        there = (links.start == device) & np.isin(links.end, others)
        back = (links.end == device) & np.isin(links.start, others)
        found = np.flatnonzero(there | back)
        if not len(found):
            raise ConfigError(where, f"no link leads from rank {rank} to {to}")
        return Part(f"port of rank {rank} to {to}", device, tuple(found.tolist()))

    def cables(self, ends: tuple[str, ...], where: str) -> list[Part]:
        graph, links = self.graph, self.graph.links
        ones, others = (self.devices(end, f"{where}[{at}]") for at, end in enumerate(ends))
        there = np.isin(links.start, ones) & np.isin(links.end, others)
        back = np.isin(links.start, others) & np.isin(links.end, ones)
        pairs: dict[tuple[int, int], list[int]] = {}
        for link in np.flatnonzero(there | back).tolist():
            one, other = sorted((int(links.start[link]), int(links.end[link])))
            pairs.setdefault((one, other), []).append(link)
        if not pairs:
            raise ConfigError(where, f"no link leads from {ends[0]} to {ends[1]}")
        return [
            Part(f"link {graph.name_of(one)} - {graph.name_of(other)}", of[0], tuple(of))
            for (one, other), of in pairs.items()
        ]

    def _links_at(self, device: int) -> tuple[int, ...]:
        links = self.graph.links
        found = np.flatnonzero((links.start == device) | (links.end == device))
        return tuple(found.tolist())


def _link_changes(
    on: OnFabric, failures: Failures, ticks_per_ns: int, slower: float
) -> list[_core.LinkChange]:
    spans: dict[int, list[tuple[int, int | None, float]]] = {}
    for event in failures.events:
        until = None if event.until_ns == inf else round(event.until_ns * ticks_per_ns)
        for link in event.part.links:
            spans.setdefault(link, []).append(
                (round(event.at_ns * ticks_per_ns), until, event.keeps)
            )
    stated: dict[int, list[tuple[int, float]]] = {}
    for change in on.changes:
        stated.setdefault(change.link, []).append(
            (round(change.at_ns * ticks_per_ns), change.bytes_per_ns)
        )
    changes: list[tuple[int, int, float]] = []
    for link in sorted(spans.keys() | stated.keys()):
        own = float(on.graph.links.bytes_per_ns[link])
        rates = _rates(own, stated.get(link, []), spans.get(link, []))
        changes += [(tick, link, rate / slower) for tick, rate in rates]
    return [
        _core.LinkChange(tick=tick, link=link, bytes_per_ns=rate)
        for tick, link, rate in sorted(changes)
    ]


def _rates(
    own: float, stated: list[tuple[int, float]], spans: list[tuple[int, int | None, float]]
) -> list[tuple[int, float]]:
    moments: list[tuple[int, str, float]] = [(tick, "rate", rate) for tick, rate in stated]
    for begins, until, keeps in spans:
        moments.append((begins, "begins", keeps))
        if until is not None:
            moments.append((until, "ends", keeps))
    moments.sort(key=lambda moment: moment[0])
    base = now = own
    kept: list[float] = []
    found: list[tuple[int, float]] = []
    for tick, of_tick in groupby(moments, key=lambda moment: moment[0]):
        for _, what, value in of_tick:
            if what == "rate":
                base = value
            elif what == "begins":
                kept.append(value)
            else:
                kept.remove(value)
        rate = base * min(kept, default=1.0)
        if rate != now:
            found.append((tick, rate))
            now = rate
    return found


def _slow_spells(failures: Failures, ticks_per_ns: int) -> list[_core.SlowSpell]:
    by_rank: dict[int, list[FailureEvent]] = {}
    for event in failures.events:
        if event.part.rank >= 0:
            by_rank.setdefault(event.part.rank, []).append(event)
    return [
        _core.SlowSpell(rank=rank, from_tick=begins, until_tick=until, factor=factor)
        for rank in sorted(by_rank)
        for begins, until, factor in _spells(by_rank[rank], ticks_per_ns)
    ]


_NEVER = 2**63


def _spells(events: list[FailureEvent], ticks_per_ns: int) -> Iterator[tuple[int, int, float]]:
    edges: list[tuple[int, float, int]] = []
    for event in events:
        until = _NEVER if event.until_ns == inf else round(event.until_ns * ticks_per_ns)
        edges.append((round(event.at_ns * ticks_per_ns), event.slower, 1))
        edges.append((until, event.slower, -1))
    active: list[float] = []
    begun = 0
    for tick, at_tick in groupby(sorted(edges), key=lambda edge: edge[0]):
        factor = prod(active)
        if tick > begun and factor != 1.0:
            yield begun, tick, factor
        for _, slower, more in sorted(at_tick, key=lambda edge: -edge[2]):
            active.append(slower) if more > 0 else active.remove(slower)
        begun = tick
