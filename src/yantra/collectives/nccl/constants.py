"""The constants of NCCL's tuner: latencies in microseconds, bandwidths in GB/s (1e9).

Source: NCCL 2.30.7 (commit 5067397), src/graph/tuning.cc, `ncclTunerConstantsDefaults`,
`nvlsEfficiency` and `treeCorrectionFactor`; limits from src/include/device.h.
"""

from __future__ import annotations

from typing import Literal

Algorithm = Literal["Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"]
Protocol = Literal["LL", "LL128", "Simple"]
Gpu = Literal["volta", "ampere", "hopper", "blackwell"]
AnyGpu = Literal["volta", "ampere", "hopper", "blackwell", "mi200", "mi300", "mi350"]
Cpu = Literal["intel", "amd", "mixed", "other"]
Triple = tuple[float, float, float]

ALGORITHMS: tuple[Algorithm, ...] = (
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT",
)  # fmt: skip
"""Of equal times the first is taken."""

PROTOCOLS: tuple[Protocol, ...] = ("LL", "LL128", "Simple")

# Latencies by algorithm and protocol (LL, LL128, Simple).
BASE: dict[Algorithm, Triple] = {
    "Tree": (6.8, 14.0, 8.4),
    "Ring": (6.6, 14.0, 8.4),
    "CollNetDirect": (0.0, 0.0, 0.0),
    "CollNetChain": (0.0, 0.0, 0.0),
    "NVLS": (0.0, 0.0, 0.0),
    "NVLSTree": (0.0, 0.0, 0.0),
    "PAT": (8.0, 8.0, 8.0),
}
NVLINK: dict[Algorithm, Triple] = {
    "Tree": (0.6, 1.25, 4.0),
    "Ring": (0.6, 1.9, 3.4),
    "CollNetDirect": (0.0, 0.0, 3.7),
    "CollNetChain": (0.0, 0.0, 2.8),
    "NVLS": (0.0, 0.0, 25.0),
    "NVLSTree": (0.0, 0.0, 25.0),
    "PAT": (0.0, 0.0, 4.0),
}
PCI: dict[Algorithm, Triple] = {
    "Tree": (1.0, 1.9, 4.0),
    "Ring": (1.0, 2.5, 5.7),
    "CollNetDirect": (0.0, 0.0, 3.7),
    "CollNetChain": (0.0, 0.0, 2.8),
    "NVLS": (0.0, 0.0, 0.0),
    "NVLSTree": (0.0, 0.0, 0.0),
    "PAT": (0.0, 0.0, 4.0),
}
NETWORK: dict[Algorithm, Triple] = {
    "Tree": (5.0, 8.5, 14.0),
    "Ring": (2.7, 4.0, 14.0),
    "CollNetDirect": (0.0, 0.0, 31.0),
    "CollNetChain": (0.0, 0.0, 30.0),
    "NVLS": (0.0, 0.0, 18.0),
    "NVLSTree": (0.0, 0.0, 20.9),
    "PAT": (0.0, 0.0, 14.0),
}
POST: dict[Cpu, float] = {"intel": 1.0, "amd": 2.0, "mixed": 1.0, "other": 1.0}
"""Least microseconds to post a network send, for each step of a ring."""

# Over nodes LL has volta's row, ampere's with AMD CPUs.
LL_MOST: dict[Gpu, Triple] = {
    "volta": (39.0, 39.0, 20.4),
    "ampere": (87.7, 22.5, 19.0),
    "hopper": (141.0, 45.0, 35.0),
    "blackwell": (282.0, 90.0, 70.0),
}
RING_LL128_MOST: dict[Gpu, Triple] = {
    "volta": (20.0, 20.0, 20.0),
    "ampere": (20.0, 20.0, 20.0),
    "hopper": (36.7, 36.7, 36.7),
    "blackwell": (40.0, 40.0, 40.0),
}
TREE_LL128_MOST: dict[Gpu, Triple] = {
    "volta": (20.0, 20.0, 20.0),
    "ampere": (20.0, 20.0, 20.0),
    "hopper": (36.7, 36.7, 29.0),
    "blackwell": (55.6, 31.67, 20.0),
}
TREE_MOST: dict[Gpu, Triple] = {
    "volta": (26.5, 18.5, 10.0),
    "ampere": (24.0, 23.6, 17.8),
    "hopper": (38.7, 41.4, 36.0),
    "blackwell": (70.0, 42.8, 24.0),
}
NVLS_TREE_MOST: dict[Gpu, Triple] = {
    "volta": (26.5, 18.5, 10.0),
    "ampere": (24.0, 23.6, 17.8),
    "hopper": (0.0, 57.7, 45.5),
    "blackwell": (0.0, 96.0, 80.0),
}
NVLS_EFFICIENCY: dict[Gpu, float] = {"volta": 0.0, "ampere": 0.0, "hopper": 0.85, "blackwell": 0.74}

TREE_CORRECTION: dict[Protocol, tuple[float, ...]] = {
    "LL": (
        1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5,
        0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0,
    ),
    "LL128": (
        1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6,
        0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0, 1.0,
    ),
    "Simple": (
        0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5,
        0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9, 0.9,
    ),
}  # fmt: skip
"""Factors on the bandwidth of trees from 64 B on, one for each power of two."""

MOST_LOCAL_COLLNET = 8
"""NCCL_MAX_DIRECT_ARITY + 1."""

MOST_LOCAL_NVLS = 32
"""NCCL_MAX_NVLS_ARITY; beyond all-reduce."""
