"""What KV goes over from one engine to another: one line, or the links of a cluster.

Within a domain of the innermost level KV takes that level's links, else those of the outermost
level that leave the devices of both. Trade-off: between two domains only the links at the devices
are shared, so a fabric with less in its middle than at its edge is faster here than it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yantra.fabric.clusters.types import Cluster
    from yantra.serving.fleet import Pool

_NS = 1e9


class Line(NamedTuple):
    bytes_per_token: int
    bytes_per_s: float
    latency_s: float = 0.0
    layers: int = 1

    def give(self, core: Any, pools: Sequence[Pool]) -> None:
        """Let a fleet of the core carry over it."""
        core.line(round(self.latency_s * 1e12), self.bytes_per_s / _NS)


class Links(NamedTuple):
    bytes_per_token: int
    cluster: Cluster
    layers: int = 1
    scale: float = 1.0

    def give(self, core: Any, pools: Sequence[Pool]) -> None:
        """Let a fleet of the core carry over them."""
        begin, sizes = _places(pools)
        inner, outer = self.cluster.network[0], self.cluster.network[-1]
        domain = None if inner.members is None else int(inner.members.value)
        rates = [level.device_bytes_per_s() / _NS * self.scale for level in (inner, outer)]
        count = len(begin)
        # Links of target t: 4 t and on are inner out and in, outer out and in.
        capacity = np.repeat(sizes, 4) * np.tile(np.repeat(rates, 2), count)
        latency = np.tile([inner.latency.value, 0.0, outer.latency.value, 0.0], count)
        targets = np.arange(count)
        near = np.ones((count, count), bool)
        if domain is not None:
            near = (begin // domain)[:, None] == (begin // domain)[None, :]
        shift = np.where(near, 0, 2)
        ways = np.stack([4 * targets[:, None] + shift, 4 * targets[None, :] + shift + 1], axis=-1)
        first = np.arange(count * count + 1, dtype=np.int64) * 2
        core.links(
            count, first, np.ascontiguousarray(ways, np.int64).reshape(-1), capacity, latency
        )


def _places(pools: Sequence[Pool]) -> tuple[np.ndarray, np.ndarray]:
    begin, sizes, at = [], [], 0
    for pool in pools:
        each = pool.devices // pool.lanes
        for _ in range(pool.replicas * pool.lanes):
            begin.append(at)
            sizes.append(each)
            at += each
    return np.array(begin), np.array(sizes, np.float64)
