"""Collective algorithms, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.registry import Registry

if TYPE_CHECKING:
    from yantra.collectives.algorithm import CollectiveAlgorithm

algorithms: Registry[type[CollectiveAlgorithm]] = Registry(
    "collective algorithm",
    "yantra.collectives.algorithms",
    "yantra.collectives",
    base="yantra.collectives.algorithm.CollectiveAlgorithm",
)
