"""Bytes of operands of products in 8 and 4 bits, with their scales.

| scaling | one layout of an input | of a weight | a second layout of weights |
|---|---|---|---|
| `delayed`, `tensorwise` | 1 | 1 | where products read one layout only |
| `blockwise`: 1 x 128, weights 128 x 128 | 1 + 4/128 | 1 + 4/128^2 | always |
| `mxfp8`: 1 x 32 | 1 + 1/32 | 1 + 1/32 | always |
| `nvfp4`: 1 x 16 | 1/2 + 1/16 | 1/2 + 1/16 | always |

Source: NVIDIA/TransformerEngine at d0067d0, `pytorch/module/linear.py` (the input is saved in one
layout) and `pytorch/tensor` (scales).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

Scaling = Literal["none", "delayed", "tensorwise", "blockwise", "mxfp8", "nvfp4"]


class Recipe(NamedTuple):
    """`both` layouts of weights are always there, or where products need them; `keeps_twice` what
    others keep in 16 bits.
    """

    saved: float
    weight: float
    sent: float
    both: bool = True
    keeps_twice: bool = False


RECIPES: Mapping[str, Recipe] = {
    "delayed": Recipe(1, 1, 1, both=False, keeps_twice=True),
    "tensorwise": Recipe(1, 1, 1, both=False),
    "blockwise": Recipe(1 + 4 / 128, 1 + 4 / 128**2, 1 + 4 / 128**2),
    "mxfp8": Recipe(1 + 1 / 32, 1 + 1 / 32, 2),
    "nvfp4": Recipe(1 / 2 + 1 / 16, 1 / 2 + 1 / 16, 1 / 2 + 1 / 16),
}
