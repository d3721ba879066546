"""Rail rings: NCCL's rings over nodes, one for each place of a node, each on its own rail.

Place k sends for the place before it after a hop over NVLink (NCCL's PXN). `rail_rings8` has nodes
of 8 consecutive ranks; without a number, the divisor of n next to its square root.

With B_1 from a rank to its node's switch and B_2 to its rail, an all-reduce over n = g N takes
about 2 (n - 1) / n S max(1 / B_1, 1 / (g B_2)).

Trade-off: 2 (n - 1) hops in sequence. Source: NCCL 2.30.7, src/graph/rings.cc and
src/graph/paths.cc.
"""

from __future__ import annotations

from yantra.collectives.numbered_nodes import OfNodes
from yantra.collectives.schedule import Kind, Move, Round, Schedule


class RailRings(OfNodes):
    """`window` positions are a node; each begins a ring."""

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
        node, along = divmod(at % self.n, self.local)
        return node * self.local + (ring + along) % self.local

    def step(self, step: int, *, reduce: bool) -> tuple[Round, Round]:
        """Each ring has its own messages, so none waits for another's data."""
        inside: list[Move] = []
        to_relay: list[Move] = []  # first, as the slowest links wait for them
        across: list[Move] = []
        for ring in range(self.local):
            for at in range(self.n):
                owner = (at - step - (1 if reduce else 0)) % self.n
                blocks = (self.position(ring, owner) * self.local + ring,)
                src, dst = self.position(ring, at), self.position(ring, at + 1)
                if at % self.local < self.local - 1:
                    inside.append(Move(src, dst, blocks, reduce))
                    continue
                # The first of the node adds its own part unless the block began behind it.
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
