"""How many links a dimension has, and how many of them a rank drives at once."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from yantra.base.plugin_files import Named
from yantra.collectives.algorithms import algorithms
from yantra.collectives.names import split_window
from yantra.fabric.topologies import find
from yantra.result.codes import COLLECTIVE_KINDS
from yantra.scenario import COLLECTIVE_TYPES, Dimension
from yantra.scenario.quirks import Quirk

if TYPE_CHECKING:
    from yantra.compile import Model
    from yantra.fabric.topologies.topology import Block


def links_per_group(dimension: Dimension, by_link: bool) -> int:
    """The analytical network counts a message once, so only links that leave a rank count there."""
    links, from_ranks, _ = _links_of(dimension)
    return links if by_link else from_ranks


def _links_of(dimension: Dimension) -> tuple[int, int, int]:
    block = find(dimension.kind)
    return _count_links(type(block), block.number, dimension.size)


@lru_cache(maxsize=64)
def _count_links(kind: type[Block], number: int | None, size: int) -> tuple[int, int, int]:
    block = kind() if number is None else kind(number)
    if block.native == "fully_connected":  # its links grow with the square of its ranks
        return size * (size - 1), size * (size - 1), size - 1
    leaving = Counter(source for source, _ in block.links(size))
    ports = [leaving[rank] for rank in range(size)]
    return leaving.total(), sum(ports), max(ports)


def lanes(name: Named, dimension: Dimension, queues: int) -> int:
    """Rings alternate direction by queue; direct sends to its whole window; others have one partner
    at a time.
    """
    if algorithms.file_of(name) is not None or isinstance(name, type):
        return 1
    _, _, most = _links_of(dimension)
    spelled, window = split_window(name, "collectives")
    algorithm = spelled.lower().removeprefix("one")
    if algorithm == "ring":
        return min(queues, most, 2)
    if algorithm == "direct":
        return min(window or most, most)
    return 1


def kinds_used(model: Model) -> set[str]:
    return {
        COLLECTIVE_KINDS[used.comm_type]
        for used in model.graphs.collectives()
        if used.comm_type < len(COLLECTIVE_KINDS)
    }


def lanes_of(model: Model, d: int, kinds: set[str]) -> int:
    """The most lanes of any collective on a dimension; a lone message has 1."""
    collectives = model.scenario.collectives
    if Quirk.GROUP_RING in model.quirks and model.groups:
        return 1
    most = 1
    for kind in COLLECTIVE_TYPES:
        names = getattr(collectives, kind)
        if kind not in kinds or not isinstance(names, tuple) or not names:
            continue
        dimension = model.scenario.topology.dimensions[d]
        name = names[min(d, len(names) - 1)]
        most = max(most, lanes(name, dimension, collectives.queues_per_dimension))
    return most
