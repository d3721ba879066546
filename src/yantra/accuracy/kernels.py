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
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from yantra.base.errors import InternalError
from yantra.compute.families import attention, gemm, grouped_gemm, memory_bound
from yantra.compute.families.machine import GPUS, Gpu, Machine, nearest, table
from yantra.compute.families.surface import unpacked

FOLDS = 6
Reals = NDArray[np.float64]
Truth = NDArray[np.bool_]


class Error(NamedTuple):
    """Mean absolute error and signed median of a group of rows, as fractions."""

    group: str
    rows: int
    mean: float
    median: float
    ninetieth: float


def fold_of(family: str, *fields: int) -> int:
    """Return the fold of a key."""
    text = "|".join(["fold", family, *map(str, fields)])
    return sha256(text.encode()).digest()[0] % FOLDS


def folds_of(family: str, keys: Any) -> NDArray[np.int64]:
    """Return the folds of keys, one a row."""
    return np.array([fold_of(family, *map(int, key)) for key in keys], np.int64)


def error_of(group: str, made: Reals, measured: Reals, chosen: Truth | None = None) -> Error:
    """Return the error of estimates in a group; both in microseconds, NaN where not measured."""
    wrong = made / measured - 1
    wrong = wrong[chosen] if chosen is not None else wrong
    wrong = wrong[np.isfinite(wrong)]
    if not len(wrong):
        return Error(group, 0, 0.0, 0.0, 0.0)
    size = np.abs(wrong)
    return Error(
        group, len(wrong), float(size.mean()), float(np.median(wrong)),
        float(np.quantile(size, 0.9)),
    )  # fmt: skip


def gemm_held_out(gpu: Gpu, name: str) -> tuple[Reals, Reals, Truth]:
    """Return estimated and measured microseconds by side and m, and which are large."""
    arrays = table("gemm", gpu.name)
    n, k, m = (arrays[key].astype(np.float64) for key in ("n", "k", "m"))
    made = np.full((len(n), len(m)), np.nan)
    fold = folds_of("gemm", zip(n, k, strict=True))
    machine = Machine(gpu, gpu.peaks, gpu.memory_bytes_per_s, True)
    for held in range(FOLDS):
        out = fold == held
        surface = gemm.smooth(gpu, name, arrays, ~out)
        size = (int(out.sum()), len(m))
        shape = (
            np.broadcast_to(part, size).reshape(-1) for part in (m, n[out, None], k[out, None])
        )
        us, _ = gemm.product_us(
            surface, *shape, gpu=gpu, machine=machine, name=name,
            peak=gpu.peaks[gemm.kind_of(name)],
        )  # fmt: skip
        made[out] = us.reshape(size)
    large = (m[None] >= 512) & (n[:, None] >= 1024) & (k[:, None] >= 1024)
    return made, np.exp(unpacked(arrays[f"us_{name}"])), large


def gemm_errors() -> Iterator[Error]:
    """Yield the errors of products by GPU and dtype."""
    for gpu in GPUS.values():
        for name in gemm.WIDTHS:
            if f"us_{name}" in table("gemm", gpu.name):
                made, measured, large = gemm_held_out(gpu, name)
                yield error_of(f"gemm {gpu.name} {name} large", made, measured, large)
                yield error_of(f"gemm {gpu.name} {name} all", made, measured)


def attention_held_out(
    gpu: Gpu, family: str, kind: attention.Variant
) -> tuple[Reals, Reals, NDArray[np.int64]]:
    """Return estimated and measured microseconds by key, tokens and batch; and the keys' folds.

    Measured is the fastest of the frameworks of one kind: its types and window.
    """
    arrays = table(family, gpu.name)
    decoding = family == "decode"
    variants = [attention.Variant.of(str(name)) for name in arrays["variants"]]
    same = [at for at, one in enumerate(variants) if one._replace(framework="") == kind]
    keys, tokens, batch = (arrays[name].astype(float) for name in ("keys", "tokens", "batch"))
    measured = np.exp(np.fmin.reduce([unpacked(arrays["us"][at]) for at in same]))
    fold = folds_of("attention", keys)
    machine = Machine(gpu, gpu.peaks, gpu.memory_bytes_per_s, True)
    made = np.full(measured.shape, np.nan)
    for held in range(FOLDS):
        out = (fold == held) & np.isfinite(measured).any(axis=(1, 2))
        if not out.any():
            continue
        found = [
            (variants[at], attention.smooth(gpu, arrays, at, decoding, fold != held)) for at in same
        ]
        whole = attention.table_shape(keys[out], tokens, batch, kind.window, decoding)
        shape = attention.Shape(*(part.reshape(-1) for part in np.broadcast_arrays(*whole)))
        us = attention.fastest_us(found, shape, gpu, machine, decoding)
        made[out] = us.reshape(made[out].shape)
    return made, measured, fold


def attention_errors(family: str) -> Iterator[Error]:
    """Yield the errors of attention by GPU and kind."""
    for gpu in GPUS.values():
        names = [str(name) for name in table(family, gpu.name).get("variants", ())]
        kinds = {attention.Variant.of(name)._replace(framework="") for name in names}
        for kind in sorted(kinds):
            made, measured, _ = attention_held_out(gpu, family, kind)
            text = f"{kind.dtype}, cache {kind.cache}, window {kind.window}"
            yield error_of(f"{family} {gpu.name} {text}", made, measured)


def moe_held_out(gpu: Gpu, name: str) -> tuple[Reals, Reals]:
    """Return estimated and measured microseconds of layers by skew, layer and tokens.

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
    return made, measured


def moe_errors() -> Iterator[Error]:
    """Yield the errors of experts' layers by GPU and dtype."""
    for gpu in GPUS.values():
        names = {str(one).split("|")[0] for one in table("moe", gpu.name).get("variants", ())}
        for name in sorted(names):
            made, measured = moe_held_out(gpu, name)
            yield error_of(f"moe {gpu.name} {name}", made, measured)


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
                line = memory_bound.fit(rows[~out], moved[~out], us[~out])
                made[out] = memory_bound.kernel_us(line, rows[out], moved[out], 1.0)
            yield error_of(f"memory_bound {gpu.name} {kind}", made, us)


def transferred(gpu: Gpu, name: str) -> tuple[Gpu, Reals, Reals, Truth]:
    """Return what the nearest other GPU says of a GPU's products, scaled by the data sheets.

    And the measured microseconds, and which products are large.
    """
    arrays = table("gemm", gpu.name)
    n, k, m = (arrays[key].astype(np.float64) for key in ("n", "k", "m"))
    kind = gemm.kind_of(name)
    peaks = [one.name for one in GPUS.values() if f"us_{name}" in table("gemm", one.name)]
    source = nearest(gpu.peaks[kind], gpu.memory_bytes_per_s, kind, gpu.name)
    if source.name not in peaks:
        raise InternalError(f"{source.name} has no table of {name}")
    machine = Machine(source, gpu.peaks, gpu.memory_bytes_per_s, False)
    shape = (len(n), len(m))
    sizes = (np.broadcast_to(part, shape).reshape(-1) for part in (m, n[:, None], k[:, None]))
    us, _ = gemm.product_us(
        gemm.fitted(source.name, name), *sizes, gpu=source, machine=machine, name=name,
        peak=gpu.peaks[kind],
    )  # fmt: skip
    large = (m[None] >= 512) & (n[:, None] >= 1024) & (k[:, None] >= 1024)
    return source, us.reshape(shape), np.exp(unpacked(arrays[f"us_{name}"])), large


def transfer_errors(constant: bool = False) -> Iterator[Error]:
    """Yield the errors of large products on a GPU that is left out whole.

    With `constant`, after one number for a GPU and dtype: the median of measured / estimated.
    """
    for gpu in GPUS.values():
        for name in gemm.WIDTHS:
            if f"us_{name}" not in table("gemm", gpu.name):
                continue
            source, made, measured, large = transferred(gpu, name)
            text = f"{gpu.name} {name} from {source.name}"
            factor = float(np.nanmedian((measured / made)[large])) if constant else 1.0
            shown = f"{text} x {factor:.2f}" if constant else text
            yield error_of(shown, made * factor, measured, large)


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
    mean, median, ninetieth = (
        sum(error.rows * float(getattr(error, name)) for error in errors) / rows
        for name in ("mean", "median", "ninetieth")
    )
    return Error(group, rows, mean, median, ninetieth)


def shown(error: Error) -> str:
    """Return an error as a line."""
    return (
        f"{error.group:44} {error.rows:7} {error.mean:7.1%} {error.median:+8.1%} "
        f"{error.ninetieth:7.1%}"
    )


def main(arguments: list[str]) -> None:
    """Print the errors of the families that are named, of all by default."""
    print(f"{'held out by key':44} {'rows':>7} {'mean':>7} {'median':>8} {'90 %':>7}")
    for name in arguments or FAMILIES:
        errors = list(FAMILIES[name]())
        for error in errors:
            print(shown(error))
        print(shown(pooled(f"{name} pooled", errors)))


if __name__ == "__main__":
    main(sys.argv[1:])
