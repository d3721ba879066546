"""The graphs that NCCL prints, read from a log of `NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH`.

A graph belongs to the communicator whose line of ranks follows in its process and thread; of
several for equal groups the last counts.

Source: NCCL 2.30.7, src/graph/search.cc, `ncclTopoPrintGraph`, src/init.cc, and topo.h.
"""

from __future__ import annotations

import re

from yantra.base.documents import Path, read_text
from yantra.base.errors import ConfigError, expected_got
from yantra.base.records import Record
from yantra.collectives.nccl.constants import Algorithm

PATTERNS: dict[int, Algorithm] = {
    1: "Tree", 2: "Tree", 3: "Tree", 4: "Ring", 5: "NVLS", 6: "CollNetDirect",
}  # fmt: skip
"""Balanced tree, split tree, tree, ring, NVLS, CollNet direct."""

MOST_CHANNELS = 128
"""Of RCCL; NCCL has 64."""

_INFO = re.compile(r"^(?P<who>.*?)NCCL INFO\s+(?P<said>.*)$")
_GRAPH = re.compile(
    r"Pattern (?P<pattern>\d{1,3}), crossNic \d+, nChannels (?P<channels>\d{1,4}), "
    r"bw (?P<intra>[\d.]{1,20})/(?P<inter>[\d.]{1,20}), type (?P<type>\w+)/(?P<way>\w+), "
    r"sameChannels (?P<same>\d)"
)
_RANKS = re.compile(r"\bnRanks (?P<ranks>\d{1,7}) nNodes (?P<nodes>\d{1,7}) localRanks (\d{1,7})")
_NVLINK = ("NVL", "NVB", "XGMI")
_LL128_WAYS = ("LOC", "NVL", "NVB", "XGMI", "C2C", "PIX", "PXB")
"""Paths between nodes with LL128 on; from Hopper on, PXN too."""


class Printed(Record):
    """A graph as printed; bandwidths in GB/s per channel.

    `ranks` and `nodes` are 0 if not logged; `way` is the kind of path between nodes.
    """

    algorithm: Algorithm
    channels: int
    intra: float
    inter: float
    nvlink: bool
    way: str
    same_channels: bool
    ranks: int = 0
    nodes: int = 1

    @property
    def ll128(self) -> bool:
        return self.nodes == 1 or self.way in _LL128_WAYS


def load(path: Path) -> tuple[Printed, ...]:
    """The graphs of a file. Raises ConfigError with file and line."""
    return parse(read_text(path), str(path))


def parse(text: str, name: str) -> tuple[Printed, ...]:
    found: dict[tuple[Algorithm, int, int], Printed] = {}
    pending: dict[str, list[Printed]] = {}
    for at, line in enumerate(text.split("\n"), 1):
        info = _INFO.match(line.rstrip("\r"))
        if info is None:
            continue
        who, said = info["who"], info["said"]
        graph = _GRAPH.search(said)
        if graph is not None:
            pending.setdefault(who, []).append(_printed(graph, f"{name}:{at}"))
        ranks = _RANKS.search(said)
        if ranks is not None:
            for one in pending.pop(who, ()):
                placed = one.replace(ranks=int(ranks["ranks"]), nodes=max(1, int(ranks["nodes"])))
                found[placed.algorithm, placed.ranks, placed.nodes] = placed
    for some in pending.values():
        for one in some:
            found.setdefault((one.algorithm, one.ranks, one.nodes), one)
    if not any(one.algorithm == "Ring" for one in found.values()):
        expected = "lines 'NCCL INFO Pattern 4, crossNic ..., nChannels ..., bw ...' of a ring"
        advice = "run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH"
        raise ConfigError(name, f"expected {expected}; there are none. {advice}")
    return tuple(found.values())


def _printed(line: re.Match[str], where: str) -> Printed:
    pattern, channels = int(line["pattern"]), int(line["channels"])
    if pattern not in PATTERNS:
        known = ", ".join(map(str, PATTERNS))
        raise ConfigError(where, f"Pattern: {expected_got(f'one of {known}', pattern)}")
    if not 1 <= channels <= MOST_CHANNELS:
        expected = f"a number from 1 to {MOST_CHANNELS}"
        raise ConfigError(where, f"nChannels: {expected_got(expected, channels)}")
    return Printed(
        algorithm=PATTERNS[pattern],
        channels=channels,
        intra=_bandwidth(line["intra"], where, above=0.0),
        inter=_bandwidth(line["inter"], where),
        nvlink=line["type"] in _NVLINK,
        way=line["way"],
        same_channels=line["same"] == "1",
    )


def _bandwidth(text: str, where: str, above: float = -1.0) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not above < value < 1e6:
        raise ConfigError(where, f"bw: {expected_got('GB/s', text)}")
    return value
