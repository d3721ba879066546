"""Topology files of HPCC's simulator and ASTRA-sim's ns-3.

    NODES SWITCHES LINKS
    ids of the switches
    a b RATE DELAY ERROR_RATE      (a cable, once for both ways)

Bare rates are bits per second, delays seconds.

Source: alibaba-edu/High-Precision-Congestion-Control, simulation/scratch/third.cc.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from yantra.base.errors import ConfigError, expected_got, show
from yantra.fabric.graphs import MOST_LINKS
from yantra.fabric.graphs.builder import BANDWIDTH, LATENCY
from yantra.fabric.graphs.files.gathering import Gathering, Traits
from yantra.fabric.graphs.graph import DeviceKind, Graph

_MOST_NODES = 10_000_000
_NUMBER = r"[0-9.]+(?:[eE][+-]?[0-9]+)?"


class Words:
    def __init__(self, text: str, name: str) -> None:
        self._name = name
        lines = enumerate(text.split("\n"), 1)
        self._words = ((word, line) for line, row in lines for word in row.split())
        self.line = 1

    @property
    def where(self) -> str:
        return f"{self._name}, line {self.line}"

    def next(self, field: str) -> str:
        found = next(self._words, None)
        if found is None:
            raise ConfigError(f"{self.where}, {field}", "expected a value, but the file ends")
        word, self.line = found
        return word

    def whole(self, field: str, most: int) -> int:
        word = self.next(field)
        if not (word.isascii() and word.isdigit() and len(word) <= 10) or int(word) > most:
            expected = f"a whole number from 0 to {most}"
            raise ConfigError(f"{self.where}, {field}", expected_got(expected, word))
        return int(word)


def parse(text: str, name: str) -> Graph:
    from yantra.fabric.graphs.files import simai

    words = Words(text, name)
    first = next((line for line in text.split("\n") if line.strip()), "").split()
    if len(first) == simai.WORDS:
        return simai.parse(words, name)
    if len(first) != 3:
        expected = "a first line of three numbers: nodes, switches, links (or six words of SimAI: "
        expected += "nodes, GPUs of a server, NVSwitches, other switches, links, type of GPU)"
        raise ConfigError(f"{name}, line 1", expected_got(expected, " ".join(first)))
    nodes = words.whole("nodes", _MOST_NODES)
    switches = words.whole("switches", nodes)
    links = words.whole("links", MOST_LINKS // 2)
    marked = set(switches_of(words, nodes, switches))
    gathering = Gathering(name)
    linked: set[int] = set()
    ordered = sorted(marked)
    for _ in range(links):
        linked.update(node for node, _ in cable(words, gathering, nodes, ordered))
    check_linked(name, nodes, marked, linked)
    return gathering.graph()


def switches_of(words: Words, nodes: int, count: int) -> list[int]:
    marked: dict[int, None] = {}
    for _ in range(count):
        switch = words.whole("switch", nodes - 1)
        if switch in marked:
            raise ConfigError(f"{words.where}, switch", f"node {switch} is there twice")
        marked[switch] = None
    return list(marked)


def check_linked(name: str, nodes: int, switches: set[int], linked: set[int]) -> None:
    if nodes - len(switches) > len(linked - switches):
        alone = next(node for node in range(nodes) if node not in linked and node not in switches)
        raise ConfigError(name, f"host {alone} has no link; expected one for each host")


def cable(
    words: Words,
    gathering: Gathering,
    nodes: int,
    switches: Sequence[int],
    labels: Mapping[int, str] | None = None,
) -> tuple[tuple[int, int], ...]:
    named, ends = [], []
    for field in ("from", "to"):
        node = words.whole(field, nodes - 1)
        before = bisect_left(switches, node)
        if before < len(switches) and switches[before] == node:
            device = gathering.device(f"node {node}")
        else:
            device = gathering.device(f"node {node}", DeviceKind.RANK)
            gathering.rank(device, node - before, words.where)
        named.append(node)
        ends.append(device)
    rate, delay = words.next("rate"), words.next("delay")
    where = words.where
    bytes_per_ns = BANDWIDTH.read(_with_unit(rate, "b/s"), f"{where}, rate", "")
    latency_ns = LATENCY.read(_with_unit(delay, "s"), f"{where}, delay", "")
    loss = words.next("error rate")
    if not re.fullmatch(_NUMBER, loss) or loss.strip("0.eE+-"):
        problem = f"expected 0, as no network here loses packets, got {show(loss)}"
        raise ConfigError(f"{words.where}, error rate", problem)
    known = labels or {}
    label = next((known[node] for node in named if node in known), "")
    traits = Traits(bytes_per_ns, latency_ns, label)
    gathering.link(ends[0], ends[1], traits, where, both_ways=True)
    return tuple(zip(named, ends, strict=True))


def _with_unit(word: str, unit: str) -> str:
    return f"{word} {unit}" if re.fullmatch(_NUMBER, word) else word
