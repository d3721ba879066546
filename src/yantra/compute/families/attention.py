"""Fused attention by shape: prefill and training by tiles of queries, decoding by its bytes.

The times are of the measured kernels with similar heads (`attention_tables.py`).

Source: SimuMax's factor of the backward (NOTICE).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from yantra.compute.families import attention_tables as tables
from yantra.compute.families.attention_libraries import ERROR as LIBRARY_ERROR
from yantra.compute.families.attention_libraries import longer as longer_with
from yantra.compute.families.attention_shapes import Shape, Variant
from yantra.compute.families.family import Family, within
from yantra.compute.families.gemm import products
from yantra.compute.families.machine import SCALED, Gpu, Machine, table, with_table
from yantra.compute.families.surface import Reals, place_on
from yantra.compute.model import Estimates, Kernels
from yantra.compute.products import RATE_TYPES

_SHORT = 1024
_EIGHT_BITS = ("fp8", "fp8_block", "fp4", "nvfp4", "int8")
BACKWARD = 3.2
FULLER = 4.0
"""The backward is 3.2 times a forward of 4 times the batch, over 4: it shares work over keys as
well, so few heads starve it less. For 44 shapes on B200 and A100 (SimuMax), 1.2 to 3.7 times the
forward, 11 % off in the mean.
"""
_BACKWARD_ERROR = 0.25
_OCTAVE = 0.05
_TILED = np.array([32.0, 64.0, 96.0, 128.0, 192.0, 256.0])
"""Widths that FlashAttention is built for (`flash_api.cpp`); others are filled up."""
_LONG = 15, 0.08
"""From 2^15 keys on each octave takes 8 % more, as four kernels of one B200 (SimuMax)."""
_LATENT_OCTAVE = 0.4
"""Added by each octave from 16,384 tokens on: latent kernels took 1.5 and 1.9 times as long."""
_NO_SHAPE = 0.5
_NO_SHAPE_ERROR = 0.5


class Attention(Family):
    """Fused attention, forward and backward, prefill and decoding; scores that choose keys."""

    op_classes = ("attention", "index")
    subject = "attention"

    def estimate(self, kernels: Kernels, machine: Machine) -> Estimates:
        middle = np.empty(len(kernels))
        error = np.empty(len(kernels))
        shaped = (kernels.heads > 0) & (kernels.head_dim > 0) & (kernels.queries > 0)
        product = ~shaped & (kernels.m > 0) & (kernels.n > 0) & (kernels.k > 0)
        unknown = ~shaped & ~product
        for code in np.unique(kernels.dtype):
            dtype = kernels.dtypes[int(code)] or "bf16"
            for rows, way in ((shaped, _fused), (product, _unfused), (unknown, _by_amounts)):
                chosen = rows & (kernels.dtype == code)
                if chosen.any():
                    middle[chosen], error[chosen] = way(kernels.take(chosen), dtype, machine)
        return within(middle, error)

    def beyond(self, kernels: Kernels, machine: Machine) -> Reals:
        """Octaves of tokens outside the tables; see the base."""
        made = np.zeros(len(kernels))
        tokens = np.log2(np.maximum(np.maximum(kernels.keys, kernels.queries), 1))
        for family, rows in (("decode", kernels.queries == 1), ("prefill", kernels.queries > 1)):
            shaped = rows & (kernels.heads > 0)
            if shaped.any():
                axis = table(family, with_table(family, machine.gpu).name)["tokens"]
                ends = np.log2(np.unique(axis.astype(np.float64)))
                made[shaped] = place_on(ends, tokens[shaped]).beyond
        return made


def _fused(kernels: Kernels, dtype: str, machine: Machine) -> tuple[Reals, Reals]:
    machine.peak(dtype)
    shape = shape_of(kernels)
    backward = _backward(kernels)
    of_backward = BACKWARD / FULLER * _gradients(kernels)
    shape = shape._replace(batch=np.where(backward, FULLER, 1.0) * shape.batch)
    middle, error = np.empty(len(kernels)), np.empty(len(kernels))
    decodes = shape.queries == 1
    eight = dtype in _EIGHT_BITS
    in_fp8 = eight | _cached_in_8_bits(kernels, shape, decodes)
    kinds = shape.window * 4 + 2 * in_fp8 + decodes
    for kind in np.unique(kinds).astype(np.int64):
        rows = kinds == kind
        part = Shape(*(column[rows] for column in shape))
        window, decoding, in_8_bits = int(kind // 4), bool(kind & 1), bool(kind & 2)
        gpu = with_table("decode" if decoding else "prefill", machine.gpu)
        # Decoding is measured only with queries in 16 bits.
        of_queries = "fp8" if eight and not decoding else "bf16"
        wanted = Variant(of_queries, "fp8" if in_8_bits else "bf16", window, "")
        made = _of_kind(part, wanted, gpu, machine, decoding)
        middle[rows] = np.where(backward[rows], of_backward[rows], 1.0) * made.us
        error[rows] = made.error
    error += (0 if machine.is_own else SCALED) + np.where(backward, _BACKWARD_ERROR, 0.0)
    longer = np.maximum(np.log2(shape.keys) - np.where(decodes, 17, 14), 0)
    outside = longer + np.maximum(-np.log2(shape.width / 64), 0)
    seen = np.where(shape.window > 0, np.minimum(shape.window, shape.keys), shape.keys)
    slower = 1 + _LONG[1] * np.maximum(np.log2(seen) - _LONG[0], 0)
    forward, gradients = longer_with(machine.attention, machine.gpu.name)
    slower *= np.where(backward, gradients, forward)
    middle *= np.where(decodes, 1.0, slower)
    error += np.where(decodes, 0.0, LIBRARY_ERROR if forward > 1 else 0.0)
    error += np.where(shape.like < shape.width, _LATENT_OCTAVE * longer, 0.0)
    return middle, error + _OCTAVE * outside


def _of_kind(
    shape: Shape, wanted: Variant, gpu: Gpu, machine: Machine, decoding: bool
) -> tables.Fastest:
    family = "decode" if decoding else "prefill"
    found = tables.chosen(
        wanted, tables.variants(family, gpu.name), lambda at: tables.surface(family, gpu.name, at)
    )
    near, others = (
        [one for one in tier if one.variant.framework == machine.framework] for tier in found
    )
    own = (near, others) if near or others else found
    return tables.fastest(own, shape, gpu, machine, decoding)


def _cached_in_8_bits(
    kernels: Kernels, shape: Shape, decodes: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    seen = np.where(shape.window > 0, np.minimum(shape.window, shape.keys), shape.keys)
    numbers = 2 * shape.batch * shape.kv_heads * shape.width * seen
    few = decodes & (kernels.bytes > 0) & (kernels.bytes < 1.5 * numbers)
    made: NDArray[np.bool_] = np.where(kernels.cache_bits > 0, kernels.cache_bits <= 8, few)
    return made


def shape_of(kernels: Kernels) -> Shape:
    """The shapes of kernels that say their heads."""
    whole = [
        np.maximum(column, 1).astype(float)
        for column in (kernels.batch, kernels.queries, kernels.heads, kernels.head_dim)
    ]
    batch, queries, heads, head_dim = whole
    keys = np.maximum(kernels.keys, kernels.queries).astype(float)
    kv = np.where(kernels.kv_heads > 0, np.minimum(kernels.kv_heads, heads), heads)
    value = np.where(kernels.value_dim > 0, kernels.value_dim, head_dim)
    stated = value
    head_dim, value = (np.where(queries > 1, _tiled(one), one) for one in (head_dim, value))
    width = (head_dim + value) / 2
    # Kernels with a short window differ even where it holds all keys.
    windowed = (kernels.window < keys) | (kernels.window <= _SHORT)
    window = np.where(windowed, kernels.window, 0).astype(float)
    all_pairs = 2 * batch * heads * (whole[3] + stated) * queries * keys
    passes = np.where(_backward(kernels), 2.5, 1.0)
    # Halfway between the pairs that a mask leaves of new queries behind cached keys, and all.
    half = 1 - queries / (4 * keys)
    causal = (kernels.flops == 0) | (kernels.flops < half * passes * all_pairs)
    like = np.where(value < head_dim, value, width)
    pairs = kernels.flops / (passes * all_pairs) * queries * keys
    keys = np.where(causal & (window == 0), _mean_keys(pairs, queries, keys), keys)
    return Shape(batch, queries, keys, heads, kv, width, window, causal & (queries > 1), like)


def _mean_keys(pairs: Reals, queries: Reals, keys: Reals) -> Reals:
    """Keys behind which queries see so many pairs: fewer where context parallelism hands each rank
    an early and a late part of the sequence (Llama 3, section 3.3.2).
    """
    behind = np.maximum(pairs / queries + (queries - 1) / 2, queries)
    fewer = (pairs > 0) & (queries > 1) & (behind < 0.99 * keys)
    made: Reals = np.where(fewer, behind, keys)
    return made


def _tiled(width: Reals) -> Reals:
    at = np.minimum(np.searchsorted(_TILED, width), len(_TILED) - 1)
    made: Reals = np.maximum(_TILED[at], width)
    return made


def _gradients(kernels: Kernels) -> Reals:
    """A backward's five products over 2.5 times a forward's."""
    keys = np.maximum(kernels.head_dim, 1).astype(float)
    values = np.where(kernels.value_dim > 0, kernels.value_dim, keys)
    made: Reals = (3 * keys + 2 * values) / (2.5 * (keys + values))
    return made


def _backward(kernels: Kernels) -> NDArray[np.bool_]:
    names = np.array([name == "dgrad" for name in kernels.phases])
    made: NDArray[np.bool_] = names[kernels.phase]
    return made


def _unfused(kernels: Kernels, dtype: str, machine: Machine) -> tuple[Reals, Reals]:
    middle, error = products(kernels, dtype, machine)
    one = 2.0 * np.maximum(kernels.batch, 1) * kernels.m * kernels.n * kernels.k
    return middle * np.maximum(np.rint(kernels.flops / one), 1), error


def _by_amounts(kernels: Kernels, dtype: str, machine: Machine) -> tuple[Reals, Reals]:
    rate = machine.peak(RATE_TYPES.get(dtype, dtype))
    arithmetic = kernels.flops / (rate * _NO_SHAPE)
    traffic = kernels.bytes / (machine.memory_bytes_per_s * _NO_SHAPE)
    return np.maximum(arithmetic, traffic) * 1e6 + 5, np.full(len(kernels), _NO_SHAPE_ERROR)


PLUGIN = Attention
