"""Boxes with switches of their own, and rails that join equal places.

Rank b n + i is place i of box b.

Source: Wang et al., "Rail-only", Hot Interconnects 2024, section 2; Qian et al., "Alibaba HPN",
SIGCOMM 2024, section 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from yantra.fabric.graphs import two_tiers
from yantra.fabric.graphs.builder import Size
from yantra.fabric.graphs.draft import Draft, Speed


class Boxes(NamedTuple):
    """Number of boxes, their ranks, and switches, each cabled to every rank."""

    number: int
    ranks: int
    switches: int
    speed: Speed


class Rails(NamedTuple):
    """Leaves of rails: one per place and group of boxes; `uplinks` None without spines.

    `speed` is a rank's to its leaf.
    """

    groups: int
    speed: Speed
    uplinks: two_tiers.Uplinks | None


def size(boxes: Boxes, rails: Rails | None) -> Size:
    ranks = boxes.number * boxes.ranks
    devices = ranks + boxes.number * boxes.switches
    cables = ranks * boxes.switches
    if rails is not None:
        leaves = rails.groups * boxes.ranks
        spines = rails.uplinks.spines if rails.uplinks is not None else 0
        devices += leaves + spines
        cables += ranks + leaves * spines
    return Size(ranks, devices, 2 * cables)


def draft_of(boxes: Boxes, rails: Rails | None) -> Draft:
    draft = Draft(boxes.number * boxes.ranks)
    switches = draft.switches("box switch", boxes.number * boxes.switches)
    box = np.repeat(np.arange(boxes.number), boxes.ranks)
    draft.in_boxes(draft.ranks, box)
    draft.in_boxes(switches, np.repeat(np.arange(boxes.number), boxes.switches))
    own = switches.reshape(boxes.number, boxes.switches)[box]
    draft.cables(draft.ranks[:, None], own, boxes.speed, "box up", "box down")
    if rails is not None:
        leaves = draft.switches("leaf", rails.groups * boxes.ranks)
        group = box // -(-boxes.number // rails.groups)
        place = draft.ranks % boxes.ranks
        draft.cables(
            draft.ranks, leaves[group * boxes.ranks + place], rails.speed, "rank up", "rank down"
        )
        if rails.uplinks is not None:
            two_tiers.add_spines(draft, leaves, rails.uplinks)
    return draft
