"""What an engine is to the time of an iteration: numbers, each with its source.

What of it the device waits for is a time of an iteration, and of each sequence and new token in it.
Trade-off: one number a term, whatever the host's processor is.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.base.records import Record
from yantra.fabric.clusters.types import Number


class Host(NamedTuple):
    """Nanoseconds that a device waits for its host in an iteration."""

    ns_per_iteration: float = 0.0
    ns_per_sequence: float = 0.0
    ns_per_token: float = 0.0


class Engine(Record):
    """`kernels` names the framework whose measured kernels it runs, empty for the fastest.
    `interval` is the half-width of 90 % of iterations, as a logarithm. `scheduler` is the engine of
    `yantra.serving.batching` that it is; `products` and `attention` are factors of their kernels.
    """

    name: str
    title: str
    version: str
    kernels: str
    iteration: Number
    sequence: Number
    token: Number
    interval: Number
    sources: tuple[tuple[str, str], ...]
    scheduler: str = "vllm"
    products: Number | None = None
    attention: Number | None = None

    @property
    def factors(self) -> tuple[float, float]:
        products, attention = (
            1.0 if one is None else one.value for one in (self.products, self.attention)
        )
        return products, attention

    @property
    def host(self) -> Host:
        """What the host adds to an iteration."""
        return Host(self.iteration.value, self.sequence.value, self.token.value)
