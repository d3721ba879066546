"""Which tables a device is estimated by, and how far it is from the GPU they were measured on.

Without its own it takes the nearest GPU's: times follow the ratio of peaks or bandwidths, whichever
bounds; launches stay. Corrections fade with distance (`Machine.likeness`), and intervals widen by
`SCALED`. A what-if changes rates alone, so times follow the formula.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import inf, isinf, log
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError, did_you_mean

LIKE_BF16 = ("bf16", "fp16")
DTYPES = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp4")
_SAME = 0.01
SCALED = 0.15
"""Added to the relative error of a device without tables; from GPUs left out whole."""

OF_ANOTHER = "scaled by the data sheets"
"""Ends the title of another GPU's tables."""


class Gpu(NamedTuple):
    """A GPU with tables. Rates are dense, in FLOP/s and B/s; `units` are its multiprocessors.

    Types computed as another have its rate: bf16 as fp16 before Ampere. `source` is where the rates
    are from.
    """

    name: str
    title: str
    units: int
    memory_bytes_per_s: float
    peaks: Mapping[str, float]
    source: str


_A100 = {"fp32": 19.5e12, "tf32": 156e12, "bf16": 312e12, "fp16": 312e12, "int8": 624e12}
_V100 = {"fp32": 14e12, "fp16": 112e12, "bf16": 112e12}
_P100 = {"fp32": 9.3e12, "fp16": 18.7e12, "bf16": 18.7e12}
_T4 = {"fp32": 8.1e12, "fp16": 65e12, "bf16": 65e12, "int8": 130e12}
_P4 = {"fp32": 5.5e12, "fp16": 5.5e12, "bf16": 5.5e12, "int8": 22e12}
_H100 = {
    "fp32": 66.9e12, "tf32": 494.7e12, "bf16": 989.4e12, "fp16": 989.4e12, "fp8": 1978.9e12,
    "int8": 1978.9e12,
}  # fmt: skip
_B200 = {
    "fp32": 75e12, "tf32": 1.1e15, "bf16": 2.25e15, "fp16": 2.25e15, "fp8": 4.5e15,
    "int8": 4.5e15, "fp4": 9e15,
}  # fmt: skip
_GB200 = {
    "fp32": 80e12, "tf32": 1.25e15, "bf16": 2.5e15, "fp16": 2.5e15, "fp8": 5e15, "int8": 5e15,
    "fp4": 10e15,
}  # fmt: skip

GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu("a100_sxm", "A100 SXM", 108, 2.039e12, _A100, "NVIDIA A100 data sheet, 80 GB SXM"),
        Gpu("a100_pcie", "A100 PCIe 40 GB", 108, 1.555e12, _A100, "NVIDIA A100 data sheet, PCIe"),
        Gpu("v100_pcie", "V100 PCIe", 80, 0.9e12, _V100, "NVIDIA V100 data sheet, PCIe"),
        Gpu("p100_pcie", "P100 PCIe", 56, 0.732e12, _P100, "NVIDIA P100 data sheet, PCIe 16 GB"),
        Gpu("t4", "T4", 40, 0.32e12, _T4, "NVIDIA T4 data sheet"),
        Gpu("p4", "P4", 20, 0.192e12, _P4, "NVIDIA P4 data sheet"),
        Gpu("h100_sxm", "H100 SXM", 132, 3.35e12, _H100, "NVIDIA H100 white paper V1.04"),
        Gpu("h200_sxm", "H200 SXM", 132, 4.8e12, _H100, "NVIDIA H200 data sheet"),
        Gpu("b200_sxm", "B200 SXM", 148, 8e12, _B200, "NVIDIA HGX and DGX B200 data sheets"),
        Gpu("gb200", "GB200", 152, 8e12, _GB200, "NVIDIA GB200 NVL72 data sheet"),
    )
}


class Machine(NamedTuple):
    """A device as families see it: its rates, and the GPU whose tables are taken.

    `peaks` are FLOP/s by dtype; `is_own`: the tables are of this device; `quantise`: kernels that
    make operands of 8 and 4 bits count; `alone`: the host launches each kernel by itself.
    """

    gpu: Gpu
    peaks: Mapping[str, float]
    memory_bytes_per_s: float
    is_own: bool
    name: str = "the device"
    quantise: bool = False
    alone: bool = False
    stated: tuple[float, float] | None = None
    """The real machine's 16-bit peak (0 if not stated) and bandwidth, if rates are a what-if's."""
    framework: str = ""
    """Whose kernels are taken where they were measured; empty for the fastest of all."""

    def peak(self, dtype: str) -> float:
        """The peak of a dtype; ConfigError if the device has none."""
        known = self.peaks.get(dtype)
        if known is None:
            problem = f"{dtype} has no rate on {self.name}; expected one of {', '.join(self.peaks)}"
            raise ConfigError("compute", problem + did_you_mean(dtype, self.peaks))
        return known

    @property
    def likeness(self) -> float:
        """How far errors of a formula on the table's GPU hold here, from 0 to 1.

        1 / (1 + d^4), d the sum of log ratios of the 16-bit peak and of the bandwidth, as kernels
        of one generation behave similarly. H100 and H200 have 0.98, A100 and H100 0.12.
        """
        both = [name for name in LIKE_BF16 if name in self.peaks and name in self.gpu.peaks]
        peak = self.peaks[both[0]] if both else 0.0
        peak, bandwidth = self.stated or (peak, self.memory_bytes_per_s)
        pairs = [(bandwidth, self.gpu.memory_bytes_per_s)]
        pairs += [(peak, self.gpu.peaks[name]) for name in both[:1] if peak]
        apart = sum(abs(log(have / has)) for have, has in pairs if not isinf(have))
        return 1.0 / (1.0 + apart**4)

    @property
    def title(self) -> str:
        """The tables' name in a summary."""
        return self.gpu.title if self.is_own else f"{self.gpu.title}, {OF_ANOTHER}"


def with_table(family: str, gpu: Gpu) -> Gpu:
    """The GPU if a family has its table, else the first with one."""
    if table(family, gpu.name):
        return gpu
    return next(other for other in GPUS.values() if table(family, other.name))


def nearest(
    peak_flops: float, memory_bytes_per_s: float, dtype: str, but: str | None = None
) -> Gpu:
    """The GPU with tables of products that is nearest, by the sum of log ratios of peak and
    bandwidth.

    `but` names one that is left out.
    """

    def distance(gpu: Gpu) -> float:
        pairs = (
            (peak_flops, gpu.peaks.get(dtype, gpu.peaks["bf16"])),
            (memory_bytes_per_s, gpu.memory_bytes_per_s),
        )
        return sum(abs(log(have / has)) for have, has in pairs if not isinf(have))

    known = [gpu for gpu in GPUS.values() if gpu.name != but and table("gemm", gpu.name)]
    return min(known, key=distance)


def gpu_named(name: str, where: str) -> Gpu:
    """A GPU with tables. Raises ConfigError at `where` for others."""
    if name not in GPUS:
        problem = f"no tables of {name}; expected one of {', '.join(GPUS)}"
        raise ConfigError(where, problem + did_you_mean(name, GPUS))
    return GPUS[name]


def machine_of(
    peak_flops: float,
    memory_bytes_per_s: float,
    gpu_name: str | None,
    dtype: str,
    peaks: Mapping[str, float],
    *,
    quantise: bool = False,
    alone: bool = False,
    stated_memory: float | None = None,
    framework: str = "",
) -> Machine:
    """A device's machine: `peak_flops` is of `dtype`, `peaks` those it states of others.

    Without `peaks`, each has `dtype`'s ratio to the table's GPU. With neither GPU nor rates, types
    that the nearest GPU lacks run at the device's one peak. With stated peaks of `dtype` and
    `stated_memory`, other rates are a what-if on that machine.
    """
    meant = (peaks.get(dtype, peak_flops), stated_memory or memory_bytes_per_s)
    gpu = gpu_named(gpu_name, "gpu") if gpu_name else nearest(*meant, dtype)
    own = gpu.peaks.get(dtype, gpu.peaks["bf16"])
    if isinf(peak_flops):
        known = dict.fromkeys([*gpu.peaks, *peaks, *(() if gpu_name else DTYPES)], inf)
    elif peaks:
        ratio = peak_flops / meant[0]
        known = {name: rate * ratio for name, rate in peaks.items()}
    else:
        known = {name: rate * (peak_flops / own) for name, rate in gpu.peaks.items()}
        if not gpu_name:
            known = dict.fromkeys(DTYPES, peak_flops) | known
    ratios = [known[name] / gpu.peaks[name] for name in LIKE_BF16 if name in known]
    ratios.append(memory_bytes_per_s / gpu.memory_bytes_per_s)
    is_own = all(isinf(ratio) or abs(ratio - 1) < _SAME for ratio in ratios)
    name = gpu.title if is_own else "the device"
    usual = next((peaks[name] for name in LIKE_BF16 if name in peaks), 0.0)
    stated = (usual, meant[1]) if stated_memory else None
    return Machine(gpu, known, memory_bytes_per_s, is_own, name, quantise, alone, stated, framework)


@cache
def table(family: str, gpu: str) -> Mapping[str, Any]:
    """A family's table of a GPU, empty where nothing was measured."""
    from importlib.resources import as_file, files

    import numpy as np

    place = files("yantra.compute") / "tables" / f"{family}_{gpu}.npz"
    if not place.is_file():
        return {}
    with as_file(place) as path, np.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}
