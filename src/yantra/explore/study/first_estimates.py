"""COMET's first estimates of memory: footprint, traffic, bandwidth of two memories.

Source: Kadiyala et al., "COMET: a comprehensive cluster design methodology for distributed deep
learning training", arXiv 2211.16648; ZeRO as in Rajbhandari et al., SC 2020, section 5.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.base.errors import ConfigError, expected_got

_WEIGHT_BYTES = 2
_GRADIENT_BYTES = 2
_STATE_BYTES = 12


class Footprint(NamedTuple):
    """Bytes of one device without activations."""

    weights: float
    gradients: float
    optimizer: float

    @property
    def total(self) -> float:
        return self.weights + self.gradients + self.optimizer


def footprint(parameters: float, model_ranks: int, data_ranks: int, zero: int) -> Footprint:
    """Return what a device holds of a model trained by Adam in mixed precision.

    2 bytes a parameter for weights and gradients, 12 for the optimizer, over `model_ranks`; ZeRO-1
    shares the optimizer's over `data_ranks`, 2 also gradients, 3 also weights. Raises ConfigError.
    """
    for name, value in (("model_ranks", model_ranks), ("data_ranks", data_ranks)):
        if value < 1:
            raise ConfigError(name, expected_got("at least 1", value))
    if zero not in (0, 1, 2, 3):
        raise ConfigError("zero", expected_got("0, 1, 2 or 3", zero))
    each = parameters / model_ranks

    def share(level: int) -> int:
        return data_ranks if zero >= level else 1

    return Footprint(
        _WEIGHT_BYTES * each / share(3),
        _GRADIENT_BYTES * each / share(2),
        _STATE_BYTES * each / share(1),
    )


def gemm_traffic(first: float, second: float, result: float, buffer: float) -> float:
    """Return the bytes that a matrix product moves past a buffer on the chip.

    For operands of U and V bytes and a result of W: min(psi(U, V), psi(V, U)) + W, psi(a, b) =
    ceil(a / buffer) b + a: pieces of a stay, b streams past each. That is U + V + W if an operand
    fits. Raises ConfigError for an empty buffer.
    """
    if not buffer > 0:
        raise ConfigError("buffer", expected_got("a size above 0", buffer))
    return min(_one_order(first, second, buffer), _one_order(second, first, buffer)) + result


def _one_order(stays: float, streams: float, buffer: float) -> float:
    return -(-stays // buffer) * streams + stays


def hybrid_bandwidth(local_share: float, local: float, expanded: float) -> float:
    """Return the bandwidth of two memories on one port, in their unit.

    `local_share` x of the traffic is local: 1 / (x / local + (1 - x) / expanded). Raises
    ConfigError for a share outside 0 to 1 or a bandwidth not above 0.
    """
    if not 0.0 <= local_share <= 1.0:
        raise ConfigError("local_share", expected_got("a share from 0 to 1", local_share))
    for name, value in (("local", local), ("expanded", expanded)):
        if not value > 0.0:
            raise ConfigError(name, expected_got("a bandwidth above 0", value))
    return 1.0 / (local_share / local + (1.0 - local_share) / expanded)
