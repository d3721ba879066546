"""Topology files of HPCC's simulator and of ASTRA-sim's ns-3: numbers of nodes, then links.

    NODES SWITCHES LINKS
    ids of the switches
    a b RATE DELAY ERROR_RATE      (a cable, once for both ways)

Nodes that are no switches are the hosts; they become the ranks in the order of their ids. Rates
without a unit are bits per second, delays seconds, as ns-3 reads them. Links that lose packets are
refused, as no network here loses any. What follows the last link is a comment, as it is for them.

Source: alibaba-edu/High-Precision-Congestion-Control, simulation/scratch/third.cc.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from yantra.base.errors import ConfigError, expected_got, show
from yantra.fabric.graphs import MOST_LINKS
from yantra.fabric.graphs.builder import BANDWIDTH, LATENCY
from yantra.fabric.graphs.files.gathering import Gathering, Traits
from yantra.fabric.graphs.graph import DeviceKind, Graph

_MOST_NODES = 10_000_000
_NUMBER = r"[0-9.]+(?:[eE][+-]?[0-9]+)?"


class _Words:
    """The words of a file one after the other, wherever its lines end."""

    def __init__(self, text: str, name: str) -> None:
        self._name = name
        lines = enumerate(text.split("\n"), 1)
        self._words = ((word, line) for line, row in lines for word in row.split())
        self.line = 1

    @property
    def where(self) -> str:
        """The file, and the line of the last word."""
        return f"{self._name}, line {self.line}"

    def next(self, field: str) -> str:
        """Return the next word, which must be there."""
        found = next(self._words, None)
        if found is None:
            raise ConfigError(f"{self.where}, {field}", "expected a value, but the file ends")
        word, self.line = found
        return word

    def whole(self, field: str, most: int) -> int:
        """Return the next word as a whole number up to `most`."""
        word = self.next(field)
        if not (word.isascii() and word.isdigit() and len(word) <= 10) or int(word) > most:
            expected = f"a whole number from 0 to {most}"
            raise ConfigError(f"{self.where}, {field}", expected_got(expected, word))
        return int(word)


def parse(text: str, name: str) -> Graph:
    """Return the graph of a topology file. Raises ConfigError with line and field."""
    words = _Words(text, name)
    first = next((line for line in text.split("\n") if line.strip()), "").split()
    if len(first) != 3:
        expected = "a first line of three numbers: nodes, switches, links"
        raise ConfigError(f"{name}, line 1", expected_got(expected, " ".join(first)))
    nodes = words.whole("nodes", _MOST_NODES)
    switches = words.whole("switches", nodes)
    links = words.whole("links", MOST_LINKS // 2)
    marked: set[int] = set()
    for _ in range(switches):
        switch = words.whole("switch", nodes - 1)
        if switch in marked:
            raise ConfigError(f"{words.where}, switch", f"node {switch} is there twice")
        marked.add(switch)
    gathering = Gathering(name)
    linked: set[int] = set()
    ordered = sorted(marked)
    for _ in range(links):
        linked.update(_add(words, gathering, nodes, ordered))
    if nodes - switches > len(linked - marked):
        alone = next(node for node in range(nodes) if node not in linked and node not in marked)
        raise ConfigError(name, f"host {alone} has no link; expected one for each host")
    return gathering.graph()


def _add(
    words: _Words, gathering: Gathering, nodes: int, switches: Sequence[int]
) -> tuple[int, int]:
    """Read a cable; return the nodes that it joins. A host is the rank of its place among hosts."""
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
    gathering.link(ends[0], ends[1], Traits(bytes_per_ns, latency_ns), where, both_ways=True)
    return named[0], named[1]


def _with_unit(word: str, unit: str) -> str:
    return f"{word} {unit}" if re.fullmatch(_NUMBER, word) else word
