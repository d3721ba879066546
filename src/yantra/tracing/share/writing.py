"""Writes the pieces and calls of a rank as a trace, in an order that begins what began first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from yantra.chakra.schema import NODE_TRAITS, Attribute, CollectiveType, Metadata, Node, NodeType
from yantra.chakra.trace import Trace
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.obfuscate import MARK, ORDER
from yantra.tracing.obfuscate.coarsen import reduced_parents
from yantra.tracing.obfuscate.keyed import Keyed
from yantra.tracing.obfuscate.renumber import canonical_tag
from yantra.tracing.share.lanes import COMMUNICATION, DELAY, Amount
from yantra.tracing.share.pieces import Drawn, LaneKey
from yantra.tracing.share.together import TRANSFER

LEVEL = "behaviour"
"""The level of obfuscation that these traces state."""

Item = tuple[int, int]
"""A piece (0) or a call (1), and its number."""


_FEW_OPERATIONS = 4  # a byte at most, where memory bounds: they cost no time
_BELOW = 10, 16  # octaves of these operations below the mean of others


class Names(NamedTuple):
    """New names of groups and numbers of tags, by the old."""

    groups: Mapping[str, str]
    tags: Mapping[int, int]
    keyed: Keyed


class Writer:
    """Numbers of nodes follow the order."""

    def __init__(self, drawn: Drawn, names: Names) -> None:
        self.drawn = drawn
        self.names = names
        self.nodes: list[Node] = []
        self.last_of_piece: dict[int, int] = {}
        self.of_call: dict[int, int] = {}
        columns = drawn.columns
        self.exact = any(value is not None for value in columns.integers("duration_ns"))
        self.timed = any(columns.duration)
        self.numbers = {key: place for place, key in enumerate(sorted(drawn.lanes), start=1)}
        self.left: dict[LaneKey, float] = defaultdict(float)  # of a microsecond
        self.dense: list[Node] = []
        self.light: list[Node] = []

    def trace(self) -> Trace:
        """The rank's trace."""
        deps = self._deps()
        for item in in_order(deps, self._when):
            if item[0]:
                self._write_call(item[1], [self._node_of(parent) for parent in deps[item]])
            else:
                self._write_piece(item[1], deps[item])
        self._hide_light()
        parents = reduced_parents(Columns(Trace(self.nodes)))
        for node, before in zip(self.nodes, parents, strict=True):
            node.data_deps = sorted(before)
        about = self.drawn.columns.trace.metadata.attributes
        kept = [one for one in about if one.name == ORDER]
        return Trace(self.nodes, Metadata("", (Attribute(MARK, LEVEL), *kept)))

    def _deps(self) -> dict[Item, set[Item]]:
        drawn = self.drawn
        deps: dict[Item, set[Item]] = {}
        for numbers in drawn.of_lane.values():
            for at, number in enumerate(numbers):
                piece = drawn.pieces[number]
                chain = {numbers[at - 1]} if at else set()
                deps[0, number] = {(0, n) for n in piece.after | chain} | {
                    (1, n) for n in piece.calls
                }
        for number, one in enumerate(drawn.meetings):
            found = {(1, other) for other in one.after}
            for key, place in one.needs.items():
                before = drawn.before(key, place)
                if before is not None:
                    found.add((0, before))
            deps[1, number] = found
        return deps

    def _when(self, item: Item) -> float:
        sort, number = item
        return self.drawn.calls[number].order[0] if sort else self.drawn.pieces[number].begins

    def _node_of(self, item: Item) -> int:
        return (self.of_call if item[0] else self.last_of_piece)[item[1]]

    def _write_call(self, number: int, after: list[int]) -> None:
        drawn = self.drawn
        call = drawn.calls[number]
        nodes = call.nodes[drawn.rank]
        old = drawn.columns.trace[drawn.columns.record[nodes[0][0]]]
        took = sum(drawn.columns.duration[at] * share for at, _, share in nodes)
        name = NODE_TRAITS[NodeType(call.type)].word
        if call.type == NodeType.COMM_COLL:
            kind = drawn.columns.comm_type[nodes[0][0]]
            known = kind is not None and 0 <= kind < len(CollectiveType)
            name = CollectiveType(kind or 0).name.lower() if known else "collective"
        made = self._add(name, call.type, round(took), after)
        made.attributes = [one for one in old.attributes if one.name in _OF_CALLS]
        group, tag = old.get("pg_name"), old.get("comm_tag")
        if isinstance(group, str) and group in self.names.groups:
            made.set("pg_name", self.names.groups[group])
        if isinstance(tag, int):
            made.set("comm_tag", self.names.tags[canonical_tag(tag)])
        made.set(
            "comm_size",
            call.size,
            next((one.kind for one in old.attributes if one.name == "comm_size"), None),
        )
        if self.exact and call.type == NodeType.COMM_COLL:
            made.set(TRANSFER, round(call.transfer_ns))
        self.of_call[number] = made.id

    def _write_piece(self, number: int, parents: set[Item]) -> None:
        piece = self.drawn.pieces[number]
        calls = [self._node_of(item) for item in parents if item[0]]
        after = [self._node_of(item) for item in parents if not item[0]]
        if piece.delay and self.timed:  # beside the calls, not after them
            delay = Amount(DELAY, piece.delay, 0, 0)
            micros = self._micros(piece.lane, piece.delay)
            after = [self._computation(piece.lane, delay, micros, after).id]
        after += calls
        for part in _around_delays(piece.amounts):
            micros = self._micros(piece.lane, part.duration_ns)
            after = [self._computation(piece.lane, part, micros, after).id]
        self.last_of_piece[number] = after[0]

    def _micros(self, key: LaneKey, ns: int) -> int:
        exact = self.left[key] + ns / 1000
        self.left[key] = exact - round(exact)
        return round(exact)

    def _computation(self, key: LaneKey, part: Amount, micros: int, after: list[int]) -> Node:
        what, number = key[0], self.numbers[key]
        if what.startswith("memory"):
            type = NodeType.MEM_LOAD if what == "memory load" else NodeType.MEM_STORE
            made = self._add(NODE_TRAITS[type].word, type, max(micros, 0), after)
            made.set("is_cpu_op", False)
            made.set("tensor_size", part.moved)
            return made
        is_cpu = what == "thread"
        name = "delay" if part.kind == DELAY else "operator" if is_cpu else "kernel"
        made = self._add(name, NodeType.COMP, max(micros, 0), after)
        made.set("is_cpu_op", is_cpu)
        made.set("thread" if is_cpu else "stream", number)
        if part.kind == DELAY:
            made.set("part", "delay")
        if part.kind == COMMUNICATION:
            made.set("communication", "communication")
        if self.exact:
            made.set("duration_ns", part.duration_ns)
        if part.operations or part.moved:
            made.set("num_ops", max(part.operations, 1))
            made.set("tensor_size", max(part.moved, 1))
            (self.light if not self.timed and part.kind == 0 else self.dense).append(made)
        return made

    def _hide_light(self) -> None:
        """Operations of memory-bound work are drawn: their share would tell models apart."""
        done = [int(str(node.get("num_ops"))) for node in self.dense]
        usual = sum(done) / max(len(done), 1)
        least, most = _BELOW
        for node in self.light:
            drawn = self.names.keyed.number("operations", self.drawn.rank, node.id) / (1 << 128)
            many = int(str(node.get("tensor_size"))) * _FEW_OPERATIONS
            few = int(usual * 2 ** -(least + (most - least) * drawn))
            node.set("num_ops", max(min(few, many), 1))

    def _add(self, name: str, type: int, micros: int, after: list[int]) -> Node:
        made = Node(len(self.nodes), name, type, micros, sorted(set(after)))
        self.nodes.append(made)
        return made


def _around_delays(amounts: list[Amount]) -> list[Amount]:
    """Delays between two halves of the work: what they follow in a recording is on their lane."""
    if len(amounts) < 2 or amounts[-1].kind != DELAY:
        return amounts
    first = amounts[0]
    half = Amount(first.kind, first.duration_ns // 2, first.operations // 2, first.moved // 2)
    rest = [all - part for all, part in zip(first[1:], half[1:], strict=True)]
    return [half, amounts[-1], *amounts[1:-1], Amount(first.kind, *rest)]


def in_order(deps: dict[Item, set[Item]], when: Callable[[Item], float]) -> Iterator[Item]:
    """Items after their parents, the earliest first.

    Mean places on several lanes may contradict each other; then the earliest piece that waits for
    another lane no longer does.
    """
    children: dict[Item, list[Item]] = defaultdict(list)
    for item, parents in deps.items():
        for parent in parents:
            children[parent].append(item)
    waiting = {item: len(parents) for item, parents in deps.items()}
    ready = [(when(item), item) for item, number in waiting.items() if not number]
    heapify(ready)
    done: set[Item] = set()
    while len(done) < len(deps):
        if not ready:
            item = min((one for one in deps if one not in done), key=lambda one: (when(one), one))
            deps[item] &= done
            waiting[item] = 0
            heappush(ready, (when(item), item))
        _, item = heappop(ready)
        done.add(item)
        yield item
        for child in children[item]:
            waiting[child] -= child not in done and item in deps[child]
            if not waiting[child] and child not in done and deps[child] <= done:
                heappush(ready, (when(child), child))


_OF_CALLS = frozenset(
    {"is_cpu_op", "comm_type", "comm_src", "comm_dst", "comm_priority", "comm_tag"}
    | {"pg_name", "involved_dim"}
)
