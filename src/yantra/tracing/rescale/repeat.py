"""Repeats or leaves out a stretch of a recorded rank.

A stretch is a set of nodes that on every lane (thread, stream, communicator) follow each other.
Copies stand before it: they wait for what came before it on their lanes, and it waits for them.
"""

from __future__ import annotations

from collections import defaultdict
from heapq import heapify, heappop, heappush

from yantra.chakra import Node
from yantra.chakra.schema import Attribute
from yantra.tracing.rescale.recording import group_of, is_communication

Lane = tuple[object, ...]


def lane_of(node: Node) -> Lane:
    if is_communication(node):
        return "group", group_of(node)
    if node.get("is_cpu_op"):
        thread = node.get("thread")
        return "thread", node.get("tid") if thread is None else thread
    return "stream", node.get("device"), node.get("stream")


def repeated(nodes: list[Node], stretch: set[int], times: int, without: set[int]) -> list[Node]:
    """Put `times` copies of the nodes of these ids before them; copies lack those in `without`."""
    whole = _between(nodes, stretch)
    chosen = [node for node in nodes if node.id in whole]
    before = predecessors(nodes)
    next_id = 1 + max(node.id for node in nodes)
    ends: dict[Lane, int] = {}  # the last copy on each lane
    made: list[Node] = []
    for _ in range(times):
        new: dict[int, int] = {}
        entries = dict(ends)
        for node in chosen:
            if node.id in without:
                continue
            new[node.id] = next_id
            lane = lane_of(node)
            data = []
            for given in node.data_deps:
                parent = _kept_before(given, before, whole, new)
                if parent is None:
                    continue
                if parent in new:
                    data.append(new[parent])
                elif parent == before.get(node.id) and lane in entries:
                    data.append(entries[lane])
                else:
                    data.append(parent)
            if not data and lane in entries:
                data = [entries[lane]]
            made.append(copy_of(node, next_id, data, [new.get(p, p) for p in node.ctrl_deps]))
            ends[lane] = next_id
            next_id += 1
    seen: set[Lane] = set()
    for node in chosen:
        lane = lane_of(node)
        if lane not in seen and lane in ends:
            first = before.get(node.id)
            others = [parent for parent in node.data_deps if parent != first]
            node.data_deps = [ends[lane], *others]
        seen.add(lane)
    return ordered([*nodes, *made])


def without_stretch(nodes: list[Node], gone: set[int]) -> list[Node]:
    """Leave the nodes of these ids out; what waited for one waits for the last before it, and for
    the communication that it waited for.
    """
    before = predecessors(nodes)
    by_id = {node.id: node for node in nodes}
    left = [node for node in nodes if node.id not in gone]
    heard = {node.id for node in left if is_communication(node)}
    for node in left:
        data: dict[int, None] = {}
        for parent in node.data_deps:
            at: int | None = parent
            while at is not None and at in gone:
                if not is_communication(by_id[at]):
                    data |= dict.fromkeys(one for one in by_id[at].data_deps if one in heard)
                at = before.get(at)
            if at is not None:
                data[at] = None
        node.data_deps = list(data)
        above = []
        for parent in node.ctrl_deps:
            while parent in gone and by_id[parent].ctrl_deps:
                parent = by_id[parent].ctrl_deps[0]
            above += [parent] if parent not in gone else []
        node.ctrl_deps = above
    return ordered(left)


def _kept_before(
    at: int, before: dict[int, int], whole: set[int], new: dict[int, int]
) -> int | None:
    # What a copy lacks is stepped over, back along its lane.
    found: int | None = at
    while found is not None and found in whole and found not in new:
        found = before.get(found)
    return found


def copy_of(node: Node, id: int, data: list[int], ctrl: list[int]) -> Node:
    return Node(
        id,
        node.name,
        node.type,
        node.duration_micros,
        list(dict.fromkeys(data)),
        ctrl,
        [Attribute(item.name, item.value, item.kind, item.doc) for item in node.attributes],
        start_micros=node.start_micros,
        inputs=node.inputs,
        outputs=node.outputs,
        foreign=node.foreign,
    )


def predecessors(nodes: list[Node], is_host_alone: bool = False) -> dict[int, int]:
    """The node before each on its lane, or on its thread."""
    last: dict[Lane, int] = {}
    found = {}
    for node in nodes:
        lane = lane_of(node)
        if is_host_alone and lane[0] != "thread":
            continue
        if lane in last:
            found[node.id] = last[lane]
        last[lane] = node.id
    return found


def _between(nodes: list[Node], stretch: set[int]) -> set[int]:
    """The stretch, and all that depends on it and on which it depends."""
    after: set[int] = set()
    for node in nodes:
        deps = (*node.data_deps, *node.ctrl_deps)
        if any(parent in stretch or parent in after for parent in deps):
            after.add(node.id)
    children = defaultdict(list)
    for node in nodes:
        for parent in node.data_deps:
            children[parent].append(node.id)
    leads: set[int] = set()
    for node in reversed(nodes):
        if any(child in stretch or child in leads for child in children[node.id]):
            leads.add(node.id)
    return stretch | (after & leads)


def ordered(nodes: list[Node]) -> list[Node]:
    """Nodes after their dependencies, in the given order else, numbered from 0."""
    place = {node.id: at for at, node in enumerate(nodes)}
    waits = [0] * len(nodes)
    children = defaultdict(list)
    for at, node in enumerate(nodes):
        for parent in {*node.data_deps, *node.ctrl_deps}:
            children[place[parent]].append(at)
            waits[at] += 1
    ready = [at for at, count in enumerate(waits) if not count]
    heapify(ready)
    order = []
    while ready:
        at = heappop(ready)
        order.append(nodes[at])
        for child in children[at]:
            waits[child] -= 1
            if not waits[child]:
                heappush(ready, child)
    number = {node.id: at for at, node in enumerate(order)}
    for node in order:
        node.data_deps = [number[parent] for parent in node.data_deps]
        node.ctrl_deps = [number[parent] for parent in node.ctrl_deps]
        node.id = number[node.id]
    return order
