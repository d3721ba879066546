"""The layout of a scenario file: which key holds which field of a Scenario.

The file nests what the types keep flat (`cluster` holds topology, device and memory), and gives
files where the types hold their parts. This table is all there is to say about one field: its key,
its kind with unit and range, and what it means. Reader, checks, JSON Schema and reference page
follow from it.
"""

from __future__ import annotations

from typing import Any

from yantra import compute as computes
from yantra import memory as memories
from yantra import network as networks
from yantra.base.errors import ConfigError, UnsupportedError, expected_got
from yantra.base.fields import (
    Choice,
    File,
    Flag,
    Many,
    NameSet,
    Numbered,
    PluginChoice,
    Quantity,
    Schema,
    Section,
    Text,
    Whole,
)
from yantra.base.records import Record
from yantra.collectives.selection import FIELD as SELECTION
from yantra.fabric.clusters.types import Speeds
from yantra.scenario import types
from yantra.scenario.fields import AlgorithmList, Dimensions, GroupTable, Ranks, TopologyName
from yantra.schedulers import FIELD as SCHEDULER


class Cluster(Record):
    """The mapping `cluster`."""

    topology: types.Topology
    device: types.Device = types.Device()
    devices: tuple[types.DeviceOf, ...] = ()
    memory: types.RemoteMemory = types.RemoteMemory()


class NamedCluster(Record):
    """The mapping `cluster` with a `name`: a cluster of `yantra.clusters`, and what differs."""

    name: str
    ranks: int | None = None
    dtype: str | None = None
    speeds: Speeds = "achievable"
    topology: types.Topology | None = None
    device: types.Device = types.Device()
    devices: tuple[types.DeviceOf, ...] = ()
    memory: types.RemoteMemory = types.RemoteMemory()


class ClusterSection(Section):
    """The mapping `cluster`, or a name in its place; `named.py` replaces names before reading."""

    def schema(self) -> Schema:
        return {"anyOf": [super().schema(), NAMED.schema(), Text().schema()]}


class Document(Record):
    """A whole scenario file."""

    workload: types.ChakraFiles | types.WorkloadFile
    cluster: Cluster
    semantics: str = types.Scenario.semantics
    network: PluginChoice = types.Scenario.network
    collectives: types.Collectives = types.Collectives()
    resources: types.Resources = types.Resources()
    scheduler: PluginChoice = types.Scenario.scheduler
    quirks: frozenset[str] | None = None
    replay_only: bool = False
    track_local_memory: bool = False
    local_memory_trace: str = types.Scenario.local_memory_trace
    trace_nodes: bool = False
    fold: str = types.Scenario.fold


# 1 GB/s is 1 byte per ns.
_LINK_BANDWIDTH = Quantity("bandwidth", "GB/s", above=0)
_WHOLE_NS = Quantity("time", "ns", whole=True, at_least=0)

TEMPLATES = Section(
    types.WorkloadFile,
    {"templates": ("path", File(), "a workload file, in place of traces and groups")},
)


class WorkloadSection(Section):
    """The mapping `workload`: traces and groups, or a workload file that holds both."""

    def read(self, tree: Any, where: str, folder: str) -> Any:
        if not isinstance(tree, dict) or "templates" not in tree:
            return super().read(tree, where, folder)
        for key in self.entries:
            if key in tree:
                raise ConfigError(f"{where}.{key}", "not together with templates, which hold both")
        return TEMPLATES.read(tree, where, folder)

    def check(self, value: Any, where: str) -> None:
        if isinstance(value, types.WorkloadFile):
            TEMPLATES.check(value, where)
        elif isinstance(value, types.ChakraFiles):
            super().check(value, where)
        elif isinstance(value, types.Traces):
            _GROUPS.check(value.groups, f"{where}.groups")
        elif not isinstance(value, types.Templates):
            expected = "a ChakraFiles, a Traces, a WorkloadFile or a Templates"
            raise ConfigError(where, expected_got(expected, value))

    def write(self, value: Record, folder: str) -> dict[str, Any]:
        is_file = isinstance(value, types.WorkloadFile)
        return TEMPLATES.write(value, folder) if is_file else super().write(value, folder)

    def schema(self) -> Schema:
        return {"anyOf": [super().schema(), TEMPLATES.schema()]}


_GROUPS = GroupTable()
_WORKLOAD = WorkloadSection(
    types.ChakraFiles,
    {
        "traces": ("prefix", File(ending=".{rank}.et"), "Chakra traces, one per rank"),
        "groups": ("groups", _GROUPS, "communicator groups: id to ranks in ring order"),
    },
)
_DIMENSION = Section(
    types.Dimension,
    {
        "kind": ("kind", TopologyName(), "how the members are linked"),
        "size": ("size", Whole(at_least=2), "members of this dimension"),
        "bandwidth": ("bytes_per_ns", _LINK_BANDWIDTH, "of each link, per direction"),
        "latency": ("latency_ns", Quantity("time", "ns", at_least=0), "of each hop"),
    },
)
DEVICE = Section(
    types.Device,
    {
        "peak": (
            "peak_flops",
            Quantity("flops", "FLOP/s", at_least=0),
            "highest rate of operations",
        ),
        "memory_bandwidth": (
            "memory_bytes_per_s",
            Quantity("bandwidth", "B/s", at_least=0),
            "of local memory: bounds the roofline and reductions",
        ),
        "compute": ("compute", computes.FIELD, "how long kernels take"),
    },
)


DEVICE_OF = Section(
    types.DeviceOf,
    {
        "ranks": ("ranks", Ranks(), "whose device it is"),
        "device": ("device", DEVICE, "all keys of it; none is taken from cluster.device"),
    },
)


class MemorySection(Section):
    """The mapping `cluster.memory`: the options of the kind stand beside it."""

    def read(self, tree: Any, where: str, folder: str) -> Any:
        chosen = {
            key: tree[key] for key in ("kind", "options") if isinstance(tree, dict) and key in tree
        }
        if not chosen:
            return super().read(tree, where, folder)
        others = {key: tree[key] for key in tree if key not in chosen}
        kind = memories.FIELD.read(chosen, where, folder)
        return super().read(others, where, folder).replace(kind=kind)

    def write(self, value: Record, folder: str) -> dict[str, Any]:
        tree = super().write(value, folder)
        kind = tree.pop("kind", None)
        return ({} if kind is None else kind if isinstance(kind, dict) else {"kind": kind}) | tree

    def schema(self) -> Schema:
        schema = super().schema()
        names = list(memories.models.names())
        schema["properties"]["kind"] = {
            "description": self.entries["kind"][2],
            "default": types.RemoteMemory.kind,
            "anyOf": [{"enum": names}, {"type": "string", "pattern": r"\.py$"}],
        }
        schema["properties"]["options"] = {"description": "of the kind", "type": "object"}
        return schema


MEMORY = MemorySection(
    types.RemoteMemory,
    {
        "kind": ("kind", memories.FIELD, "how long accesses take, and who shares the memory"),
        "latency": ("latency_ns", _WHOLE_NS, "of each access"),
        "bandwidth": (
            "bytes_per_ns",
            Quantity("bandwidth", "GB/s", at_least=0),
            "of each memory",
        ),
        "ranks_per_node": ("ranks_per_node", Whole(at_least=0), "where nodes share a memory"),
        "nodes": ("nodes", Whole(at_least=0), "where nodes share a memory"),
    },
)
CLUSTER = ClusterSection(
    Cluster,
    {
        "topology": ("topology", Dimensions(_DIMENSION), "dimensions, innermost first"),
        "device": ("device", DEVICE, "what computes"),
        "devices": ("devices", Many(DEVICE_OF), "what computes on some ranks instead"),
        "memory": ("memory", MEMORY, "memory beyond the device"),
    },
)
NAMED = Section(
    NamedCluster,
    {
        "name": ("name", Text(), "a named cluster, or the path of its file"),
        "ranks": ("ranks", Whole(), "how many ranks; else as many as there are traces"),
        "dtype": ("dtype", Text(), "the data type whose peak rate the roofline uses"),
        "speeds": ("speeds", Choice(Speeds), "what software reaches, or the data sheet's"),
        "topology": ("topology", Dimensions(_DIMENSION), "another network; then without ranks"),
        "device": ("device", DEVICE, "keys that differ"),
        "devices": ("devices", Many(DEVICE_OF), "what computes on some ranks instead"),
        "memory": ("memory", MEMORY, "keys that differ"),
    },
)
_SHARED_BUS = Section(
    types.SharedBus,
    {
        "l": ("l_ns", _WHOLE_NS, "LogGP latency"),
        "o": ("o_ns", _WHOLE_NS, "LogGP overhead"),
        "g": ("g_ns", _WHOLE_NS, "LogGP gap"),
        "big_g": (
            "big_g_ns_per_byte",
            Quantity("time_per_byte", "ns/B", at_least=0),
            "LogGP gap per byte",
        ),
    },
)
_PER_NODE = Numbered(File(ending=".{position}.et"))
COLLECTIVES = Section(
    types.Collectives,
    {
        **{
            name: (name, AlgorithmList(), "algorithm of each dimension")
            for name in types.COLLECTIVE_TYPES
        },
        "custom_per_node": ("custom_per_node", _PER_NODE, "traces that run single nodes, by id"),
        "all_reduce_shape": (
            "all_reduce_shape",
            Choice(types.AllReduceShape),
            "all-reduce in every dimension, or reduce-scatter, all-reduce, all-gather",
        ),
        "chunks": ("chunks", Whole(at_least=1), "pieces a collective is cut into"),
        "active_chunks": ("active_chunks", Whole(at_least=1), "chunks in flight per dimension"),
        "queues_per_dimension": ("queues_per_dimension", Whole(at_least=1), "queues of chunks"),
        "priority": ("priority", Choice(types.Priority), "which collective goes first"),
        "inter_dimension": (
            "inter_dimension",
            Choice(types.InterDimension),
            "order in which a chunk visits the dimensions",
        ),
        "intra_dimension": (
            "intra_dimension",
            Choice(types.IntraDimension),
            "order of the chunks waiting for a dimension",
        ),
        "endpoint_delay": ("endpoint_delay_ns", _WHOLE_NS, "of each hand-over of a message"),
        "local_reduction_delay": (
            "local_reduction_delay_ns",
            _WHOLE_NS,
            "per 100 bytes, on the shared bus only",
        ),
        "reductions": (
            "reductions",
            Choice(types.Reductions),
            "after a message, for the time its bytes take the memory, or while it arrives",
        ),
        "shared_bus": ("shared_bus", _SHARED_BUS, "LogGP bus in place of the endpoint delay"),
        "rendezvous": ("rendezvous", Flag(), "announce every message before it is sent"),
        "selection": ("selection", SELECTION, "which algorithm runs what, by size and group"),
    },
)
_RESOURCES = Section(
    types.Resources,
    {
        "cpu_slots": ("cpu_slots", Whole(at_least=1), "CPU operations at once; see below"),
        "compute_streams": ("compute_streams", Whole(at_least=1), "kernels at once; see below"),
        "communication": (
            "communication",
            Choice(types.Communication),
            "one slot for all communication and memory, or one per communicator",
        ),
        "copy_engines": ("copy_engines", Whole(at_least=0), "memory operations at once"),
    },
)
DOCUMENT = Section(
    Document,
    {
        "semantics": ("semantics", Choice(types.Semantics), "which behaviour to follow"),
        "workload": ("workload", _WORKLOAD, "what runs"),
        "cluster": ("cluster", CLUSTER, "what it runs on"),
        "network": ("network", networks.FIELD, "how messages interact"),
        "collectives": ("collectives", COLLECTIVES, "how collectives run"),
        "resources": ("resources", _RESOURCES, "what a rank does at once"),
        "scheduler": ("scheduler", SCHEDULER, "which ready node starts first"),
        "quirks": ("quirks", NameSet(), "oddities of ASTRA-sim that are on"),
        "replay_only": ("replay_only", Flag(), "every node takes its recorded duration"),
        "track_local_memory": ("track_local_memory", Flag(), "follow the tensors of each rank"),
        "local_memory_trace": ("local_memory_trace", Text(), "prefix of the memory traces"),
        "trace_nodes": ("trace_nodes", Flag(), "log issue and completion of each node"),
        "fold": ("fold", Choice(types.Fold), "whether one rank may stand for equal ones"),
    },
)


IN_SCENARIO = Section(
    types.Scenario,
    {
        key: entry
        for key, entry in DOCUMENT.entries.items()
        if entry[0] in types.Scenario.field_names
    },
)
IN_CLUSTER = Section(types.Scenario, CLUSTER.entries)
"""The fields of a Scenario: those of the document, and those its mapping `cluster` holds."""


def scenario_of(document: Document) -> types.Scenario:
    """Return the scenario a file describes."""
    parts: dict[str, Any] = {name: getattr(document, name) for name in Document.field_names}
    cluster = parts.pop("cluster")
    parts |= {name: getattr(cluster, name) for name in Cluster.field_names}
    return types.Scenario(**parts)


def document_of(scenario: types.Scenario) -> Document:
    """Return the file that describes a scenario."""
    if not isinstance(scenario.workload, types.ChakraFiles | types.WorkloadFile):
        raise UnsupportedError("workload: traces in memory have no file; write them to files first")
    cluster = Cluster(**{name: getattr(scenario, name) for name in Cluster.field_names})
    names = [name for name in Document.field_names if name != "cluster"]
    return Document(cluster=cluster, **{name: getattr(scenario, name) for name in names})
