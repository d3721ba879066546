"""The order in which a rank enters communications, and whether timing can change it.

As in ASTRA-sim, the lowest ready id starts first. So x precedes y at any speed if y depends on x,
or if x's parents have ended when y's have and x has the lower id; and by transitivity.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from yantra.chakra.schema import NodeType
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.paths import issue_order

MOST_UNDECIDED = 1000  # communications of a rank with all pairs examined
COMMUNICATION = frozenset({NodeType.COMM_SEND, NodeType.COMM_RECV, NodeType.COMM_COLL})


class SlotOrder(NamedTuple):
    """Pairs in sure order (without implied ones) and in none.

    `sure_before[i]`: bit set of holders always entered before the i-th; None if too many, then
    without pairs.
    """

    sure: list[tuple[int, int]]
    undecided: list[tuple[int, int]]
    sure_before: list[int] | None


class Order:
    """One trace's communications.

    `sequence`: in one worker's issue order, `place`: positions there, `direct`: direct dependencies
    among them. `holders`: all but receives; they hold the rank's one slot.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        order = issue_order(columns)
        type = columns.type
        self.sequence = [node for node in order if type[node] in COMMUNICATION]
        self.holders = [node for node in self.sequence if type[node] != NodeType.COMM_RECV]
        self.place = {node: at for at, node in enumerate(self.sequence)}
        self._bit = self._tracked()
        self._needs: dict[int, int] = {}
        self._ended: dict[int, int] = {}
        if self.sequence:
            self._find_ancestors(order)
        self.direct = self._direct_dependencies()

    def decided(self, nodes: list[int]) -> bool:
        if all(self._forced(first, second) for first, second in pairwise(nodes)):
            return True
        if not set(nodes) <= set(self.holders):
            return False
        if self.slots.sure_before is None:
            return False
        sure = self.slots.sure_before
        at = {node: place for place, node in enumerate(self.holders)}
        return all(sure[at[second]] >> at[first] & 1 for first, second in pairwise(nodes))

    @cached_property
    def slots(self) -> SlotOrder:
        holders = self.holders
        if all(self._forced(first, second) for first, second in pairwise(holders)):
            masks = [(1 << at) - 1 for at in range(len(holders))]
            return SlotOrder(list(pairwise(holders)), [], masks)
        if len(holders) > MOST_UNDECIDED:
            return SlotOrder([], [], None)
        sure, open = [], []
        before = [0] * len(holders)
        for at, node in enumerate(holders):
            for earlier in range(at - 1, -1, -1):
                if before[at] >> earlier & 1:
                    continue
                if self._forced(holders[earlier], node):
                    sure.append((holders[earlier], node))
                    before[at] |= before[earlier] | 1 << earlier
                else:
                    open.append((earlier, at))
        undecided = [(holders[a], holders[b]) for a, b in open if not before[b] >> a & 1]
        return SlotOrder(sure, undecided, before)

    def _forced(self, first: int, second: int) -> bool:
        if self._ended[second] >> self._bit[first] & 1:
            return True
        return first < second and not self._needs[first] & ~self._ended[second]

    def _tracked(self) -> dict[int, int]:
        bit = dict(self.place)
        for node in self.sequence:
            for parent in self.columns.parents(node):
                bit.setdefault(parent, len(bit))
        return bit

    def _find_ancestors(self, order: Sequence[int]) -> None:
        columns, bit, place = self.columns, self._bit, self.place
        begin, parent = columns.parent_begin, columns.parent
        left = [b - a for a, b in pairwise(columns.child_begin)]
        ended = [0] * columns.count
        for node in order:
            mask = needs = 0
            for other in parent[begin[node] : begin[node + 1]]:
                mask |= ended[other]
                left[other] -= 1
                if not left[other]:
                    ended[other] = 0
                if node in place:
                    needs |= 1 << bit[other]
            if node in place:
                self._needs[node], self._ended[node] = needs, mask
            if node in bit:
                mask |= 1 << bit[node]
            ended[node] = mask

    def _direct_dependencies(self) -> dict[int, list[int]]:
        only = (1 << len(self.sequence)) - 1
        direct: dict[int, list[int]] = {}
        for node in self.sequence:
            rest = self._ended[node] & only
            direct[node] = []
            while rest:
                last = self.sequence[rest.bit_length() - 1]
                direct[node].append(last)
                rest &= ~(self._ended[last] | 1 << self._bit[last])
        return direct
