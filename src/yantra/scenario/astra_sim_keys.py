"""The keys of ASTRA-sim's files: how each is read, and its field in a scenario.

Trade-off: what several keys decide together is in `yantra.astra_sim`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from yantra.scenario.types import AllReduceShape, InterDimension, IntraDimension, Priority

Reads = Literal["int", "unsigned", "double", "float", "switch", "text", "texts", "choice", "list"]
"""As what ASTRA-sim reads a value; `list`: an entry for each dimension."""

PRIORITIES: Mapping[str, Priority] = {"LIFO": "lifo", "FIFO": "fifo", "EXPLICIT": "explicit"}
SHAPES: Mapping[str, AllReduceShape] = {"baseline": "baseline", "localBWAware": "local_bw_aware"}
INTRA: Mapping[str, IntraDimension] = {
    "FIFO": "fifo",
    "RG": "rg",
    "smallestFirst": "smallest_first",
    "SCF": "smallest_first",
    "lessRemainingPhaseFirst": "less_remaining_phase_first",
}
INTER: Mapping[str, InterDimension] = {
    "ascending": "ascending",
    "baseline": "ascending",
    "roundRobin": "round_robin",
    "offlineGreedy": "themis",
    "themis": "themis",
    "offlineGreedyFlex": "themis_flex",
    "themisFlex": "themis_flex",
}
TOPOLOGIES: Mapping[str, str] = {
    "Ring": "ring",
    "FullyConnected": "fully_connected",
    "Switch": "switch",
}
MEMORIES: Mapping[str, str] = {
    "NO_MEMORY_EXPANSION": "none",
    "PER_NPU_MEMORY_EXPANSION": "per_npu",
    "PER_NODE_MEMORY_EXPANSION": "per_node",
    "MEMORY_POOL": "pool",
}
_NONE: Mapping[str, str] = MappingProxyType({})


class Key(NamedTuple):
    """A key of a file; `names` are its choices, as a scenario has them."""

    name: str
    reads: Reads
    meaning: str
    field: str = ""
    """The scenario's; `[]`: of each dimension."""
    default: float | str = 0
    at_least: int | None = None
    names: Mapping[str, str] = _NONE
    marks: bool = False
    """A file that has it is of this kind."""
    is_of_1_0: bool = False
    """Of ASTRA-sim 1.0; 2 reads its files without it."""


_COLLECTIVES = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
NETWORK = (
    Key("topology", "list", "kind of each dimension, innermost first",
        "cluster.topology[].kind", names=TOPOLOGIES),
    Key("npus_count", "list", "NPUs along each dimension",
        "cluster.topology[].size", at_least=2, marks=True),
    Key("bandwidth", "list", "of a link: GB/s of 2^30 bytes, or `.inf`",
        "cluster.topology[].bandwidth"),
    Key("latency", "list", "of a link: ns", "cluster.topology[].latency"),
)  # fmt: skip
SYSTEM = (
    Key("scheduling-policy", "choice", "which collective goes first",
        "collectives.priority", names=PRIORITIES, marks=True),
    Key("collective-optimization", "choice", "how an all-reduce goes over several dimensions",
        "collectives.all_reduce_shape", names=SHAPES, marks=True),
    Key("endpoint-delay", "int", "ns of each hand-over of a message",
        "collectives.endpoint_delay", 10, 0, marks=True),
    Key("local-reduction-delay", "int", "ns of a reduction per 100 bytes, on the shared bus only",
        "collectives.local_reduction_delay", 1, 0),
    Key("active-chunks-per-dimension", "int", "chunks in flight per dimension",
        "collectives.active_chunks", 1, 1),
    Key("preferred-dataset-splits", "int", "chunks of a collective; required where one runs",
        "collectives.chunks", 1, 1),
    Key("local-mem-bw", "double", "GB/s of 10^9 bytes, of reductions and the roofline",
        "cluster.device.memory_bandwidth"),
    Key("peak-perf", "double", "TFLOPS of the roofline", "cluster.device.peak"),
    Key("roofline-enabled", "switch", "kernels take what the roofline says"),
    Key("replay-only", "switch", "every node takes its recorded duration"),
    Key("trace-enabled", "switch", "log each node"),
    Key("track-local-mem", "switch", "follow the tensors of each rank"),
    Key("local-mem-trace-filename", "text", "file of that", default="local_mem_trace"),
    Key("model-shared-bus", "int", "1: data crosses the bus of `L`, `o`, `g`, `G`",
        "collectives.shared_bus"),
    Key("L", "float", "ns of latency, cut to whole ns", "collectives.shared_bus.l"),
    Key("o", "float", "ns of overhead, cut to whole ns", "collectives.shared_bus.o"),
    Key("g", "float", "ns between messages, cut to whole ns", "collectives.shared_bus.g"),
    Key("G", "float", "ns a byte", "collectives.shared_bus.big_g"),
    *(
        Key(f"{kind}-implementation", "texts", "algorithm for each dimension",
            f"collectives.{kind.replace('-', '_')}", marks=kind == "all-reduce")
        for kind in _COLLECTIVES
    ),
    *(Key(f"{kind}-implementation-custom", "texts", "prefix of traces that are the collective")
      for kind in _COLLECTIVES),
    Key("per-node-custom-implementation", "text", "YAML file: such a prefix for single nodes",
        default=""),
    Key("boost-mode", "int", "no effect", is_of_1_0=True),
    Key("seed", "int", "no effect", is_of_1_0=True),
    Key("intra-dimension-scheduling", "choice", "which chunk of a dimension is next",
        "collectives.intra_dimension", names=INTRA, is_of_1_0=True),
    Key("inter-dimension-scheduling", "choice", "which dimension a chunk takes next",
        "collectives.inter_dimension", names=INTER, is_of_1_0=True),
)  # fmt: skip
MEMORY = (
    Key("memory-type", "choice", "where remote memory is; none if missing",
        "cluster.memory.kind", names=MEMORIES, marks=True),
    Key("remote-mem-latency", "unsigned", "ns of an access", "cluster.memory.latency"),
    Key("remote-mem-bw", "unsigned", "GB/s of 10^9 bytes; 0 charges the latency alone",
        "cluster.memory.bandwidth"),
    Key("num-nodes", "int", "nodes, where each has a memory"),
    Key("num-npus-per-node", "int", "and the NPUs of one",
        "cluster.memory.ranks_per_node", 0, 1),
)  # fmt: skip
LOGICAL = (Key("logical-dims", "texts", "sizes of the dimensions, innermost first"),)

FILES: Mapping[str, Sequence[Key]] = {"network": NETWORK, "memory": MEMORY, "system": SYSTEM}
LISTS = tuple(key.name for key in NETWORK)


def file_with(tree: Mapping[Any, Any]) -> str | None:
    for kind, keys in FILES.items():
        marks = {key.name for key in keys if key.marks}
        if not tree.keys().isdisjoint(marks | {name.replace("_", "-") for name in marks}):
            return kind
    return None
