"""A collective algorithm: who sends what to whom, in rounds."""

from __future__ import annotations

from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.in_network import InNetwork, Node
from yantra.collectives.node_stages import (
    OverNodes,
    Shares,
    over_switches,
    over_trees,
    spread,
    summed_up,
)
from yantra.collectives.schedule import Kind, Move, Round, Schedule
from yantra.collectives.switch_tree import Tree, all_reduce, barrier, broadcast

__all__ = [
    "CollectiveAlgorithm",
    "InNetwork",
    "Kind",
    "Move",
    "Node",
    "OverNodes",
    "Round",
    "Schedule",
    "Shares",
    "Tree",
    "all_reduce",
    "barrier",
    "broadcast",
    "over_switches",
    "over_trees",
    "spread",
    "summed_up",
]
