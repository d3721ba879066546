"""How often parts of a fleet fail, how long hosts are away and what recovery takes, with sources.

A file states events by component of one fleet, of which the shares are taken, and interruptions of
a host in a day of several, of which their level: its logarithm is normal, with the mean of the
fleets and the spread of a further one, s sqrt(1 + 1/n). Trade-off: all fleets have one's shares.
"""

from __future__ import annotations

from functools import cache
from math import exp, inf, log, sqrt
from os import path as paths
from statistics import fmean, stdev
from typing import Any, Literal, NamedTuple

from yantra.base.documents import Path, parse_yaml, read_text
from yantra.base.errors import expected_got
from yantra.base.named_files import NamedFiles
from yantra.fabric.clusters.reader import Place
from yantra.fabric.clusters.types import Number

Does = Literal["crash", "slow", "planned"]
_DOES = ("crash", "slow", "planned")
_TIMES = ("restart_low", "restart_high", "notice", "reconfigure", "pause")
_RATIOS = ("slower", "recoverable")
_FILES = NamedFiles("file of rates", paths.join(paths.dirname(__file__), "files"))
_MOST_HOSTS = 10_000
_DAY_S = 86_400.0
_MOST_HOURS = 1e5


class Component(NamedTuple):
    """Of a fleet: `hosts` is the domain that one event takes out of the job, 0 for software."""

    name: str
    events: int
    does: Does
    hosts: int
    source: str


class Rates(NamedTuple):
    """What a file of rates states; seconds, B/s."""

    name: str
    title: str
    host_gpus: int
    host_days: float
    """Of which `components` has the events."""
    components: tuple[Component, ...]
    unknown: tuple[tuple[str, str], ...]
    """Components without a rate, and why."""
    fleets: tuple[tuple[str, float], ...]
    """Interruptions of a host in a day."""
    repair_at: tuple[float, ...]
    repair_h: tuple[float, ...]
    restart_low: Number
    """From a failure to the first step, without lost work; log-uniform to `restart_high`."""
    restart_high: Number
    notice: Number
    """Until a slow rank is found."""
    reconfigure: Number
    """That an elastic job pauses when a group fails."""
    pause: Number
    """The least that a checkpoint blocks training."""
    slower: Number
    """Times, that a job with a slow rank takes."""
    recoverable: Number
    """Share of hosts' crashes that need no other host."""
    storage: Number
    """Rate of the storage, for a device."""
    sources: tuple[tuple[str, str], ...]

    @property
    def per_host_day(self) -> float:
        """Events of all components."""
        return sum(one.events for one in self.components) / self.host_days

    @property
    def device_mtbf_s(self) -> float:
        """Mean time after which one device interrupts its job, over all fleets and causes."""
        if not self.per_host_day:
            return inf
        mean, spread = self.level()
        return self.host_gpus * _DAY_S / (self.per_host_day * exp(mean + spread**2 / 2.0))

    def level(self) -> tuple[float, float]:
        """Mean and spread of the logarithm of rates over those of the components."""
        if not self.per_host_day:
            return 0.0, 0.0
        known = [log(rate / self.per_host_day) for _, rate in self.fleets]
        if len(known) < 2:
            return (fmean(known) if known else 0.0), 0.0
        return fmean(known), stdev(known) * sqrt(1.0 + 1.0 / len(known))


def names() -> tuple[str, ...]:
    """The built-in files of rates."""
    return _FILES.names()


def load(name: Path, *, where: str = "rates") -> Rates:
    """Raises ConfigError; a path has a `/` in it or ends in `.yaml`."""
    path = _FILES.path_of(name, where=where)
    return parsed(read_text(path), path)


@cache
def parsed(text: str, path: str) -> Rates:
    """The rates that a text has."""
    place = Place(path, "")
    needed = ("title", "sources", "host_gpus", "host_days", "components", "repair_h", "storage")
    top = place.mapping(parse_yaml(text, path), (*needed, *_TIMES, *_RATIOS), ("unknown", "fleets"))
    sources = place.key("sources").texts(top["sources"])
    place = place.with_sources(sources)
    at = place.key("components")
    components = _keyed(at, top["components"])
    if not components:
        raise at.error(expected_got("components with their events", top["components"]))
    numbers: dict[str, Any] = {
        name: place.key(name).quantity(top[name], "time", "s") for name in _TIMES
    } | {name: place.key(name).ratio(top[name]) for name in _RATIOS}
    if numbers["restart_high"].value < numbers["restart_low"].value:
        raise place.key("restart_high").error("is below restart_low")
    if numbers["slower"].value < 1.0:
        raise place.key("slower").error(expected_got("at least 1", numbers["slower"].value))
    if numbers["recoverable"].value > 1.0:
        raise place.key("recoverable").error(expected_got("at most 1", top["recoverable"]))
    fleets = place.key("fleets")
    unknown = top.get("unknown", {})
    repair_at, repair_h = _quantiles(place.key("repair_h"), top["repair_h"])
    return Rates(
        name=paths.splitext(paths.basename(path))[0],
        title=place.key("title").text(top["title"]),
        host_gpus=int(place.key("host_gpus").count(top["host_gpus"]).value),
        host_days=place.key("host_days").count(top["host_days"]).value,
        components=tuple(_component(at.key(name), name, of) for name, of in components.items()),
        unknown=tuple(place.key("unknown").texts(unknown).items()) if unknown else (),
        fleets=tuple(
            (name, fleets.key(name).ratio(of).value)
            for name, of in _keyed(fleets, top.get("fleets", {})).items()
        ),
        repair_at=repair_at,
        repair_h=repair_h,
        storage=place.key("storage").quantity(top["storage"], "bandwidth", "B/s"),
        sources=tuple(sources.items()),
        **numbers,
    )


def _keyed(place: Place, tree: Any) -> dict[str, Any]:
    return place.mapping(tree, (), tuple(tree) if isinstance(tree, dict) else ())


def _component(place: Place, name: str, tree: Any) -> Component:
    of = place.mapping(tree, ("events", "does", "hosts", "source"), ())
    hosts, events = of["hosts"], of["events"]
    for key, value in (("hosts", hosts), ("events", events)):
        if type(value) is not int or not 0 <= value <= (_MOST_HOSTS if key == "hosts" else 10**9):
            raise place.key(key).error(expected_got("a whole number from 0", value))
    does: Any = place.key("does").choice(of["does"], _DOES)
    return Component(name, events, does, hosts, place.key("source").source(of["source"]))


def _quantiles(place: Place, tree: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    of = place.mapping(tree, ("source", "at", "hours"), ())
    place.key("source").source(of["source"])
    columns = []
    for key in ("at", "hours"):
        column = [value for _, value in place.key(key).items(of[key])]
        known = all(type(value) in (int, float) and value < _MOST_HOURS for value in column)
        if not known or column != sorted(column):
            raise place.key(key).error(expected_got("numbers that do not fall", column))
        columns.append(tuple(map(float, column)))
    shares, hours = columns
    if len(shares) != len(hours) or shares[0] != 0.0 or shares[-1] != 1.0 or hours[0] < 0.0:
        raise place.error("expected as many hours, from 0, as shares from 0 to 1")
    return shares, hours
