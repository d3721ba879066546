"""Flows of packets among hosts on one switch, at 100 Gb/s a link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from yantra import _core


def sent(
    hosts: int,
    flows: Sequence[tuple[int, int, float]],
    settings: _core.PacketSettings,
    *,
    delay_ns: float = 500.0,
    start_ns: Any = 0.0,
    **threads: Any,
) -> _core.PacketRun:
    up, down = np.arange(hosts), np.full(hosts, hosts)
    graph = _core.FabricGraph(
        hosts,
        np.array([0] * hosts + [1], np.uint8),
        np.concatenate([up, down]).astype(np.int32),
        np.concatenate([down, up]).astype(np.int32),
        np.full(2 * hosts, 12.5),
        np.full(2 * hosts, delay_ns),
        np.zeros(2 * hosts, np.int64),
        np.zeros(2 * hosts, np.int32),
        ["link"],
        np.ones(2 * hosts),
    )
    return _core.send_packets(
        first_hop=np.arange(len(flows) + 1, dtype=np.uint64) * 2,
        hops=np.array([hop for a, b, _ in flows for hop in (a, hosts + b)], np.uint32),
        first_ack_hop=np.arange(len(flows) + 1, dtype=np.uint64) * 2,
        ack_hops=np.array([hop for a, b, _ in flows for hop in (b, hosts + a)], np.uint32),
        bytes=np.array([size for *_, size in flows], float),
        start_ns=np.broadcast_to(np.asarray(start_ns, float), len(flows)).copy(),
        graph=graph,
        settings=settings,
        **threads,
    )
