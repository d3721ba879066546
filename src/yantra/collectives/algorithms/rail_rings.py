"""Rail rings: NCCL's rings over nodes, one for each place of a node, each on its own rail.

Ring k enters every node at place k, goes round the node, and leaves it at the place before k. That
one's adapter is on another rail than the next node's place k, so its data goes over NVLink to place
k, which sends it on: NCCL's PXN. So all adapters of a node are busy, where one ring of all ranks
uses those at its ends. `rail_rings8` has nodes of 8 ranks, one after the other; without a number
they have the divisor of n next to its square root.

A block goes on as soon as it is there, so hops inside nodes and between them go on side by side;
what has to leave the node goes first. Alone, with B_1 from a rank to its node's switch and B_2 from
a rank to the leaf of its rail, an all-reduce of S bytes over n = g N ranks comes close to

    2 (n - 1) / n S max(1 / B_1, 1 / (g B_2))

where the adapters bound it; a reduce-scatter takes half of that, and so does an all-gather of what
it has at last. Where NVLink is as busy as the adapters, hops wait for each other.

Trade-off: 2 (n - 1) hops one after the other. A ring inside one node is that of `ring`. Source:
NCCL 2.30.7, src/graph/rings.cc and src/graph/paths.cc; NVIDIA, "Doubling all2all performance with
NCCL 2.12" (2022), for PXN.
"""

from __future__ import annotations

from yantra.collectives.numbered_nodes import OfNodes
from yantra.collectives.schedule import Kind, Move, Round, Schedule


class RailRings(OfNodes):
    """`window` positions are a node; each has a ring that begins with it."""

    kinds = frozenset({Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER})

    def schedule(self, kind: Kind, n: int) -> Schedule:
        self.require(kind, n)
        local = self.local(n)
        rings = _Rings(n, 1 if local == n else local)
        scatter = [one for step in range(n - 1) for one in rings.step(step, reduce=True)]
        gather = [one for step in range(n - 1) for one in rings.step(step, reduce=False)]
        rounds = {
            Kind.REDUCE_SCATTER: scatter,
            Kind.ALL_GATHER: gather,
            Kind.ALL_REDUCE: scatter + gather,
        }
        used = tuple(one for one in rounds[kind] if one.moves)
        return Schedule(kind, n, n * rings.local, used, lockstep=False)


class _Rings:
    """`local` rings; block (p * local + k) is what ring k has for position p."""

    def __init__(self, n: int, local: int) -> None:
        self.n = n
        self.local = local

    def position(self, ring: int, at: int) -> int:
        """Return the position that is so far along a ring, from place `ring` of the first node."""
        node, along = divmod(at % self.n, self.local)
        return node * self.local + (ring + along) % self.local

    def step(self, step: int, *, reduce: bool) -> tuple[Round, Round]:
        """Return the hops inside nodes, those to the relay included, and those between nodes.

        Each ring has messages of its own, so none waits for what another has yet to get.
        """
        inside: list[Move] = []
        to_relay: list[Move] = []  # before others, as the slowest links wait for them
        across: list[Move] = []
        for ring in range(self.local):
            for at in range(self.n):
                owner = (at - step - (1 if reduce else 0)) % self.n
                blocks = (self.position(ring, owner) * self.local + ring,)
                src, dst = self.position(ring, at), self.position(ring, at + 1)
                if at % self.local < self.local - 1:
                    inside.append(Move(src, dst, blocks, reduce))
                    continue
                # The first of the node passes on what its last has. It has added its own to that
                # before, unless the block's way began behind it: then it adds it now.
                first = at - at % self.local
                begins_behind = first <= owner < at
                relay = self.position(ring, first)
                if relay != src:
                    to_relay.append(Move(src, relay, blocks, reduce and begins_behind))
                next_ = (at + 1) % self.n
                adds = reduce and not next_ <= owner < next_ + self.local - 1
                across.append(Move(relay, dst, blocks, adds))
        return Round((*to_relay, *inside)), Round(tuple(across))


PLUGIN = RailRings
