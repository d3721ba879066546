"""Measured attention made smooth: what corrects the formulas, and the fastest framework.

Constants are fitted for each framework, and corrected by a surface: linear in log2 of tokens and of
batch x heads, between (heads, shared heads, width) by regression. Source: AIConfigurator's tables
(NOTICE).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from yantra.compute.families import attention_shapes as shapes
from yantra.compute.families.attention_shapes import Shape, Variant
from yantra.compute.families.machine import GPUS, Gpu, Machine, table
from yantra.compute.families.surface import (
    Reals,
    interpolated,
    matern,
    place_on,
    regressed,
    unpacked,
    weights,
)

NOISE = 0.04
WORK = np.arange(0.0, 20.01, 0.5)
"""Points of surfaces: log2 of batch x heads (decoding: batch x shared heads)."""
_PRESENT, _NEAR = 0.5, 0.1
_ERRORS = {False: (0.049, 0.45, 0.034), True: (0.024, 0.49, 0.095)}
"""Least, by deviation of the regression, and by how unclear the framework is (held-out keys)."""
_OTHER_WINDOW = 0.1
"""What windows of 128 are off from tiles."""
_READS_ALL = 0.7, -0.5
"""Logarithms: longer than a window's tiles, hardly less than without one."""
_WINDOWS = 16

Table = Any
Truth = NDArray[np.bool_]


def covariance(first: Reals, second: Reals) -> Reals:
    """Covariance of the formula's errors for two lists of (heads, shared, width)."""
    apart = _apart(first, second)
    both = matern(apart.ratio, 3.5) * matern(apart.width, 0.55)
    near = 1.5 * matern(apart.heads, 8.0) * np.where(apart.is_other_kind, 0.8, 1.0)
    made: Reals = both * (near + 2.3) + 0.03 * matern(apart.width, 0.75)
    return made


def presence_covariance(first: Reals, second: Reals) -> Reals:
    """Covariance of two lists of keys in the frameworks they are measured with."""
    apart = _apart(first, second)
    same = _odd(first)[:, None] == _odd(second)[None]
    of_model = 1.74 * same + 0.15 * (same & (apart.ratio == 0)) + 0.14 * ~apart.is_other_kind
    near = 0.7 * matern(apart.ratio, 8.9) * matern(apart.heads, 2.0)
    made: Reals = matern(apart.width, 0.78) * (of_model + near)
    return made


class Apart(NamedTuple):
    ratio: Reals
    width: Reals
    heads: Reals
    is_other_kind: Truth


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

    variant: Variant
    constants: Reals
    keys: Reals
    all_keys: Reals
    measured: Truth
    tokens: Reals
    log_ratio: Reals
    base: Surface | None = None
    reads_all: Reals = np.zeros(0)


def table_shape(keys: Reals, tokens: Reals, batch: Reals, window: int, decoding: bool) -> Shape:
    heads, kv, width = (keys[:, at, None, None] for at in range(3))
    length = tokens[None, :, None]
    return Shape(
        batch[None, None, :], length * 0 + 1 if decoding else length, length, heads, kv, width,
        length * 0 + window, length * 0 + (not decoding) > 0, width,
    )  # fmt: skip


def smooth(
    gpu: Gpu, arrays: Table, at: int, decoding: bool, chosen: Truth | None = None
) -> Surface:
    names = [Variant.of(str(name)) for name in arrays["variants"]]
    variant, base = names[at], None
    keys, tokens, batch = (arrays[name].astype(float) for name in ("keys", "tokens", "batch"))
    logs = unpacked(arrays["us"][at])
    shape = table_shape(keys, tokens, batch, variant.window, decoding)
    allowed = np.ones(len(keys), bool) if chosen is None else chosen
    has = np.asarray(np.isfinite(logs).any(axis=(1, 2)))
    use = has & allowed
    reads_all = np.zeros(0)
    if variant.window:
        base = smooth(gpu, arrays, names.index(variant._replace(window=0)), decoding, chosen)
        whole = Shape(*np.broadcast_arrays(*shape))
        ratio = logs - _all_us(base, shapes.equivalent(whole, decoding), gpu, decoding)
        everything = logs - _all_us(base, whole._replace(window=whole.window * 0), gpu, decoding)
        ignores, reads_all = _that_read_all(ratio, everything, tokens, variant.window, keys)
        ratio = np.where(ignores[:, None, None], everything, ratio)
    else:
        constants = arrays["constants"][at]
        ratio = logs - np.log(formula_us(constants, shape, variant, gpu, decoding))
    work = keys[:, 1 if decoding else 0]
    grid = [_regular(ratio[key], batch, work[key]) for key in np.flatnonzero(use)]
    return Surface(
        variant, arrays["constants"][at], keys[use], keys[allowed], has[allowed], np.log2(tokens),
        np.stack(grid) if grid else np.zeros((0, len(tokens), len(WORK))), base, reads_all,
    )  # fmt: skip


def _all_us(base: Surface, whole: Shape, gpu: Gpu, decoding: bool) -> Reals:
    flat = Shape(*(part.reshape(-1) for part in whole))
    machine = Machine(gpu, gpu.peaks, gpu.memory_bytes_per_s, True)
    return log_us(base, flat, gpu, machine, decoding).reshape(whole.batch.shape)


def _that_read_all(
    ratio: Reals, everything: Reals, tokens: Reals, window: int, keys: Reals
) -> tuple[Truth, Reals]:
    longest = tokens >= _WINDOWS * window
    if not longest.any():
        return np.zeros(len(keys), bool), np.zeros(0)
    above, below = (
        np.array([np.nanmedian(one) if np.isfinite(one).any() else 0.0 for one in part])
        for part in (ratio[:, longest], everything[:, longest])
    )
    ignores = (above > _READS_ALL[0]) & (below > _READS_ALL[1])
    others = np.isfinite(ratio).any(axis=(1, 2)) & ~ignores
    return ignores, np.setdiff1d(keys[ignores, 2], keys[others, 2])


def formula_us(
    constants: Reals, shape: Shape, variant: Variant, gpu: Gpu, decoding: bool,
    machine: Machine | None = None,
) -> Reals:  # fmt: skip
    bandwidth = machine.memory_bytes_per_s if machine else gpu.memory_bytes_per_s
    if decoding:
        width = 1.0 if variant.cache == "fp8" else 2.0
        return shapes.decode_us(
            constants, shape, bandwidth=bandwidth, units=gpu.units, width=width,
            repeats=variant.framework == shapes.REPEATS,
        )  # fmt: skip
    peak = gpu.peaks[variant.dtype]
    if machine:
        peak = machine.peak(variant.dtype) * machine.clock(gpu)
    return shapes.prefill_us(constants, shape, peak=peak, bandwidth=bandwidth, units=gpu.units)


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


Tiers = tuple[list[Surface], list[Surface]]


def chosen(wanted: Variant, known: Sequence[Variant], of: Callable[[int], Surface]) -> Tiers:
    """The surfaces of a kind of kernels, one of each framework, which `of` has by place."""
    unlike = [(one.dtype != wanted.dtype, one.cache != wanted.cache) for one in known]
    same = [at for at, one in enumerate(unlike) if one == min(unlike)]
    near = [of(at) for at in same if known[at].is_near(wanted.window)]
    if not wanted.window:
        return near, []
    others = []
    for at in same:
        if not known[at].window:
            own = [one for one in same if known[one].framework == known[at].framework]
            least = min(own, key=lambda one: known[one].window or np.inf)
            whole = of(at)
            others.append(of(least)._replace(all_keys=whole.all_keys, measured=whole.measured))
    return near, others


class Fastest(NamedTuple):
    """Microseconds, and the relative error that 90 % are within."""

    us: Reals
    error: Reals


def fastest(found: Tiers, shape: Shape, gpu: Gpu, machine: Machine, decoding: bool) -> Fastest:
    different, which = shapes.shared(shape)
    present = [np.array([presence(one, different) for one in tier]) for tier in found]
    is_near: Truth = np.asarray(
        (present[0] >= _NEAR).any(axis=0)
        if found[0] and found[1]
        else np.full(len(different), bool(found[0]))
    )
    best = np.full(len(which), np.inf)
    far, unclear = np.zeros(len(which)), np.zeros(len(different))
    for tier, part, here in zip(found, present, (is_near, ~is_near), strict=True):
        for one, own in zip(tier, part, strict=True):
            unclear = np.where(here, np.maximum(unclear, 1 - 2 * np.abs(own - 0.5)), unclear)
            usable = here & ((own >= _PRESENT) | (own >= part.max(axis=0)))
            if usable.any():
                made = np.exp(log_us(one, shape, gpu, machine, decoding))
                better = usable[which] & (made < best)
                best[better] = made[better]
                spread = distance(one, different)[which]
                far[better] = spread[better]
    least, of_far, of_unclear = _ERRORS[decoding]
    error = least + of_far * np.sqrt(far) + of_unclear * unclear[which]
    other = ~is_near[which] & (shape.window > 0) & (shape.window < shape.keys)
    return Fastest(best, error + np.where(other, _OTHER_WINDOW, 0.0))


_KEPT = 512
_MADE: dict[tuple[str, int, bytes], tuple[Any, Reals]] = {}


def _once(name: str, of: Any, keys: Reals, make: Callable[[], Reals]) -> Reals:
    key = (name, id(of), keys.tobytes())
    known = _MADE.get(key)
    if known is None or known[0] is not of:
        if len(_MADE) >= _KEPT:
            _MADE.clear()
        known = _MADE[key] = of, make()
    return known[1]


def distance(surface: Surface, keys: Reals) -> Reals:
    return _once("distance", surface.keys, keys, lambda: _distance(surface, keys))


def _distance(surface: Surface, keys: Reals) -> Reals:
    if not len(surface.keys):
        return np.ones(len(keys))
    across = covariance(keys, surface.keys)
    solved = weights(covariance(surface.keys, surface.keys), across, NOISE)
    whole = np.diag(covariance(keys, keys))
    made: Reals = np.clip(1 - (solved * across).sum(axis=1) / whole, 0.0, 1.0)
    return made


def presence(surface: Surface, keys: Reals) -> Reals:
    return _once("presence", surface.measured, keys, lambda: _presence(surface, keys))


def _presence(surface: Surface, keys: Reals) -> Reals:
    near = presence_covariance(surface.all_keys, surface.all_keys)
    across = presence_covariance(keys, surface.all_keys)
    made: Reals = regressed(surface.measured.astype(float)[:, None], near, across, NOISE)[:, 0]
    return made


def log_us(surface: Surface, shape: Shape, gpu: Gpu, machine: Machine, decoding: bool) -> Reals:
    """The logarithm of the microseconds of a variant's kernels."""
    work = np.log2(shape.batch * (shape.kv_heads if decoding else shape.heads))
    if surface.base is None:
        formula = formula_us(surface.constants, shape, surface.variant, gpu, decoding, machine)
        return np.log(formula) + correction(surface, shape, shape.keys, work)
    everything = np.isin(shape.like, surface.reads_all)
    seen = shape._replace(window=np.where(everything, 0, shape.window))
    made = log_us(surface.base, shapes.equivalent(seen, decoding), gpu, machine, decoding)
    if not len(surface.keys):
        return made
    measured = surface.variant.window
    window = np.where(everything, measured, shape.window)
    error = correction(surface, shape, shape.keys * measured / window, work)
    return made + error * shapes.faded(window, measured)


def correction(surface: Surface, shape: Shape, tokens: Reals, work: Reals) -> Reals:
    """The logarithm of measured / formula."""
    different, which = shapes.shared(shape)
    grid = _once("grid", surface.log_ratio, different, lambda: _grid(surface, different))
    places = [place_on(surface.tokens, np.log2(tokens)), place_on(WORK, work)]
    return interpolated(grid, which, places)


def _grid(surface: Surface, keys: Reals) -> Reals:
    near = covariance(surface.keys, surface.keys)
    return regressed(surface.log_ratio, near, covariance(keys, surface.keys), NOISE)
