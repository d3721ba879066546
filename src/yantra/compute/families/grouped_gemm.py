"""Products of a mixture of experts, by what a whole layer took: both products and permutations.

T tokens go to k experts each. With R rows on the busiest device, r_q those of its E experts by
quantile (`spread.py`), A experts with any, hidden size h and width i between the products, each
product (n, k) takes the p-norm (p = 3) of

    arithmetic = max(E mean_q ceil(r_q / t_m) ceil(n / 128) / units, 1) 2 t_m 128 (k + fill) units /
                 (peak share (t_m / 128)^taper),  t_m the rows of a tile, from `least` to 128
    traffic    = (w (A n k + R k) + 2 R n) / (bandwidth reach)

and a layer both, 2 h (a R + b T + d T k) / bandwidth for moved rows (the last where a kernel has a
place for each row of all devices), c T k for indices, a little an expert and a launch. The fastest
kernel counts that two fifths of similar layers (weighted by experts a token) were measured with.

Tables end near a thousand rows an expert; beyond, experts in sequence (`gemm`) are taken where
faster, as in training frameworks.

Tables are of forward passes; gradients follow SimuMax's grouped products (`DGRAD`), those of
weights plus accumulation. Sources: NOTICE.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from yantra.compute.families.family import Family, within
from yantra.compute.families.frameworks import least_rows, runs
from yantra.compute.families.gemm import (
    TABLES,
    WIDTHS,
    accumulation_us,
    kind_of,
    products,
    with_stored_weights,
)
from yantra.compute.families.machine import GPUS, SCALED, Gpu, Machine, table, with_table
from yantra.compute.families.spread import SKEWS, busiest, law, loads
from yantra.compute.families.surface import (
    Reals,
    interpolated,
    matern,
    place_on,
    regressed,
    unpacked,
)
from yantra.compute.model import Estimates, Kernels

DGRAD = 1.04
"""The gradient of the input over the forward: median of 24 grouped products on B200 and A100."""

FEW, MANY = 256, 1024
"""An expert's rows up to which all run as one kernel, and from which in sequence."""

NOISE = 0.38
ROWS = np.arange(-8.0, 13.01, 0.5)
"""Points of surfaces: log2 of an expert's average rows."""
_BACKWARD_ERROR, _OCTAVE, _NO_LAYER = 0.25, 0.05, 0.3
_IN_SEQUENCE = 0.3
_POWER = 3.0
_SPIKE = 0.26
_MEASURED = 0.4
_TOP_K = 4
_ALL = 0.999
"""Of the experts, from which on chance leaves none without tokens."""


class Constants(NamedTuple):
    """What is fitted for a kernel of a GPU and dtype."""

    share: float
    reach: float
    launch_us: float
    taper: float
    fill: float
    per_row: float
    expert_us: float
    per_token: float
    index_ns: float
    least: float
    per_pair: float


class Layer(NamedTuple):
    """Sizes of the experts' layers of one device, one a row.

    `experts` are on the device, a token goes to `top_k` of all, `rows` reach them, `tokens` are
    routed over all devices; `gates` is 2 where the first product makes two halves.
    """

    hidden: Reals
    inner: Reals
    experts: Reals
    top_k: Reals
    rows: Reals
    tokens: Reals
    gates: Reals
    skew: Reals

    def take(self, rows: Any) -> Layer:
        """Some rows."""
        return Layer(*(part[rows] for part in self))


CLASSES = np.array([4.0, 32.0, 256.0])
"""An expert's rows between the classes of errors."""


def class_of(layer: Layer) -> Any:
    """The class of a layer's error."""
    return np.searchsorted(CLASSES, layer.rows / layer.experts, side="right")


class Load(NamedTuple):
    """The busiest device's rows, its experts' by quantile, experts with any."""

    rows: Reals
    each: list[Reals]
    active: Reals


def load_of(layer: Layer, *, at_random: bool = False) -> Load:
    """The busiest device's load.

    `at_random`: of E experts, k of which each of T tokens chooses, E (1 - k/E)^T have none.
    """
    devices = np.maximum(layer.tokens * layer.top_k / np.maximum(layer.rows, 1e-9), 1)
    of = law(layer.tokens * layer.top_k, layer.tokens, layer.experts * devices, layer.skew)
    most = layer.tokens * np.minimum(layer.top_k, layer.experts)
    rows = np.minimum(layer.rows * busiest(of, layer.experts, devices), most)
    each = [rows / layer.experts * one for one in loads(of, layer.experts)]
    active = layer.experts * np.mean([np.minimum(one, 1) for one in each], axis=0)
    if at_random:
        share = 1 - (1 - np.minimum(layer.top_k / (layer.experts * devices), 1)) ** layer.tokens
        chance = (layer.skew == 0) & (share < _ALL)
        each = [np.where(chance, share, one) for one in each]
        active = np.where(chance, layer.experts * share, active)
    return Load(rows, each, active)


def with_every_expert(layer: Layer) -> Layer:
    devices = np.maximum(layer.tokens * layer.top_k / np.maximum(layer.rows, 1e-9), 1)
    return layer._replace(rows=layer.rows * np.minimum(devices, layer.top_k))


def moves_us(constants: Constants, layer: Layer, rows: Reals, bandwidth: float) -> Reals:
    """The formula's microseconds of moved rows and indices."""
    pairs = layer.tokens * layer.top_k
    moved = (
        constants.per_row * rows + constants.per_token * layer.tokens + constants.per_pair * pairs
    )
    made: Reals = 1e6 * (2 * layer.hidden * moved / bandwidth + constants.index_ns * 1e-9 * pairs)
    return made


def formula_us(
    constants: Constants, layer: Layer, load: Load, *, peak: float, bandwidth: float, units: int,
    width: float,
) -> Reals:  # fmt: skip
    """The formula's microseconds of whole layers."""
    rows, active = load.rows, load.active
    mean = np.maximum(rows / active, 1)
    tile = np.exp2(np.ceil(np.log2(np.clip(mean, constants.least, 128))))
    tiles = [np.where(one < 1, one, np.ceil(one / tile)) for one in load.each]
    deep = layer.experts * np.mean(tiles, axis=0)
    rate = peak * constants.share * (tile / 128) ** constants.taper / units
    first = layer.gates * layer.inner, layer.hidden
    made: Any = 0.0
    for n, k in (first, (layer.hidden, layer.inner)):
        waves = np.maximum(deep * np.ceil(n / 128) / units, 1)
        arithmetic = waves * 256 * tile * (k + constants.fill) / rate
        moved = width * (active * n * k + rows * k) + 2 * rows * n
        traffic = moved / (bandwidth * constants.reach)
        made = made + (arithmetic**_POWER + traffic**_POWER) ** (1 / _POWER)
    whole: Reals = 1e6 * made + moves_us(constants, layer, rows, bandwidth)
    return whole + constants.launch_us + constants.expert_us * layer.experts


def features(layer: Layer) -> Reals:
    hidden = np.log2(layer.hidden)
    inner = np.log2(layer.inner * layer.gates / 2)
    parts = hidden + inner, hidden - inner, np.log2(layer.experts), inner, np.log2(layer.top_k)
    return np.stack(parts, axis=1)


def covariance(first: Reals, second: Reals) -> Reals:
    apart = np.abs(first[:, None] - second[None])
    size, form, experts, inner, top_k = (apart[..., at] for at in range(5))
    near = matern(size, 4.0) * matern(form, 4.0) * matern(experts, 3.4) * matern(top_k, 1.2)
    wide = matern(experts, 3.2) * matern(size, 6.0)
    made: Reals = 0.66 * near + wide + 0.5 * matern(inner, 4.0)
    return made


def measured_near(found: tuple[Surface, ...], near: Reals) -> list[Reals]:
    """The share of layers like `near` each kernel was measured with, weighted by experts
    a token.
    """
    known = np.unique(np.concatenate([surface.features for surface in found]), axis=0)
    weight = matern(np.abs(near[:, None, _TOP_K] - known[None, :, _TOP_K]), 1.0)
    weight /= weight.sum(axis=1, keepdims=True)
    shares = []
    for surface in found:
        has = (known[:, None] == surface.features[None]).all(axis=2).any(axis=1)
        shares.append(np.asarray(weight[:, has].sum(axis=1), np.float64))
    return shares


class Surface(NamedTuple):
    """A kernel's line over log2 of an expert's rows; with `every`, a device computed all
    experts.
    """

    constants: Constants
    features: Reals
    log_ratio: Reals
    every: bool


def table_layers(arrays: Any, gates: NDArray[np.float64]) -> Layer:
    columns = [column[None, :, None].astype(float) for column in arrays["layers"].T]
    hidden, inner, top_k, experts, tp, ep = columns
    tokens = arrays["tokens"][None, None].astype(float)
    skew = np.array(SKEWS, float)[:, None, None]
    shape = (len(SKEWS), hidden.shape[1], tokens.shape[2])
    whole = (
        hidden, inner / tp, experts / ep, top_k, tokens * top_k / ep, tokens,
        gates[None, :, None], skew,
    )  # fmt: skip
    return Layer(*(np.broadcast_to(part, shape) for part in whole))


@cache
def _first_layers(gpu: str) -> Layer:
    arrays = table("moe", gpu)
    layers = table_layers(arrays, np.full(len(arrays["layers"]), 2.0))
    return Layer(*(part[0, :, 0] for part in layers))


def smooth(
    gpu: Gpu, arrays: Any, at: int, chosen: NDArray[np.bool_] | None = None
) -> Surface | None:
    name = str(arrays["variants"][at]).split("|")[0]
    constants = Constants(*(float(one) for one in arrays["constants"][at]))
    layer = table_layers(arrays, arrays["gates"][at].astype(float))
    every = bool(arrays["every"][at])
    layer = with_every_expert(layer) if every else layer
    formula = formula_us(
        constants, layer, load_of(layer), peak=gpu.peaks[kind_of(name)],
        bandwidth=gpu.memory_bytes_per_s, units=gpu.units, width=WIDTHS[name],
    )  # fmt: skip
    ratio = without_spikes(unpacked(arrays["us"][at]) - np.log(formula))
    use = np.asarray(np.isfinite(ratio).any(axis=(0, 2)))
    use &= np.ones(len(use), bool) if chosen is None else chosen
    if not use.any():
        return None
    each = np.log2(layer.rows / layer.experts)
    grid = np.stack([_lines(each[:, row], ratio[:, row]) for row in np.flatnonzero(use)])
    first = Layer(*(part[0, use, 0] for part in layer))
    return Surface(constants, features(first), grid, every)


def without_spikes(ratio: Reals) -> Reals:
    """The table without the slowest relative to the formula: kernels measured with bad tiles."""
    quarter, most = np.nanquantile(ratio, (0.25, 0.75))
    made: Reals = np.where(ratio > most + _SPIKE * (most - quarter), np.nan, ratio)
    return made


def _lines(each: Reals, ratio: Reals) -> Reals:
    made = np.full((len(SKEWS), len(ROWS)), np.nan)
    for skew in range(len(SKEWS)):
        known = np.isfinite(ratio[skew])
        if known.any():
            made[skew] = np.interp(ROWS, each[skew][known], ratio[skew][known])
    some = np.isfinite(made[:, 0])
    made[~some] = made[some].mean(axis=0)
    return made


@cache
def surfaces(gpu: str, name: str, framework: str = "") -> tuple[Surface, ...]:
    arrays = table("moe", gpu)
    names = [str(one) for one in arrays["variants"]] if arrays else []
    own = [at for at, one in enumerate(names) if one.startswith(f"{name}|")]
    if framework:
        own = [at for at in own if runs(framework, names[at])] or own
    made = [smooth(GPUS[gpu], arrays, at) for at in own]
    return tuple(one for one in made if one is not None)


def fastest_us(
    found: tuple[Surface, ...], layer: Layer, name: str, gpu: Gpu, machine: Machine,
    *, as_measured: bool = True,
) -> tuple[Reals, Reals]:  # fmt: skip
    """Microseconds of the fastest kernels for layers, and of their products alone."""
    near, which = np.unique(features(layer), axis=0, return_inverse=True)
    which = which.reshape(-1)
    best = np.full(len(layer.rows), np.inf)
    alone = np.full(len(layer.rows), np.inf)
    power = place_on(np.array(SKEWS, float), layer.skew)
    bandwidth = machine.memory_bytes_per_s
    shares = measured_near(found, near)
    least = np.minimum(_MEASURED, np.max(shares, axis=0))
    peak = machine.rate(gpu, kind_of(name))
    for surface, share in zip(found, shares, strict=True):
        ran = with_every_expert(layer) if surface.every and as_measured else layer
        load = load_of(ran, at_random=bool(machine.framework))
        rows = place_on(ROWS, np.log2(np.maximum(ran.rows / ran.experts, 2.0**-8)))
        formula = formula_us(
            surface.constants, ran, load, peak=peak, bandwidth=bandwidth, units=gpu.units,
            width=WIDTHS[name],
        )  # fmt: skip
        known = covariance(surface.features, surface.features)
        grid = regressed(surface.log_ratio, known, covariance(near, surface.features), NOISE)
        made = formula * np.exp(interpolated(grid, which, [power, rows]))
        moved = moves_us(surface.constants, ran, load.rows, bandwidth)
        better = (share >= least)[which] & (made < best)
        best = np.where(better, made, best)
        alone = np.where(better, made * (1 - moved / formula), alone)
    return best, alone


class GroupedGemm(Family):
    """Products of a mixture of experts."""

    op_classes: ClassVar[tuple[str, ...]] = ("grouped_gemm",)
    subject = "MoE"

    def estimate(self, kernels: Kernels, machine: Machine) -> Estimates:
        middle = np.empty(len(kernels))
        error = np.empty(len(kernels))
        told = (kernels.inner > 0) & (kernels.m > 0) & (kernels.batch > 0)
        for code in np.unique(kernels.dtype):
            dtype = kernels.dtypes[int(code)] or "bf16"
            for rows, way in ((told, _of_layers), (~told, _of_products)):
                chosen = rows & (kernels.dtype == code)
                if chosen.any():
                    part = kernels.take(chosen)
                    made = way(part, dtype, machine)
                    middle[chosen], error[chosen] = with_stored_weights(*made, part, dtype, machine)
        return within(middle, error)

    def octaves(self, kernels: Kernels, machine: Machine) -> Reals:
        made = np.full(len(kernels), machine.octaves())
        gpu = with_table("moe", machine.gpu)
        known = np.unique(features(_first_layers(gpu.name)), axis=0)
        told = (kernels.inner > 0) & (kernels.m > 0) & (kernels.batch > 0)
        if told.any():
            asked = features(layer_of(kernels.take(told))[0])
            apart = np.abs(asked[:, None, 1:] - known[None, :, 1:])
            made[told] += apart.sum(axis=2).min(axis=1)
        return made


def _of_products(kernels: Kernels, dtype: str, machine: Machine) -> tuple[Reals, Reals]:
    middle, error = products(kernels, dtype, machine)
    return middle, error + _NO_LAYER


def _of_layers(kernels: Kernels, dtype: str, machine: Machine) -> tuple[Reals, Reals]:
    name = TABLES.get(dtype, "")
    gpu = with_table("moe", machine.gpu)
    found = surfaces(gpu.name, name, machine.framework)
    if not found:
        return _of_products(kernels, dtype, machine)
    layer, share = layer_of(kernels)
    if machine.framework:
        layer = _padded(layer, least_rows(machine.framework, name))
    whole, alone = (
        part * share for part in fastest_us(found, layer, name, gpu, machine, as_measured=False)
    )
    wide = ~np.isfinite(whole)
    if wide.any():
        whole[wide] = alone[wide] = _of_products(kernels.take(wide), dtype, machine)[0]
    middle = _products_alone(kernels, layer, dtype, machine, whole, alone)
    phases = np.array([{"dgrad": DGRAD}.get(phase, 1.0) for phase in kernels.phases])
    backward = np.array([phase in ("dgrad", "wgrad") for phase in kernels.phases])[kernels.phase]
    each = np.log2(np.maximum(layer.rows / layer.experts, 2.0**-8))
    error = table("moe", gpu.name)[f"error_{name}"][class_of(layer)]
    error = np.where(each < np.log2(MANY), error, np.minimum(error, _IN_SEQUENCE))
    error = error + np.where(backward, _BACKWARD_ERROR, 0) + np.where(wide, _NO_LAYER, 0)
    error = error + _OCTAVE * np.maximum(each - ROWS[-1], 0)
    error = np.hypot(error, SCALED * machine.octaves(kind_of(name)))
    return middle * phases[kernels.phase] + accumulation_us(kernels, machine), error


def _padded(layer: Layer, least: int) -> Layer:
    more = np.maximum(least * layer.experts / layer.rows, 1) if least > 1 else 1.0
    return layer._replace(rows=layer.rows * more, tokens=layer.tokens * more)


def _products_alone(
    kernels: Kernels, layer: Layer, dtype: str, machine: Machine, whole: Reals, alone: Reals
) -> Reals:
    """Microseconds of the products: below `FEW` rows an expert by the formula, from `MANY` on at
    most experts in sequence; between, in proportion.
    """
    nothing = np.zeros_like(kernels.accumulated)
    single = kernels.replace(batch=np.ones_like(kernels.batch), accumulated=nothing)
    looped = products(single, dtype, machine)[0] * layer.experts * load_of(layer).rows / layer.rows
    at_once = products(_joined(single, kernels), dtype, machine)[0]
    few = np.minimum(np.maximum(alone, at_once), whole)
    many = np.minimum(looped, whole)
    part = np.log2(layer.rows / layer.experts / FEW) / np.log2(MANY / FEW)
    made: Reals = few * (many / few) ** np.clip(part, 0, 1)
    return made


def _joined(single: Kernels, kernels: Kernels) -> Kernels:
    is_wgrad = np.array([phase == "wgrad" for phase in kernels.phases])[kernels.phase]
    experts = np.maximum(kernels.batch, 1)
    return single.replace(
        m=np.where(is_wgrad, kernels.m, kernels.m * experts),
        k=np.where(is_wgrad, kernels.k * experts, kernels.k),
    )


def layer_of(kernels: Kernels) -> tuple[Layer, Reals]:
    """The layers that products belong to, and each one's share of the operations."""
    names = [kernels.phases[int(code)] for code in range(len(kernels.phases))]
    is_wgrad = np.array([name == "wgrad" for name in names])[kernels.phase]
    rows_each = np.where(is_wgrad, kernels.k, kernels.m).astype(float)
    one = np.where(is_wgrad, kernels.m, kernels.k).astype(float)
    other = kernels.n.astype(float)
    inner = kernels.inner.astype(float)
    small = np.where((one == inner) | (one == 2 * inner), one, other)
    hidden = one * other / small
    is_second = small == inner
    experts = np.maximum(kernels.batch, 1).astype(float)
    total = np.maximum(kernels.experts, kernels.batch).astype(float)
    top_k = np.maximum(kernels.top_k, 1).astype(float)
    # Only a first product shows its halves; most layers have them.
    gates = np.where(is_second, 2.0, small / inner)
    share = np.where(is_second, 1 / 3, gates / (1 + gates))
    layer = Layer(
        hidden,
        inner,
        experts,
        top_k,
        rows_each * experts,
        rows_each * total / top_k,
        gates,
        kernels.skew.astype(float),
    )
    return layer, share


PLUGIN = GroupedGemm
