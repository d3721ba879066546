"""How far measured kernels say that others are off: regression over sizes, class by class.

Of the logarithm of measured / estimated. The covariance of two kernels is

    alike x product of Matern-3/2 (octaves of each size; 4) + 0.3 Matern-3/2 (octaves of work; 6)

with `alike` 1, times 0.7 for another phase, 0.5 for another type, plus 0.02 for the very same
kernel, which a library may run well or badly.

Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, algorithm 2.1, and
section 5.4.2 for leaving one out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from yantra.base.normal import WITHIN_90
from yantra.compute.families.memory_bound import ELSE, LIKE
from yantra.compute.families.surface import Reals, matern
from yantra.compute.model import Kernels

_LENGTH, _WIDE, _WORK = 4.0, 0.3, 6.0
_OTHER_PHASE, _OTHER_TYPE = 0.7, 0.5
_OWN = 0.02
NOISE = 0.001
_NINETY = 0.9
_LEAST = 8  # kernels of a class whose own errors give its width
_FEW = 0.3  # standard deviation of the logarithm with fewer

FAMILIES = ("gemm", "attention", "grouped_gemm", "memory_bound")
_LABELS = {"bf16": "16", "fp16": "16", "": "16", "fp8": "8", "fp8_block": "8", "int8": "8"}


class Places(NamedTuple):
    sizes: Reals
    work: Reals
    phase: NDArray[np.str_]
    dtype: NDArray[np.str_]
    added: Reals


class Near(NamedTuple):
    """`wide` is the 90 % error of left-out kernels in standard deviations of the regression."""

    places: Places
    inverse: Reals
    weights: Reals
    mean: float
    wide: float


def places_of(kernels: Kernels, family: str) -> Places:
    """Where kernels of a family are."""
    phases = np.array([{"recompute": "forward"}.get(one, one) for one in kernels.phases])
    phase = phases[kernels.phase]
    dtypes = np.array([_LABELS.get(one, one) for one in kernels.dtypes])[kernels.dtype]
    if family == "memory_bound":
        kinds = np.array([LIKE.get(name, ELSE) for name in kernels.op_classes])[kernels.op_class]
        sizes = _octaves(kernels.bytes)
        nothing = np.zeros(len(kernels))
        return Places(sizes, sizes[:, 0], kinds, np.full(len(kernels), ""), nothing)
    if family == "attention":
        heads = np.maximum(kernels.heads, 1)
        value = np.where(kernels.value_dim > 0, kernels.value_dim, kernels.head_dim)
        kv = np.where(kernels.kv_heads > 0, kernels.kv_heads, heads)
        sizes = _octaves(
            np.maximum(kernels.batch, 1) * heads, kernels.queries, kernels.keys,
            kernels.head_dim + value, heads / kv,
        )  # fmt: skip
        nothing = np.zeros(len(kernels))
        return Places(sizes, sizes[:, :4].sum(axis=1), phase, dtypes, nothing)
    batch = np.maximum(kernels.batch, 1)
    rows = kernels.m if family == "grouped_gemm" else kernels.m * batch
    # A gradient of a weight and its transpose are the same product.
    turned = (phase == "wgrad") & (rows > kernels.n)
    first, second = np.where(turned, kernels.n, rows), np.where(turned, rows, kernels.n)
    alone = batch if family == "grouped_gemm" else np.ones_like(batch)
    sizes = _octaves(first, second, kernels.k, alone)
    added = kernels.accumulated.astype(np.float64)
    return Places(sizes, sizes.sum(axis=1), phase, dtypes, added)


def covariance(one: Places, other: Places) -> Reals:
    """Covariance of the errors of two lists of kernels."""
    near = np.ones((len(one.work), len(other.work)))
    same = one.added[:, None] == other.added[None]
    for at in range(one.sizes.shape[1]):
        apart = np.abs(one.sizes[:, at, None] - other.sizes[None, :, at])
        near *= matern(apart, _LENGTH)
        same &= apart == 0
    of_phase = one.phase[:, None] == other.phase[None]
    of_type = one.dtype[:, None] == other.dtype[None]
    near *= np.where(of_phase, 1.0, _OTHER_PHASE) * np.where(of_type, 1.0, _OTHER_TYPE)
    wide = matern(np.abs(one.work[:, None] - other.work[None]), _WORK)
    made: Reals = near + _WIDE * wide + _OWN * (same & of_phase & of_type)
    return made


def learned(places: Places, log_ratio: Reals) -> Near:
    count = len(log_ratio)
    inverse: Reals = np.asarray(np.linalg.inv(covariance(places, places) + NOISE * np.eye(count)))
    mean = float(inverse.sum(axis=0) @ log_ratio / inverse.sum())
    weights: Reals = inverse @ (log_ratio - mean)
    return Near(places, inverse, weights, mean, _wide(inverse, weights))


def _wide(inverse: Reals, weights: Reals) -> float:
    if len(weights) < _LEAST:
        return _FEW * WITHIN_90
    left_out = weights / np.diag(inverse)
    stated = 1.0 / np.sqrt(np.diag(inverse))
    return float(np.quantile(np.abs(left_out) / stated, _NINETY))


def off(near: Near, places: Places) -> tuple[Reals, Reals, Reals]:
    """The logarithm of measured / estimated, its 90 % half-width, and how unknown it is.

    The last is 0 at measured kernels, 1 far from all.
    """
    across = covariance(places, near.places)
    made = near.mean + (across * near.weights[None]).sum(axis=1)
    prior = 1.0 + _WIDE + _OWN
    explained = ((across @ near.inverse) * across).sum(axis=1)
    left = np.clip(prior - explained, 0.0, prior)
    width = near.wide * np.sqrt(left + NOISE)
    return made, width, left / prior


def _octaves(*sizes: NDArray[np.generic]) -> Reals:
    columns = [np.log2(np.maximum(np.asarray(size, np.float64), 1.0)) for size in sizes]
    made: Reals = np.stack(columns, axis=1)
    return made
