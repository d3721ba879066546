"""The contract of an engine in Python: who starts, who goes on, and who loses his KV, step by step.

Trade-off: a call each iteration, about 20 us, where the core's engines take iterations that are
alike as one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.int64]


class Option(NamedTuple):
    """A number that an engine takes, or a name of `choices`, whose value is its place there."""

    name: str
    default: float
    least: float
    help: str
    choices: tuple[str, ...] = ()


COMMON = (
    Option("num_blocks", 4096, 1, "blocks of KV"),
    Option("block_size", 16, 1, "tokens of a block"),
    Option("max_num_seqs", 256, 1, "sequences that run at once"),
    Option("max_num_batched_tokens", 8192, 1, "tokens of an iteration"),
)
"""What every engine in Python has; the core holds it to them."""


@dataclass(frozen=True)
class Rows:
    """Requests, a row each, in the engine's order: who begins anew waits before all others.

    `computed` tokens have KV, in `blocks`.
    """

    request: Column
    prompt: Column
    emitted: Column
    computed: Column
    limit: Column
    priority: Column
    user: Column
    arrival_ns: Column
    blocks: Column

    def __len__(self) -> int:
        return len(self.request)

    @property
    def left(self) -> Column:
        return self.prompt + self.emitted - self.computed


@dataclass(frozen=True)
class State:
    """What an engine sees before an iteration."""

    now_ns: float
    waiting: Rows
    running: Rows
    free_blocks: int
    num_blocks: int
    block_size: int
    max_num_seqs: int
    max_num_batched_tokens: int

    def blocks_for(self, tokens: int) -> int:
        return -(-int(tokens) // self.block_size)


class Plan(NamedTuple):
    """An iteration: `run` has (request, tokens) in order; `preempted` lose their blocks before."""

    run: Iterable[tuple[int, int]] = ()
    preempted: Iterable[int] = ()


class Engine(ABC):
    """Decides what each iteration works on."""

    options: ClassVar[tuple[Option, ...]] = ()
    """Its own, beyond `COMMON`."""
    in_order: ClassVar[bool] = True
    """Whether requests start in order of arrival, which the contract then checks."""

    def __init__(self, options: Mapping[str, float]) -> None:
        self.given = options
        """All its options, by name."""

    @abstractmethod
    def plan(self, state: State) -> Plan:
        """Return the next iteration; an empty one only if nothing fits."""
