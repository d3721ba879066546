"""Long links between groups in turn (relative arrangement).

Source: Kim, Dally, Scott and Abts, ISCA 2008; Hastings et al., CLUSTER 2015.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def groups_of(said: int | None, ports: int) -> int:
    return ports + 1 if said is None else said


def refusal(groups: int, ports: int, words: str) -> tuple[str, str] | None:
    """Return key and problem if groups have too few ports; `words` name what has them."""
    if groups <= ports + 1:
        return None
    return "g", f"expected at most {words} + 1 = {ports + 1} groups, got {groups}"


def rounds(groups: int, ports: int) -> int:
    return ports // (groups - 1) if groups > 1 else 0


def cables(
    routers: NDArray[np.uint32], per_router: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return both ends of cables; `routers` are groups x routers.

    Port c of group i leads to group i + 1 + c mod (groups - 1).
    """
    groups, of_group = routers.shape
    times = rounds(groups, of_group * per_router)
    ahead = np.arange(1, groups)[:, None] + np.zeros(times, np.int64)
    port = ahead - 1 + np.arange(times) * (groups - 1)
    port_back = groups - ahead - 1 + np.arange(times) * (groups - 1)
    one = np.arange(groups)[:, None, None]
    other = one + ahead
    low = np.broadcast_to(routers[one, port // per_router], other.shape)[other < groups]
    high = routers[(other % groups), port_back // per_router][other < groups]
    return low, high
