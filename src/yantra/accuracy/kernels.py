"""How wrong the measured tables are on kernels that they have not seen.

    python -m yantra.accuracy.kernels

The keys of each table (the sides n, k of a weight; heads, shared heads and width of an attention;
the sizes of a mixture of experts) are cut into six folds by the first byte of SHA-256 of
"fold|family|field|field", modulo 6. Each fold is estimated from the five others alone; no row of a
key is ever on both sides. Constants of the formulas are fitted to all keys: six numbers for
thousands of rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from math import isnan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from yantra.compute.families import attention_tables, gemm, grouped_gemm, memory_bound
from yantra.compute.families.attention_shapes import Shape, Variant
from yantra.compute.families.machine import GPUS, Gpu, Machine, nearest, table
from yantra.compute.families.surface import unpacked

FOLDS = 6
Reals = NDArray[np.float64]
Truth = NDArray[np.bool_]


class Error(NamedTuple):
    """Mean absolute error and signed median of a group of rows, and the share within its interval.

    As fractions; `cover` is NaN without intervals.
    """

    group: str
    rows: int
    mean: float
    median: float
    ninetieth: float
    cover: float = np.nan


def fold_of(family: str, *fields: int) -> int:
    """Return the fold of a key."""
    text = "|".join(["fold", family, *map(str, fields)])
    return sha256(text.encode()).digest()[0] % FOLDS


def folds_of(family: str, keys: Any) -> NDArray[np.int64]:
    """Return the folds of keys, one a row."""
    return np.array([fold_of(family, *map(int, key)) for key in keys], np.int64)


def error_of(
    group: str,
    made: Reals,
    measured: Reals,
    chosen: Truth | None = None,
    error: Reals | None = None,
) -> Error:
    """Return the error of estimates in a group; both in microseconds, NaN where not measured.

    `error` is the relative error that each states.
    """
    known = np.isfinite(made) & np.isfinite(measured)
    known &= True if chosen is None else chosen
    wrong = (made / measured - 1)[known]
    if not len(wrong):
        return Error(group, 0, 0.0, 0.0, 0.0)
    size = np.abs(wrong)
    cover = np.nan
    if error is not None:
        cover = float((np.abs(np.log1p(wrong)) <= np.log1p(error[known])).mean())
    return Error(
        group, len(wrong), float(size.mean()), float(np.median(wrong)),
        float(np.quantile(size, 0.9)), cover,
    )  # fmt: skip


def gemm_held_out(gpu: Gpu, name: str) -> tuple[Reals, Reals, Truth, Reals]:
    """Return estimated and measured microseconds by side and m, which are large, and octaves."""
    arrays = table("gemm", gpu.name)
    n, k, m = (arrays[key].astype(np.float64) for key in ("n", "k", "m"))
    made, octaves = np.full((2, len(n), len(m)), np.nan)
    fold = folds_of("gemm", zip(n, k, strict=True))
    machine = Machine(gpu, gpu.peaks, gpu.memory_bytes_per_s, True)
    for held in range(FOLDS):
        out = fold == held
        surface = gemm.smooth(gpu, name, arrays, ~out)
        size = (int(out.sum()), len(m))
        shape = (
            np.broadcast_to(part, size).reshape(-1) for part in (m, n[out, None], k[out, None])
        )
        us, apart = gemm.product_us(
            surface, *shape, gpu=gpu, machine=machine, name=name,
            peak=gpu.peaks[gemm.kind_of(name)],
        )  # fmt: skip
        made[out], octaves[out] = us.reshape(size), apart.reshape(size)
    large = (m[None] >= 512) & (n[:, None] >= 1024) & (k[:, None] >= 1024)
    return made, np.exp(unpacked(arrays[f"us_{name}"])), large, octaves


def gemm_errors() -> Iterator[Error]:
    """Yield the errors of products by GPU and dtype."""
    for gpu in GPUS.values():
        for name in gemm.WIDTHS:
            if f"us_{name}" in table("gemm", gpu.name):
                made, measured, large, octaves = gemm_held_out(gpu, name)
                error = gemm.stated_error(gpu, name, octaves)
                yield error_of(f"gemm {gpu.name} {name} large", made, measured, large, error)
                yield error_of(f"gemm {gpu.name} {name} all", made, measured, None, error)


def attention_held_out(gpu: Gpu, family: str, kind: Variant) -> tuple[Reals, Reals, Reals]:
    """Return estimated and measured microseconds by key, tokens and batch, and 90 % errors.

    Measured is the fastest of the frameworks of one kind: its types and window.
    """
    arrays = table(family, gpu.name)
    decoding = family == "decode"
    variants = [Variant.of(str(name)) for name in arrays["variants"]]
    same = [at for at, one in enumerate(variants) if one._replace(framework="") == kind]
    keys, tokens, batch = (arrays[name].astype(float) for name in ("keys", "tokens", "batch"))
    measured = np.exp(np.fmin.reduce([unpacked(arrays["us"][at]) for at in same]))
    fold = folds_of("attention", keys)
    machine = Machine(gpu, gpu.peaks, gpu.memory_bytes_per_s, True)
    made, within = np.full(measured.shape, np.nan), np.zeros(measured.shape)
    for held in range(FOLDS):
        out = (fold == held) & np.isfinite(measured).any(axis=(1, 2))
        if not out.any():
            continue
        use = fold != held
        known = partial(attention_tables.smooth, gpu, arrays, decoding=decoding, chosen=use)
        found = attention_tables.chosen(kind, variants, known)
        whole = attention_tables.table_shape(keys[out], tokens, batch, kind.window, decoding)
        shape = Shape(*(part.reshape(-1) for part in np.broadcast_arrays(*whole)))
        best = attention_tables.fastest(found, shape, gpu, machine, decoding)
        made[out] = best.us.reshape(made[out].shape)
        within[out] = best.error.reshape(made[out].shape)
    return made, measured, within


def attention_errors(family: str) -> Iterator[Error]:
    """Yield the errors of attention by GPU and kind."""
    for gpu in GPUS.values():
        names = [str(name) for name in table(family, gpu.name).get("variants", ())]
        kinds = {Variant.of(name)._replace(framework="") for name in names}
        for kind in sorted(kinds):
            made, measured, within = attention_held_out(gpu, family, kind)
            text = f"{kind.dtype}, cache {kind.cache}, window {kind.window}"
            yield error_of(f"{family} {gpu.name} {text}", made, measured, None, within)


def moe_held_out(gpu: Gpu, name: str) -> tuple[Reals, Reals, NDArray[np.int64]]:
    """Return estimated and measured microseconds by skew, layer and tokens, and errors' classes.

    Each model (hidden size, width, top_k, experts) is estimated from the others: there are too few
    for folds. Measured is the fastest kernel.
    """
    arrays = table("moe", gpu.name)
    machine = Machine(gpu, gpu.peaks, gpu.memory_bytes_per_s, True)
    names = [str(one) for one in arrays["variants"]]
    own = [at for at, one in enumerate(names) if one.startswith(f"{name}|")]
    models = [tuple(layer[:4]) for layer in arrays["layers"].tolist()]
    measured = np.exp(np.fmin.reduce([unpacked(arrays["us"][at]) for at in own]))
    layers = grouped_gemm.table_layers(arrays, arrays["gates"][own].min(axis=0).astype(float))
    made = np.full(measured.shape, np.nan)
    for model in sorted(set(models)):
        out = np.array([one == model for one in models])
        found = [grouped_gemm.smooth(gpu, arrays, at, ~out) for at in own]
        known = tuple(one for one in found if one is not None)
        if not known or not np.isfinite(measured[:, out]).any():
            continue
        layer = grouped_gemm.Layer(*(part[:, out].reshape(-1) for part in layers))
        us, _ = grouped_gemm.fastest_us(known, layer, name, gpu, machine)
        made[:, out] = us.reshape(made[:, out].shape)
    return made, measured, np.asarray(grouped_gemm.class_of(layers), np.int64)


def moe_errors() -> Iterator[Error]:
    """Yield the errors of experts' layers by GPU and dtype."""
    for gpu in GPUS.values():
        names = {str(one).split("|")[0] for one in table("moe", gpu.name).get("variants", ())}
        for name in sorted(names):
            made, measured, of = moe_held_out(gpu, name)
            error = table("moe", gpu.name)[f"error_{name}"][of]
            yield error_of(f"moe {gpu.name} {name}", made, measured, None, error)


def memory_bound_errors() -> Iterator[Error]:
    """Yield the errors of kernels bound by memory by GPU and kind; keys are rows and columns."""
    for gpu in GPUS.values():
        arrays = table("memory_bound", gpu.name)
        for kind in arrays["kinds"].tolist() if arrays else ():
            rows, columns, moved, us = memory_bound.measured(gpu.name, kind)
            fold = folds_of("memory_bound", zip(rows, columns, strict=True))
            made = np.empty(len(us))
            for held in range(FOLDS):
                out = fold == held
                line = memory_bound.fit(rows[~out], columns[~out], moved[~out], us[~out])
                made[out] = memory_bound.kernel_us(line, rows[out], columns[out], moved[out], 1.0)
            yield error_of(f"memory_bound {gpu.name} {kind}", made, us)


class Transferred(NamedTuple):
    """What other GPUs say of a GPU's products, by side and m, and what was measured.

    In microseconds; `error` is the relative error stated, `large` which products are large.
    """

    source: str
    made: Reals
    measured: Reals
    error: Reals
    large: Truth


def transferred(gpu: Gpu, name: str) -> Transferred:
    """Return what the tables of other GPUs say of a GPU's products."""
    arrays = table("gemm", gpu.name)
    n, k, m = (arrays[key].astype(np.float64) for key in ("n", "k", "m"))
    peaks, bandwidth = gpu.peaks, gpu.memory_bytes_per_s
    source = nearest(peaks["bf16"], bandwidth, "bf16", gpu.name)
    machine = Machine(source, peaks, bandwidth, False, power_w=gpu.power_w, but=gpu.name)
    shape = (len(n), len(m))
    rows, wide, deep = (
        np.broadcast_to(part, shape).reshape(-1) for part in (m, n[:, None], k[:, None])
    )
    peak = peaks[gemm.kind_of(name)]
    us, error = gemm.estimated(rows, wide, deep, machine, name, peak)
    large = (m[None] >= 512) & (n[:, None] >= 1024) & (k[:, None] >= 1024)
    measured = np.exp(unpacked(arrays[f"us_{name}"]))
    return Transferred(source.name, us.reshape(shape), measured, error.reshape(shape), large)


def transfer_errors(constant: bool = False) -> Iterator[Error]:
    """Yield the errors of products on a GPU that is left out whole, of all and of large ones.

    With `constant`, after one number for a GPU and dtype: the median of measured / estimated.
    """
    for gpu in GPUS.values():
        for name in gemm.WIDTHS:
            if f"us_{name}" not in table("gemm", gpu.name):
                continue
            source, made, measured, error, large = transferred(gpu, name)
            factor = float(np.nanmedian((measured / made)[large])) if constant else 1.0
            text = f"{gpu.name} {name} from {source}"
            shown = f"{text} x {factor:.2f}" if constant else text
            yield error_of(f"{shown} large", made * factor, measured, large, error)
            yield error_of(f"{shown} all", made * factor, measured, None, error)


FAMILIES: dict[str, Callable[[], Iterator[Error]]] = {
    "gemm": gemm_errors,
    "prefill": lambda: attention_errors("prefill"),
    "decode": lambda: attention_errors("decode"),
    "moe": moe_errors,
    "memory_bound": memory_bound_errors,
    "transfer": transfer_errors,
    "transfer_one_constant": lambda: transfer_errors(constant=True),
}


def pooled(group: str, errors: list[Error]) -> Error:
    """Return the means of errors over all their rows."""
    rows = sum(error.rows for error in errors)
    means = (
        sum(error.rows * float(getattr(error, name)) for error in errors) / rows
        for name in Error._fields[2:]
    )
    return Error(group, rows, *means)


def shown(error: Error) -> str:
    """Return an error as a line."""
    return (
        f"{error.group:44} {error.rows:7} {error.mean:7.1%} {error.median:+8.1%} "
        f"{error.ninetieth:7.1%} {'' if isnan(error.cover) else f'{error.cover:7.0%}'}"
    ).rstrip()


def main(arguments: list[str]) -> None:
    """Print the errors of the families that are named, of all by default."""
    print(f"{'held out by key':44} {'rows':>7} {'mean':>7} {'median':>8} {'90 %':>7} {'cover':>7}")
    for name in arguments or FAMILIES:
        errors = list(FAMILIES[name]())
        for error in errors:
            print(shown(error))
        print(shown(pooled(f"{name} pooled", errors)))


if __name__ == "__main__":
    main(sys.argv[1:])
