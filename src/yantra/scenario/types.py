"""The scenario: the whole question Yantra answers, as values that never change.

Every part is frozen, hashable and printable, so a scenario is a key of a cache and a line of a log.
Numbers are in the unit their name ends in; one may be given as a text, `latency_ns="500 ns"`.
A `Scenario` checks itself when it is made (`check.py`), so one that exists is consistent.
"""

from __future__ import annotations

from math import prod
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
    """One dimension of the network; `bytes_per_ns` per link and direction, `latency_ns` per hop.

    `kind` is a topology (`yantra.topologies`): its name, the path of its file, or its class.
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
        """The number of ranks: the product of the sizes."""
        return prod(dimension.size for dimension in self.dimensions)


class Device(Record):
    """What computes; `compute` names a model of `yantra.compute`.

    Built in are the durations that were recorded, and the roofline of `peak_flops` and memory
    bandwidth. With `share_bandwidth` kernels, local reductions and copies of a rank that run at the
    same time share the memory's bandwidth max-min fairly; without, each has it to itself.
    """

    peak_flops: Amount[float] = amount(0.0)
    memory_bytes_per_s: Amount[float] = amount(0.0)
    compute: PluginChoice = "recorded"
    share_bandwidth: bool = False


CHANGED = " (changed)"
"""What a machine's name ends with where somebody changed its numbers."""


class Machine(Record):
    """What a machine is called and what its data sheet states; no time depends on it.

    The figures of a result follow from it: MFU from the dense `peak_flops` of `dtype`, headroom
    from `memory_bytes`, cost from `price_usd_per_h` and energy from `power_w`, each of one device.
    Jobs cannot use `reserve_bytes` of the memory, nor `communicator_bytes` for each communicator of
    a rank. None means not stated. `rates` are those of every type, as (type, dense peak, rate of
    the device): where there are any, products run at those of the type that the workload states, in
    place of `dtype`. No file has them: it is of one workload.
    """

    name: str | None = None
    dtype: str | None = None
    peak_flops: float | None = None
    memory_bytes: int | None = None
    reserve_bytes: int | None = None
    communicator_bytes: int | None = None
    power_w: float | None = None
    price_usd_per_h: float | None = None
    rates: tuple[tuple[str, float, float], ...] = ()

    @property
    def room(self) -> tuple[int | None, str | None, int | None, int | None]:
        """What `lack_of_memory` asks: memory, name, reserve, bytes of each communicator."""
        return self.memory_bytes, self.name, self.reserve_bytes, self.communicator_bytes


class DeviceOf(Record):
    """The device of some ranks, in ascending order."""

    ranks: tuple[int, ...]
    device: Device


class RemoteMemory(Record):
    """Memory beyond the device; `kind` names a model of `yantra.memory`.

    `ranks_per_node` and `nodes` only where the ranks of a node share one.
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
    """What pairs of an all-to-all exchange, where it is unequal: a file, or a routing to experts.

    `ranks` is the size of the groups that it is for, 0 for any; a file determines it itself.
    """

    file: str | None = None
    routing: str | None = None
    experts: int = 0
    ranks: int = 0


class Protocol(Record):
    """How messages of collectives are on the wire; `step_ns` None for the protocol's own.

    See `yantra.collectives.protocols`.
    """

    kind: ProtocolName
    step_ns: int | None = None


class Interference(Record):
    """What collectives take from a device as long as its rank is in one.

    `sms` of its `of` units, and `memory_bytes_per_s` of what its kernels, reductions and copies
    share; see `yantra.compute.interference`. All-to-alls take `all_to_all_sms`; without it what the
    selection says that they run on, as `deepep` does, else as many as others.
    """

    sms: int
    of: int
    memory_bytes_per_s: float = 0.0
    all_to_all_sms: int | None = None


class Custom(Record):
    """A collective given by execution traces, one per position: `<prefix>.<position>.et`.

    `instead_of` are the algorithms that ASTRA-sim's files name beside it. None of them runs, but
    ASTRA-sim's log names their rings.
    """

    prefix: str
    instead_of: tuple[Named, ...] = ()


Algorithms = tuple[Named, ...] | Custom | None
"""By dimension names (`ring`, `direct4`, ...), paths of files or classes; or traces, or none."""


class Collectives(Record):
    """Which algorithm runs each collective, in how many chunks, and in which order.

    `custom_per_node` holds (node id, trace prefix) pairs, which come before the algorithm of the
    type. Without `chunks` the planner cuts each into as many as its closed form likes best; under
    ASTRA-sim's semantics that is one. `active_chunks` counts per dimension over all its queues. A
    `serial` reduction begins when its message has arrived and takes its time of the memory; an
    `overlapped` one proceeds while the message arrives and ends with it. A `selection` chooses
    algorithms by size and group; it comes before the names of the types, which stay for what it
    leaves open.
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
        """Return the algorithms of the four collectives by their name."""
        return {name: getattr(self, name) for name in COLLECTIVE_TYPES}


COLLECTIVE_TYPES = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")
"""The collectives whose algorithms a scenario chooses."""


class Resources(Record):
    """How many operations a rank runs at once.

    `one_slot`: collectives, sends and memory operations of a rank share one slot, and
    `copy_engines` is 0. `per_communicator`: one collective or send per communicator at a time, and
    memory operations run on the copy engines. `cpu_slots` and `compute_streams` are 1 where None,
    but do not hold back traces that order their threads and streams themselves (`complete_order`
    in their metadata). A slot of communication takes `sends_at_once`, which no file sets: it is for
    lists of flows, of which a rank has many under way.
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
        """Return the file of one rank."""
        return f"{self.prefix}.{rank}.et"


class Traces(Record):
    """Chakra traces already in memory (`yantra.chakra.Trace`), one per rank."""

    traces: tuple[Any, ...]
    """A `yantra.chakra.Trace` for each rank."""
    groups: Groups = ()
    """Communicator groups: pairs of id and ranks in ring order."""


class WorkloadFile(Record):
    """A workload file (`.yw`): templates, and what they mean for each rank."""

    path: str
    """The path of the file."""


class TrainingStep(Record):
    """One training step, made as `yantra workload train` makes it; see `yantra.scenario.training`.

    `model` holds pairs: ("name", "llama3-70b") or another source, then sizes that differ. `plan`
    holds (field, value) pairs, `sequence` the tokens of a sequence; None for the model's own.
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
    """A workload already in memory (`yantra.workloads.templates.Workload`)."""

    workload: Any
    """A `yantra.workloads.templates.Workload`."""


Workload = ChakraFiles | Traces | WorkloadFile | Templates | TrainingStep


class Case(NamedTuple):
    """A file to run, the cluster that it runs on if it names none, and what is set.

    The settings are plain trees of values by the path of their field, as `--set` gives them.
    """

    path: Path
    """The file to run."""
    cluster: str | None = None
    """The cluster that it runs on, if it names none."""
    settings: Mapping[str, Any] = {}
    """Values by the path of their field."""


class PlanInterval(Record):
    """Half of the 90 % interval of plans of some tensor parallelism, and micro-batch unless None.

    The interval is of the logarithm of a step's time.
    """

    tp: int
    interval: float
    micro_batch: int | None = None


class Placement(Record):
    """Rank r is device r (`linear`); or one of a shuffle by `seed` (`random`), or of `devices`.

    `by_rail` numbers ranks along the rails: first place 0 of every box, then place 1, and so on.
    """

    kind: PlacementKind = "linear"
    """How ranks are placed on devices."""
    seed: int = 0
    """The seed of a random placement."""
    devices: tuple[int, ...] = ()
    """The device of each rank, if they are listed."""


class Host(Record):
    """The thread of a rank that launches kernels, collectives, messages and copies in their order.

    Nothing starts before it is launched, and a launch takes `launch_ns`; None stands for the launch
    of the stack. `graphs` says what is a CUDA graph, which is launched at once: nothing, each
    forward or backward pass of a chunk and micro-batch, or all that a rank does.
    """

    launch_ns: Amount[int] | None = None
    graphs: LaunchedAtOnce = "none"


class Stack(Record):
    """How much longer software and a machine take than the measured kernels and collectives.

    `products` multiplies the times of matrix products, `attention` those of attention, `rest` those
    of other kernels, messages and collectives, and `communication` those of the last two once more.
    All kernels together take no less than their launches, `launch_ns` times `rest` each, so equal
    factors make a run as much longer; with `graphs: inference` that is so in jobs that train alone,
    as those of inference replay CUDA graphs, and have attention without the part `older_attention`
    of its factor. Where `host_waits` for the device in every layer, each kernel takes no less than
    its launch. All of it grows by `straggling` with each doubling of the nodes beyond 64, as the
    slowest of them counts. Collectives take the share `taken` of the SMs of a device from kernels
    beside them, as `Interference` has it. `interval` is half of the 90 % interval of the logarithm
    of a step's time; 0 where none is known. `graphs_interval` is that of an iteration of jobs of
    `graphs`, where it is not 0. `plans` have their own: the one that says the most of a plan
    counts.
    """

    name: str | None = None
    products: float = 1.0
    attention: float = 1.0
    rest: float = 1.0
    communication: float = 1.0
    launch_ns: Amount[float] = amount(0.0)
    graphs: ReplayedJobs = "none"
    older_attention: float = 1.0
    graphs_interval: float = 0.0
    host_waits: bool = False
    straggling: float = 0.0
    taken: float = 0.0
    interval: float = 0.0
    plans: tuple[PlanInterval, ...] = ()

    def interval_of(self, tp: int | None, micro_batch: int | None) -> float:
        """Return the interval of a plan: that of its micro-batch, else of its tp, else any."""
        of_tp = [one for one in self.plans if one.tp == tp]
        for wanted in (micro_batch, None):
            for one in of_tp:
                if one.micro_batch == wanted:
                    return one.interval
        return self.interval


class Scenario(Record):
    """A workload on a cluster under policies.

    `scheduler` names who says which of a rank's ready nodes starts first (`yantra.schedulers`).
    `quirks` names the oddities of ASTRA-sim that are on; None stands for those of `semantics`.
    `device` is that of every rank that none of `devices` names; what reductions take of the memory
    follows from it alone. `machine` has its name and its data sheet. `replay_only` lets
    every node take its recorded duration. `trace_nodes` logs the issue and the completion of each
    node; `track_local_memory` follows tensors and writes `<local_memory_trace>.<rank>.json`. `fold`
    lets one rank stand for all that do the same at the same times, which changes no result. A
    `stack` makes everything slower by what was measured of a framework. The `fabric` is the
    physical network that messages cross: a kind of `yantra.fabric.graphs` with its options, the
    path of a graph, or ASTRA-sim's notation of a product. Collectives still go by `topology`.
    `routing` says which way messages go over it, `placement` which of its devices each rank is.
    `link_changes` is a file that says when links fail, return or change their rate, `failures` what
    fails and which ranks are slow; ways avoid a link that is down, and use one that is back,
    `reroute_delay_ns` later. Links of some tiers go by another network: `tier_networks` are pairs
    of a label, or the number of a dimension, and its name. The `background` is traffic of no job.
    With `run_undisturbed` a disturbed run is made again undisturbed, to show what that cost.
    With a `host` nothing starts before the host of its rank has launched it, in place of the least
    time of a kernel that the stack has.
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
        """Return the device of most ranks, then those of `devices`."""
        return (self.device, *(part.device for part in self.devices))

    @property
    def is_disturbed(self) -> bool:
        """Whether something fails, or others use the network."""
        return bool(self.failures or self.link_changes is not None or self.background)

    def device_of(self, rank: int) -> Device:
        """Return the device of a rank."""
        return next((part.device for part in self.devices if rank in part.ranks), self.device)

    def __post_init__(self) -> None:
        from yantra.scenario.check import check

        check(self)
