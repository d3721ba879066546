"""ASTRA-sim inputs by our own writer; what it printed is in `astra_sim_lines/<case>.txt`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cases import ASTRA_SIM_SYSTEM
from yantra.chakra import CollectiveType, TraceBuilder

MIB = 1 << 20


def write(case: str, folder: Path) -> list[str]:
    return CASES[case](folder)


def _files(
    folder: Path,
    traces: list[TraceBuilder],
    network: dict[str, list[Any]],
    system: dict[str, Any] | None = None,
    groups: dict[str, list[int]] | None = None,
) -> list[str]:
    for rank, trace in enumerate(traces):
        trace.build().write(folder / f"workload.{rank}.et")
    (folder / "network.yml").write_text(json.dumps(network))
    (folder / "system.json").write_text(json.dumps(ASTRA_SIM_SYSTEM | (system or {})))
    (folder / "memory.json").write_text('{"memory-type": "NO_MEMORY_EXPANSION"}')
    options = [
        f"--workload-configuration={folder / 'workload'}",
        f"--system-configuration={folder / 'system.json'}",
        f"--network-configuration={folder / 'network.yml'}",
        f"--remote-memory-configuration={folder / 'memory.json'}",
    ]
    if groups:
        (folder / "comm_group.json").write_text(json.dumps(groups))
        options.append(f"--comm-group-configuration={folder / 'comm_group.json'}")
    return options


def _line(kind: str, size: int) -> dict[str, list[Any]]:
    return {"topology": [kind], "npus_count": [size], "bandwidth": [50.0], "latency": [500.0]}


def tutorial(folder: Path) -> list[str]:
    """All-reduce of 1 MiB over a ring of 8, ASTRA-sim's tutorial."""
    trace = TraceBuilder(first_id=1)
    trace.collective(CollectiveType.ALL_REDUCE, MIB)
    return _files(folder, [trace] * 8, _line("Ring", 8))


def overlap(folder: Path) -> list[str]:
    traces = []
    for rank in range(4):
        trace = TraceBuilder(first_id=1)
        first = trace.compute("compute", duration_micros=20)
        reduced = trace.collective(CollectiveType.ALL_REDUCE, MIB, name="reduce")
        trace.compute("after", duration_micros=5 + 7 * (rank == 2), after=[first, reduced])
        traces.append(trace)
    return _files(folder, traces, _line("Ring", 4))


def groups(folder: Path) -> list[str]:
    traces = []
    for rank in range(8):
        trace = TraceBuilder(first_id=1)
        group = "1" if rank < 4 else "2"
        gathered = trace.collective(CollectiveType.ALL_GATHER, MIB, group=group)
        trace.collective(CollectiveType.ALL_TO_ALL, MIB, after=gathered)
        traces.append(trace)
    members = {"1": [0, 1, 2, 3], "2": [7, 5, 4, 6]}
    return _files(folder, traces, _line("Ring", 8), groups=members)


def roofline(folder: Path) -> list[str]:
    trace = TraceBuilder(first_id=1)
    first = trace.compute("bound by memory", num_ops=10**9, tensor_size=10**8)
    trace.compute("bound by compute", num_ops=10**11, tensor_size=10**6, after=first)
    trace.collective(CollectiveType.ALL_REDUCE, MIB, involved_dim=[True, True])
    network = {
        "topology": ["FullyConnected", "Switch"],
        "npus_count": [4, 2],
        "bandwidth": [50.0, 25.0],
        "latency": [500.0, 700.0],
    }
    system = {
        "roofline-enabled": 1,
        "peak-perf": 100,
        "local-mem-bw": 1000,
        "all-reduce-implementation": ["direct", "ring"],
        "all-gather-implementation": ["oneRing"],
        "reduce-scatter-implementation": ["doubleBinaryTree", "ring"],
        "all-to-all-implementation": ["direct"],
    }
    return _files(folder, [trace] * 8, network, system)


def memory(folder: Path) -> list[str]:
    trace = TraceBuilder(first_id=1)
    forward = trace.compute("forward", duration_micros=50)
    reduce = trace.collective(CollectiveType.ALL_REDUCE, MIB, name="reduce", after=forward)
    backward = trace.compute("backward", duration_micros=20, after=forward)
    update = trace.compute("update", duration_micros=10, after=[reduce, backward])
    for node, inputs, outputs in (
        (forward, {"w": MIB, "x": 3000}, {"act": 2 * MIB}),
        (reduce, {"act": 2 * MIB}, {"sum": 2000}),
        (backward, {"w": MIB, "act": 2 * MIB}, {"g": 5000, "nothing": 0}),
        (update, {"g": 5000, "sum": 2000}, {}),
    ):
        node["inputs"] = [str(part) for tensor in inputs.items() for part in tensor]
        node["outputs"] = [str(part) for tensor in outputs.items() for part in tensor]
    system = {
        "trace-enabled": 1,
        "track-local-mem": 1,
        "local-mem-trace-filename": str(folder / "tensors"),
    }
    return _files(folder, [trace] * 4, _line("Ring", 4), system)


def tensors(folder: Path) -> list[str]:
    trace = TraceBuilder(first_id=1)
    after: Any = ()
    kept: list[str] = []
    for layer in range(6):
        node = trace.compute(f"layer {layer}", duration_micros=3 + layer % 2, after=after)
        reads = [f"weights.of.layer.number.{layer}", *kept[-2:]]
        writes = [f"out{layer}", f"\u03b4{layer}", f"unread{layer}"]
        kept += writes[:2]
        node["inputs"] = [part for name in reads for part in (name, str(4096 * (layer + 1)))]
        node["outputs"] = [part for name in writes for part in (name, str(1000 + 77 * layer))]
        after = node
    last = trace.collective(CollectiveType.ALL_REDUCE, MIB, name="reduce", after=after)
    last["inputs"] = [part for name in kept[::3] for part in (name, "1000")]
    last["outputs"] = ["sum", str(MIB)]
    system = {"track-local-mem": 1, "local-mem-trace-filename": str(folder / "tensors")}
    return _files(folder, [trace] * 2, _line("FullyConnected", 2), system)


def traces_beside_lists(folder: Path) -> list[str]:
    """A collective by traces over one dimension of two; the lists beside them make rings only."""
    trace = TraceBuilder(first_id=1)
    first = trace.collective(CollectiveType.ALL_GATHER, 4096, involved_dim=[False, True])
    trace.collective(CollectiveType.ALL_REDUCE, MIB, after=first)
    for position in range(4):
        step = TraceBuilder(first_id=1)
        if position % 2 == 0:
            step.send(position + 1, 1000, tag=0)
        else:
            step.recv(position - 1, 1000, tag=0, after=step.compute(duration_micros=1))
        step.build().write(folder / f"gather.{position}.et")
    network = {
        "topology": ["Ring", "Ring"],
        "npus_count": [2, 2],
        "bandwidth": [50.0, 50.0],
        "latency": [500.0, 500.0],
    }
    system = {
        "preferred-dataset-splits": 1,
        "all-reduce-implementation": ["ring", "direct"],
        "all-gather-implementation": ["ring"],
        "all-gather-implementation-custom": [str(folder / "gather")],
        "reduce-scatter-implementation": ["doubleBinaryTree", "ring"],
        "all-to-all-implementation": ["oneRing"],
        "all-to-all-implementation-custom": [str(folder / "gather")],
    }
    return _files(folder, [trace] * 4, network, system)


def ticks_shared(folder: Path) -> list[str]:
    traces = []
    for rank in range(8):
        trace = TraceBuilder(first_id=1)
        last = trace.collective(CollectiveType.ALL_GATHER, MIB)
        trace.compute("beside", duration_micros=3 + rank % 3)
        if rank != 6:
            group = "1" if rank < 4 else "2"
            last = trace.collective(CollectiveType.ALL_REDUCE, MIB, group=group, after=last)
            last = trace.collective(CollectiveType.ALL_TO_ALL, MIB, group=group, after=last)
            trace.collective(CollectiveType.ALL_REDUCE, MIB, group=group, after=last)
        traces.append(trace)
    members = {"1": [0, 1, 2, 3], "2": [7, 5, 4]}
    return _files(folder, traces, _line("Ring", 8), {"trace-enabled": 1}, members)


def five_dimensions(folder: Path) -> list[str]:
    """An all-gather over five rings of two; ASTRA-sim involves four."""
    trace = TraceBuilder(first_id=1)
    trace.collective(CollectiveType.ALL_GATHER, MIB)
    network = {
        "topology": ["Ring"] * 5,
        "npus_count": [2] * 5,
        "bandwidth": [50.0] * 5,
        "latency": [500.0] * 5,
    }
    kinds = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
    system = {f"{kind}-implementation": ["ring"] * 5 for kind in kinds}
    return _files(folder, [trace] * 32, network, system)


CASES: dict[str, Callable[[Path], list[str]]] = {
    "tutorial": tutorial,
    "overlap": overlap,
    "groups": groups,
    "roofline": roofline,
    "memory": memory,
    "traces_beside_lists": traces_beside_lists,
    "ticks_shared": ticks_shared,
    "tensors": tensors,
    "five_dimensions": five_dimensions,
}
