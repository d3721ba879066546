"""ASTRA-sim's algorithms as state machines: the oracle for faithful programs. Source: behaviour of
ASTRA-sim 2, master of 2026-03.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tests.oracles.wire import World


class Injection(NamedTuple):
    size: int
    reduce: bool
    side: str
    back: bool
    to: int
    source: int


@dataclass
class Packet:
    size: int
    to: int
    source: int


class Ring:
    """`what` is all_reduce, reduce_scatter, all_gather or all_to_all; `direction` is +1 or -1."""

    def __init__(
        self, world: World, what: str, n: int, position: int, data: int, direction: int = 1
    ) -> None:
        self.world, self.what, self.n, self.position = world, what, n, position
        self.direction = direction
        self.window = 1
        self.size = data if what == "all_gather" else data // n
        self.left = {"all_reduce": 2 * (n - 1), "all_to_all": n * (n - 1) // 2}.get(what, n - 1)
        self.to = (position + direction) % n
        self.source = (position - direction) % n
        self.pending: list[Packet] = []
        self.free = self.z = self.nz = self.received = 0
        self.toggle = False
        self.injected: list[Injection] = []
        self.finished_at: int | None = None

    def group(self) -> int:
        return self.n - 1

    def start(self) -> None:
        self.inject()

    def on_receipt(self) -> None:
        self.received += 1
        self.inject()

    def inject(self) -> None:
        if self.z == 0 and self.nz == 0:
            self.z, self.nz = self.window, self.group()
            self.toggle = not self.toggle
        self.pending.append(Packet(self.size, self.to, self.source))
        if self.z > 0:
            self.z -= 1
            reduce, side, back = False, "z", False
        else:
            reduce = self.what == "reduce_scatter" or (self.what == "all_reduce" and self.toggle)
            side, back = "nz", self.nz > self.window
            self.nz -= 1
        self.injected.append(Injection(self.size, reduce, side, back, self.to, self.source))
        self.world.hand_over(self.size, reduce, self.on_handed_over)
        self.advance()

    def advance(self) -> None:
        """A ring keeps its neighbours."""

    def on_handed_over(self) -> None:
        self.free += 1
        self.try_to_send()
        self.try_to_finish()

    def try_to_send(self) -> None:
        if self.pending and self.left > 0 and self.free > 0:
            packet = self.pending.pop(0)
            self.world.send(self.position, packet.to, packet.size)
            self.world.receive(packet.source, self.position, packet.size, self.on_receipt)
            self.left -= 1
            self.free -= 1

    def try_to_finish(self) -> None:
        if self.left == 0 and self.free == self.window:
            assert self.finished_at is None
            self.finished_at = self.world.now


class Direct(Ring):
    """`limit` is the N of directN, None for none; `in_group` is a communicator group's ring."""

    def __init__(
        self,
        world: World,
        what: str,
        n: int,
        position: int,
        data: int,
        direction: int = 1,
        limit: int | None = None,
        in_group: bool = False,
    ) -> None:
        super().__init__(world, what, n, position, data, direction)
        self.window = n - 1 if limit is None else min(limit, n - 1)
        self.in_group = in_group
        if what == "all_to_all":
            self.left = n - 1

    def group(self) -> int:
        return (self.n - 1) * self.window if self.in_group else self.window

    def start(self) -> None:
        for _ in range(self.window):
            self.inject()

    def advance(self) -> None:
        self.to = self.next_but_self(self.to, self.direction)
        self.source = self.next_but_self(self.source, -self.direction)

    def next_but_self(self, member: int, step: int) -> int:
        member = (member + step) % self.n
        return (member + step) % self.n if member == self.position else member

    def on_handed_over(self) -> None:
        self.free += 1
        if self.what == "all_reduce" and self.left <= self.n - 1:
            if self.received < self.n - 1:
                return
            for _ in range(self.window):
                self.try_to_send()
        else:
            self.try_to_send()
        self.try_to_finish()


class HalvingDoubling(Ring):
    def __init__(self, world: World, what: str, n: int, position: int, data: int) -> None:
        super().__init__(world, what, n, position, data)
        self.steps = n.bit_length() - 1
        self.left = 2 * self.steps if what == "all_reduce" else self.steps
        self.size = data if what == "all_gather" else data // 2
        self.factor = 0.5 if what == "all_gather" else 2.0
        self.offset = n // 2 if what == "all_gather" else 1
        self.find_peer()

    def group(self) -> int:
        return self.steps - 1

    def find_peer(self) -> None:
        forward = self.offset == 0 or (self.position // self.offset) % 2 == 0
        step = 1 if forward else -1
        self.to = self.source = (self.position + step * self.offset) % self.n

    def advance(self) -> None:
        self.shrink()
        if self.offset == self.n and self.what == "all_reduce":
            self.factor = 0.5
            self.shrink()
        self.find_peer()

    def shrink(self) -> None:
        self.offset = int(self.offset * self.factor)
        self.size = int(self.size / self.factor)


@dataclass
class TreeNode:
    parent: int | None = None
    left: int | None = None
    right: int | None = None


def double_tree(n: int, root_max: bool) -> dict[int, TreeNode]:
    """A root over one perfect tree, numbered in order; the root has the largest or smallest id."""
    nodes: dict[int, TreeNode] = {}

    def perfect(first: int, depth: int, parent: int | None) -> int:
        half = 2 ** (depth - 1)
        top = first + half - 1
        nodes[top] = TreeNode(parent)
        if depth > 1:
            nodes[top].left = perfect(first, depth - 1, top)
            nodes[top].right = perfect(first + half, depth - 1, top)
        return top

    depth = n.bit_length() - 1
    root = n - 1 if root_max else 0
    nodes[root] = TreeNode()
    child = perfect(0 if root_max else 1, depth, root)
    if root_max:
        nodes[root].left = child
    else:
        nodes[root].right = child
    return nodes


class Tree:
    def __init__(self, world: World, nodes: dict[int, TreeNode], position: int, data: int) -> None:
        self.world, self.position, self.data = world, position, data
        node = nodes[position]
        self.parent = node.parent
        self.children = [child for child in (node.left, node.right) if child is not None]
        self.handed_over = 0
        self.finished_at: int | None = None

    def start(self) -> None:
        if not self.children:
            self.world.hand_over(self.data, False, self.leaf_sends)
        for child in self.children:
            self.receive(child, self.on_child)

    def leaf_sends(self) -> None:
        self.send(self.parent)
        self.receive(self.parent, lambda: self.world.hand_over(self.data, False, self.finish))

    def on_child(self) -> None:
        self.world.hand_over(self.data, True, self.on_reduced)

    def on_reduced(self) -> None:
        self.handed_over += 1
        if self.parent is None:
            self.spread()
        elif self.handed_over == 2:
            self.send(self.parent)
            self.receive(self.parent, lambda: self.world.hand_over(self.data, True, self.spread))

    def spread(self) -> None:
        for child in self.children:
            self.send(child)
        self.finish()

    def send(self, to: int | None) -> None:
        assert to is not None
        self.world.send(self.position, to, self.data)

    def receive(self, source: int | None, done: object) -> None:
        assert source is not None and callable(done)
        self.world.receive(source, self.position, self.data, done)

    def finish(self) -> None:
        self.finished_at = self.world.now


def play(world: World, members: list[Ring] | list[Tree]) -> list[int | None]:
    for member in members:
        member.start()
    world.run()
    return [member.finished_at for member in members]
