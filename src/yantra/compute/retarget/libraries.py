"""Whose kernels are these, and which of them another GPU does not have.

Sources: names of kernels in public recordings; each library's list of supported GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from yantra.compute.retarget.gpus import AMD, NVIDIA, Gpu

_HOPPER = ("h100_sxm", "h200_sxm", "h800_sxm", "h20_sxm")
_BLACKWELL = ("b200_sxm", "gb200", "b300_sxm", "gb300")
_OF = (
    ("FlashAttention 3", r"FlashAttnFwdSm90|flash::.*[Ss]m90|hopper::", _HOPPER),
    ("DeepGEMM", r"deep_gemm::|sm90_fp8_gemm|sm100_fp8_gemm", (*_HOPPER, *_BLACKWELL)),
    ("TensorRT-LLM", r"tensorrt_llm::|trtllm|fmhaSm\d+", NVIDIA),
    ("FlashInfer", r"flashinfer::", NVIDIA),
    ("Transformer Engine", r"transformer_engine::", NVIDIA),
    ("cuDNN", r"cudnn|sm\d+_xmma_(?:fprop|dgrad|wgrad)|_scudnn_", NVIDIA),
    ("CUTLASS", r"cutlass", NVIDIA),
    ("cuBLAS", r"cublas|nvjet|(?:ampere|volta|turing|maxwell)_\w*gemm|sm\d+_xmma_gemm|gemvx|splitK",
     NVIDIA),
    ("AITER", r"aiter|ck_tile::fmha|_ZN5aiter", AMD),
    ("Composable Kernel", r"ck_tile|\bck::|_ZN2ck|_ZN7ck_tile", AMD),
    ("Tensile (hipBLASLt, rocBLAS)", r"Cijk_", AMD),
    ("MIOpen", r"miopen|MIOpen|SubTensorOp|Im2d2Col|igemm_|batched_transpose_\d|Sp3Asm", AMD),
    ("AOTriton", r"^attn_fwd|^bwd_kernel_d", AMD),
)  # fmt: skip
"""Name, pattern, and the vendor or the GPUs that it runs on."""

_COMPILED = tuple((name, re.compile(pattern), on) for name, pattern, on in _OF)


def library_of(kernel: str) -> str:
    """The library of a kernel by its name; "" if any GPU has it."""
    return next((name for name, pattern, _ in _COMPILED if pattern.search(kernel)), "")


def not_on(gpu: Gpu, kernels: Iterable[str]) -> list[str]:
    """Libraries of these kernels that do not run on a GPU, each once, in the order of the list."""
    used = {library_of(name) for name in set(kernels)}
    return [name for name, _, on in _COMPILED if name in used and not _runs(gpu, on)]


def _runs(gpu: Gpu, on: str | tuple[str, ...]) -> bool:
    return gpu.vendor == on if isinstance(on, str) else gpu.name in on
