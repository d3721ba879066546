"""Bytes of stored weights: types of one width, and formats with scales for blocks of weights.

| format | bits | a scale for each | scale | stays in 16 bits | |---|---|---|---|---| | `int4` (AWQ,
GPTQ) | 4 | 128 weights of a column | 16 bits, and a zero point of 4 | embedding, head, router,
norms, biases | | `fp8_block` (DeepSeek-V3) | 8 | block of 128 x 128 | 32 bits | the same | |
`nvfp4` (Blackwell) | 4 | 16 weights of a row | 8 bits | the same |

Trade-off: scales are counted in proportion; a matrix not divisible by 128 has a few more.

Sources: Lin et al., "AWQ", MLSys 2024 (groups of 128); AutoGPTQ's `qweight`, `qzeros` and `scales`;
DeepSeek-V3 technical report, section 3.3.2, and its checkpoint's `weight_block_size` [128, 128];
NVIDIA, Transformer Engine user guide (2025), "NVFP4".
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import NamedTuple

WIDTHS = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "int8": 1, "fp4": 0.5}
"""Bytes of an element."""


class Format(NamedTuple):
    """Bits of a weight, and extra bits of each block of weights."""

    bits: int
    block: int
    beside: int


FORMATS: Mapping[str, Format] = {
    "int4": Format(4, 128, 16 + 4),
    "fp8_block": Format(8, 128 * 128, 32),
    "nvfp4": Format(4, 16, 8),
}


def stored_bytes(elements: int, kind: str, *, packs: bool) -> int:
    form = FORMATS.get(kind)
    if form is None:
        return ceil(elements * WIDTHS[kind])
    if not packs:
        return 2 * elements
    return -(-elements * (form.bits * form.block + form.beside) // (8 * form.block))
