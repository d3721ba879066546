"""The linked form: one rank's host trace and device trace joined into one picture.

Linking writes it, converting reads it. It says who launched what, who waited for whom, and when, to
the nanosecond; it does not say what to simulate. Flat lists with ids instead of references, so that
it can be written, read back and compared as it is.

Times are integers of nanoseconds after `Linked.origin_ns`. Ids of operators and of device ops come
from one counter from 0 without holes; an operator's device ops follow it directly in that order.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Raw, Struct, field

from yantra.tracing.pytorch.balance import Balance

FlowKind = Literal["fwdbwd", "thread"]
WaitSource = Literal["event", "call"]

EMPTY_IO = Raw(b'{"values":[],"shapes":[],"types":[]}')


class Attr(Struct, gc=False):
    """One attribute of a host-trace node, as the trace writes it (`rf_id`, `seq_id`, ...)."""

    name: str
    type: str
    value: Any


class CommArgs(Struct, gc=False, omit_defaults=True):
    """What the device trace says of a collective call (PyTorch 2.4 and later, NCCL only).

    Sizes are numbers of elements of `dtype` ("Float", "BFloat16", ...), of this rank. `ranks` is
    the trace's text, possibly cut ("[0, 1, 2, ...]"). `src_rank`, `dst_rank` are ranks in the
    group.
    """

    collective: str = ""
    in_nelems: int | None = None
    out_nelems: int | None = None
    dtype: str = ""
    in_splits: str = ""
    out_splits: str = ""
    group_name: str = ""
    group_desc: str = ""
    group_size: int | None = None
    ranks: str = ""
    src_rank: int | None = None
    dst_rank: int | None = None
    sequence: int | None = None


class Operator(Struct, gc=False):
    """One node of the host trace: an operator, a user annotation or a root of the trace.

    `parent` is the id of the enclosing operator, None at the root and where the trace lacks it.
    `tid` is the thread it ran on as the device trace names it; operators of one thread nest. Where
    the device trace does not have the operator, `start_ns` is None, the durations are 0 and `tid`
    is that of the other operators of its host thread. `exclusive_ns` is the time not covered by
    operators directly below it on the same thread.
    `inputs` and `outputs` are the untouched JSON of {"values", "shapes", "types"[, "strides"]}.
    """

    id: int
    host_id: int
    name: str
    parent: int | None
    tid: int
    attrs: list[Attr]
    inputs: Raw
    outputs: Raw
    start_ns: int | None = None
    dur_ns: int = 0
    exclusive_ns: int = 0
    comm: CommArgs | None = None

    def attr(self, name: str, default: Any = None) -> Any:
        """Return the value of the attribute called `name`, or `default`."""
        for attr in self.attrs:
            if attr.name == name:
                return attr.value
        return default


class DeviceOp(Struct, gc=False):
    """One piece of work of a device: a kernel, a copy or a fill.

    `parent` is the innermost operator around the call that launched it; None for an orphan. The
    launch times are of that call; None where the trace does not have it. `after` holds the ids of
    the device ops it waits for: first its predecessor on the same device and stream, if any, then
    those that events made the stream wait for, then the predecessor in the same communicator.
    Every id in `after` ended before this one started, unless the link report says otherwise.
    """

    id: int
    name: str
    cat: str  # "kernel", "gpu_memcpy" or "gpu_memset"
    device: int
    stream: int
    start_ns: int
    dur_ns: int
    correlation: int
    parent: int | None
    launch_tid: int | None = None
    launch_start_ns: int | None = None
    launch_end_ns: int | None = None
    launch_name: str = ""
    after: list[int] = field(default_factory=list)
    bytes: int | None = None
    pg_name: str = ""
    comm: CommArgs | None = None

    @property
    def end_ns(self) -> int:
        """When it ended, in nanoseconds after the origin."""
        return self.start_ns + self.dur_ns


class Wait(Struct, gc=False):
    """A call that blocks its thread until device ops have ended.

    `name` is the runtime call. `op` is the innermost operator around it. `after` holds the ids of
    the last awaited device op of every stream; all of them ended before the call returned. `source`
    is "event" when the trace itself names what was awaited and "call" when it was inferred.
    """

    tid: int
    name: str
    start_ns: int
    dur_ns: int
    op: int | None
    after: list[int]
    source: str = "event"  # a WaitSource


class Flow(Struct, gc=False, frozen=True):
    """An order between two operators, `source` before `target`.

    "fwdbwd": a forward operator and the backward operator autograd runs for it.
    "thread": an operator that runs on another thread than the one that started it, from what the
    device trace or the host trace says (not guessed from times).
    `target` starts after `source` has ended or, if `source` encloses what started it, after the
    start of `source`.
    """

    kind: str  # a FlowKind
    source: int
    target: int


class ProcessGroup(Struct, gc=False):
    """A communicator: `ranks` are global ranks in the group's order."""

    name: str
    desc: str
    backend: str
    ranks: list[int]


class Annotation(Struct, gc=False):
    """A user annotation of the device trace that the host trace does not have."""

    name: str
    tid: int
    start_ns: int
    dur_ns: int


class LinkReport(Struct):
    """What linking found, in numbers; `problems` are sentences for the user."""

    operators: int = 0
    matched: int = 0  # operators with times
    unmatched: int = 0  # operators (not roots) the device trace does not have
    unclaimed: int = 0  # operators of the device trace that the host trace does not have
    missing_parents: int = 0
    device_ops: int = 0
    by_correlation: int = 0  # attached through their launch call
    by_order: int = 0  # attached through the order of launch calls, for want of a number
    by_flow: int = 0  # attached through a flow from the host, which is the launch there
    by_external_id: int = 0  # attached through External id, for want of a launch call
    outside: int = 0  # launched by a call of the trace, outside any operator
    orphans: int = 0  # no launch call in the trace and no operator found
    unnumbered: int = 0  # of these, kernels of collectives with the correlation 0
    launches: int = 0  # calls that launch
    launches_empty: int = 0  # of these, without a kernel, and not into a graph
    copies_empty: int = 0  # of these, calls that copy or fill, without a record on the device
    waits: int = 0
    waits_explained: int = 0  # with at least one awaited device op
    waits_idle: int = 0  # nothing was left to wait for
    waits_unexplained: int = 0  # what was awaited cannot be told
    stream_waits: int = 0
    stream_waits_explained: int = 0
    stream_waits_idle: int = 0
    stream_waits_unexplained: int = 0
    clock_problems: int = 0  # device ops before their launch or before what they wait for
    nested: bool = False  # there is no host trace; operators nest by their times
    unread: dict[str, int] = field(default_factory=dict)  # events of each category left aside
    uncategorised: dict[str, int] = field(default_factory=dict)  # events without one, by process
    balance: Balance = field(default_factory=Balance)
    problems: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers and sentences as plain values for JSON."""
        form = {name: getattr(self, name) for name in self.__struct_fields__}
        return form | {"balance": self.balance.as_dict()}


class Linked(Struct):
    """Everything known of one rank.

    `operators` and `device_ops` are each sorted by id. `schema`, `pid`, `time`, `start_ts` and
    `finish_ts` are the host trace's own. `origin_ns` is the earliest event: nanoseconds since the
    device trace's base time `base_ns` (which is 0 where the trace gives absolute times).
    """

    schema: str
    pid: int
    time: str
    start_ts: int
    finish_ts: int
    rank: int
    world_size: int
    origin_ns: int
    base_ns: int = 0
    operators: list[Operator] = field(default_factory=list)
    device_ops: list[DeviceOp] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    groups: list[ProcessGroup] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)
    report: LinkReport = field(default_factory=LinkReport)
