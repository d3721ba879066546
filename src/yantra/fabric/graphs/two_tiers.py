"""Leaves and spines of leaf-spine, planes and rails.

Oversubscription: ranks' bandwidth over uplinks'.

Source: Alizadeh and Edsall, HOTI 2013.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.fields import Entry, Number
from yantra.fabric.graphs.builder import BANDWIDTH, LATENCY
from yantra.fabric.graphs.draft import Draft, Speed

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Uplinks(NamedTuple):
    """Uplinks: number of spines, and each cable."""

    spines: int
    speed: Speed


KEYS: Mapping[str, Entry] = {
    "oversubscription": (
        "oversubscription",
        Number(above=0),
        "bandwidth of a leaf's ranks over that of its uplinks; by default 1",
    ),
    "uplink_bandwidth": (
        "uplink_bytes_per_ns",
        BANDWIDTH,
        "of each cable to a spine, in place of oversubscription",
    ),
    "uplink_latency": (
        "uplink_latency_ns",
        LATENCY,
        "of each cable to a spine; by default that of the ranks' links",
    ),
}
"""The options of uplinks, for tables of options."""


def said_twice(given: Any) -> tuple[str, str] | None:
    if given.oversubscription is not None and given.uplink_bytes_per_ns is not None:
        return "oversubscription", "not together with uplink_bandwidth, from which it follows"
    return None


def without_spines(given: Any) -> tuple[str, str] | None:
    for key, (name, _, _) in KEYS.items():
        if getattr(given, name, None) is not None:
            return key, "only with spines, and there are none"
    return None


def uplinks_of(given: Any, below: float) -> Uplinks:
    """Return the stated uplinks; `below` is a leaf's ranks in bytes/ns.

    Without a bandwidth a leaf's cables carry `below` / oversubscription.
    """
    rate, over = given.uplink_bytes_per_ns, given.oversubscription
    if rate is None:
        rate = below / (given.spines * (1.0 if over is None else over))
    latency = given.uplink_latency_ns
    return Uplinks(given.spines, Speed(rate, given.latency_ns if latency is None else latency))


def add_spines(
    draft: Draft, leaves: NDArray[np.uint32], uplinks: Uplinks, prefix: str = ""
) -> NDArray[np.uint32]:
    spines = draft.switches(f"{prefix}spine", uplinks.spines)
    draft.cables(leaves[:, None], spines, uplinks.speed, f"{prefix}leaf up", f"{prefix}leaf down")
    return spines


def bisection(leaves: int, below: int, bytes_per_ns: float, spines: int, uplink: float) -> float:
    """Return bytes/ns, one way, across the worst halving:

    half of the leaves, and half an odd one's ranks, or half of the ranks' cables.
    """
    half, whole = leaves * below // 2, leaves // 2
    return min(half * bytes_per_ns, whole * spines * uplink + (half - whole * below) * bytes_per_ns)
