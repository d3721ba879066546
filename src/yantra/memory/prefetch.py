"""Layers whose data comes from a slower memory while earlier layers compute: what is exposed.

With depth k a layer's load may begin when the layer k + 1 places before has ended.

Source: Rajbhandari et al., ZeRO-Infinity, SC 2021, section 6.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from yantra.base.errors import ConfigError, expected_got


class Layer(NamedTuple):
    arrived_ns: float
    begun_ns: float
    ended_ns: float
    exposed_ns: float


def prefetched(
    compute_ns: Sequence[float], load_ns: Sequence[float], depth: int
) -> tuple[Layer, ...]:
    """Layers that compute and load so long, with prefetch `depth` layers ahead.

    Raises ConfigError for lists of different lengths, or a depth below 0.
    """
    if len(compute_ns) != len(load_ns):
        problem = expected_got(f"{len(compute_ns)} loads, one a layer", len(load_ns))
        raise ConfigError("load_ns", problem)
    if depth < 0:
        raise ConfigError("depth", f"must be at least 0; got {depth}")
    layers: list[Layer] = []
    for at, (compute, load) in enumerate(zip(compute_ns, load_ns, strict=True)):
        last = layers[-1] if layers else Layer(0.0, 0.0, 0.0, 0.0)
        room = layers[at - 1 - depth].ended_ns if at > depth else 0.0
        arrived = max(last.arrived_ns, room) + load
        begun = max(last.ended_ns, arrived)
        layers.append(Layer(arrived, begun, begun + compute, begun - last.ended_ns))
    return tuple(layers)


def exposed_ns(compute_ns: Sequence[float], load_ns: Sequence[float], depth: int) -> float:
    return sum(layer.exposed_ns for layer in prefetched(compute_ns, load_ns, depth))
