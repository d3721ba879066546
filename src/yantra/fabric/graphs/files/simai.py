"""SimAI's topology files, with NVSwitches.

    NODES GPUS_OF_A_SERVER NVSWITCHES SWITCHES LINKS TYPE_OF_GPU
    ids of the NVSwitches, then of the switches
    a b RATE DELAY ERROR_RATE      (a cable, once for both ways)

An NVSwitch shares a box with its GPUs.

Source: aliyun/SimAI, inputs/topo/gen_Topo_Template.py, and its fork of ns-3, scratch/common.h.
"""

from __future__ import annotations

from yantra.base.errors import ConfigError, expected_got
from yantra.fabric.graphs import MOST_LINKS
from yantra.fabric.graphs.files import ns3
from yantra.fabric.graphs.files.gathering import Gathering
from yantra.fabric.graphs.graph import Graph

WORDS = 6
"""Of the first line."""
_MOST_NODES = 10_000_000
_LABEL = "NVLink"


def parse(words: ns3.Words, name: str) -> Graph:
    nodes = words.whole("nodes", _MOST_NODES)
    each = words.whole("GPUs of a server", nodes)
    inner = words.whole("NVSwitches", nodes)
    outer = words.whole("switches", nodes - inner)
    links = words.whole("links", MOST_LINKS // 2)
    words.next("type of GPU")
    if not each or (nodes - inner - outer) % each:
        problem = f"a divisor of the {nodes - inner - outer} GPUs"
        raise ConfigError(f"{name}, line 1, GPUs of a server", expected_got(problem, each))
    of_both = ns3.switches_of(words, nodes, inner + outer)
    nvswitches, marked, ordered = set(of_both[:inner]), set(of_both), sorted(of_both)
    labels = dict.fromkeys(nvswitches, _LABEL)
    gathering = Gathering(name)
    devices: dict[int, int] = {}
    joined: dict[int, set[int]] = {switch: set() for switch in nvswitches}
    for _ in range(links):
        ends = ns3.cable(words, gathering, nodes, ordered, labels)
        devices.update(ends)
        for (one, _), (other, _) in (ends, ends[::-1]):
            if one in nvswitches and other not in marked:
                joined[one].add(other)
    ns3.check_linked(name, nodes, marked, set(devices))
    for number, (switches, gpus) in enumerate(_boxes(joined)):
        for node in sorted(switches | gpus):
            gathering.box(devices[node], f"server {number}")
    return gathering.graph()


def _boxes(joined: dict[int, set[int]]) -> list[tuple[set[int], set[int]]]:
    found: list[tuple[set[int], set[int]]] = []
    for switch, gpus in sorted(joined.items()):
        own = ({switch}, set(gpus))
        apart = []
        for box in found:
            if box[1] & own[1]:
                own = (own[0] | box[0], own[1] | box[1])
            else:
                apart.append(box)
        found = [*apart, own]
    return sorted((box for box in found if box[1]), key=lambda box: min(box[1]))
