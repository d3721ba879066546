"""The layout of a scenario file: which key holds which field of a Scenario.

Each field's key, kind, unit, range and meaning is here alone; reader, checks, JSON Schema and
reference page follow.
"""

from __future__ import annotations

from typing import Any

from yantra import compute as computes
from yantra import memory as memories
from yantra import network as networks
from yantra.base.errors import ConfigError, UnsupportedError, expected_got, hint, show
from yantra.base.fields import (
    Choice,
    Entry,
    File,
    Flag,
    Many,
    NameSet,
    Number,
    Numbered,
    Plugin,
    PluginChoice,
    Quantity,
    Schema,
    Section,
    Text,
    Whole,
)
from yantra.base.fields.rare import Rare
from yantra.base.records import Record
from yantra.collectives.names import ProtocolName
from yantra.collectives.selection import FIELD as SELECTION
from yantra.scenario import types
from yantra.scenario.disturbances import BackgroundTraffic, Failure
from yantra.scenario.failure_fields import FAILURES
from yantra.scenario.fields import AlgorithmList, Dimensions, GroupTable, Ranks, TopologyName
from yantra.schedulers import FIELD as SCHEDULER


class Cluster(Record):
    topology: types.Topology
    device: types.Device = types.Device()
    devices: tuple[types.DeviceOf, ...] = ()
    memory: types.RemoteMemory = types.RemoteMemory()
    machine: types.Machine = types.Machine()
    fabric: Plugin | None = None
    routing: PluginChoice | None = None
    placement: types.Placement = types.Placement()
    link_changes: str | None = None
    failures: tuple[Failure, ...] = ()
    reroute_delay_ns: float = 0.0


_OF_A_NAMED_ONE = ("name", "ranks", "dtype", "speeds", "profile", "collectives")


class ClusterSection(Section):
    """The mapping `cluster`, or a name, replaced by `named.py` first."""

    expected = "the name of a cluster (yantra cluster show), or a mapping"

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        whole = {"name": tree} if isinstance(tree, str) else tree
        is_named = isinstance(whole, dict) and "name" in whole
        if path and (is_named or path[0] in _OF_A_NAMED_ONE):
            from yantra.scenario.named_layout import NAMED

            return NAMED.put(whole, path, value, where, folder)
        return super().put(whole, path, value, where, folder)

    def schema(self) -> Schema:
        from yantra.scenario.named_layout import NAMED

        return {"anyOf": [super().schema(), NAMED.schema(), Text().schema()]}


class Document(Record):
    workload: types.ChakraFiles | types.WorkloadFile | types.TrainingStep
    cluster: Cluster
    semantics: str = types.Scenario.semantics
    network: PluginChoice = types.Scenario.network
    tier_networks: tuple[tuple[str, str], ...] = ()
    background: tuple[BackgroundTraffic, ...] = ()
    collectives: types.Collectives = types.Collectives()
    resources: types.Resources = types.Resources()
    scheduler: PluginChoice = types.Scenario.scheduler
    quirks: frozenset[str] | None = None
    replay_only: bool = False
    track_local_memory: bool = False
    local_memory_trace: str = types.Scenario.local_memory_trace
    trace_nodes: bool = False
    stack: types.Stack | None = None
    run_undisturbed: bool = types.Scenario.run_undisturbed
    host: types.Host | None = None
    fold: str = types.Scenario.fold


# 1 GB/s is 1 byte per ns.
_LINK_BANDWIDTH = Quantity("bandwidth", "GB/s", above=0)
_WHOLE_NS = Quantity("time", "ns", whole=True, at_least=0)

TEMPLATES = Section(
    types.WorkloadFile,
    {"templates": ("path", File(), "a workload file, in place of traces and groups")},
)


def _step() -> Section:
    from yantra.scenario.training import STEP

    return STEP


class WorkloadSection(Section):
    """The mapping `workload`: traces and groups, a workload file, or a model."""

    expected = "a mapping such as {templates: step.yw}"

    def read(self, tree: Any, where: str, folder: str) -> Any:
        if isinstance(tree, str):
            keys = {"{rank}": "traces", ".et": "traces", ".yw": "templates"}
            key = next((keys[mark] for mark in keys if mark in tree), "model")
            problem = f"expected a mapping, got {show(tree)}; write {{{key}: {show(tree)}}}"
            raise ConfigError(where, problem)
        if not isinstance(tree, dict):
            return super().read(tree, where, folder)
        section = self._section_of(tree)
        for key in tree:
            other = next((one for one in self._sections() if key in one.entries), section)
            if other is not section:
                chosen = next(name for name in section.entries if name in tree)
                problem = f"not together with {chosen}, which says what runs"
                raise ConfigError(f"{where}.{key}", problem)
        if section is self:
            return super().read(tree, where, folder)
        return section.read(tree, where, folder)

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        section = self._section_of(dict.fromkeys(path[:1]))
        if section is self:
            return super().put(tree, path, value, where, folder)
        return section.put(tree, path, value, where, folder)

    def _sections(self) -> tuple[Section, ...]:
        return (TEMPLATES, _step(), self)

    def _section_of(self, tree: dict[str, Any]) -> Section:
        found = (one for one in self._sections() if not one.entries.keys().isdisjoint(tree))
        return next(found, self)

    def _known(self, key: str) -> str:
        known = [name for one in (self, TEMPLATES, _step()) for name in one.entries]
        return hint(key, known)

    def check(self, value: Any, where: str) -> None:
        if isinstance(value, types.WorkloadFile):
            TEMPLATES.check(value, where)
        elif isinstance(value, types.TrainingStep):
            _step().check(value, where)
        elif isinstance(value, types.ChakraFiles):
            super().check(value, where)
        elif isinstance(value, types.Traces):
            _GROUPS.check(value.groups, f"{where}.groups")
        elif not isinstance(value, types.Templates):
            expected = "a ChakraFiles, a Traces, a WorkloadFile, a Templates or a TrainingStep"
            raise ConfigError(where, expected_got(expected, value))

    def write(self, value: Record, folder: str) -> dict[str, Any]:
        sections = {types.WorkloadFile: TEMPLATES, types.TrainingStep: _step()}
        section = sections.get(type(value))
        return section.write(value, folder) if section else super().write(value, folder)

    def schema(self) -> Schema:
        return {"anyOf": [super().schema(), TEMPLATES.schema(), _step().schema()]}


_GROUPS = GroupTable()
WORKLOAD = WorkloadSection(
    types.ChakraFiles,
    {
        "traces": ("prefix", File(ending=".{rank}.et"), "Chakra traces, one per rank"),
        "groups": ("groups", _GROUPS, "communicator groups: id to ranks in ring order"),
    },
)
DIMENSION = Section(
    types.Dimension,
    {
        "kind": ("kind", TopologyName(), "how the members are linked"),
        "size": ("size", Whole(at_least=1), "members of this dimension"),
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
        "share_bandwidth": (
            "share_bandwidth",
            Flag(),
            "kernels, reductions and copies at the same time share memory_bandwidth",
        ),
        "power_cap": (
            "power_cap_w",
            Quantity("power", "W", above=0),
            "the most it may draw: kernels that would draw more are slower",
        ),
    },
)


DEVICE_OF = Section(
    types.DeviceOf,
    {
        "ranks": ("ranks", Ranks(), "the ranks that have this device"),
        "device": (
            "device",
            DEVICE,
            "the device with all its keys; none is taken from cluster.device",
        ),
    },
)


class MemorySection(Section):
    """The mapping `cluster.memory`, with the kind's options."""

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        if path[:1] != ("options",):
            return super().put(tree, path, value, where, folder)
        present = tree if isinstance(tree, dict) else {}
        kind = {key: present[key] for key in ("kind", "options") if key in present}
        return present | memories.FIELD.put(kind, path, value, where, folder)

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
        "ranks_per_node": (
            "ranks_per_node",
            Whole(at_least=0),
            "ranks of a node, if those of a node share a memory",
        ),
        "nodes": ("nodes", Whole(at_least=0), "number of nodes, if ranks of a node share a memory"),
    },
)


MACHINE = Section(
    types.Machine,
    {
        "name": ("name", Text(), "what results call the machine"),
        "dtype": ("dtype", Text(), "the data type that the peak is of"),
        "peak": (
            "peak_flops",
            Quantity("flops", "FLOP/s", above=0),
            "dense rate of a device on its data sheet, of which MFU is a share",
        ),
        "memory": (
            "memory_bytes",
            Quantity("size", "B", whole=True, above=0),
            "memory of a device",
        ),
        "reserve": (
            "reserve_bytes",
            Quantity("size", "B", whole=True, at_least=0),
            "memory that jobs cannot use: the driver's context, what an allocator loses",
        ),
        "communicator": (
            "communicator_bytes",
            Quantity("size", "B", whole=True, at_least=0),
            "memory for the buffers of each communicator that a rank is in",
        ),
        "power": ("power_w", Quantity("power", "W", above=0), "what a device draws"),
        "idle_power": (
            "idle_power_w",
            Quantity("power", "W", at_least=0),
            "what a device draws without work; by default a share of its power",
        ),
        "host_power": (
            "host_power_w",
            Quantity("power", "W", at_least=0),
            "a device's share of what its host draws: processors, adapters, fans",
        ),
        "switch_power": (
            "switch_power_w",
            Quantity("power", "W", at_least=0),
            "a device's share of what the switches draw",
        ),
        "pue": ("pue", Number(at_least=1), "what the building draws over what its machines draw"),
        "grid": (
            "grid_g_per_kwh",
            Quantity("carbon", "g/kWh", at_least=0),
            "grams of CO2 of a kWh that the building draws",
        ),
        "price": (
            "price_usd_per_h",
            Quantity("price", "USD/h", above=0),
            "of a device, in US dollars per hour",
        ),
    },
)
FABRIC: dict[str, Entry] = {
    "fabric": (
        "fabric",
        Rare("yantra.scenario.fabric_fields", "FabricField"),
        "the physical network; collectives go by topology",
    ),
    "routing": (
        "routing",
        Rare("yantra.scenario.fabric_fields", "RoutingField"),
        "which routes messages take over the fabric; ecmp if none",
    ),
    "placement": (
        "placement",
        Rare("yantra.scenario.fabric_fields", "PlacementField"),
        "which device of the fabric each rank is",
    ),
    "link_changes": (
        "link_changes",
        File(),
        "a CSV of at_ns,from,to,bandwidth: links that fail, return or change their rate",
    ),
    "failures": ("failures", FAILURES, "what fails or is slow, from when to when, or how often"),
    "reroute_delay": (
        "reroute_delay_ns",
        Quantity("time", "ns", at_least=0),
        "from a failure or a repair until routes follow",
    ),
}
CLUSTER = ClusterSection(
    Cluster,
    {
        "topology": ("topology", Dimensions(DIMENSION), "dimensions, innermost first"),
        "device": ("device", DEVICE, "what computes"),
        "devices": ("devices", Many(DEVICE_OF), "what computes on some ranks instead"),
        "memory": ("memory", MEMORY, "memory beyond the device"),
        "machine": ("machine", MACHINE, "its name, data sheet and price; changes no time"),
        **FABRIC,
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
_COUNTS = Section(
    types.Counts,
    {
        "file": (
            "file",
            File(),
            "a .csv file: a line for each member, with what it sends to each",
        ),
        "routing": ("routing", Text(), "zipf:<alpha>, in place of a file"),
        "experts": (
            "experts",
            Whole(at_least=0, at_most=1 << 20),
            "how many experts tokens are routed to",
        ),
        "ranks": ("ranks", Whole(at_least=0), "size of the groups that are routed; 0: any"),
    },
)
_PROTOCOL = Section(
    types.Protocol,
    {
        "kind": ("kind", Choice(ProtocolName), "which of NCCL's protocols"),
        "step": (
            "step_ns",
            _WHOLE_NS,
            "time of a hand-over of received data; by default the protocol's",
        ),
    },
)
_INTERFERENCE = Section(
    types.Interference,
    {
        "sms": ("sms", Whole(at_least=0), "units that collectives take while a rank is in one"),
        "of": ("of", Whole(at_least=1), "units that the device has"),
        "memory_bandwidth": (
            "memory_bytes_per_s",
            Quantity("bandwidth", "B/s", at_least=0),
            "how much of the memory's bandwidth collectives want",
        ),
        "all_to_all_sms": (
            "all_to_all_sms",
            Whole(at_least=0),
            "units that all-to-alls take; by default the `sms` of deepep, else those of others",
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
        "chunks": (
            "chunks",
            Whole(at_least=1),
            "pieces a collective is cut into; by default as many as its closed form likes best",
        ),
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
            "after a message, for as long as the memory takes for its bytes, or while it arrives",
        ),
        "shared_bus": ("shared_bus", _SHARED_BUS, "LogGP bus in place of the endpoint delay"),
        "rendezvous": ("rendezvous", Flag(), "announce every message before it is sent"),
        "selection": ("selection", SELECTION, "which algorithm runs what, by size and group"),
        "counts": ("counts", _COUNTS, "what pairs of an all-to-all exchange, where unequal"),
        "protocol": ("protocol", _PROTOCOL, "lines and steps of the messages, as NCCL has them"),
        "interference": (
            "interference",
            _INTERFERENCE,
            "what collectives take from kernels; needs cluster.device.share_bandwidth",
        ),
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


_HOST = Section(
    types.Host,
    {
        "launch": (
            "launch_ns",
            _WHOLE_NS,
            "time to launch a kernel, collective, message or copy; by default the stack's",
        ),
        "graphs": (
            "graphs",
            Choice(types.LaunchedAtOnce),
            "what is launched at once as a CUDA graph: nothing, each pass, or all a rank does",
        ),
    },
)


def _terms_of(stack: str, where: str, folder: str) -> dict[str, Any]:
    from yantra.fabric import stacks
    from yantra.fabric.stacks.choice import AUTO, WITHOUT_TERMS

    if stack in WITHOUT_TERMS:
        return {"name": stack}
    if stack == AUTO:
        problem = "auto takes its terms from a job; change those of the stack that it takes by name"
        raise ConfigError(where, f"{problem} (yantra stack show)")
    return stacks.load(stack, where=where, folder=folder).scenario_part()


class StackSection(Section):
    """The mapping `stack`, or a name of `yantra.fabric.stacks`."""

    def read(self, tree: Any, where: str, folder: str) -> Any:
        if isinstance(tree, str):
            tree = _terms_of(tree, where, folder)
        return super().read(tree, where, folder)

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        if isinstance(tree, str) and path:
            tree = _terms_of(tree, where, folder)
        return super().put(tree, path, value, where, folder)

    def schema(self) -> Schema:
        return {"anyOf": [super().schema(), Text().schema()]}


_PLAN_INTERVAL = Section(
    types.PlanInterval,
    {
        "tp": ("tp", Whole(at_least=1), "tensor parallelism of the plans"),
        "interval": ("interval", Number(above=0), "like that of the stack"),
        "micro_batch": (
            "micro_batch",
            Whole(at_least=1),
            "micro-batch of the plans; by default any",
        ),
    },
)
STACK = StackSection(
    types.Stack,
    {
        "name": ("name", Text(), "what results call it"),
        "products": ("products", Number(above=0), "factor on the time of matrix products"),
        "attention": ("attention", Number(above=0), "factor on the time of attention"),
        "rest": ("rest", Number(above=0), "factor on the time of other kernels and communication"),
        "communication": (
            "communication",
            Number(above=0),
            "further factor on the time of messages and collectives, on top of `rest`",
        ),
        "launch": (
            "launch_ns",
            Quantity("time", "ns", at_least=0),
            "what the host needs to launch a kernel, times `rest`",
        ),
        "graphs": (
            "graphs",
            Choice(types.ReplayedJobs),
            "jobs whose kernels are replayed as CUDA graphs, so that no launch counts",
        ),
        "host_waits": (
            "host_waits",
            Flag(),
            "the host reads from its device in every layer, and launches nothing ahead",
        ),
        "older_attention": (
            "older_attention",
            Number(above=0),
            "the part of `attention` that jobs of `graphs` do not have",
        ),
        "training_products": (
            "training_products",
            Number(above=0),
            "the part of `products` that jobs of `graphs` do not have",
        ),
        "graphs_interval": (
            "graphs_interval",
            Number(at_least=0),
            "`interval` of the jobs of `graphs`; 0 for that of all",
        ),
        "straggling": (
            "straggling",
            Number(at_least=0),
            "share by which each doubling of the nodes beyond 64 makes a step longer",
        ),
        "taken": (
            "taken",
            Number(at_least=0, at_most=0.9),
            "share of a device's SMs that its collectives take from kernels beside them",
        ),
        "interval": (
            "interval",
            Number(at_least=0),
            "half of the 90 % interval of a step's time, as a logarithm; 0 for none",
        ),
        "plans": ("plans", Many(_PLAN_INTERVAL), "intervals of plans of some shape"),
        "apart": (
            "apart",
            Number(at_least=0),
            "how far a step is from the nearest measured one: a standard deviation, as a logarithm",
        ),
        "attention_apart": (
            "attention_apart",
            Number(at_least=0),
            "how far attention may be off where its library is unknown, like `apart`",
        ),
        "measured_tp": ("measured_tp", Many(Whole(at_least=1)), "tensor parallelism of those"),
    },
)
DOCUMENT = Section(
    Document,
    {
        "semantics": ("semantics", Choice(types.Semantics), "which behaviour to follow"),
        "workload": ("workload", WORKLOAD, "what runs"),
        "cluster": ("cluster", CLUSTER, "what it runs on"),
        "network": ("network", networks.FIELD, "how messages interact"),
        "tier_networks": (
            "tier_networks",
            Rare("yantra.scenario.tier_fields", "TierField"),
            "tiers whose links go by formula, whatever the network",
        ),
        "background": (
            "background",
            Rare("yantra.scenario.background_fields", "BackgroundField"),
            "other traffic on the network",
        ),
        "collectives": ("collectives", COLLECTIVES, "how collectives run"),
        "resources": ("resources", _RESOURCES, "what a rank does at once"),
        "scheduler": ("scheduler", SCHEDULER, "which ready node starts first"),
        "quirks": ("quirks", NameSet(), "oddities of ASTRA-sim that are on"),
        "replay_only": ("replay_only", Flag(), "every node takes its recorded duration"),
        "track_local_memory": ("track_local_memory", Flag(), "follow the tensors of each rank"),
        "local_memory_trace": ("local_memory_trace", Text(), "prefix of the memory traces"),
        "trace_nodes": ("trace_nodes", Flag(), "log issue and completion of each node"),
        "stack": ("stack", STACK, "how much slower a framework is than its parts"),
        "run_undisturbed": (
            "run_undisturbed",
            Flag(),
            "run again without failures, and without background, to show what they cost",
        ),
        "host": ("host", _HOST, "the thread of each rank that launches what its device does"),
        "fold": ("fold", Choice(types.Fold), "whether to run one rank for all that do the same"),
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
    parts: dict[str, Any] = {name: getattr(document, name) for name in Document.field_names}
    cluster = parts.pop("cluster")
    parts |= {name: getattr(cluster, name) for name in Cluster.field_names}
    return types.Scenario(**parts)


def document_of(scenario: types.Scenario) -> Document:
    if isinstance(scenario.workload, types.Traces | types.Templates):
        raise UnsupportedError("workload: traces in memory have no file; write them to files first")
    cluster = Cluster(**{name: getattr(scenario, name) for name in Cluster.field_names})
    names = [name for name in Document.field_names if name != "cluster"]
    return Document(cluster=cluster, **{name: getattr(scenario, name) for name in names})
