"""The scenario: the whole question, as immutable values.

Numbers are in their name's unit, or a text: `latency_ns="500 ns"`. A `Scenario` checks itself
(`check.py`).
"""

from __future__ import annotations

from math import hypot, log2, prod
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from yantra.base.documents import Path
from yantra.base.plugin_files import Named
from yantra.base.records import Amount, Record, amount
from yantra.collectives.names import ProtocolName
from yantra.scenario.disturbances import BackgroundTraffic, Failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yantra.base.fields import Plugin, PluginChoice

AllReduceShape = Literal["baseline", "local_bw_aware"]
Priority = Literal["lifo", "fifo", "explicit"]
InterDimension = Literal["ascending", "round_robin", "themis", "themis_flex"]
IntraDimension = Literal["fifo", "rg", "smallest_first", "less_remaining_phase_first"]
Reductions = Literal["serial", "overlapped"]
Communication = Literal["one_slot", "per_communicator"]
Semantics = Literal["yantra", "astra-sim", "astra-sim@mlsys26"]
Fold = Literal["auto", "off", "require"]
LaunchedAtOnce = Literal["none", "pass", "job"]
ReplayedJobs = Literal["none", "inference"]
PlacementKind = Literal["linear", "by_rail", "random", "list"]

Groups = tuple[tuple[int, tuple[int, ...]], ...]
"""Communicator groups: (id, ranks in ring order), by ascending id; id 0 is never listed."""


class Dimension(Record):
    """A dimension; `bytes_per_ns` per link and direction, `latency_ns` per hop.

    `kind` is a topology (`yantra.topologies`): name, path, or class.
    """

    kind: Named
    size: int
    bytes_per_ns: Amount[float]
    latency_ns: Amount[float]


class Topology(Record):
    """The product of its dimensions; the first varies fastest with the rank."""

    dimensions: tuple[Dimension, ...]
    """The dimensions, innermost first."""

    @property
    def ranks(self) -> int:
        """Ranks of all dimensions."""
        return prod(dimension.size for dimension in self.dimensions)


class Device(Record):
    """What computes; `compute` is a model of `yantra.compute`.

    With `share_bandwidth`, a rank's concurrent kernels, reductions and copies share memory
    bandwidth max-min fairly.
    """

    peak_flops: Amount[float] = amount(0.0)
    memory_bytes_per_s: Amount[float] = amount(0.0)
    compute: PluginChoice = "recorded"
    share_bandwidth: bool = False
    power_cap_w: float | None = None


CHANGED = " (changed)"
"""What a machine's name ends with where somebody changed its numbers."""


class Machine(Record):
    """A machine's name and data sheet, which affect no time.

    A result's MFU follows from the dense `peak_flops` of `dtype`, headroom from `memory_bytes`,
    cost from `price_usd_per_h`, energy from `power_w`, each of a device, with its shares of hosts
    and switches; `pue` and `grid_g_per_kwh` are the building's. Jobs cannot use
    `reserve_bytes`, nor `communicator_bytes` for each of a rank's communicators. None means not
    stated. `rates` are (type, dense peak, device rate) of every type; if any, the workload's type
    overrides `dtype`; no file has them.
    """

    name: str | None = None
    dtype: str | None = None
    peak_flops: float | None = None
    memory_bytes: int | None = None
    reserve_bytes: int | None = None
    communicator_bytes: int | None = None
    power_w: float | None = None
    price_usd_per_h: float | None = None
    idle_power_w: float | None = None
    host_power_w: float | None = None
    switch_power_w: float | None = None
    pue: float | None = None
    grid_g_per_kwh: float | None = None
    rates: tuple[tuple[str, float, float], ...] = ()

    @property
    def room(self) -> tuple[int | None, str | None, int | None, int | None]:
        return self.memory_bytes, self.name, self.reserve_bytes, self.communicator_bytes


class DeviceOf(Record):
    """The device of some ranks, in ascending order."""

    ranks: tuple[int, ...]
    device: Device


class RemoteMemory(Record):
    """Memory beyond the device; `kind` is a model of `yantra.memory`.

    `ranks_per_node` and `nodes` are for shared ones.
    """

    kind: PluginChoice = "none"
    latency_ns: Amount[int] = amount(0)
    bytes_per_ns: Amount[float] = amount(0.0)
    ranks_per_node: int = 0
    nodes: int = 0


class SharedBus(Record):
    """The LogGP bus between network and memory: latency L, overhead o, gap g, gap per byte G."""

    l_ns: Amount[int]
    o_ns: Amount[int]
    g_ns: Amount[int]
    big_g_ns_per_byte: Amount[float]


class Counts(Record):
    """What pairs of an unequal all-to-all exchange: a file, or a routing to experts.

    `ranks` is its group size, 0 for any; a file states its own.
    """

    file: str | None = None
    routing: str | None = None
    experts: int = 0
    ranks: int = 0


class Protocol(Record):
    """The wire protocol of collectives; `step_ns` None for its own.

    See `yantra.collectives.protocols`.
    """

    kind: ProtocolName
    step_ns: int | None = None


class Interference(Record):
    """What collectives take from their rank's device:

    `sms` of its `of` units, `memory_bytes_per_s` of the shared bandwidth; see
    `yantra.compute.interference`. All-to-alls take `all_to_all_sms`, by default what their
    selection says (`deepep`), or as others.
    """

    sms: int
    of: int
    memory_bytes_per_s: float = 0.0
    all_to_all_sms: int | None = None


class Custom(Record):
    """A collective given by traces, one per position: `<prefix>.<position>.et`.

    `instead_of` are algorithms ASTRA-sim's files name beside it, for its log alone.
    """

    prefix: str
    instead_of: tuple[Named, ...] = ()


Algorithms = tuple[Named, ...] | Custom | None
"""By dimension names (`ring`, `direct4`, ...), paths of files or classes; or traces, or none."""


class Collectives(Record):
    """Each collective's algorithm, chunks and order.

    `custom_per_node` are (node id, trace prefix) pairs, which override the type's algorithm. By
    default the planner's closed form chooses `chunks`, one under ASTRA-sim's semantics.
    `active_chunks` counts per dimension, over all its queues. A `serial` reduction starts after its
    message, taking memory time; an `overlapped` one ends with it. A `selection` chooses by size and
    group, before the types' names.
    """

    all_reduce: Algorithms = None
    reduce_scatter: Algorithms = None
    all_gather: Algorithms = None
    all_to_all: Algorithms = None
    custom_per_node: tuple[tuple[int, str], ...] = ()
    all_reduce_shape: AllReduceShape = "local_bw_aware"
    chunks: int | None = None
    active_chunks: int = 1
    queues_per_dimension: int = 1
    priority: Priority = "lifo"
    inter_dimension: InterDimension = "ascending"
    intra_dimension: IntraDimension = "fifo"
    endpoint_delay_ns: Amount[int] = amount(10)
    local_reduction_delay_ns: Amount[int] = amount(1)
    reductions: Reductions = "serial"
    shared_bus: SharedBus | None = None
    rendezvous: bool = False
    selection: PluginChoice | None = None
    interference: Interference | None = None
    counts: Counts | None = None
    protocol: Protocol | None = None

    def by_type(self) -> dict[str, Algorithms]:
        """Algorithms by collective."""
        return {name: getattr(self, name) for name in COLLECTIVE_TYPES}


COLLECTIVE_TYPES = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")
"""The collectives whose algorithms a scenario chooses."""


class Resources(Record):
    """How many operations a rank runs at once.

    `one_slot`: collectives, sends and memory operations share a slot, `copy_engines` is 0.
    `per_communicator`: one collective or send per communicator, memory operations on copy engines.
    `cpu_slots` and `compute_streams`, 1 if None, do not hold back traces with their own order
    (`complete_order` in metadata). `sends_at_once` per communication slot is for lists of flows; no
    file sets it.
    """

    cpu_slots: int | None = None
    compute_streams: int | None = None
    communication: Communication = "per_communicator"
    copy_engines: int = 1
    sends_at_once: int = 1
    """How many sends share a slot of communication; no file sets it."""


ASTRA_SIM_RESOURCES = Resources(
    cpu_slots=1, compute_streams=1, communication="one_slot", copy_engines=0
)
"""What a rank of ASTRA-sim 2 has: one CPU slot, one kernel, one communication slot."""


class ChakraFiles(Record):
    """Chakra trace files, one per rank: `<prefix>.<rank>.et`."""

    prefix: str
    groups: Groups = ()

    def path(self, rank: int) -> str:
        """A rank's file."""
        return f"{self.prefix}.{rank}.et"


class Traces(Record):
    """Chakra traces in memory (`yantra.chakra.Trace`), one per rank."""

    traces: tuple[Any, ...]
    """A `yantra.chakra.Trace` for each rank."""
    groups: Groups = ()
    """Communicator groups: pairs of id and ranks in ring order."""


class WorkloadFile(Record):
    """A workload file (`.yw`): templates and their meaning by rank."""

    path: str
    """The path of the file."""


class TrainingStep(Record):
    """A training step; see `yantra.scenario.training`.

    `model` are pairs: ("name", "llama3-70b") or another source, then changed sizes. `plan` are
    (field, value) pairs; `sequence` in tokens, None for the model's.
    """

    model: tuple[tuple[str, Any], ...]
    """Pairs: a source such as ("name", "llama3-70b"), then sizes that differ."""
    plan: tuple[tuple[str, Any], ...] = ()
    """Pairs of a field of the plan and its value."""
    sequence: int | None = None
    """Tokens of a sequence; None for the model's own."""
    framework: str | None = None
    """What trains it, such as Megatron-LM, for the stack `auto`; None where only its words say."""


class Templates(Record):
    """A workload in memory (`yantra.workloads.templates.Workload`)."""

    workload: Any
    """A `yantra.workloads.templates.Workload`."""


Workload = ChakraFiles | Traces | WorkloadFile | Templates | TrainingStep


class Case(NamedTuple):
    """A file to run, its cluster if it names none, and settings:

    trees by path, as `--set` has them.
    """

    path: Path
    """The file to run."""
    cluster: str | None = None
    """The cluster that it runs on, if it names none."""
    settings: Mapping[str, Any] = {}
    """Values by the path of their field."""


DOUBLED_TP = 0.04
"""The standard deviation that twice the tensor parallelism adds to `apart`; an estimate."""


class PlanInterval(Record):
    """Half the 90 % interval, of a step time's logarithm, of plans with some tp and micro-batch
    (None: any).
    """

    tp: int
    interval: float
    micro_batch: int | None = None


class Placement(Record):
    """Rank r is device r (`linear`), or of a shuffle by `seed` (`random`), or of `devices`.

    `by_rail` takes place 0 of every box first, then place 1, ...
    """

    kind: PlacementKind = "linear"
    """How ranks are placed on devices."""
    seed: int = 0
    """The seed of a random placement."""
    devices: tuple[int, ...] = ()
    """The device of each rank, if they are listed."""


class Host(Record):
    """A rank's thread that launches kernels, collectives, messages and copies in order.

    A launch takes `launch_ns`, None for the stack's, and starts the work. `graphs` are CUDA graphs,
    launched at once: none, passes of a chunk and micro-batch, or all of a rank.
    """

    launch_ns: Amount[int] | None = None
    graphs: LaunchedAtOnce = "none"


class Stack(Record):
    """How much software and machine slow down measured kernels and collectives.

    Factors: `products`, `attention`, `rest` (other kernels, messages, collectives), and
    `communication` on top for the last two. All kernels take at least their launches, `launch_ns`
    times `rest` each; with `graphs: inference` only in training, as inference replays CUDA graphs,
    and has attention without `older_attention` and products without `training_products`. If the
    host `host_waits` (of `unknown`, with experts), each kernel takes at least its launch.
    `straggling` slows everything per doubling of nodes beyond 64. Collectives take the share
    `taken` of SMs from concurrent kernels. `interval` is half the 90 % interval of a step time's
    logarithm, 0 if unknown; `graphs_interval`, if not 0, that of an iteration with `graphs`;
    `plans` have their own, the most specific counts. `apart` is how far a step is from the nearest
    measured one, of a tp of `measured_tp`: a standard deviation of the logarithm of its time.
    `attention_apart` is that of `attention` where its library is unknown.
    """

    name: str | None = None
    products: float = 1.0
    attention: float = 1.0
    rest: float = 1.0
    communication: float = 1.0
    launch_ns: Amount[float] = amount(0.0)
    graphs: ReplayedJobs = "none"
    older_attention: float = 1.0
    training_products: float = 1.0
    graphs_interval: float = 0.0
    host_waits: bool = False
    straggling: float = 0.0
    taken: float = 0.0
    interval: float = 0.0
    plans: tuple[PlanInterval, ...] = ()
    apart: float = 0.0
    attention_apart: float = 0.0
    measured_tp: tuple[int, ...] = ()

    @property
    def is_unknown(self) -> bool:
        """Whether it is the mixture for a framework that nobody names, on any machine."""
        from yantra.fabric.stacks.choice import UNKNOWN

        return (self.name or "").split(" ")[0] == UNKNOWN

    def interval_of(self, tp: int | None, micro_batch: int | None) -> float:
        """Return a plan's interval: of its micro-batch, else its tp, else any, wider far away."""
        of_tp = [one for one in self.plans if one.tp == tp]
        for wanted in (micro_batch, None):
            for one in of_tp:
                if one.micro_batch == wanted:
                    return one.interval
        return self.interval * (self.distance(tp) / self.apart if self.apart else 1.0)

    def distance(self, tp: int | None) -> float:
        """Return how far the nearest measured step is; 0 if unknown."""
        if not (tp and self.measured_tp and self.apart):
            return self.apart
        return hypot(self.apart, DOUBLED_TP * min(abs(log2(tp / one)) for one in self.measured_tp))


class Scenario(Record):
    """A workload on a cluster under policies.

    `scheduler` (`yantra.schedulers`) orders a rank's ready nodes. `quirks` are ASTRA-sim's
    oddities; None: those of `semantics`. `device` is that of ranks not in `devices`, and decides
    what reductions take. `replay_only` gives every node its recorded duration. `trace_nodes` logs
    nodes; `track_local_memory` follows tensors and writes `<local_memory_trace>.<rank>.json`.
    `fold` lets a rank stand for identical ones, which changes no result. `stack` slows everything
    by a framework's measurements. `fabric` is the physical network: a kind of
    `yantra.fabric.graphs` with options, a graph's path, or ASTRA-sim's notation. Collectives still
    follow `topology`. `routing` is over it, `placement` maps ranks to devices. `link_changes` is a
    file of link rates over time, `failures` what fails or slows; routes react `reroute_delay_ns`
    later. `tier_networks` are (label or dimension, network) pairs for tiers that go by another
    network. `background` is traffic of no job. `run_undisturbed` also runs without disturbances,
    for comparison. With a `host` nothing starts before its launch, instead of the stack's least
    kernel time.
    """

    workload: Workload
    topology: Topology
    device: Device = Device()
    devices: tuple[DeviceOf, ...] = ()
    memory: RemoteMemory = RemoteMemory()
    machine: Machine = Machine()
    fabric: Plugin | None = None
    routing: PluginChoice | None = None
    placement: Placement = Placement()
    link_changes: str | None = None
    failures: tuple[Failure, ...] = ()
    reroute_delay_ns: float = 0.0
    network: PluginChoice = "analytical"
    tier_networks: tuple[tuple[str, str], ...] = ()
    background: tuple[BackgroundTraffic, ...] = ()
    collectives: Collectives = Collectives()
    resources: Resources = Resources()
    scheduler: PluginChoice = "in_order"
    semantics: Semantics = "yantra"
    quirks: frozenset[str] | None = None
    replay_only: bool = False
    track_local_memory: bool = False
    local_memory_trace: str = "local_mem_trace"
    trace_nodes: bool = False
    fold: Fold = "auto"
    stack: Stack | None = None
    run_undisturbed: bool = True
    host: Host | None = None

    def all_devices(self) -> tuple[Device, ...]:
        """Return the main device, then those of `devices`."""
        return (self.device, *(part.device for part in self.devices))

    @property
    def is_disturbed(self) -> bool:
        """Whether something fails or others use the network."""
        return bool(self.failures or self.link_changes is not None or self.background)

    def device_of(self, rank: int) -> Device:
        """A rank's device."""
        return next((part.device for part in self.devices if rank in part.ranks), self.device)

    def __post_init__(self) -> None:
        from yantra.scenario.check import check

        check(self)
