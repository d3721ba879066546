"""Which dimensions of the network a group of ranks spans."""

from __future__ import annotations

from math import prod

from yantra.scenario import Topology


class Spans:
    """Which dimensions groups span; groups that lie alike are looked at once."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._known: dict[tuple[int, ...], frozenset[int]] = {}

    def of(self, members: tuple[int, ...]) -> frozenset[int] | None:
        """Return what `whole_dimensions` returns.

        What spans dimensions from one rank does so from every rank that is first in them.
        """
        first = members[0]
        pattern = tuple([member - first for member in members])
        known = self._known.get(pattern)
        if known is not None:
            coordinates = _coordinates(self._topology, first)
            if not any(coordinates[d] for d in known):
                return known
        spanned = whole_dimensions(self._topology, members)
        if spanned is not None:
            self._known[pattern] = spanned
        return spanned


def whole_dimensions(topology: Topology, members: tuple[int, ...]) -> frozenset[int] | None:
    """Return the dimensions a group spans if it is exactly their product, else None.

    Such a group holds every coordinate of some dimensions and one coordinate of each other one, and
    its ring order is ascending, so it can run dimension by dimension.
    """
    if list(members) != sorted(members):
        return None
    coordinates = [_coordinates(topology, rank) for rank in members]
    spanned = set()
    for d, dimension in enumerate(topology.dimensions):
        present = {c[d] for c in coordinates}
        if len(present) == dimension.size:
            spanned.add(d)
        elif len(present) > 1:
            return None
    size = prod(topology.dimensions[d].size for d in spanned)
    return frozenset(spanned) if size == len(members) else None


def lowest_dimension(topology: Topology, members: tuple[int, ...]) -> int:
    """Return the lowest dimension in which the ranks of a group (two at least) differ."""
    coordinates = [_coordinates(topology, rank) for rank in members]
    return next(d for d in range(len(topology.dimensions)) if len({c[d] for c in coordinates}) > 1)


def _coordinates(topology: Topology, rank: int) -> tuple[int, ...]:
    coordinates = []
    for dimension in topology.dimensions:
        rank, coordinate = divmod(rank, dimension.size)
        coordinates.append(coordinate)
    return tuple(coordinates)
