"""GPUs that recordings are from or go to: data sheets, and what their kernels reach.

Products: share of the peak, of the bandwidth, and launch, of `families.gemm`'s formula; fitted
tables where there are some, else of the GPU that one is `like`. MI300X: 44 shapes of bf16 products,
3,500 kernels in all, in recordings of ResNet, Stable Diffusion 3.5, FLUX.1, Qwen3 8B and norms
(AMD-AGI/TraceLens at 171dd747, MIT licence), median error 7 %.

Attention: share of the 16-bit peak of long sequences with PyTorch's own kernels. FlashAttention 2:
328 TFLOP/s on H100, 329 on H200, 180 on A100 (Azure's benchmarks of ND v4 and v5, 2025); MI300X:
274 and 298 in two of those recordings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from yantra.base.errors import ConfigError, did_you_mean
from yantra.compute.families.machine import GPUS as TABLED

NVIDIA, AMD = "NVIDIA", "AMD"


class Gpu(NamedTuple):
    """Rates are dense, in FLOP/s and B/s; `units` are multiprocessors or compute units.

    `like`: whose shares are taken. `product`: share of the peak and of the bandwidth, and launch in
    us. `attention`: share of the 16-bit peak. `source` is of the rates.
    """

    name: str
    title: str
    vendor: str
    units: int
    memory_bytes_per_s: float
    peaks: Mapping[str, float]
    source: str
    like: str = ""
    product: tuple[float, float, float] | None = None
    attention: float | None = None

    def peak(self, dtype: str) -> float:
        """The peak of a type, or of the next wider that it has."""
        known = self.peaks
        for name in (dtype, *_WIDER.get(dtype, ("bf16", "fp16"))):
            if name in known:
                return known[name]
        return known.get("fp16", known["fp32"])


_WIDER = {
    "fp64": ("fp32",), "fp32": (), "tf32": ("fp32",), "bf16": ("fp16",), "fp16": ("bf16",),
    "fp8": ("bf16", "fp16"), "int8": ("fp8", "bf16", "fp16"), "fp4": ("fp8", "bf16", "fp16"),
}  # fmt: skip

_MI300X = {"fp64": 163.4e12, "fp32": 163.4e12, "tf32": 653.7e12, "bf16": 1307.4e12,
           "fp16": 1307.4e12, "fp8": 2614.9e12, "int8": 2614.9e12}  # fmt: skip
_MI250X = {"fp64": 95.7e12, "fp32": 95.7e12, "bf16": 383e12, "fp16": 383e12, "int8": 383e12}
_MI210 = {"fp64": 45.3e12, "fp32": 45.3e12, "bf16": 181e12, "fp16": 181e12, "int8": 181e12}
_MI355X = {"fp64": 78.6e12, "fp32": 157.3e12, "bf16": 2516.6e12, "fp16": 2516.6e12,
           "fp8": 5033.2e12, "int8": 5033.2e12, "fp4": 10066e12}  # fmt: skip
_H20 = {"fp32": 44e12, "tf32": 74e12, "bf16": 148e12, "fp16": 148e12, "fp8": 296e12}
_RTX4090 = {"fp32": 82.6e12, "tf32": 82.6e12, "bf16": 165.2e12, "fp16": 165.2e12, "fp8": 330.3e12}
_RTXPRO = {"fp32": 125e12, "tf32": 251.9e12, "bf16": 503.8e12, "fp16": 503.8e12, "fp8": 1007.6e12}
_RTX3090 = {"fp32": 35.6e12, "tf32": 35.6e12, "bf16": 71e12, "fp16": 71e12}
_L40S = {"fp32": 91.6e12, "tf32": 183e12, "bf16": 362e12, "fp16": 362e12, "fp8": 733e12}
_V100_SXM = {"fp64": 7.8e12, "fp32": 15.7e12, "fp16": 125e12}

_ATTENTION = {"a100_sxm": 0.575, "h100_sxm": 0.33, "h200_sxm": 0.33}


def _tabled(name: str) -> Gpu:
    one = TABLED[name]
    like = "" if one.name in _ATTENTION else "h100_sxm" if "200" in name else "a100_sxm"
    return Gpu(
        one.name, one.title, NVIDIA, one.units, one.memory_bytes_per_s, one.peaks, one.source, like,
        attention=_ATTENTION.get(name),
    )  # fmt: skip


GPUS = {
    gpu.name: gpu
    for gpu in (
        *map(_tabled, TABLED),
        Gpu("v100_sxm", "V100 SXM2", NVIDIA, 80, 0.9e12, _V100_SXM, "NVIDIA V100 data sheet, SXM2",
            "a100_sxm"),
        Gpu("a100_sxm_40gb", "A100 SXM4 40 GB", NVIDIA, 108, 1.555e12, TABLED["a100_sxm"].peaks,
            "NVIDIA A100 data sheet, SXM 40 GB", "a100_sxm"),
        Gpu("h20_sxm", "H20 SXM", NVIDIA, 78, 4e12, _H20, "SemiAnalysis, 2023", "h100_sxm"),
        Gpu("h800_sxm", "H800 SXM", NVIDIA, 132, 3.35e12, TABLED["h100_sxm"].peaks,
            "DeepSeek-AI, ISCA 2025: based on the H100", "h100_sxm"),
        Gpu("l40s", "L40S", NVIDIA, 142, 0.864e12, _L40S, "NVIDIA L40S data sheet", "a100_sxm"),
        Gpu("rtx_4090", "RTX 4090", NVIDIA, 128, 1.008e12, _RTX4090, "NVIDIA Ada white paper",
            "a100_sxm"),
        Gpu("rtx_3090", "RTX 3090", NVIDIA, 82, 0.936e12, _RTX3090, "NVIDIA GA102 white paper",
            "a100_sxm"),
        Gpu("mi300x", "MI300X", AMD, 304, 5.3e12, _MI300X, "AMD MI300X data sheet", "",
            (0.464, 0.584, 4.17), 0.22),
        Gpu("mi325x", "MI325X", AMD, 304, 6e12, _MI300X, "AMD MI325X data sheet", "mi300x"),
        Gpu("mi355x", "MI355X", AMD, 256, 8e12, _MI355X, "AMD MI355X data sheet", "mi300x"),
        Gpu("mi250x", "MI250X, both dies", AMD, 220, 3.2768e12, _MI250X, "AMD MI250X data sheet",
            "mi300x"),
        Gpu("b300_sxm", "B300 SXM", NVIDIA, 148, 8e12, TABLED["b200_sxm"].peaks,
            "NVIDIA HGX B300 data sheet", "b200_sxm"),
        Gpu("gb300", "Blackwell Ultra GPU of a GB300", NVIDIA, 152, 8e12, TABLED["gb200"].peaks,
            "NVIDIA GB300 NVL72 data sheet", "gb200"),
        Gpu("rtx_pro_6000", "RTX PRO 6000", NVIDIA, 188, 1.792e12, _RTXPRO, "NVIDIA RTX PRO 6000 "
            "Blackwell data sheet", "a100_sxm"),
        Gpu("mi210", "MI210", AMD, 104, 1.6384e12, _MI210, "AMD MI210 data sheet", "mi300x"),
    )
}  # fmt: skip

ALIASES = {
    "h100-sxm5": "h100_sxm", "h100": "h100_sxm", "hgx-h100": "h100_sxm", "h200": "h200_sxm",
    "hgx-h200": "h200_sxm", "b200": "b200_sxm", "hgx-b200": "b200_sxm", "gb200-nvl72": "gb200",
    "a100": "a100_sxm", "a100-80gb": "a100_sxm", "dgx-a100-80gb": "a100_sxm",
    "a100 sxm4 80 gb": "a100_sxm", "dgx-a100-40gb": "a100_sxm_40gb", "v100": "v100_sxm",
    "hgx-h20": "h20_sxm", "hgx-h800": "h800_sxm", "blackwell gpu of a gb200": "gb200",
}  # fmt: skip


_MAKERS = re.compile(r"\b(nvidia|tesla|geforce|amd|instinct)\b")
_DEVICES = {
    r"p100 pcie( \d+gb)?": "p100_pcie", r"v100 pcie( \d+gb)?": "v100_pcie",
    r"v100 sxm2( \d+gb)?": "v100_sxm", r"a100 pcie 40gb": "a100_pcie",
    r"a100 sxm4? 40gb": "a100_sxm_40gb", r"a100 sxm4? 80gb": "a100_sxm",
    r"h100 (sxm5 )?80gb( hbm3)?": "h100_sxm", r"h800( sxm5)?( 80gb( hbm3)?)?": "h800_sxm",
    r"h20( 96gb)?": "h20_sxm", r"h200( sxm)?( 141gb)?( hbm3e)?": "h200_sxm",
    r"b200( .*)?": "b200_sxm", r"b300 sxm6( .*)?": "b300_sxm", r"mi300x( vf)?": "mi300x",
    r"mi325x( vf)?": "mi325x", r"mi355x( vf)?": "mi355x",
    r"rtx pro 6000 blackwell( (server|workstation) edition)?": "rtx_pro_6000",
}  # fmt: skip
_TWO_DIES = "mi250x"  # drivers call one die so


def device_named(name: str) -> str:
    """The GPU that a driver calls so (CUDA: "Tesla V100-SXM2-32GB"); "" if none of `GPUS`."""
    plain = " ".join(re.findall(r"\w+", _MAKERS.sub("", name.lower())))
    found = (gpu for form, gpu in _DEVICES.items() if re.fullmatch(form, plain))
    own = plain.replace(" ", "_")
    return next(found, own if own in GPUS and own != _TWO_DIES else "")


def gpu_named(name: str, where: str) -> Gpu:
    """A GPU by its name, title, cluster or driver. Raises ConfigError at `where` for others."""
    plain = name.strip().lower()
    plain = ALIASES.get(plain, device_named(plain) or plain).replace("-", "_").replace(" ", "_")
    for gpu in GPUS.values():
        if plain in (gpu.name, gpu.title.lower().replace(" ", "_")):
            return gpu
    known = [one.replace("_", "-") for one in GPUS]
    problem = f"no GPU is known as {name}; expected one of {', '.join(known)}"
    raise ConfigError(where, problem + did_you_mean(name, known))
