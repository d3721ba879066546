"""What a mode of post-training is: a step's question to the fields of the loop that plays it.

Trade-off: a mode chooses among the loops of the core, and writes none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple


class Asked(NamedTuple):
    """What a step asks of its mode; groups are prompts with their samples."""

    prompts: int
    """Groups that a step trains."""
    minibatch: int
    """Groups of an optimizer step."""
    staleness: int
    """What `--staleness` says, in what the mode counts; else the mode's `ahead`."""
    at_once: int
    """Groups that may run at once; 0 if nothing is said."""
    refit_rule: str
    """What generation does for a refit: `drain`, `pause`, `in-flight`."""
    kv: str
    """What a refit does to the KV of what runs: `keep`, `recompute`."""


class Loop(NamedTuple):
    """Fields of `yantra.rl.Job` that a mode says, under the same names."""

    loop: str
    """`sync`, `k-off`, `async`, `partial`."""
    groups_per_step: int | None = None
    """A divisor of the prompts of a step; None: all of them."""
    k: int | None = None
    staleness: int | None = None
    max_concurrent: int | None = None
    max_age: int | None = None
    in_flight_groups: int | None = None
    feed: str = "capacity"
    order: str | None = None
    refill: str = "one"
    refit_rule: str = "drain"
    kv: str = "keep"
    routing: str = "least"

    def fields(self) -> dict[str, Any]:
        """They by name, but for `groups_per_step`."""
        return {name: one for name, one in self._asdict().items() if name != "groups_per_step"}


class Mode(ABC):
    """One mode."""

    about: ClassVar[str] = ""
    """What it does, in a line."""
    colocated: ClassVar[bool] = False
    """Whether all GPUs generate, then train, or some each."""
    waits: ClassVar[bool] = False
    """Whether nothing is generated while there is training: a step is then the sum of its parts."""
    counts: ClassVar[str] = ""
    """What `--staleness` counts, `steps` or `mini-batches`, which a user must then give."""
    ahead: ClassVar[int] = 0
    """Steps by which generation is ahead, where a user says nothing."""

    @abstractmethod
    def loop(self, asked: Asked) -> Loop:
        """The loop of a step."""

    def most_stale(self, asked: Asked) -> int | None:
        """Mini-batches by which a sample is stale at most; None: no bound is stated."""
        return None
