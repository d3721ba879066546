"""Makes the tables of src/yantra/compute/tables from published measurements.

    python tools/kernel_tables.py FOLDER [gemm] [prefill] [decode] [moe] [memory_bound]

FOLDER has the files named in NOTICE, as parquet and csv; pyarrow and pandas read them here, and are
not needed to run Yantra. Of several frameworks the fastest is kept (attention: each). Constants of
formulas are fitted to all rows of a GPU and dtype, by least absolute error in the logarithm.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from yantra.accuracy import kernels
from yantra.compute.families import attention_tables as smoothed
from yantra.compute.families import gemm, grouped_gemm
from yantra.compute.families.attention_shapes import Shape, Variant
from yantra.compute.families.machine import GPUS, table
from yantra.compute.families.surface import packed

TABLES = Path(__file__).parents[1] / "src/yantra/compute/tables"
SAMPLE = 4000
MANY = 512


def nelder_mead(f: Callable[[Any], float], start: list[float], steps: int = 500) -> Any:
    """Return a point where f is least near `start` (Nelder and Mead, 1965)."""
    size = len(start)
    points = [np.array(start, float)]
    for at in range(size):
        other = np.array(start, float)
        other[at] += 0.3
        points.append(other)
    values = [f(point) for point in points]
    for _ in range(steps):
        order = np.argsort(values)
        points, values = [points[at] for at in order], [values[at] for at in order]
        if values[-1] - values[0] < 1e-6:
            break
        centre = np.mean(points[:-1], axis=0)
        tried = centre + (centre - points[-1])
        value = f(tried)
        if value < values[0]:
            further = centre + 2 * (centre - points[-1])
            best = f(further)
            tried, value = (further, best) if best < value else (tried, value)
        elif value >= values[-2]:
            tried = centre + 0.5 * (points[-1] - centre)
            value = f(tried)
            if value >= values[-1]:
                points = [points[0] + 0.5 * (point - points[0]) for point in points]
                values = [f(point) for point in points]
                continue
        points[-1], values[-1] = tried, value
    return points[int(np.argmin(values))]


_NAMES = {"bfloat16": "bf16", "fp8": "fp8", "fp8_block": "fp8_block", "nvfp4": "nvfp4"}


def gemm_tables(folder: Path) -> None:
    """Write gemm_GPU.npz: sides n and k, rows m, and for each dtype microseconds and constants."""
    rows = pd.read_parquet(folder / "gemm.parquet")
    rows["us"] = rows[_FRAMEWORKS].min(axis=1)
    rows = without_slower(rows[rows.us > 0])
    rows["name"] = rows.gemm_dtype.map(_NAMES).astype(str)
    constants = {name: gemm_constants(name, part) for name, part in rows.groupby("name")}
    for system, of_gpu in rows.groupby("system", observed=True):
        arrays: dict[str, Any] = {}
        sides = of_gpu[["n", "k"]].drop_duplicates().sort_values(["n", "k"])
        m = np.sort(of_gpu.m.unique())
        arrays |= {"n": sides.n.to_numpy(np.int32), "k": sides.k.to_numpy(np.int32)}
        arrays["m"] = m.astype(np.int32)
        for name, part in of_gpu.groupby("name"):
            grid = part.pivot_table(index=["n", "k"], columns="m", values="us")
            grid = grid.reindex(index=pd.MultiIndex.from_frame(sides), columns=m)
            arrays[f"us_{name}"] = packed(grid.to_numpy(float))
            arrays[f"constants_{name}"] = np.array(constants[name][system])
        place = TABLES / f"gemm_{system}.npz"
        np.savez_compressed(place, **arrays)
        table.cache_clear()
        for name in gemm.WIDTHS:
            if f"us_{name}" in arrays:
                arrays[f"error_{name}"] = gemm_error(str(system), name)
        np.savez_compressed(place, **arrays)


_FRAMEWORKS = ["us_trtllm", "us_sglang", "us_vllm"]
_SLOWER = 1.3


def without_slower(rows: Any) -> Any:
    """Return products without the largest that only slower frameworks were measured with.

    That is `_SLOWER` times as long for their rows as with the one that was fastest for fewer.
    """
    rows = rows.sort_values(["system", "gemm_dtype", "n", "k", "m"])
    sides = rows.groupby(["system", "gemm_dtype", "n", "k"], observed=True)
    fewer = sides[[*_FRAMEWORKS, "m", "us"]].shift(1)
    fastest = fewer[_FRAMEWORKS].eq(fewer.us, axis=0)
    is_gone = (fastest & rows[_FRAMEWORKS].isna()).any(axis=1) & (fewer.m >= _LARGE)
    slower = rows.us / fewer.us * (fewer.m / rows.m)
    return rows[~(is_gone & (slower > _SLOWER))].copy()


_LARGE = 8192


def gemm_error(system: str, name: str) -> Any:
    """Return what 90 % of held-out products would be within beside a measured one, by class."""
    made, measured, _, octaves = kernels.gemm_held_out(GPUS[system], name)
    arrays = table("gemm", system)
    n, k, m = (arrays[key].astype(float) for key in ("n", "k", "m"))
    of = np.broadcast_to(gemm.class_of(m[None], n[:, None], k[:, None]), made.shape)
    wrong = np.expm1(np.abs(np.log(made / measured))) / gemm.farther(octaves)
    known = ~gemm.is_launched(name, n, k)[:, None]
    return np.array(
        [np.nanquantile(wrong[known & (of == one)], 0.9) for one in range(gemm.CLASSES)]
    )


_ROUNDS = 3


def gemm_constants(name: str, rows: Any) -> dict[str, gemm.Constants]:
    """Return the constants of each GPU that fit a dtype's rows best, the last four of all GPUs."""
    rows = rows[~gemm.is_launched(name, rows.n, rows.k)]
    parts = {str(system): part for system, part in rows.groupby("system", observed=True)}
    sampled = {
        system: part.sample(min(SAMPLE, len(part)), random_state=1)
        for system, part in parts.items()
    }
    shared = np.array([np.log(200.0), 0.2, np.log(2.0), 0.0])
    own = dict.fromkeys(sampled, np.log([0.75, 0.8, 3.5]))

    def constants(x: Any, of_all: Any) -> gemm.Constants:
        fill, power = np.exp(np.clip(of_all[[0, 2]], -9, 9))
        split = 1 / (1 + np.exp(-of_all[3]))
        rates = np.exp(np.clip(x, -9, 9))
        return gemm.Constants(*rates, fill, abs(of_all[1]), 1 + min(power, 4.0), split)

    def error(system: str, x: Any, of_all: Any) -> float:
        gpu, part = GPUS[system], sampled[system]
        m, n, k = (part[key].to_numpy(float) for key in "mnk")
        made = gemm.formula_us(
            constants(x, of_all), m, n, k, peak=gpu.peaks[gemm.kind_of(name)],
            bandwidth=gpu.memory_bytes_per_s, units=gpu.units, width=gemm.WIDTHS[name],
        )  # fmt: skip
        return float(np.mean(np.abs(np.log(made) - np.log(part.us.to_numpy(float)))))

    def of_all(x: Any) -> float:
        return sum(error(system, own[system], x) for system in own)

    for turn in range(_ROUNDS + 1):
        for system, start in own.items():
            one = partial(error, system, of_all=shared)
            own[system] = nelder_mead(one, list(start), 120)
        if turn < _ROUNDS:
            shared = nelder_mead(of_all, list(shared), 150)
    found = {system: constants(own[system], shared) for system in own}
    for system, one in found.items():
        print(system, name, np.round(one, 3), round(error(system, own[system], shared), 4))
    return found


_KEYS = ["num_heads", "num_key_value_heads", "head_dim"]


def attention_tables(folder: Path, family: str) -> None:
    """Write prefill_GPU.npz and decode_GPU.npz: microseconds by variant, key, tokens and batch."""
    decoding = family == "decode"
    rows = pd.read_parquet(folder / f"attention_{family}.parquet")
    rows["tokens"] = rows.step + rows.isl if decoding else rows.isl
    for system, of_gpu in rows.groupby("system", observed=True):
        keys = of_gpu[_KEYS].drop_duplicates().sort_values(_KEYS).to_numpy(np.int32)
        tokens = np.sort(of_gpu.tokens.unique()).astype(np.int32)
        batch = np.sort(of_gpu.batch_size.unique()).astype(np.int32)
        of_key = {tuple(key): at for at, key in enumerate(keys)}
        kinds = ["attn_dtype", "kv_cache_dtype", "window_size", "framework"]
        names, grids, constants = [], [], []
        for kind, part in of_gpu.groupby(kinds, observed=True):
            dtype, cache, window, framework = kind
            names.append(f"{_NAMES[dtype]}|{_NAMES[cache]}|{window}|{framework}")
            grid = np.full((len(keys), len(tokens), len(batch)), np.nan)
            at = [of_key[tuple(key)] for key in part[_KEYS].to_numpy(np.int32)]
            where = np.searchsorted(tokens, part.tokens), np.searchsorted(batch, part.batch_size)
            order = np.argsort(-part.us.to_numpy())  # of equal rows the fastest is written last
            grid[np.array(at)[order], where[0][order], where[1][order]] = part.us.to_numpy()[order]
            grids.append(packed(grid))
            constants.append(attention_constants(str(system), names[-1], grid, keys, tokens, batch))
        np.savez_compressed(
            TABLES / f"{family}_{system}.npz", variants=np.array(names), keys=keys, tokens=tokens,
            batch=batch, us=np.stack(grids), constants=np.array(constants),
        )  # fmt: skip


def attention_constants(
    system: str, name: str, grid: Any, keys: Any, tokens: Any, batch: Any
) -> Any:
    """Return the constants of a variant that fit its rows best."""
    gpu, variant = GPUS[system], Variant.of(name)
    decoding = len(tokens) > 0 and int(batch.max()) > 256
    whole = smoothed.table_shape(
        keys.astype(float), tokens.astype(float), batch.astype(float), variant.window, decoding
    )
    full = np.broadcast_arrays(*whole)
    known = np.flatnonzero(np.isfinite(grid.reshape(-1)))
    pick = np.random.default_rng(1).permutation(known)[:SAMPLE]
    shape = Shape(*(part.reshape(-1)[pick] for part in full))
    measured = np.log(grid.reshape(-1)[pick])

    def error(x: Any) -> float:
        made = smoothed.formula_us(constants(x), shape, variant, gpu, decoding)
        return float(np.mean(np.abs(np.log(made) - measured)))

    def constants(x: Any) -> Any:
        made = np.exp(np.clip(x, -9, 5))
        at = 3 if decoding else 4
        made[at] = 1 + min(made[at], 3.3)
        return made

    start = [
        np.log(one)
        for one in ((0.7, 5.0, 1.0, 1.0, 0.05) if decoding else (0.6, 0.6, 6.0, 1.0, 1.6))
    ]
    best = nelder_mead(error, start)
    print(system, name, len(known), np.round(constants(best), 3), round(error(best), 4))
    return constants(best)


_LAYER = ["hidden_size", "inter_size", "topk", "num_experts", "moe_tp_size", "moe_ep_size"]
_SPREADS = ["balanced", "power_law_1.01", "power_law_1.2"]
_FEWEST = 500
_ONE = "_nongated"
_MOST_TOKENS = 16384


def moe_tables(folder: Path) -> None:
    """Write moe_GPU.npz: microseconds by kernel, skew, layer and tokens, and halves of layers.

    Kernels with less than 500 rows are left out: they are variants of others. So are those of vLLM,
    which are measured for experts cut one way only, where others are measured for all.
    """
    rows = pd.read_parquet(folder / "moe.parquet")
    rows = rows[rows.num_tokens <= _MOST_TOKENS]
    one_half = {
        tuple(one) for one in rows[rows.kernel_source.str.endswith(_ONE)][_LAYER[:4]].values
    }
    rows["kernel"] = rows.kernel_source.astype(str).str.replace(_ONE, "_cutlass")
    for system, of_gpu in rows.groupby("system", observed=True):
        layers = of_gpu[_LAYER].drop_duplicates().sort_values(_LAYER).to_numpy(np.int32)
        tokens = np.sort(of_gpu.num_tokens.unique()).astype(np.int32)
        of_layer = {tuple(layer): at for at, layer in enumerate(layers)}
        names, grids, gates, constants, every = [], [], [], [], []
        for (dtype, source), part in of_gpu.groupby(["moe_dtype", "kernel"], observed=True):
            if len(part) < _FEWEST or source.startswith("vllm"):
                continue
            every.append(has_every_expert(part))
            names.append(f"{_NAMES[dtype]}|{source}")
            grid = np.full((len(_SPREADS), len(layers), len(tokens)), np.nan)
            part = part.sort_values("us", ascending=False)  # of equal rows the fastest stays
            spread = [_SPREADS.index(one) for one in part.distribution]
            layer = [of_layer[tuple(one)] for one in part[_LAYER].to_numpy(np.int32)]
            grid[spread, layer, np.searchsorted(tokens, part.num_tokens)] = part.us
            grids.append(packed(grid))
            gates.append([halves(source, tuple(layer[:4]) in one_half) for layer in layers])
            constants.append(
                moe_constants(
                    str(system),
                    names[-1],
                    grid,
                    layers,
                    tokens,
                    np.array(gates[-1], float),
                    every[-1],
                )
            )
        arrays = {
            "variants": np.array(names), "layers": layers, "tokens": tokens, "us": np.stack(grids),
            "gates": np.array(gates, np.uint8), "constants": np.array(constants),
            "every": np.array(every),
        }  # fmt: skip
        place = TABLES / f"moe_{system}.npz"
        np.savez_compressed(place, **arrays)
        table.cache_clear()
        for name in {name.split("|")[0] for name in names}:
            arrays[f"error_{name}"] = moe_error(str(system), name)
        np.savez_compressed(place, **arrays)


def moe_error(system: str, name: str) -> Any:
    """Return what 90 % of layers of held-out models are within, by class."""
    made, measured, of = kernels.moe_held_out(GPUS[system], name)
    wrong = np.abs(np.log(made / measured))
    return np.array(
        [np.expm1(np.nanquantile(wrong[of == one], 0.9)) for one in range(_MOE_CLASSES)]
    )


_MOE_CLASSES = len(grouped_gemm.CLASSES) + 1


def has_every_expert(rows: Any) -> bool:
    """Return whether times stay as experts are cut over up to top_k devices, in all models.

    SGLang's Triton kernel on A100 got all experts of each token that reached a device.
    """
    large = rows[(rows.num_tokens == _MOST_TOKENS) & (rows.distribution == "balanced")]
    us = large.pivot_table(
        index=[*_LAYER[:4], "moe_tp_size"], columns="moe_ep_size", values="us", aggfunc="min"
    )
    if not {1, 2, 8} <= set(us):
        return False
    top_k = us.index.get_level_values("topk")
    cut = (us[2] / us[1]).where(top_k < 8, us[8] / us[2])
    return bool((cut.groupby(_LAYER[:4]).median() > _STAYS).all())


_STAYS = 0.85


def halves(source: str, one: bool) -> int:
    """Return how many halves the first product of a kernel made in a layer, one or two.

    Layers that TensorRT-LLM ran without gates have `one`. SGLang's kernels of FlashInfer took as
    long as one half takes there (held-out error 8 % for 14 % on B200), its Triton kernel as two.
    """
    return 1 if one and "triton" not in source else 2


def moe_constants(
    system: str, name: str, grid: Any, layers: Any, tokens: Any, gates: Any, every: bool
) -> Any:
    """Return the constants of a kernel that fit its rows best, from several starts."""
    gpu = GPUS[system]
    dtype = name.split("|")[0]
    whole = grouped_gemm.table_layers({"layers": layers, "tokens": tokens}, gates)
    known = np.flatnonzero(np.isfinite(grid.reshape(-1)))
    pick = np.random.default_rng(1).permutation(known)[:SAMPLE]
    parts = (np.broadcast_to(part, grid.shape).reshape(-1)[pick] for part in whole)
    layer = grouped_gemm.Layer(*parts)
    layer = grouped_gemm.with_every_expert(layer) if every else layer
    load = grouped_gemm.load_of(layer)
    measured = np.log(grid.reshape(-1)[pick])
    limits = [
        (-4, 1), (-4, 1), (0, 4), (-6, 0.2), (-2, 7), (-4, 3), (-9, 0), (-4, 3), (-7, 2), (2, 4.8),
        (-5, 2),
    ]  # fmt: skip

    def constants(x: Any) -> grouped_gemm.Constants:
        bounded = [np.exp(np.clip(one, *limit)) for one, limit in zip(x, limits, strict=True)]
        return grouped_gemm.Constants(*bounded)

    def error(x: Any) -> float:
        made = grouped_gemm.formula_us(
            constants(x), layer, load, peak=gpu.peaks[gemm.kind_of(dtype)],
            bandwidth=gpu.memory_bytes_per_s, units=gpu.units, width=gemm.WIDTHS[dtype],
        )  # fmt: skip
        return float(np.mean(np.abs(np.log(made) - measured)))

    found = [nelder_mead(error, start, 1500) for start in _STARTS]
    best = min((nelder_mead(error, list(one), 750) for one in found), key=error)
    print(system, name, len(known), np.round(constants(best), 3), round(error(best), 4), flush=True)
    return np.array(constants(best))


_STARTS = (
    [-0.7, -0.3, 2.5, -0.7, 4.0, 1.0, -4.0, 0.0, -3.0, 3.0, -1.0],
    [-1.0, -0.2, 3.0, -2.0, 2.0, 0.0, -3.0, 1.0, -5.0, 2.5, 0.0],
    [-0.5, -0.1, 3.0, -1.0, 5.0, 2.0, -2.0, 1.0, -4.0, 2.2, -1.0],
)

_DEVICES = {
    "NVIDIA A100-PCIE-40GB": "a100_pcie", "Tesla P100-PCIE-16GB": "p100_pcie", "Tesla P4": "p4",
    "Tesla T4": "t4", "Tesla V100-PCIE-32GB": "v100_pcie",
}  # fmt: skip


def memory_bound_tables(folder: Path) -> None:
    """Write memory_bound_GPU.npz: kind, rows, columns and microseconds, one a row."""
    rows = pd.read_csv(folder / "membound_neusight_fp32.csv")
    for device, part in rows.groupby("device"):
        kinds, kind = np.unique(part.op.to_numpy(str), return_inverse=True)
        np.savez_compressed(
            TABLES / f"memory_bound_{_DEVICES[device]}.npz", kinds=kinds,
            kind=kind.astype(np.uint8), rows=part["rows"].to_numpy(np.uint16),
            columns=part["columns"].to_numpy(np.uint16), us=packed(part.us.to_numpy(float)),
        )  # fmt: skip


MAKERS: dict[str, Callable[[Path], None]] = {
    "gemm": gemm_tables,
    "prefill": lambda folder: attention_tables(folder, "prefill"),
    "decode": lambda folder: attention_tables(folder, "decode"),
    "moe": moe_tables,
    "memory_bound": memory_bound_tables,
}


def main(arguments: list[str]) -> None:
    """Write the tables that are asked for, all by default."""
    folder, *kinds = arguments
    TABLES.mkdir(exist_ok=True)
    for kind in kinds or MAKERS:
        MAKERS[kind](Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
