"""COMET: ten passes of a Transformer of a trillion parameters on 1024 accelerators, by layer.

    python examples/papers/comet_transformer_1t.py [FOLDER]

The text workload of the artifact is written from its table of layers, read as `yantra workload
convert comet` reads it, and run on the cluster of the artifact: pods of 16 with 150 GB/s, 64 pods
with 12.5 GB/s, 7.68 PFLOP/s. The log states no delay of its endpoints; its collectives say them, 3
ns a message and 1 ns a phase, which are latencies here. Its sums take 261 ns of 90 MiB.

Source: Kadiyala et al., "COMET: a comprehensive cluster design methodology for distributed deep
learning training" (arXiv 2211.16648); log of the artifact dkadiyala3/comet-astrasim, 519f0d5.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import figure
from comparison import Row, published, show
from network import Block, topology

import yantra
from yantra.workloads.importers.comet import Roofline, read
from yantra.workloads.importers.text import Settings, from_layers

PASSES, BLOCKS, RANKS = 10, 2, 1024
STEP_NS = 12_369_744_580
PEAK = 7.68e15
SUMS_BYTES_PER_S = 1.084733e15
HEAD = (
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 128 checkpoints: 2 0 9 "
    "checkpoint_initiates: 2 17 8"
)
# The 64 pods are two dimensions: 8 of them are a tensor-parallel group of 128 with their ranks.
CLUSTER = [
    Block("switch", 16, 150, "halving_doubling", 1.625),
    Block("switch", 8, 12.5, "halving_doubling", 1.425),
    Block("switch", 8, 12.5, "halving_doubling", 1.425),
]
KINDS = {"all_reduce": "ALLREDUCE", "all_gather": "ALLGATHER", "none": "NONE"}
NODES = {"forward": "FWD", "input_gradient": "BWD_IG", "weight_gradient": "BWD_WG"}
SHORT = {"forward": "fwd", " gradient": "", "communication": "comm", "compute": "comp"}
STEP_WITHIN, LAYER_WITHIN = 1e-6, 1e-4


def text(layers: list[dict[str, str]]) -> Iterator[str]:
    """Yield the lines of the text workload: two blocks of the same layers."""
    yield HEAD
    yield str(BLOCKS * len(layers))
    for block in range(1, BLOCKS + 1):
        for row in layers:
            weights = row["weight_gradient_all_reduce_bytes"]
            passes = [
                (KINDS[row["forward_comm"]], row["forward_comm_bytes"]),
                (KINDS[row["input_gradient_comm"]], row["input_gradient_comm_bytes"]),
                ("ALLREDUCE" if int(weights) else "NONE", weights),
            ]
            sizes = f"7 0 {row['M']} {row['K']} {row['N']}"
            parts = " ".join(f"{sizes} {kind} {size_bytes}" for kind, size_bytes in passes)
            yield f"{row['layer']}{block} -1 {parts} 10"


def run(layers: list[dict[str, str]]) -> yantra.Result:
    """Return the run of all passes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "transformer.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(text(layers)) + "\n")
        workload = from_layers(
            read(path, Roofline(PEAK)), RANKS, (16, 64), Settings(PASSES, "ns", "none"), "COMET"
        )
    algorithms = tuple(block.algorithm for block in CLUSTER)
    scenario = yantra.Scenario(
        workload=yantra.Templates(workload=workload),
        topology=topology(CLUSTER),
        device=yantra.Device(memory_bytes_per_s=SUMS_BYTES_PER_S),
        collectives=yantra.Collectives(
            all_reduce=algorithms,
            reduce_scatter=algorithms,
            all_gather=algorithms,
            chunks=64,
            endpoint_delay_ns=0,
        ),
    )
    return yantra.simulate(scenario)


def took_ns(result: yantra.Result) -> dict[str, float]:
    nodes = result.nodes
    found: dict[str, float] = {}
    columns = (nodes[name] for name in ("rank", "name", "start_ns", "end_ns"))
    for rank, name, start, end in zip(*columns, strict=True):
        if rank:
            break
        found[name] = found.get(name, 0.0) + end - start
    return found


def short(case: str) -> str:
    for word, less in SHORT.items():
        case = case.replace(word, less)
    return case


def main() -> int:
    layers = list(published("golden/data/comet_t1t_layers.csv"))
    result = run(layers)
    found = took_ns(result)

    def of(start: str) -> float:
        return sum(
            found.get(f"{start}{again}{kind}", 0.0)
            for again in ("", "_IN_BCKWD")
            for kind in ("", "_ALLREDUCE", "_ALLGATHER")
        )

    rows = [Row("step of 10 passes", STEP_NS / 1e6, result.makespan_ns / 1e6, STEP_WITHIN)]
    for row in layers:
        layer = f"{row['layer']}1"
        for column, node in NODES.items():
            said = {"compute": float(row[f"{column}_compute_ns"])}
            if node != "BWD_WG":  # these wait for each other, and the log counts that
                said["communication"] = float(row[f"{column}_comm_ns"])
            for what, said_ns in said.items():
                start = "COMP_NODE" if what == "compute" else "COMM_COLL_NODE"
                if said_ns:
                    ours_ns = of(f"{start}_{layer}_{node}")
                    case = f"{row['layer']} {column.replace('_', ' ')} {what}"
                    rows.append(Row(case, said_ns / 1e6, ours_ns / 1e6, LAYER_WITHIN))
    drawn = [row for row in rows if row.published > 100]
    panel = figure.bars(
        "all that takes more than 100 ms",
        "ms",
        [short(row.case) for row in drawn],
        [row.published for row in drawn],
        [row.ours for row in drawn],
        logarithmic=True,
    )
    title = "COMET: Transformer-1T, ten passes"
    return show("comet_transformer_1t", title, "ms", rows, [panel])


if __name__ == "__main__":
    raise SystemExit(main())
