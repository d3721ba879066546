"""A GB/s is 10^9 bytes/s, unlike in the network file; bandwidth 0 or absent charges nothing."""

from __future__ import annotations

from yantra.astra_sim.keys import Keys
from yantra.base.documents import Path
from yantra.scenario.astra_sim_keys import MEMORIES, MEMORY
from yantra.scenario.types import RemoteMemory


def read_memory(path: Path, ranks: int) -> tuple[RemoteMemory, list[str]]:
    keys = Keys(path, MEMORY)
    if "memory-type" in keys:
        kind = MEMORIES[keys.choice("memory-type")]
    else:
        kind = "none"
        keys.warn("memory-type", "missing, so there is no remote memory, as in ASTRA-sim")
    latency_ns = keys.whole("remote-mem-latency")
    gb_per_s = keys.whole("remote-mem-bw")
    if kind == "none":
        return RemoteMemory(), keys.warnings
    if gb_per_s == 0:
        keys.warn("remote-mem-bw", "absent or 0: only the latency is charged, as in ASTRA-sim")
    nodes, ranks_per_node = _nodes(keys, ranks) if kind == "per_node" else (0, 0)
    memory = RemoteMemory(
        kind=kind,
        latency_ns=latency_ns,
        bytes_per_ns=float(gb_per_s),
        ranks_per_node=ranks_per_node,
        nodes=nodes,
    )
    return memory, keys.warnings


def _nodes(keys: Keys, ranks: int) -> tuple[int, int]:
    nodes = keys.whole("num-nodes")
    ranks_per_node = keys.whole("num-npus-per-node")
    needed = -(-ranks // ranks_per_node)
    if nodes < needed:
        raise keys.error(
            "num-nodes",
            f"must be at least {needed}, as {ranks} NPUs in nodes of {ranks_per_node} need that "
            f"many; got {nodes}",
        )
    return nodes, ranks_per_node
