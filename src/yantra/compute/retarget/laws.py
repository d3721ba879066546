"""How long a kernel takes on a GPU by what it does.

    products, convolutions   tiles, waves, bytes and a launch (`families.gemm`)
    attention                waves of tiles of 128 queries, each at a unit's share of the peak
    all others               launch + bytes / (share of the bandwidth)

NVIDIA's kernels lose a third where rows are not of whole 16 bytes (n of 2,145 beside 2,048: Azure's
benchmarks of ND A100 v4 and H100 v5, 2025).

Shares of the bandwidth, NVIDIA: NeuSight's kernels on A100 and V100 (NOTICE), and reductions in
recordings of A100 (HolisticTraceAnalysis at f4d0062c, MIT licence); AMD: the recordings of
`gpus`. Launches are multiples of that of a product, from both sets of recordings.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from yantra.compute.families.gemm import Constants, fitted, formula_us
from yantra.compute.families.machine import table
from yantra.compute.model import Kernels
from yantra.compute.retarget.gpus import AMD, GPUS, NVIDIA, Gpu

Reals = NDArray[np.float64]

PRODUCTS = ("gemm", "conv", "grouped_gemm")
KEPT = ("delay", "host_copy")
"""Classes that another GPU does not change."""

SHARES = {
    NVIDIA: {"norm": 0.65, "softmax": 0.61, "reduction": 0.77, "": 0.9},
    AMD: {"norm": 0.305, "softmax": 0.73, "reduction": 0.286, "": 0.57},
}
"""Of the bandwidth, by class; "" for others."""

LAUNCHES = {
    NVIDIA: {"norm": 1.48, "reduction": 1.57, "attention": 1.9, "": 1.08},
    AMD: {"norm": 1.21, "reduction": 1.29, "attention": 2.1, "": 0.92},
}
"""Launches over a product's, by class."""

SLOWER = {NVIDIA: {"": 1.4}, AMD: {"conv": 1.2, "": 1.0}}
"""How much longer recorded products take than the formula."""

_UNALIGNED = 0.65
_SIMT = 0.9  # of the peak of vector units in products of fp32 over that of tensor cores
_TILE = 128
_WIDTHS = {"fp64": 8, "fp32": 4, "tf32": 4, "fp8": 1, "int8": 1, "fp4": 0.5}


@cache
def constants(name: str) -> Constants:
    """The formula's constants of a GPU."""
    gpu = GPUS[name]
    if gpu.product is None:
        source = name if table("gemm", name) else gpu.like
        return fitted(source, "bf16").constants if table("gemm", source) else constants(source)
    share, reach, launch = gpu.product
    return fitted("h100_sxm", "bf16").constants._replace(share=share, reach=reach, launch_us=launch)


def attention_share(gpu: Gpu) -> float:
    """The share of the 16-bit peak that attention reaches."""
    return gpu.attention if gpu.attention is not None else attention_share(GPUS[gpu.like])


def type_on(gpu: Gpu, dtype: str, op_class: str) -> str:
    """The type that a library takes on a GPU: PyTorch takes TF32 for convolutions on NVIDIA, and
    none on AMD.
    """
    if gpu.vendor == AMD:
        return "fp32" if dtype == "tf32" else dtype
    return "tf32" if dtype == "fp32" and op_class == "conv" and "tf32" in gpu.peaks else dtype


def times_us(rows: Kernels, op_class: str, dtype: str, gpu: Gpu) -> Reals:
    """Microseconds by row; 0 where neither operations nor bytes are known."""
    if op_class in PRODUCTS:
        several = SLOWER[gpu.vendor]
        slower = several.get(op_class, several[""])
        return slower * _products(rows, type_on(gpu, dtype, op_class), gpu)
    if op_class == "attention":
        return _attention(rows, gpu)
    known = rows.bytes > 0
    made = launch_us(op_class, gpu) + rows.bytes * (1e6 / rate(op_class, dtype, gpu))
    return np.where(known, made, 0.0)


def filled(rows: Kernels, op_class: str, dtype: str, gpu: Gpu) -> Reals:
    """The share of a product's law that rates take; the rest is launch and idle units."""
    law = times_us(rows, op_class, dtype, gpu)
    several = SLOWER[gpu.vendor]
    by_rates = np.maximum(
        rows.flops / rate(op_class, dtype, gpu), rows.bytes / gpu.memory_bytes_per_s
    ) * (1e6 * several.get(op_class, several[""]))
    return np.minimum(np.divide(by_rates, law, out=np.ones_like(law), where=law > 0), 1.0)


def rate(op_class: str, dtype: str, gpu: Gpu) -> float:
    """The rate that bounds a class: bytes or, of products and attention, operations per s."""
    if op_class in PRODUCTS:
        return gpu.peak(type_on(gpu, dtype, op_class)) * constants(gpu.name).share
    if op_class == "attention":
        return gpu.peak("bf16") * attention_share(gpu)
    shares = SHARES[gpu.vendor]
    return gpu.memory_bytes_per_s * shares.get(op_class, shares[""])


def launch_us(op_class: str, gpu: Gpu) -> float:
    """The time of the smallest kernels of a class."""
    launch = constants(gpu.name).launch_us
    if op_class in PRODUCTS:
        return launch
    several = LAUNCHES[gpu.vendor]
    return launch * several.get(op_class, several[""])


def _products(rows: Kernels, dtype: str, gpu: Gpu) -> Reals:
    from yantra.compute.families.gemm import sides

    m, n, k = (np.maximum(side, 1).astype(np.float64) for side in sides(rows))
    own = constants(gpu.name)
    width = _WIDTHS.get(dtype, 2)
    if gpu.vendor == NVIDIA and dtype in ("fp32", "fp64"):
        own = own._replace(share=_SIMT)
    made = formula_us(
        own, m, n, k, peak=gpu.peak(dtype), bandwidth=gpu.memory_bytes_per_s, units=gpu.units,
        width=float(width),
    )  # fmt: skip
    if gpu.vendor == NVIDIA and width <= 2:
        whole = 16 / width
        unaligned = (n % whole != 0) | (k % whole != 0)
        work = made - own.launch_us
        made = np.where(unaligned, own.launch_us + work / _UNALIGNED, made)
    return np.where(rows.flops > 0, made, 0.0)


def _attention(rows: Kernels, gpu: Gpu) -> Reals:
    flops = rows.flops.astype(np.float64)
    speed = rate("attention", "bf16", gpu) / 1e6
    keys = np.ceil(rows.keys / _TILE) * _TILE
    tile = _TILE * keys * 2.0 * (rows.head_dim + rows.value_dim)
    made = launch_us("attention", gpu) + np.maximum(flops / speed, tile * gpu.units / speed)
    return np.where(flops > 0, made, 0.0)
