"""What is done about failures: checkpoints, spares, elastic groups, repair in place, and so on.

A policy is one value; `variants` changes one thing of it at a time. Times are in ns.
"""

from __future__ import annotations

from typing import NamedTuple

NEVER = 1 << 62
"""A time that does not come."""


class Policy(NamedTuple):
    """Checkpoints block training for `block` after `tau` of it, and hold `save` after they began.

    `store_every`: with checkpoints in other hosts' memory, each so many-th is stored, too; 1 stores
    all. `queue` is how long the scheduler takes to lend another host, `NEVER` if it does not.
    `groups` are those of an elastic job, that goes on without one; 0 is a job that restarts.
    """

    tau: int = NEVER
    block: int = 0
    save: int = 0
    store_every: int = 1
    spares: int = 0
    """Hosts that wait; those under repair come back to them."""
    queue: int = NEVER
    groups: int = 0
    reconfigure: int = 0
    """Pause of an elastic job."""
    in_place: float = 0.0
    """Share of hosts' crashes that need no other host."""
    foreseen: float = 0.0
    """Share of hosts' crashes that are seen in advance, and moved away from."""
    move: int = 0
    """How long such a migration blocks training."""
    notice: int = NEVER
    """After which a slow rank is evicted."""
    slower: float = 1.0
    """Times, of a step with a slow rank."""

    @property
    def period(self) -> int:
        return min(self.tau + self.block, NEVER)
