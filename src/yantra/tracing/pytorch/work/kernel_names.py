"""What a kernel's name tells: its class, and the element type of a product.

Sources: names of cuBLAS, cuDNN, CUTLASS, Tensile (hipBLASLt, rocBLAS), MIOpen, Composable Kernel,
flash-attention, Triton and PyTorch's own kernels in public recordings.
"""

from __future__ import annotations

import re
from functools import lru_cache

_CLASSES = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("layout", r"nchwTo|nhwcTo|nchw2nhwc|nhwc2nchw|batched_transpose|tensorTransform|"
                   r"SubTensorOp|Im2d?2?Col|im2col|Col2Im|vol2col|cudnn::ops::\w*convertTensor|"
                   r"transpose_readWrite|OpTensor"),
        ("partial", r"splitK_?reduce|reduce_1Block|PostGSU|_splitk_|dot_kernel.*reduce|"
                    r"convertDot|flash_bwd_(?:dot|convert)"),
        ("attention", r"fmha|flash|attn|attention|\bsdpa|mha_|paged_|kvcache|\bFA3"),
        ("conv", r"conv|winograd|dgrad|wgrad|implicit_?gemm|igemm|fprop|bwd_data|"
                 r"bwd_weight|Wrw|Sp3Asm"),
        ("gemm", r"gemm|Cijk_|matmul|gemv|cutlass|cublas|nvjet|xmma|s16816|s1688|"
                 r"sm\d+_.*tensorop|_mm_|\bdot_kernel|bmm_|wvSplitK|grouped_?mm"),
        ("norm", r"layer_?norm|rms_?norm|batch_?norm|\bbn_|group_?norm|RowwiseMoments|"
                 r"GammaBeta|MIOpenBatchNorm|ComputeInternalGradients|ComputeFusedParams"),
        ("softmax", r"softmax"),
        ("embedding", r"embedding|index|gather|scatter"),
        ("optimizer", r"multi_tensor_apply|adam|\bsgd|lamb"),
        ("reduction", r"reduce|sort|scan|topk|select|unique"),
        ("copy", r"copy|CatArray|memcpy"),
        ("elementwise", r"elementwise|triton_|vectorized|distribution|pool|upsample|act_and_mul"),
    )
)  # fmt: skip
_TF32 = re.compile(r"tf32|_s1688gemm_?\d|xf32|s1688gemm_f32|tensorop_s1688(?!fprop_f16|gemm_f16)")
_NARROW = re.compile(r"e4m3|e5m2|fp8|float8|_F8|F8F8|QGMMA", re.IGNORECASE)
_SIXTEEN = re.compile(r"bf16|bfloat16|__nv_bfloat16|_BBS|_BSS|_BB_", re.IGNORECASE)
_HALF = re.compile(r"h884|h1688|h16816|hgemm|f16f16|fp16|Half|__half|_HHS|_HSS|_HB_|_HH_")
_SINGLE = re.compile(r"sgemm|_SB_|_SSS|float32|\bfloat\b|f32f32_f32")
_OPAQUE = re.compile(r"OpaqueType<(\d+)")
_WIDTHS = {"fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1}


@lru_cache(maxsize=1 << 14)
def class_of(name: str) -> str:
    """The class of a kernel by its name; "" if it tells none."""
    return next((label for label, pattern in _CLASSES if pattern.search(name)), "")


def sort_of(name: str) -> str:
    """The class of a kernel by itself: a helper is what it does."""
    found = class_of(name)
    return {"layout": "copy", "partial": "reduction"}.get(found, found)


@lru_cache(maxsize=1 << 14)
def dtype_of(name: str) -> str:
    """The element type that a kernel's name states, or ""."""
    if _NARROW.search(name):
        return "fp8"
    if _TF32.search(name):
        return "tf32"
    if _SIXTEEN.search(name):
        return "bf16"
    if _HALF.search(name):
        return "fp16"
    if "double" in name:
        return "fp64"
    return "fp32" if _SINGLE.search(name) else ""


def product_type(name: str, stated: str) -> str:
    """The type that a product runs in: fp32 operands may take TF32 units, which the name tells."""
    found = dtype_of(name)
    if stated == "fp32":
        return "tf32" if found == "tf32" else stated
    return stated or found


@lru_cache(maxsize=1 << 14)
def width_of(name: str) -> int:
    """Bytes of an element by the kernel's name; 0 if it does not say."""
    opaque = _OPAQUE.search(name)
    return int(opaque[1]) if opaque else _WIDTHS.get(dtype_of(name), 0)
