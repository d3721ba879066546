"""In which order a rank enters its communications, and whether timing can change it.

The model is ASTRA-sim's: a node is ready when its parents have ended; of the ready nodes the lowest
id is taken first. So communication x goes before y whatever the durations are if y depends on x, or
if all parents of x have ended when those of y have and x has the lower id. Every other pair is left
to timing. Ancestors are kept as bit sets of the communications and their parents, dropped as soon
as no child needs them.
"""

from __future__ import annotations

from itertools import pairwise

from yantra.chakra.inspect.columns import Columns
from yantra.chakra.inspect.paths import issue_order
from yantra.chakra.schema import NodeType

COMMUNICATION = frozenset({NodeType.COMM_SEND, NodeType.COMM_RECV, NodeType.COMM_COLL})


class Order:
    """The communications of one trace.

    `sequence` holds the nodes in the order in which one worker would issue them, `place` their
    positions there, `direct` for each the communications it depends on without one between.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        order = issue_order(columns)
        type = columns.type
        self.sequence = [node for node in order if type[node] in COMMUNICATION]
        self.place = {node: at for at, node in enumerate(self.sequence)}
        self._bit = self._tracked()
        self._needs: dict[int, int] = {}
        self._ended: dict[int, int] = {}
        self._find_ancestors(order)
        self.direct = self._direct_dependencies()

    def forced(self, first: int, second: int) -> bool:
        """Whether communication `first` is entered before `second` at any speed."""
        if self._ended[second] >> self._bit[first] & 1:
            return True
        return first < second and not self._needs[first] & ~self._ended[second]

    def all_forced(self, nodes: list[int]) -> bool:
        """Whether timing cannot change the order of communications, given as in `sequence`."""
        return all(self.forced(first, second) for first, second in pairwise(nodes))

    def _tracked(self) -> dict[int, int]:
        """Number the communications as in `sequence`, and their other parents after them."""
        bit = dict(self.place)
        for node in self.sequence:
            for parent in self.columns.parents(node):
                bit.setdefault(parent, len(bit))
        return bit

    def _find_ancestors(self, order: list[int]) -> None:
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
        """Read the transitive reduction among communications from the bit sets."""
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
