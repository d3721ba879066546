"""Recorded cases: an ASTRA-sim input described in one line of JSON, and what ASTRA-sim said.

A case is an object with
    name, kind      what it covers
    network         [[block, size, bandwidth in GB/s, latency in ns], ...]
    system          the system file; "*-implementation" means all four collectives
    memory          the remote memory file; absent: none
    groups          the communicator groups, if any
    arguments       the command line: queues, injection_scale, rendezvous
    graphs          traces, each a list of nodes (tests/oracles/chakra_writer.py)
    ranks           the trace of each rank; absent: trace 0 for all
    custom          {prefix: {graphs, ranks}}: collectives given by traces
    node_custom     {node id: prefix}
    expected        {backend: {finish, exposed, order}}: ticks by rank, and ranks in the order of
                    their finish lines. One number means all are equal; absent order: ascending;
                    absent exposed: as finish. backend: unaware, aware, or ext_unaware (ASTRA-sim
                    with the scheduling keys of 1.0 read again).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from tests.oracles import chakra_writer
from yantra.astra_sim import from_files
from yantra.compile import Model, compile

Case = dict[str, Any]

_TYPES = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")


class Ticks(NamedTuple):
    finish: list[int]
    exposed: list[int]
    order: list[int]


def ranks_of(case: Case) -> int:
    ranks = 1
    for _, size, _, _ in case["network"]:
        ranks *= size
    return ranks


def write(case: Case, folder: Path) -> None:
    blocks, sizes, bandwidths, latencies = zip(*case["network"], strict=True)
    (folder / "network.yml").write_text(
        f"topology: [ {', '.join(blocks)} ]\nnpus_count: {list(sizes)}\n"
        f"bandwidth: {list(bandwidths)}\nlatency: {list(latencies)}\n"
    )
    system = dict(case["system"])
    for_all = system.pop("*-implementation", None)
    if for_all is not None:
        system |= {f"{kind}-implementation": for_all for kind in _TYPES}
    if "node_custom" in case:
        system["per-node-custom-implementation"] = "per_node.yml"
        lines = [f"{node}: {prefix}\n" for node, prefix in case["node_custom"].items()]
        (folder / "per_node.yml").write_text("".join(lines))
    (folder / "system.json").write_text(json.dumps(system))
    memory = case.get("memory", {"memory-type": "NO_MEMORY_EXPANSION"})
    (folder / "memory.json").write_text(json.dumps(memory))
    if "groups" in case:
        (folder / "comm_group.json").write_text(json.dumps(case["groups"]))
    integers = case.get("integers", "int64")
    of_rank = case.get("ranks", [0] * ranks_of(case))
    _write_traces(folder / "workload", case["graphs"], of_rank, integers)
    for prefix, custom in case.get("custom", {}).items():
        _write_traces(folder / prefix, custom["graphs"], custom["ranks"], integers)


def _write_traces(prefix: Path, graphs: list[list[str]], of: list[int], integers: str) -> None:
    encoded = [chakra_writer.encode(graph, integers) for graph in graphs]
    for rank, graph in enumerate(of):
        Path(f"{prefix}.{rank}.et").write_bytes(encoded[graph])


def model_of(case: Case, backend: str, folder: Path) -> Model:
    arguments = case.get("arguments", {})
    scenario, _ = from_files(
        directory=folder,
        workload="workload",
        system="system.json",
        network="network.yml",
        memory="memory.json",
        groups="comm_group.json" if "groups" in case else None,
        num_queues_per_dim=arguments.get("queues", 1),
        injection_scale=arguments.get("injection_scale", 1.0),
        rendezvous=arguments.get("rendezvous", False),
        network_backend=f"congestion-{backend.removeprefix('ext_')}",
        scheduling_keys="honour" if backend.startswith("ext_") else "ignore",
    )
    return compile(scenario)


def ticks_of(outcome: Any) -> Ticks:
    """Return what ASTRA-sim would print; its exposed part is an unsigned difference."""
    finish, busy = outcome.finish.tolist(), outcome.compute_busy.tolist()
    exposed = [(ticks - compute) % 2**64 for ticks, compute in zip(finish, busy, strict=True)]
    return Ticks(finish, exposed, list(outcome.finish_order))


def expected(case: Case, backend: str) -> Ticks:
    said = case["expected"][backend]
    ranks = ranks_of(case)
    finish = _by_rank(said["finish"], ranks)
    exposed = _by_rank(said["exposed"], ranks) if "exposed" in said else finish
    return Ticks(finish, exposed, said.get("order", list(range(ranks))))


def compact(ticks: Ticks) -> dict[str, Any]:
    said: dict[str, Any] = {"finish": _one_if_equal(ticks.finish)}
    if ticks.exposed != ticks.finish:
        said["exposed"] = _one_if_equal(ticks.exposed)
    if ticks.order != list(range(len(ticks.order))):
        said["order"] = ticks.order
    return said


def _by_rank(value: int | list[int], ranks: int) -> list[int]:
    return value if isinstance(value, list) else [value] * ranks


def _one_if_equal(values: list[int]) -> int | list[int]:
    return values[0] if len(set(values)) == 1 else values
