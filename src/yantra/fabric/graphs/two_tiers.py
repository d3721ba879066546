"""Leaves and spines: what leaf-spine, planes and rails share.

Ranks are on leaves; each leaf has a cable to each spine. Whether uplinks are as wide together as
the ranks below is the oversubscription, the one knob.

Source: Alizadeh and Edsall, "On the data path performance of leaf-spine datacenter fabrics", HOTI
2013.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.fabric.graphs.draft import Draft, Speed

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Uplinks(NamedTuple):
    """The way from leaves to spines: how many spines, and each cable."""

    spines: int
    speed: Speed


def uplink_rate(
    below: float, spines: int, stated: float | None, oversubscription: float | None
) -> float:
    """Return the bytes/ns of a cable to a spine.

    `below` is what a leaf takes from its ranks. Uplinks are `stated`, or carry together `below` /
    `oversubscription`.
    """
    if stated is not None:
        return stated
    return below / (spines * (1.0 if oversubscription is None else oversubscription))


def add_spines(
    draft: Draft, leaves: NDArray[np.uint32], uplinks: Uplinks, prefix: str = ""
) -> NDArray[np.uint32]:
    """Add spines that are linked to all leaves; return them."""
    spines = draft.switches(f"{prefix}spine", uplinks.spines)
    draft.cables(leaves[:, None], spines, uplinks.speed, f"{prefix}leaf up", f"{prefix}leaf down")
    return spines


def bisection(leaves: int, below: int, bytes_per_ns: float, spines: int, uplink: float) -> float:
    """Return the bytes/ns across the worst cut into halves of the ranks, one way.

    A cut takes half of the leaves with their uplinks, and of an odd leaf the ranks of one half; or
    all leaves on one side, and the cables of half of the ranks. What is between these is linear in
    the number of leaves on the other side, so one of the two is the least.
    """
    half, whole = leaves * below // 2, leaves // 2
    return min(half * bytes_per_ns, whole * spines * uplink + (half - whole * below) * bytes_per_ns)
