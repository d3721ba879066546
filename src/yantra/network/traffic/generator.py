"""What a generator of traffic is: options, and the flows that follow from them and a seed.

Flows are columns of numpy. The same options, hosts and seed give the same flows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from yantra.base.fields import Quantity, Section

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIZE = Quantity("size", "B", whole=True, at_least=1)
"""The field of the bytes of a flow."""
BANDWIDTH = Quantity("bandwidth", "GB/s", above=0)
"""The field of the rate of a host; 1 GB/s is 1 byte per ns."""


class Flows(NamedTuple):
    """A list of flows: from host, to host, bytes, and the start in whole ns."""

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    bytes: NDArray[np.int64]
    start_ns: NDArray[np.int64]


class Traffic(ABC):
    """A rule that makes flows. `options` describes it; `self.given` is the record of them."""

    options: ClassVar[Section]

    def __init__(self, given: Any) -> None:
        """Keep the options, a record of `self.options`."""
        self.given = given

    def refuses(self, hosts: int) -> tuple[str, str] | None:
        """Return the key of an option that cannot be, and why; None if all can."""
        return None

    @abstractmethod
    def expected(self, hosts: int) -> float:
        """Return about how many flows there will be."""

    @abstractmethod
    def flows(self, hosts: int, seed: int) -> Flows:
        """Return the flows, in any order."""


def ordered(flows: Flows) -> Flows:
    """Return flows by start, then source, then destination."""
    order = np.lexsort((flows.dst, flows.src, flows.start_ns))
    return Flows(*(column[order] for column in flows))


def others(generator: np.random.Generator, hosts: int, src: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each source another host, each with the same chance."""
    return (src + generator.integers(1, hosts, len(src))) % hosts
