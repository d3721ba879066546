"""`Feeder`: hands out a trace's nodes in an order its dependencies allow.

For your own simulator, with the names of upstream's C++ feeders:

    feeder = chakra.Feeder("step.0.et")
    while feeder.has_nodes_to_issue():
        node = feeder.next_issuable()
        ...                              # simulate it; then
        feeder.free_children(node.id)

The lowest ready id comes first. "v1" waits for data dependencies, "v3" for data and control.
Upstream's v1 has the same order; its v3 takes any node of a hash set.

Source: MLCommons Chakra, ETFeeder (v1); astra-sim/chakra, FeederV3.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from enum import Enum
from heapq import heappop, heappush
from typing import Literal

from yantra.base.errors import TraceError
from yantra.base.text import count
from yantra.chakra.schema import Node
from yantra.chakra.trace import Trace, read

Semantics = Literal["v1", "v3"]


class State(Enum):
    """The state of a node; one that is pushed back is pending again."""

    PENDING = "pending"
    """Not handed out."""
    TAKEN = "taken"
    """Handed out, not finished."""
    FINISHED = "finished"
    """Finished."""


class Feeder:
    """The nodes of a trace, one by one.

    Raises TraceError for a repeated id, a dependency on a missing node, or a cycle.
    """

    def __init__(
        self,
        source: Trace | str | os.PathLike[str] | bytes | None = None,
        semantics: Semantics = "v3",
    ) -> None:
        """`source`: a trace, a file or its content; None: empty."""
        if semantics not in ("v1", "v3"):
            raise TraceError(f"feeder: semantics must be v1 or v3, got {semantics!r}")
        self.semantics = semantics
        """Whose order of ready nodes it follows."""
        given = Trace() if source is None else source
        self.trace = given if isinstance(given, Trace) else read(given)
        """Its trace."""
        self._made: dict[int, Node] = {}  # added by hand
        self._record: dict[int, int] = {}
        self._state: dict[int, State] = {}
        self._awaited: dict[int, set[int]] = {}  # by waiting node
        self._children: dict[int, list[int]] = {}
        self._ready: list[int] = []
        self._left = 0
        self._load()

    def add(self, node: Node) -> None:
        """Add a node; it waits for its unfinished dependencies."""
        if node.id in self._state:
            raise TraceError(f"feeder: {node.label}: the id is taken")
        parents = node.data_deps + (node.ctrl_deps if self.semantics == "v3" else [])
        for parent in parents:
            self._known(parent, f"{node.label} depends on node {parent}, but ")
        self._made[node.id] = node
        self._enter(node.id, parents)
        if not self._awaited[node.id]:
            heappush(self._ready, node.id)

    def lookup(self, id: int) -> Node:
        """Node `id`, whatever its state."""
        self._known(id)
        return self._made[id] if id in self._made else self.trace[self._record[id]]

    def state(self, id: int) -> State:
        """State of node `id`."""
        self._known(id)
        return self._state[id]

    def children(self, id: int) -> tuple[int, ...]:
        """Ids of nodes that wait, or waited, for `id`, ascending."""
        self._known(id)
        return tuple(sorted(set(self._children.get(id, ()))))

    def has_nodes_to_issue(self) -> bool:
        """Whether nodes are left: "v1" unfinished, "v3" ready ones."""
        return self._left > 0 if self.semantics == "v1" else bool(self._ready)

    def next_issuable(self) -> Node | None:
        """Take the ready node of lowest id, or None."""
        if not self._ready:
            return None
        id = heappop(self._ready)
        self._state[id] = State.TAKEN
        return self.lookup(id)

    def push_back(self, id: int) -> None:
        """Give a taken node back."""
        self._expect_taken(id, "pushed back")
        self._state[id] = State.PENDING
        heappush(self._ready, id)

    def free_children(self, id: int) -> None:
        """Finish a taken node, which may make others ready."""
        self._expect_taken(id, "finished")
        self._state[id] = State.FINISHED
        self._left -= 1
        for child in self._children.get(id, ()):
            awaited = self._awaited[child]
            awaited.discard(id)
            if not awaited and self._state[child] is State.PENDING:
                heappush(self._ready, child)

    finish = free_children
    """`free_children` under the later interface's name."""

    def remove(self, id: int) -> None:
        """Check that node `id` is finished; such take little room."""
        self._known(id)
        if self._state[id] is not State.FINISHED:
            state = self._state[id].value
            raise TraceError(f"feeder: node {id} is {state} and cannot be removed; finish it first")

    def taken(self) -> tuple[int, ...]:
        """Ids issued and not finished, ascending."""
        return tuple(sorted(id for id, state in self._state.items() if state is State.TAKEN))

    def __iter__(self) -> Iterator[Node]:
        while (node := self.next_issuable()) is not None:
            yield node
            if self._state[node.id] is State.TAKEN:
                self.free_children(node.id)

    def __len__(self) -> int:
        return self._left

    def __repr__(self) -> str:
        ready, taken = len(self._ready), len(self.taken())
        return f"<Feeder {self.semantics}: {self._left} nodes left, {ready} ready, {taken} taken>"

    def _load(self) -> None:
        native = self.trace.native
        ids = native.id.tolist()
        for record, id in enumerate(ids):
            if id in self._record:
                raise TraceError(f"feeder: node {id}: the id is given twice")
            self._record[id] = record
        both = self.semantics == "v3"
        for record, id in enumerate(ids):
            parents = native.data_deps(record)
            if both and (control := native.ctrl_deps(record)):
                parents = parents + control
            self._enter(id, parents)
        self._check_dependencies()
        for id in sorted(ids):
            if not self._awaited[id]:
                heappush(self._ready, id)
        self._check_cycles()

    def _enter(self, id: int, parents: Iterable[int]) -> None:
        finished = State.FINISHED
        awaited = {parent for parent in parents if self._state.get(parent) is not finished}
        self._state[id] = State.PENDING
        self._awaited[id] = awaited
        self._left += 1
        for parent in awaited:
            self._children.setdefault(parent, []).append(id)

    def _check_dependencies(self) -> None:
        missing = self._children.keys() - self._state.keys()
        if not missing:
            return
        parent = min(missing)
        child = min(self._children[parent])
        kind = "data" if parent in self.lookup(child).data_deps else "control"
        more = f" ({len(missing)} such ids)" if len(missing) > 1 else ""
        if kind == "control":
            more += "; semantics v1 looks at data dependencies only"
        raise TraceError(
            f"feeder: {self.lookup(child).label}: its {kind} dependency {parent} names no node of "
            f"this trace{more}"
        )

    def _check_cycles(self) -> None:
        left = {id: len(awaited) for id, awaited in self._awaited.items() if awaited}
        free = list(self._ready)
        while free:
            for child in self._children.get(free.pop(), ()):
                left[child] -= 1
                if not left[child]:
                    del left[child]
                    free.append(child)
        if not left:
            return
        path: dict[int, None] = {}
        at = min(left)
        while at not in path:
            path[at] = None
            at = min(parent for parent in self._awaited[at] if parent in left)
        cycle = [*list(path)[list(path).index(at) :], at]
        shown = " waits for ".join(map(str, cycle[:8])) + (" ..." if len(cycle) > 8 else "")
        raise TraceError(
            f"feeder: {count(len(left), 'node')} can never be issued, because dependencies form a "
            f"cycle: node {shown}"
        )

    def _known(self, id: int, prefix: str = "") -> None:
        if id not in self._state:
            raise TraceError(f"feeder: {prefix}the trace has no node {id}")

    def _expect_taken(self, id: int, what: str) -> None:
        self._known(id)
        state = self._state[id]
        if state is not State.TAKEN:
            raise TraceError(
                f"feeder: node {id} is {state.value}; only a node that was issued can be {what}"
            )


def issue_order(
    source: Trace | str | os.PathLike[str] | bytes, semantics: Semantics = "v3"
) -> list[int]:
    """Ids in order, each node ending before the next begins."""
    return [node.id for node in Feeder(source, semantics)]
