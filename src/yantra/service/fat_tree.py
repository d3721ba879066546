"""htsim's fat tree -> the links of its graph, as a file.

    Nodes, Tiers, Podsize; then for each tier of switches, from the racks up:
    downlink_speed_gbps, downlink_latency_ns, switch_latency_ns, radix_down, radix_up, and
    bundle (links to each switch below)

Source: github.com/Broadcom/csg-htsim, sim/datacenter/fat_tree_topology.cpp.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from yantra.base.documents import read_text
from yantra.base.errors import ConfigError, expected_got
from yantra.base.text import count

LINKS = "htsim-links.csv"
_MOST_LINKS = 10_000_000


class _Tier:
    def __init__(self, name: str, at: int, values: dict[str, str]) -> None:
        self._name, self._at, self._values = name, at, values

    def number(self, key: str, default: int | None = None, at_least: int = 1) -> int:
        word = self._values.get(key, None if default is None else str(default))
        where = f"{self._name}: Tier {self._at}, {key}"
        if word is None:
            raise ConfigError(where, "missing")
        if not (word.isascii() and word.isdigit() and len(word) < 10) or int(word) < at_least:
            raise ConfigError(where, expected_got(f"a whole number of at least {at_least}", word))
        return int(word)

    @property
    def speed(self) -> tuple[int, int]:
        # Gb/s and ns of a link below this tier.
        latency = self.number("downlink_latency_ns", 0, 0) + self.number("switch_latency_ns", 0, 0)
        return self.number("downlink_speed_gbps"), latency


class _Cable(NamedTuple):
    below: str
    above: str
    gbps: int
    latency_ns: int


def write_links(path: str) -> str:
    written = os.path.join(os.path.dirname(path), LINKS)
    with open(written, "w", encoding="utf-8") as file:
        file.write("from,to,bandwidth,latency,label\n")
        for cable in cables(read_text(path), os.path.basename(path)):
            speed = f"{cable.gbps} Gb/s,{cable.latency_ns} ns"
            label = cable.above.split()[0]
            file.write(f"{cable.below},{cable.above},{speed},{label}\n")
    return written


def cables(text: str, name: str) -> Iterator[_Cable]:
    whole, tiers = _read(text, name)
    nodes, count = whole.number("nodes"), whole.number("tiers")
    if count not in (2, 3):
        raise ConfigError(f"{name}: Tiers", expected_got("2 or 3", count))
    racks_of = tiers[0].number("radix_down")
    pod = whole.number("podsize", nodes) if count == 3 else nodes
    for what, size, part in (("Nodes", nodes, pod), ("Podsize", pod, racks_of)):
        if size % part:
            raise ConfigError(f"{name}: {what}", f"is {size}; expected a multiple of {part}")
    bundle = tiers[1].number("bundle", 1)
    uplinks = tiers[0].number("radix_up")
    if uplinks % bundle:
        raise ConfigError(f"{name}: Tier 0, radix_up", f"is {uplinks}, in bundles of {bundle}")
    above = uplinks // bundle
    if nodes * (1 + uplinks) > _MOST_LINKS:
        raise ConfigError(f"{name}: Nodes", f"has more than {_MOST_LINKS} links")
    for node in range(nodes):
        yield _Cable(str(node), f"rack {node // racks_of}", *tiers[0].speed)
    per_pod = pod // racks_of
    for rack in range(nodes // racks_of):
        for at in range(above):
            for _ in range(bundle):
                yield _Cable(f"rack {rack}", f"pod {rack // per_pod * above + at}", *tiers[1].speed)
    if count == 3:
        yield from _core(tiers, nodes // pod, above, name)


def _core(tiers: list[_Tier], pods: int, per_pod: int, name: str) -> Iterator[_Cable]:
    bundle, uplinks = tiers[2].number("bundle", 1), tiers[1].number("radix_up")
    if uplinks % bundle:
        raise ConfigError(f"{name}: Tier 1, radix_up", f"is {uplinks}, in bundles of {bundle}")
    cores = uplinks // bundle
    down = tiers[2].number("radix_down", pods * bundle)
    if down != pods * bundle:
        problem = (
            f"is {down}; expected {pods * bundle}, {pods} pods with {count(bundle, 'link')} each"
        )
        raise ConfigError(f"{name}: Tier 2, radix_down", problem)
    for pod in range(pods):
        for at in range(per_pod):
            for core in range(cores):
                for _ in range(bundle):
                    above = f"core {at * cores + core}"
                    yield _Cable(f"pod {pod * per_pod + at}", above, *tiers[2].speed)


def _read(text: str, name: str) -> tuple[_Tier, list[_Tier]]:
    whole: dict[str, str] = {}
    tiers: list[dict[str, str]] = [{}, {}, {}]
    into = whole
    for at, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) != 2:
            raise ConfigError(f"{name}, line {at}", expected_got("a name and a number", line))
        key, word = words[0].lower(), words[1]
        if key == "tier":
            if word not in ("0", "1", "2"):
                raise ConfigError(f"{name}, line {at}", expected_got("Tier 0, 1 or 2", line))
            into = tiers[int(word)]
        else:
            into[key] = word
    return _Tier(name, 0, whole), [_Tier(name, at, tier) for at, tier in enumerate(tiers)]
