"""Sizes and formulas of fused attention, and what a window makes of them.

Prefill, with tiles of 128 queries and 128 keys and `pairs` the pairs of tokens that a mask leaves:

    work  = pairs / (tiles of queries x 128 x 128) + fill, of one block of 128 queries
    time  = max(blocks / units, 1) x work x 4 d 128 128 / (peak share / units), at least that of the
            block with the most keys; with the bytes of Q, K, V and O as in a p-norm; + launch

Decoding: the bytes of keys and values over the bandwidth x reach, + launch, + a little a block.

A window takes the time of causal attention that visits as many tiles in each row of queries: over 2
w + 128 tokens, of as many more sequences; decoding that of a cache of w tokens.

Source: Dao, "FlashAttention-2", 2023, section 3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from yantra.compute.families.surface import Reals

TILE = 128
REPEATS = "trtllm"
MOST_SHARED = 32
_REPEATED = 8.0, 1.2, 55e3
"""Microseconds of a launch and a block, bytes a unit reads in one."""
_LIKE = 0.5
"""Octaves."""


class Variant(NamedTuple):
    dtype: str
    cache: str
    window: int
    framework: str

    @classmethod
    def of(cls, text: str) -> Variant:
        """The variant of a name in a table."""
        dtype, cached, window, framework = text.split("|")
        return cls(dtype, cached, int(window), framework)

    def is_near(self, window: float) -> bool:
        """Whether a window has these kernels' times."""
        if not window or not self.window:
            return self.window == window
        return bool(abs(np.log2(window / self.window)) <= _LIKE)


class Shape(NamedTuple):
    """Sizes of attentions, one a row; `width` is the mean of keys' and values'.

    `like` is the width of the measured heads with their rate.
    """

    batch: Reals
    queries: Reals
    keys: Reals
    heads: Reals
    kv_heads: Reals
    width: Reals
    window: Reals
    causal: Any
    like: Reals


def prefill_us(
    constants: Reals, shape: Shape, *, peak: float, bandwidth: float, units: int
) -> Reals:
    share, reach, launch, fill, power = constants
    b, q, keys, h, kv, d, _, causal, _ = shape
    shorter = np.minimum(q, keys)
    pairs = np.where(causal, q * keys - shorter * (shorter - 1) / 2, q * keys)
    tiles = np.ceil(q / TILE)
    mean = np.maximum(pairs / tiles / TILE**2, 0.6) + fill
    longest = np.maximum(keys / TILE, 1) + fill
    rounds = np.maximum(b * h * tiles / units, 1)
    of_tile = 4e6 * d * TILE**2 * units / (peak * share)
    arithmetic = np.maximum(rounds * mean, longest) * of_tile
    traffic = 4e6 * b * d * (q * h + keys * kv) / (bandwidth * reach)
    both: Reals = (arithmetic**power + traffic**power) ** (1 / power) + launch
    return both


def decode_us(
    constants: Reals, shape: Shape, *, bandwidth: float, units: int, width: float, repeats: bool
) -> Reals:
    """`width` is bytes of a stored number; `repeats`: as `REPEATS` does."""
    reach, launch, block, power, busy = constants
    held = shape.batch * shape.kv_heads * shape.width
    traffic = 2e6 * width * held * shape.keys / (bandwidth * reach)
    blocks = shape.batch * shape.kv_heads * np.ceil(shape.keys / TILE)
    rounds = np.maximum(blocks / units, 1) * block + busy * shape.batch * shape.heads / units
    both: Reals = (traffic**power + rounds**power) ** (1 / power) + launch
    if not repeats:
        return both
    start, own, rate = _REPEATED
    of_block = own + 4 * shape.width * shape.keys / rate
    once_a_head = start + np.maximum(shape.batch * shape.heads / units, 1) * of_block
    made: Reals = np.where(shape.heads > MOST_SHARED * shape.kv_heads, once_a_head, both)
    return made


def visited(queries: Reals, keys: Reals, window: Reals) -> Reals:
    most = window / TILE + 1
    tiles = np.ceil(queries / TILE)
    first = np.maximum(keys - queries, 0) / TILE + 1
    rising = np.clip(np.ceil(most - first), 0, tiles)
    made: Reals = (rising * (first + (rising - 1) / 2) + (tiles - rising) * most) / tiles
    return made


def equivalent(shape: Shape, decoding: bool) -> Shape:
    """Attention without a window that takes as long."""
    windowed = (shape.window > 0) & (shape.window < shape.keys)
    if not windowed.any():
        return shape
    none = shape.window * 0
    if decoding:
        return shape._replace(keys=np.where(windowed, shape.window, shape.keys), window=none)
    q, w = shape.queries, np.maximum(shape.window, 1)
    few = (q <= w) & (q < shape.keys)
    behind = np.minimum(w + (q - 1) / 2, shape.keys)
    length = np.minimum(TILE * (2 * visited(q, shape.keys, w) - 1), q)
    length = np.where(few, behind, np.where(shape.causal, length, np.minimum(w, shape.keys)))
    rows = np.where(few | ~np.asarray(shape.causal), q, length)
    return shape._replace(
        batch=np.where(windowed, shape.batch * q / rows, shape.batch),
        queries=np.where(windowed, rows, q),
        keys=np.where(windowed, length, shape.keys),
        window=none,
    )


def faded(window: Reals, measured: int) -> Reals:
    """How much of a measured window's error a wider one has."""
    made: Reals = np.minimum((measured / TILE + 2) / (window / TILE + 2), 1.0)
    return made


def shared(shape: Shape) -> tuple[Reals, NDArray[np.int64]]:
    most = 2.0**17
    code = (shape.heads * most + shape.kv_heads) * most + 2 * shape.like  # exact below 2^53
    _, first, which = np.unique(code, return_index=True, return_inverse=True)
    return np.stack([shape.heads, shape.kv_heads, shape.like], axis=1)[first], which
