"""What a generator of traffic is: options, and the flows that follow from them and a seed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from yantra.base.fields import Quantity, Section

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIZE = Quantity("size", "B", whole=True, at_least=1)
BANDWIDTH = Quantity("bandwidth", "GB/s", above=0)
"""The field of a host's rate; 1 GB/s is 1 byte per ns."""


class Flows(NamedTuple):
    """Source, destination, bytes, and start in whole ns."""

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    bytes: NDArray[np.int64]
    start_ns: NDArray[np.int64]


class Traffic(ABC):
    """A rule that makes flows."""

    options: ClassVar[Section]

    def __init__(self, given: Any) -> None:
        """Keep the options, a record of `self.options`."""
        self.given = given

    def refuses(self, hosts: int) -> tuple[str, str] | None:
        """The key of an invalid option, and why; None if all are valid."""
        return None

    @abstractmethod
    def expected(self, hosts: int) -> float:
        """The approximate number of flows."""

    @abstractmethod
    def flows(self, hosts: int, seed: int) -> Flows:
        """The flows, in any order."""


def ordered(flows: Flows) -> Flows:
    order = np.lexsort((flows.dst, flows.src, flows.start_ns))
    return Flows(*(column[order] for column in flows))


def others(generator: np.random.Generator, hosts: int, src: NDArray[np.int64]) -> NDArray[np.int64]:
    return (src + generator.integers(1, hosts, len(src))) % hosts
