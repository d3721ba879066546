"""Which device each rank of a job is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from yantra.base.errors import ConfigError
from yantra.fabric.graphs.graph import NO_BOX, Graph

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Placement(Protocol):
    """See `yantra.scenario.types.Placement`."""

    @property
    def kind(self) -> str:
        """`linear`, `by_rail`, `random` or `list`."""

    @property
    def seed(self) -> int: ...

    @property
    def devices(self) -> tuple[int, ...]: ...


def placed(placement: Placement, ranks: int, graph: Graph, where: str) -> NDArray[np.uint32]:
    if ranks > graph.ranks:
        problem = f"has places for {graph.ranks} ranks, the cluster has {ranks}"
        raise ConfigError(f"{where}.fabric", problem)
    if placement.kind == "list":
        return np.array(placement.devices, np.uint32)
    if placement.kind == "random":
        order = np.random.default_rng(placement.seed).permutation(graph.ranks)
    elif placement.kind == "by_rail":
        order = _along_rails(graph, f"{where}.placement")
    else:
        order = np.arange(graph.ranks)
    return order[:ranks].astype(np.uint32)


def _along_rails(graph: Graph, where: str) -> NDArray[np.intp]:
    boxes = graph.boxes[: graph.ranks]
    if (boxes == NO_BOX).any():
        raise ConfigError(where, "by_rail needs a fabric whose ranks are in boxes; take linear")
    order = np.argsort(boxes, kind="stable")
    sizes = np.bincount(boxes)
    place = np.empty(graph.ranks, np.intp)
    place[order] = np.arange(graph.ranks) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.lexsort((boxes, place))
