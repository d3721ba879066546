"""Fused attention by shape: prefill and training by tiles of queries, decoding by its bytes.

Prefill, with tiles of 128 queries and 128 keys and `pairs` the pairs of tokens that a mask leaves:

    work  = pairs / (tiles of queries x 128 x 128) + fill, of one block of 128 queries
    time  = max(blocks / units, 1) x work x 4 d 128 128 / (peak share / units), at least that of the
            block with the most keys; with the bytes of Q, K, V and O as in a p-norm; + launch

Decoding: the bytes of keys and values over the bandwidth x reach, + launch, + a little a block.

Constants are fitted for each framework, and corrected by a surface: linear in log2 of tokens and of
batch x heads, between (heads, shared heads, width) by regression. The fastest framework measured
with similar heads is taken.

Latent attention's queries and keys are wider than values (192 and 128): the formula takes both
widths, the correction that of values, as heads of 192 throughout run in slower tiles. Beyond the
tables its rate may not grow with tokens: on one B200 (SimuMax), at 32,768 and 131,072 tokens
forward kernels took 1.5 and 1.9 times as long (`_LATENT_OCTAVE`).

Sources: Dao, "FlashAttention-2", 2023, section 3; AIConfigurator's tables; SimuMax's factor of the
backward (NOTICE).
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from yantra.compute.families.family import Family, within
from yantra.compute.families.gemm import products
from yantra.compute.families.machine import GPUS, SCALED, Gpu, Machine, table, with_table
from yantra.compute.families.surface import (
    Reals,
    interpolated,
    matern,
    place_on,
    regressed,
    unpacked,
)
from yantra.compute.model import Estimates, Kernels
from yantra.compute.products import RATE_TYPES

TILE = 128
_MOST = 2.0**17
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
_LATENT_OCTAVE = 0.4
"""Added by each octave of tokens from 16,384 on for latent attention: 1.5 times as long at one."""
_ERROR = 0.13, 0.15
_NO_SHAPE = 0.5
_NO_SHAPE_ERROR = 0.5
NOISE = 0.04
WORK = np.arange(0.0, 20.01, 0.5)
"""Points of surfaces: log2 of batch x heads (decoding: batch x shared heads)."""

Table = Any


class Variant(NamedTuple):
    """A kernel of a table: types of the arithmetic and of keys, a window, a framework."""

    dtype: str
    cache: str
    window: int
    framework: str

    @classmethod
    def of(cls, text: str) -> Variant:
        """The variant of a name in a table."""
        dtype, cached, window, framework = text.split("|")
        return cls(dtype, cached, int(window), framework)


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
    """The formula's microseconds of a forward kernel over many queries."""
    share, reach, launch, fill, power = constants
    b, q, keys, h, kv, d, window, causal, _ = shape
    limited = (window > 0) & (window < keys)
    seen = np.where(limited, window, keys)
    shorter = np.minimum(q, seen)
    pairs = np.where(causal, q * seen - shorter * (shorter - 1) / 2, q * seen)
    tiles = np.ceil(q / TILE)
    mean = np.maximum(pairs / tiles / TILE**2, 0.6) + fill
    longest = np.maximum(seen / TILE, 1) + fill
    rounds = np.maximum(b * h * tiles / units, 1)
    of_tile = 4e6 * d * TILE**2 * units / (peak * share)
    arithmetic = np.maximum(rounds * mean, longest) * of_tile
    traffic = 4e6 * b * d * (q * h + keys * kv) / (bandwidth * reach)
    both: Reals = (arithmetic**power + traffic**power) ** (1 / power) + launch
    return both


def decode_us(
    constants: Reals, shape: Shape, *, bandwidth: float, units: int, width: float
) -> Reals:
    """The formula's microseconds with one query a sequence.

    `width` is bytes of a stored number.
    """
    reach, launch, block, power, busy = constants
    seen = np.where((shape.window > 0) & (shape.window < shape.keys), shape.window, shape.keys)
    held = shape.batch * shape.kv_heads * shape.width
    traffic = 2e6 * width * held * seen / (bandwidth * reach)
    blocks = shape.batch * shape.kv_heads * np.ceil(seen / TILE)
    rounds = np.maximum(blocks / units, 1) * block + busy * shape.batch * shape.heads / units
    both: Reals = (traffic**power + rounds**power) ** (1 / power) + launch
    return both


def covariance(first: Reals, second: Reals) -> Reals:
    """Covariance of the formula's errors for two lists of (heads, shared, width).

    Lengths are from cross-validation over keys (`yantra.accuracy.kernels`).
    """
    apart = _apart(first, second)
    both = matern(apart.ratio, 3.5) * matern(apart.width, 0.55)
    near = 1.5 * matern(apart.heads, 8.0) * np.where(apart.is_other_kind, 0.8, 1.0)
    made: Reals = both * (near + 2.3) + 0.03 * matern(apart.width, 0.75)
    return made


def presence_covariance(first: Reals, second: Reals) -> Reals:
    """Covariance of two lists of keys in the frameworks they are measured with.

    By models' heads, halved by tensor parallelism: 40, 20, 10 and 5 go together.
    """
    apart = _apart(first, second)
    same = _odd(first)[:, None] == _odd(second)[None]
    of_model = 1.74 * same + 0.15 * (same & (apart.ratio == 0)) + 0.14 * ~apart.is_other_kind
    near = 0.7 * matern(apart.ratio, 8.9) * matern(apart.heads, 2.0)
    made: Reals = matern(apart.width, 0.78) * (of_model + near)
    return made


class Apart(NamedTuple):
    """Distances of keys in octaves, and whether only one shares keys between heads."""

    ratio: Reals
    width: Reals
    heads: Reals
    is_other_kind: NDArray[np.bool_]


def _apart(first: Reals, second: Reals) -> Apart:
    def between(one: Reals, other: Reals) -> Reals:
        gap: Reals = np.abs(np.subtract.outer(np.log2(one), np.log2(other)))
        return gap

    own, other = first[:, 0] / first[:, 1], second[:, 0] / second[:, 1]
    return Apart(
        between(own, other), between(first[:, 2], second[:, 2]), between(first[:, 0], second[:, 0]),
        np.logical_xor.outer(own == 1, other == 1),
    )  # fmt: skip


def _odd(keys: Reals) -> NDArray[np.int64]:
    heads = keys[:, 0].astype(np.int64)
    made: NDArray[np.int64] = heads // (heads & -heads)
    return made


class Surface(NamedTuple):
    """A variant's smooth table: grids over log2 of tokens and of work, one for each key."""

    constants: Reals
    keys: Reals
    all_keys: Reals
    measured: NDArray[np.bool_]
    tokens: Reals
    log_ratio: Reals


def table_shape(keys: Reals, tokens: Reals, batch: Reals, window: int, decoding: bool) -> Shape:
    """The shapes of a table: keys x tokens x batch."""
    heads, kv, width = (keys[:, at, None, None] for at in range(3))
    length = tokens[None, :, None]
    return Shape(
        batch[None, None, :], length * 0 + 1 if decoding else length, length, heads, kv, width,
        length * 0 + window, length * 0 + (not decoding) > 0, width,
    )  # fmt: skip


def smooth(
    gpu: Gpu, arrays: Table, at: int, decoding: bool, chosen: NDArray[np.bool_] | None = None
) -> Surface:
    """The surface of one variant; `chosen` are the keys it may use, all by default."""
    variant = Variant.of(str(arrays["variants"][at]))
    keys, tokens, batch = (arrays[name].astype(float) for name in ("keys", "tokens", "batch"))
    logs = unpacked(arrays["us"][at])
    shape = table_shape(keys, tokens, batch, variant.window, decoding)
    ratio = logs - np.log(formula_us(arrays["constants"][at], shape, variant, gpu, decoding))
    allowed = np.ones(len(keys), bool) if chosen is None else chosen
    has = np.asarray(np.isfinite(ratio).any(axis=(1, 2)))
    use = has & allowed
    work = keys[:, 1 if decoding else 0]
    grid = np.stack([_regular(ratio[key], batch, work[key]) for key in np.flatnonzero(use)])
    return Surface(
        arrays["constants"][at], keys[use], keys[allowed], has[allowed], np.log2(tokens), grid
    )


def formula_us(
    constants: Reals, shape: Shape, variant: Variant, gpu: Gpu, decoding: bool,
    machine: Machine | None = None,
) -> Reals:  # fmt: skip
    """The formula of a variant on its own GPU, or with the rates of a machine."""
    bandwidth = machine.memory_bytes_per_s if machine else gpu.memory_bytes_per_s
    if decoding:
        width = 1.0 if variant.cache == "fp8" else 2.0
        return decode_us(constants, shape, bandwidth=bandwidth, units=gpu.units, width=width)
    peak = machine.peak(variant.dtype) if machine else gpu.peaks[variant.dtype]
    return prefill_us(constants, shape, peak=peak, bandwidth=bandwidth, units=gpu.units)


def _regular(ratio: Reals, batch: Reals, work: float) -> Reals:
    made = np.full((len(ratio), len(WORK)), np.nan)
    at = np.log2(batch * work)
    for row, values in enumerate(ratio):
        known = np.isfinite(values)
        if known.any():
            made[row] = np.interp(WORK, at[known], values[known])
    known = np.flatnonzero(np.isfinite(made[:, 0]))
    nearest = known[np.abs(known[None] - np.arange(len(made))[:, None]).argmin(axis=1)]
    filled: Reals = made[nearest]
    return filled


@cache
def variants(family: str, gpu: str) -> tuple[Variant, ...]:
    """The variants of a GPU's table, in its order."""
    return tuple(Variant.of(str(name)) for name in table(family, gpu).get("variants", ()))


@cache
def surface(family: str, gpu: str, at: int) -> Surface:
    """The surface of one variant."""
    return smooth(GPUS[gpu], table(family, gpu), at, family == "decode")


def fastest_us(
    found: list[tuple[Variant, Surface]], shape: Shape, gpu: Gpu, machine: Machine, decoding: bool
) -> Reals:
    """Microseconds of the fastest framework measured with such keys."""
    code = (shape.heads * _MOST + shape.kv_heads) * _MOST + 2 * shape.like  # exact below 2^53
    _, first, which = np.unique(code, return_index=True, return_inverse=True)
    different = np.stack([shape.heads, shape.kv_heads, shape.like], axis=1)[first]
    work = np.log2(shape.batch * (shape.kv_heads if decoding else shape.heads))
    best = np.full(len(work), np.inf)
    order = [(presence(surface, different), variant, surface) for variant, surface in found]
    most = np.max([part for part, _, _ in order], axis=0)
    for present, variant, surface in order:
        usable = (present >= 0.5) | (present >= most)
        if not usable.any():
            continue
        formula = formula_us(surface.constants, shape, variant, gpu, decoding, machine)
        made = formula * np.exp(correction(surface, different, which, shape, work))
        best = np.where(usable[which], np.minimum(best, made), best)
    return best


def presence(surface: Surface, keys: Reals) -> Reals:
    """How far a framework is measured with such keys, about 0 to 1."""
    near = presence_covariance(surface.all_keys, surface.all_keys)
    across = presence_covariance(keys, surface.all_keys)
    made: Reals = regressed(surface.measured.astype(float)[:, None], near, across, NOISE)[:, 0]
    return made


def correction(
    surface: Surface, different: Reals, which: NDArray[np.int64], shape: Shape, work: Reals
) -> Reals:
    """The logarithm of measured / formula."""
    near = covariance(surface.keys, surface.keys)
    grid = regressed(surface.log_ratio, near, covariance(different, surface.keys), NOISE)
    places = [place_on(surface.tokens, np.log2(shape.keys)), place_on(WORK, work)]
    return interpolated(grid, which, places)


class Attention(Family):
    """Fused attention, forward and backward, prefill and decoding; scores that choose keys."""

    op_classes = ("attention", "index")
    subject = "attention"

    def estimate(self, kernels: Kernels, machine: Machine) -> Estimates:
        """Durations by what is known of the shape; see the base."""
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
    """Microseconds and relative errors of fused kernels of one dtype."""
    machine.peak(dtype)
    shape = shape_of(kernels)
    backward = _backward(kernels)
    of_backward = BACKWARD / FULLER * _gradients(kernels)
    shape = shape._replace(batch=np.where(backward, FULLER, 1.0) * shape.batch)
    middle = np.empty(len(kernels))
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
        middle[rows] = np.where(backward[rows], of_backward[rows], 1.0) * made
    scaled = 0 if machine.is_own else SCALED
    error = np.where(decodes, _ERROR[1], _ERROR[0]) + scaled
    error += np.where(backward, _BACKWARD_ERROR, 0.0)
    longer = np.maximum(np.log2(shape.keys) - 14, 0)
    outside = longer + np.maximum(-np.log2(shape.width / 64), 0)
    error += np.where(shape.like < shape.width, _LATENT_OCTAVE * longer, 0.0)
    return middle, error + _OCTAVE * outside


def _of_kind(shape: Shape, wanted: Variant, gpu: Gpu, machine: Machine, decoding: bool) -> Reals:
    family = "decode" if decoding else "prefill"
    known = variants(family, gpu.name)
    like = min((_unlike(wanted, one) for one in known), default=None)
    found = [
        (one, surface(family, gpu.name, at))
        for at, one in enumerate(known)
        if _unlike(wanted, one) == like
    ]
    own = [one for one in found if one[0].framework == machine.framework]
    found = own or found
    return fastest_us(found, shape, gpu, machine, decoding)


def _unlike(wanted: Variant, other: Variant) -> tuple[bool, bool, float, bool]:
    apart = abs(np.log2(max(wanted.window, 1) / max(other.window, 1)))
    whole = (wanted.window == 0) != (other.window == 0)
    return wanted.dtype != other.dtype, whole, float(apart), wanted.cache != other.cache


def _cached_in_8_bits(
    kernels: Kernels, shape: Shape, decodes: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Where the cache has 8 bits a number: as said, else by what decoding moves."""
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
    width = (head_dim + value) / 2
    # Kernels with a short window differ even where it holds all keys.
    windowed = (kernels.window < keys) | (kernels.window <= _SHORT)
    window = np.where(windowed, kernels.window, 0).astype(float)
    all_pairs = 4 * batch * heads * width * queries * keys
    passes = np.where(_backward(kernels), 2.5, 1.0)
    # Halfway between the pairs that a mask leaves of new queries behind cached keys, and all.
    half = 1 - queries / (4 * keys)
    causal = (kernels.flops == 0) | (kernels.flops < half * passes * all_pairs)
    like = np.where(value < head_dim, value, width)
    return Shape(batch, queries, keys, heads, kv, width, window, causal & (queries > 1), like)


def _gradients(kernels: Kernels) -> Reals:
    """A backward's five products over 2.5 times a forward's.

    Three are as wide as keys, two as values; 1 where both are equal.
    """
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
