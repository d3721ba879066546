"""Collective algorithms, one file each: who sends which part to whom, and in which order."""

from __future__ import annotations

from yantra.base.registry import Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yantra.collectives.algorithm import CollectiveAlgorithm

algorithms: Registry[type[CollectiveAlgorithm]] = Registry(
    "collective algorithm",
    "yantra.collectives.algorithms",
    "yantra.collectives",
    base="yantra.collectives.algorithm.CollectiveAlgorithm",
)
