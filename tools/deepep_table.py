"""Fits DeepEP's constants to published measurements: src/yantra/collectives/deepep/constants.csv.

    python tools/deepep_table.py FOLDER

FOLDER has deepep_normal.parquet and deepep_low_latency.parquet (NOTICE); pyarrow and pandas read
them here, and are not needed to run Yantra. A fit has least absolute error in the logarithm. Errors
are those of configurations (hidden size, experts of a token, experts) left out one at a time.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from kernel_tables import nelder_mead

from yantra.collectives.deepep.law import DIRECTIONS, Constants, Exchange, Kernels, time_us

PLACE = Path(__file__).parents[1] / "src/yantra/collectives/deepep/constants.csv"
LINKS = {"h100_sxm": 450, "h200_sxm": 450, "b200_sxm": 900, "gb200": 900, "gb300": 900}
LOCAL = {"gb200": 4, "gb300": 4}  # GPUs of a compute tray; 8 on a board elsewhere
ADAPTER = 50.0  # GB/s: one ConnectX-7 a GPU
REACHES = (0.60, 0.63, 0.66, 0.69, 0.72, 0.75)
KEY = ["hidden_size", "num_topk", "num_experts"]
DTYPES = {"dispatch": "fp8", "combine": "bf16"}
BLOCKING = 1.0  # queues at one end; 2 with those at both


def exchange_of(system: str, rows: Any) -> Exchange:
    """Return the exchanges of rows of one system."""
    local = np.full(len(rows), float(LOCAL.get(system, 8)))
    sms = rows.dispatch_sms.to_numpy(float) if "dispatch_sms" in rows else local * 0 + 1
    columns = (rows[name].to_numpy(float) for name in ("num_token", *KEY))
    return Exchange(
        *columns, local * rows.node_num.to_numpy(float), local, sms, local * 0 + LINKS[system],
        local * 0 + ADAPTER, local * 0, local * 0 + 1,
    )  # fmt: skip


def fitted(kernels: Kernels, direction: str, of: Exchange, us: Any, fixed: Constants) -> Constants:
    """Return the constants of the rows of one node; those of other nodes and NVLink are `fixed`."""
    names = ("a", "b", "q", "o", "r") if kernels == "normal" else ("a", "e", "r", "reach")
    starts = {"a": 20.0, "b": 1.0, "q": 300.0, "o": 30.0, "r": 25.0, "e": 10.0, "reach": 0.6}

    def made(x: Any) -> Constants:
        given = dict(zip(names, np.exp(np.clip(x, -12, 9)), strict=True))
        if "reach" in given:
            given["reach"] = min(given["reach"], 1.0)
        return fixed._replace(**given)

    def error(x: Any) -> float:
        ours = time_us(made(x), of, DTYPES[direction], kernels)
        return float(np.mean(np.abs(np.log(ours / us))))

    several = [{}, {"q": 30.0, "r": 5.0}]
    begun = [[float(np.log((starts | other)[name])) for name in names] for other in several]
    return made(min((nelder_mead(error, start, 900) for start in begun), key=error))


def over_nodes(direction: str, rows: Any, given: Constants) -> Constants:
    """Return the constants with what adapters reach, and the latency over nodes."""
    of, us = exchange_of("h100_sxm", rows), rows[f"{direction}_avg_t_us"].to_numpy(float)

    def made(x: Any) -> Constants:
        return given._replace(c=np.exp(x[0]), g=np.exp(x[1]), adapter_reach=np.exp(x[2]))

    def error(x: Any) -> float:
        ours = time_us(made(x), of, DTYPES[direction], "low_latency")
        return float(np.mean(np.abs(np.log(ours / us))))

    return made(nelder_mead(error, [2.0, 1.0, np.log(0.9)], 900))


def normal_over_nodes(direction: str, rows: Any, given: Constants) -> tuple[Constants, float]:
    """Return the constants with those over nodes, and the 90 % error on another number of nodes."""
    nodes = rows.node_num.to_numpy()
    us = (rows[f"{direction}_transmit_us"] + rows[f"{direction}_notify_us"]).to_numpy(float)

    def fit(seen: Any) -> Constants:
        of = exchange_of("h100_sxm", rows[seen])
        free = nodes[seen].max() > 2  # of two nodes nothing tells what blocks

        def made(x: Any) -> Constants:
            blocking = float(np.exp(x[2])) if free else BLOCKING
            return given._replace(relay=np.exp(x[0]), sync=np.exp(x[1]), blocking=blocking)

        def error(x: Any) -> float:
            ours = time_us(made(x), of, DTYPES[direction], "normal")
            return float(np.mean(np.abs(np.log(ours / us[seen]))))

        return made(nelder_mead(error, [0.5, 3.4, 0.4], 900))

    off = []
    for out in np.unique(nodes):
        left = nodes == out
        ours = time_us(fit(~left), exchange_of("h100_sxm", rows[left]), DTYPES[direction], "normal")
        off.append(np.abs(np.log(ours / us[left])))
        print(direction, f"{out} nodes from others: {np.abs(ours / us[left] - 1).mean():.1%}")
    return fit(nodes > 0), float(np.expm1(np.quantile(np.concatenate(off), 0.9)))


def held_out(
    kernels: Kernels, system: str, direction: str, rows: Any, us: Any, fixed: Constants
) -> Any:
    """Return the errors of configurations that were left out, one at a time."""
    keys = list(rows[KEY].itertuples(index=False, name=None))
    wrong = np.zeros(len(rows))
    for left in sorted(set(keys)):
        out = np.array([key == left for key in keys])
        found = fitted(kernels, direction, exchange_of(system, rows[~out]), us[~out], fixed)
        ours = time_us(found, exchange_of(system, rows[out]), DTYPES[direction], kernels)
        wrong[out] = ours / us[out] - 1
    return np.abs(wrong)


def main(folder: Path) -> None:
    """Write the constants."""
    normal = pd.read_parquet(folder / "deepep_normal.parquet")
    far_normal = normal[normal.node_num > 1]
    normal = normal[normal.node_num == 1]
    low = pd.read_parquet(folder / "deepep_low_latency.parquet")
    several = low[(low.node_num > 1) & (low.system == "h100_sxm")]
    lines = []
    far: dict[str, Constants] = {}
    relayed: dict[str, tuple[Constants, float]] = {}
    reach = best_reach(normal)
    for kernels, data in (("low_latency", low[low.node_num == 1]), ("normal", normal)):
        column = "avg_t_us" if kernels == "low_latency" else "transmit_us"
        for system in LINKS:
            rows = data[data.system == system]
            for direction in DIRECTIONS:
                us = rows[f"{direction}_{column}"].to_numpy(float)
                fixed = far.get(direction, Constants(0, 0, 0, 0, 1, 0, reach, 1, 0, 0))
                fixed = fixed._replace(reach=reach, e=0.0)
                found = fitted(kernels, direction, exchange_of(system, rows), us, fixed)
                if system == "h100_sxm" and kernels == "low_latency":
                    found = over_nodes(direction, several, found)
                    far[direction] = found
                elif direction in far:
                    f = far[direction]
                    found = found._replace(c=f.c, g=f.g, adapter_reach=f.adapter_reach)
                beyond = 0.0
                if kernels == "normal" and system == "h100_sxm":
                    relayed[direction] = normal_over_nodes(direction, far_normal, found)
                if kernels == "normal":
                    one, beyond = relayed[direction]
                    found = found._replace(relay=one.relay, sync=one.sync, blocking=one.blocking)
                wrong = held_out(kernels, system, direction, rows, us, fixed)
                errors = (wrong.mean(), np.quantile(wrong, 0.9), beyond)
                lines.append(line(system, kernels, direction, len(rows), found, errors))
                print(lines[-1], flush=True)
    head = (
        "gpu,kernels,direction,points,"
        + ",".join(Constants._fields)
        + ",mean_error,p90_error,over_nodes"
    )
    PLACE.write_text(
        "# Constants of yantra.collectives.deepep.law, by GPU; errors are of configurations left\n"
        "# out one at a time. Fitted by tools/deepep_table.py to DeepEP in SGLang 0.5 as measured\n"
        "# for AIConfigurator (Apache-2.0). See NOTICE.\n"
        + "\n".join([head, *lines]) + "\n"
    )  # fmt: skip


def best_reach(normal: Any) -> float:
    """Return the share of NVLink that fits the GPUs best whose links normal kernels fill."""
    sums = {}
    for reach in REACHES:
        fixed = Constants(0, 0, 0, 0, 1, 0, reach, 1, 0, 0)
        sums[reach] = 0.0
        for system in ("h100_sxm", "h200_sxm"):
            rows = normal[normal.system == system].iloc[::4]
            for direction in DIRECTIONS:
                us = rows[f"{direction}_transmit_us"].to_numpy(float)
                of = exchange_of(system, rows)
                found = fitted("normal", direction, of, us, fixed)
                ours = time_us(found, of, DTYPES[direction], "normal")
                sums[reach] += float(np.mean(np.abs(np.log(ours / us))))
    print(sums)
    return min(sums, key=sums.__getitem__)


def line(gpu: str, kernels: str, direction: str, points: int, of: Constants, errors: Any) -> str:
    """Return a line of the file."""
    numbers = ",".join(f"{value:.5g}" for value in (*of, *errors))
    return f"{gpu},{kernels},{direction},{points},{numbers}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
