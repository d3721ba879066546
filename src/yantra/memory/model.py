"""What a memory model is: how long an access takes alone, and who waits for whom."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from yantra.base.fields import Section
from yantra.base.records import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from yantra.memory.migration import Touch

Sharing = Literal["rank", "node", "pool"]
"""A memory for each rank, for each node of `ranks_per_node` ranks, or for all."""


class Speeds(NamedTuple):
    """The scenario's memory; 0 is unstated."""

    latency_ns: int
    bytes_per_ns: float


class Hop(NamedTuple):
    """A link that every access crosses: one for each rank, for each node, or for all."""

    sharing: Sharing
    bytes_per_ns: float


class Pipeline(NamedTuple):
    """Ranks that access as many bytes at once go together: each one's `chunk_bytes` are on a hop
    before the next chunk of any.
    """

    chunk_bytes: float
    hops: tuple[Hop, ...]
    ranks_per_node: int = 1


class Accesses(Record):
    """Distinct accesses, as columns of equal length.

    `is_store` is false for a load; `count` is over all ranks.
    """

    bytes: NDArray[np.int64]
    is_store: NDArray[np.bool_]
    count: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.bytes)

    def take(self, rows: Any) -> Accesses:
        """Some rows, in the order of `rows`: places, or a truth value for each row."""
        return Accesses(**{name: part[rows] for name, part in self.__dict__.items()})

    def describe(self, row: int) -> str:
        return f"row {row} ({'store' if self.is_store[row] else 'load'} of {self.bytes[row]} bytes)"


def accesses(bytes: Sequence[int], is_store: Sequence[bool]) -> Accesses:
    import numpy as np

    return Accesses(
        bytes=np.asarray(bytes, np.int64),
        is_store=np.asarray(is_store, np.bool_),
        count=np.ones(len(bytes), np.int64),
    )


class MemoryModel(ABC):
    """One kind of memory beyond the device.

    `options` describes what a scenario may set, None for nothing. `native` names the form the core
    computes itself. `needs_bandwidth`: a memory without a bandwidth is refused. `is_free`: no
    access takes any time. `example` has options by name to check a model with, where some have no
    default.
    """

    options: ClassVar[Section | None] = None
    sharing: ClassVar[Sharing] = "rank"
    native: ClassVar[Literal["none", "per_npu", "per_node", "pool"] | None] = None
    needs_bandwidth: ClassVar[bool] = True
    is_free: ClassVar[bool] = False
    example: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, options: Any = None) -> None:
        """Keep the options, as the record of `self.options`."""
        self.given = options

    @abstractmethod
    def access(self, accesses: Accesses, speeds: Speeds) -> NDArray[np.float64]:
        """Nanoseconds of each access alone, for all rows at once."""

    def hold(self, offloaded: Mapping[str, int]) -> None:
        """Called once before `access`; empty if unknown. May raise UnsupportedError where it does
        not fit.
        """
        del offloaded  # most models have room for all

    @property
    def remembers(self) -> bool:
        """Whether an access's time depends on those before it; then see `in_order`."""
        return False

    def in_order(
        self, touches: Sequence[Touch], names: Sequence[str], speeds: Speeds
    ) -> Sequence[float]:
        """Nanoseconds of each access of a rank, in trace order; for a model that `remembers`.

        `names` are of the data.
        """
        raise NotImplementedError

    def pipeline(self, speeds: Speeds) -> Pipeline | None:
        """The hops that accesses share, None where each takes the time of `access`."""
        return None


class LatencyAndBandwidth(MemoryModel):
    """Latency + bytes / bandwidth. The core computes it itself where `native` is set.

    Source: Won et al., "ASTRA-sim2.0", ISPASS 2023, section IV-D.
    """

    def access(self, accesses: Accesses, speeds: Speeds) -> NDArray[np.float64]:
        """Latency + bytes / bandwidth; see the base."""
        import numpy as np

        moved: NDArray[np.float64] = accesses.bytes.astype(np.float64)
        if speeds.bytes_per_ns <= 0.0:
            return moved * 0.0 + speeds.latency_ns
        return speeds.latency_ns + moved / speeds.bytes_per_ns
