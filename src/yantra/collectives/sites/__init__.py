"""Named sites: the fabric between nodes of a cloud or machine room, a YAML file each.

A site has the adapters of a node, the share of their rate that rings reach, and a software latency:
that of the sites which it is `like` (`measured.csv`), their geometric mean if several. `measured`
names rows of the site itself. `inside` multiplies latencies in a node (virtual machines);
`protocols` run over the fabric; `switches: false` turns NVLS off.

Trade-off: a fabric that nobody measured is like all that somebody did, and as uncertain as one of
these is when it is left out (`intervals.csv`).
"""

from __future__ import annotations

from functools import cache
from os import path as paths

from yantra.base.documents import Path, parse_yaml, read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.fields import Choice as Name
from yantra.base.fields import Flag, Many, Quantity, Section, Text, Whole
from yantra.base.fields.scalars import Number
from yantra.base.named_files import NamedFiles
from yantra.base.records import Record
from yantra.collectives.nccl.constants import PROTOCOLS, Protocol

_FILES = NamedFiles("site", paths.join(paths.dirname(__file__), "files"))


class Site(Record):
    """A fabric between nodes; rates are in bytes/ns."""

    title: str
    machine: str
    fabric: str
    adapters: int
    rate: float
    latency_ns: float
    source: str
    devices: int = 8
    measured: str = ""
    like: tuple[str, ...] = ()
    reached: float = 0.0
    inside: float = 1.0
    switches: bool = True
    protocols: tuple[Protocol, ...] = PROTOCOLS

    @property
    def node_rate(self) -> float:
        """Bytes/ns of a node's adapters together."""
        return self.adapters * self.rate

    @property
    def rests_on(self) -> tuple[str, ...]:
        """The measured fits that its latencies are from."""
        return (self.measured,) if self.measured else self.like


SITE = Section(
    Site,
    {
        "title": ("title", Text(), "what it is"),
        "machine": ("machine", Text(), "the named cluster that its nodes are"),
        "fabric": ("fabric", Text(), "what the level between nodes is called"),
        "adapters": ("adapters", Whole(at_least=1), "of a node"),
        "rate": ("rate", Quantity("bandwidth", "GB/s", above=0), "of an adapter"),
        "latency": ("latency_ns", Quantity("time", "ns", at_least=0), "of a hop"),
        "source": ("source", Text(), "where the numbers are from"),
        "devices": ("devices", Whole(at_least=1), "of a node"),
        "measured": ("measured", Text(), "its measured collectives over nodes"),
        "like": ("like", Many(Text()), "measured sites whose software latency it has"),
        "reached": ("reached", Number(above=0, at_most=1), "share of the adapters' rate"),
        "inside": ("inside", Number(above=0), "factor on latencies in a node"),
        "switches": ("switches", Flag(), "switches in a node may add (NVLS)"),
        "protocols": ("protocols", Many(Name(Protocol)), "of NCCL over the fabric"),
    },
)


def names() -> tuple[str, ...]:
    return _FILES.names()


def load(name: Path, *, where: str = "site", folder: Path = "") -> Site:
    """A built-in site, or a user's by path. Raises ConfigError."""
    path = _FILES.path_of(name, where=where, folder=folder)
    site = _parsed(read_text(path), path)
    if name not in names():
        _check(site, path)
    return site


def _check(site: Site, path: str) -> None:
    """Raise ConfigError for a site like none measured."""
    known = sorted({load(name).measured for name in names()} - {""})
    if not site.rests_on:
        raise ConfigError(f"{path}: like", f"missing; expected some of {', '.join(known)}")
    for one in site.rests_on:
        if one not in known:
            expected = expected_got(f"one of {', '.join(known)}", one) + did_you_mean(one, known)
            raise ConfigError(f"{path}: {'measured' if site.measured else 'like'}", expected)


@cache
def _parsed(text: str, path: str) -> Site:
    site: Site = SITE.read(parse_yaml(text, path), path, "")
    return site


@cache
def rate_of(measured: str) -> float:
    """Bytes/ns of the adapters of a node of measured collectives."""
    found = (load(name) for name in names())
    return next(site.node_rate for site in found if site.measured == measured)
