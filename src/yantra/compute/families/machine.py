"""Which tables a device is estimated by, and how far it is from the GPU they were measured on.

Without its own it takes the nearest GPU's, or the mean of all alike: times follow the ratio of
bandwidths, and of peaks as far as measured GPUs of one generation realised it (`Machine.rate`);
launches stay. Corrections fade with distance (`Machine.likeness`), and intervals widen with it
(`Machine.octaves`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import inf, isinf, log, log2
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError, did_you_mean

LIKE_BF16 = ("bf16", "fp16")
DTYPES = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp4")
_SAME = 0.01
SCALED = 0.15
"""Relative error for each octave of `Machine.octaves`; from GPUs left out whole."""

REALISED = {"fp8": 0.6, "fp4": 0.4}
_REALISED = 0.85
"""Share of the logarithm of a gain in peak that GPUs of one generation realise, by type.

From B200 and GB200: of 0.25, 0.5, 0.75, 1 the best are between these.
"""

POWERED = 0.5
"""Share of the logarithm of a gain in power that they realise: a GB200 has 1.2 times the power of
a B200 and is 1.09 times as fast.
"""

ALIKE = 0.9
"""Likeness from which GPUs are of one generation, by the rates alone."""

NONE = "none"
"""The `like` of a device of which no GPU is: another maker, or a generation without tables."""

_ACHIEVED = 0.8
"""Share of the peak that the best bf16 products of GPUs with tables reach: 0.73 to 0.87 (Bekman,
Machine Learning Engineering Open Book, 2026)."""

_ANOTHER, _FOREIGN = 0.7, 2.0
"""Octaves to another device of equal rates, of one generation; and of another."""

OF_ANOTHER = "scaled by the data sheets"
"""Ends the title of another GPU's tables."""


class Gpu(NamedTuple):
    """A GPU with tables. Rates are dense, in FLOP/s and B/s; `units` are its multiprocessors.

    `source` is where the rates are from.
    """

    name: str
    title: str
    units: int
    memory_bytes_per_s: float
    peaks: Mapping[str, float]
    power_w: float
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
        Gpu("a100_sxm", "A100 SXM", 108, 2.039e12, _A100, 400, "NVIDIA A100 data sheet, 80 GB SXM"),
        Gpu(
            "a100_pcie",
            "A100 PCIe 40 GB",
            108,
            1.555e12,
            _A100,
            250,
            "NVIDIA A100 data sheet, PCIe",
        ),
        Gpu("v100_pcie", "V100 PCIe", 80, 0.9e12, _V100, 250, "NVIDIA V100 data sheet, PCIe"),
        Gpu(
            "p100_pcie", "P100 PCIe", 56, 0.732e12, _P100, 250, "NVIDIA P100 data sheet, PCIe 16 GB"
        ),
        Gpu("t4", "T4", 40, 0.32e12, _T4, 70, "NVIDIA T4 data sheet"),
        Gpu("p4", "P4", 20, 0.192e12, _P4, 75, "NVIDIA P4 data sheet"),
        Gpu("h100_sxm", "H100 SXM", 132, 3.35e12, _H100, 700, "NVIDIA H100 white paper V1.04"),
        Gpu("h200_sxm", "H200 SXM", 132, 4.8e12, _H100, 700, "NVIDIA H200 data sheet"),
        Gpu("b200_sxm", "B200 SXM", 148, 8e12, _B200, 1000, "NVIDIA HGX and DGX B200 data sheets"),
        Gpu("gb200", "GB200", 152, 8e12, _GB200, 1200, "NVIDIA GB200 NVL72 data sheet"),
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
    sheet: Mapping[str, float] | None = None
    """The real machine's peaks, if `peaks` are a what-if's."""
    power_w: float | None = None
    like: str | None = None
    """GPU of its generation, `NONE` if no such GPU has tables, None to judge by rates."""
    achieved: float | None = None
    """Share of its peaks that its best large products reach."""
    but: str = ""
    """GPU whose tables do not count, to judge how others' say what it takes."""
    attention: str = ""
    """The library of attention; empty for that of the tables."""

    def peak(self, dtype: str) -> float:
        """The peak of a dtype; ConfigError if the device has none."""
        known = self.peaks.get(dtype)
        if known is None:
            problem = f"{dtype} has no rate on {self.name}; expected one of {', '.join(self.peaks)}"
            raise ConfigError("compute", problem + did_you_mean(dtype, self.peaks))
        return known

    def likeness_of(self, gpu: Gpu) -> float:
        """How far errors of a formula on a GPU hold here: 1 / (1 + d^4), d the sum of log ratios of
        the 16-bit peak and of the bandwidth.
        """
        return 0.0 if self.like == NONE else 1.0 / (1.0 + self._apart(gpu) ** 4)

    @property
    def likeness(self) -> float:
        """Likeness of the table's GPU."""
        return self.likeness_of(self.gpu)

    def _apart(self, gpu: Gpu) -> float:
        both = [name for name in LIKE_BF16 if name in self.peaks and name in gpu.peaks]
        peak = self.peaks[both[0]] if both else 0.0
        peak, bandwidth = self.stated or (peak, self.memory_bytes_per_s)
        pairs = [(bandwidth, gpu.memory_bytes_per_s)]
        pairs += [(peak, gpu.peaks[name]) for name in both[:1] if peak]
        return sum(abs(log(have / has)) for have, has in pairs if not isinf(have))

    def _gain(self, gpu: Gpu, kind: str) -> float:
        """The data sheet's peak of a type over a GPU's; 1 where either has none."""
        stated = (self.sheet or self.peaks).get(kind, inf)
        return 1.0 if isinf(stated) or kind not in gpu.peaks else stated / gpu.peaks[kind]

    def clock(self, gpu: Gpu) -> float:
        """How much faster its products are than on a GPU of its generation with less power."""
        if self.is_own or not self.power_w or self.likeness_of(gpu) < ALIKE:
            return 1.0
        return float(max(self.power_w / gpu.power_w, 1.0) ** POWERED)

    def rate(self, gpu: Gpu, kind: str) -> float:
        """Within a generation a gain is realised in part (`REALISED`), at most that in power, and
        at least as `clock` has it where the peak is no lower.
        """
        peak = self.peak(kind)
        gain = self._gain(gpu, kind)
        near = self.likeness_of(gpu)
        realised = gain ** (1.0 - near * (1.0 - REALISED.get(kind, _REALISED)))
        if self.power_w and near >= ALIKE and gain > 1 + _SAME:
            realised = min(realised, max(self.power_w / gpu.power_w, 1.0))
        if gain > 1 - _SAME:
            realised = max(realised, self.clock(gpu))
        if self.like == NONE and self.achieved:
            realised *= self.achieved / _ACHIEVED
        return float(peak * realised / gain)

    def octaves(self, kind: str = "bf16") -> float:
        """Octaves of peaks and bandwidth to the measured GPU; `_ANOTHER` more on another,
        `_FOREIGN` on one like none.
        """
        gain = self._gain(self.gpu, kind)
        if self.is_own and abs(gain - 1) < _SAME:
            return 0.0
        sixteen = self._gain(self.gpu, "bf16" if "bf16" in self.peaks else "fp16")
        bandwidth = (self.stated or (0, self.memory_bytes_per_s))[1] / self.gpu.memory_bytes_per_s
        apart = abs(log2(sixteen)) + abs(log2(gain / sixteen))
        apart += 0.0 if isinf(bandwidth) else abs(log2(bandwidth))
        return apart + (_FOREIGN if self.like == NONE else 0.0) + _ANOTHER

    def sources(self, family: str) -> tuple[Gpu, ...]:
        is_what_if = self.stated is not None and not self.like and self._apart(self.gpu) < _SAME
        if self.is_own or is_what_if:
            return (self.gpu,)
        others = (gpu for gpu in GPUS.values() if gpu.name != self.but)
        alike = [gpu for gpu in others if self.likeness_of(gpu) >= ALIKE]
        alike.sort(key=lambda gpu: gpu is not self.gpu)
        return tuple(gpu for gpu in alike if table(family, gpu.name)) or (self.gpu,)

    @property
    def title(self) -> str:
        """The tables' name in a summary."""
        if self.is_own:
            return self.gpu.title
        known = " and ".join(gpu.title for gpu in self.sources("gemm"))
        whose = ", of a device like none measured" if self.like == NONE else ""
        return f"{known}, {OF_ANOTHER}{whose}"


def with_table(family: str, gpu: Gpu) -> Gpu:
    if table(family, gpu.name):
        return gpu
    return next(other for other in GPUS.values() if table(family, other.name))


def nearest(
    peak_flops: float, memory_bytes_per_s: float, dtype: str, but: str | None = None
) -> Gpu:
    """The GPU with tables of products that is nearest, by the sum of log ratios of peak and
    bandwidth.
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
    power_w: float | None = None,
    like: str | None = None,
    achieved: float | None = None,
    attention: str = "",
) -> Machine:
    """A device's machine: `peak_flops` is of `dtype`, `peaks` those it states of others.

    With stated peaks of `dtype` and `stated_memory`, other rates are a what-if on that machine.
    """
    meant = (peaks.get(dtype, peak_flops), stated_memory or memory_bytes_per_s)
    named = gpu_name or (like if like != NONE else None)
    gpu = gpu_named(named, "gpu" if gpu_name else "like") if named else nearest(*meant, dtype)
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
    is_own = not like and all(isinf(ratio) or abs(ratio - 1) < _SAME for ratio in ratios)
    name = gpu.title if is_own else "the device"
    usual = next((peaks[name] for name in LIKE_BF16 if name in peaks), 0.0)
    stated = (usual, meant[1]) if stated_memory else None
    return Machine(
        gpu, known, memory_bytes_per_s, is_own, name, quantise, alone, stated, framework,
        dict(peaks) or None, power_w, like, achieved, attention=attention,
    )  # fmt: skip


@cache
def table(family: str, gpu: str) -> Mapping[str, Any]:
    from importlib.resources import as_file, files

    import numpy as np

    place = files("yantra.compute") / "tables" / f"{family}_{gpu}.npz"
    if not place.is_file():
        return {}
    with as_file(place) as path, np.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}
