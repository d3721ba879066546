"""The linked form: a rank's host and device trace joined.

Linking writes, converting reads who launched what, who waited for whom, and when, not what to
simulate.

Times: integer ns after `Linked.origin_ns`. Operators and device ops share one id counter from 0
without holes; an operator's device ops follow it.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Raw, Struct, field

from yantra.tracing.pytorch.balance import Balance

FlowKind = Literal["fwdbwd", "thread"]
WaitSource = Literal["event", "call"]

EMPTY_IO = Raw(b'{"values":[],"shapes":[],"types":[]}')


class Attr(Struct, gc=False):
    """An attribute of a host node, as in the trace (`rf_id`, `seq_id`, ...)."""

    name: str
    type: str
    value: Any


class CommArgs(Struct, gc=False, omit_defaults=True):
    """A collective in the device trace (PyTorch 2.4 and later, NCCL only).

    Sizes: this rank's elements of `dtype` ("Float", "BFloat16", ...). `ranks` is text, possibly cut
    ("[0, 1, 2, ...]"). `src_rank`, `dst_rank`: ranks in the group.
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
    """A host node: an operator, a user annotation or a root.

    `parent`: the enclosing operator's id or None. `tid`: its thread in the device trace; a thread's
    operators nest. If missing there, `start_ns` is None, durations 0, `tid` that of its host
    thread's others. `exclusive_ns`: time outside direct children on the thread. `inputs`,
    `outputs`: raw JSON of {"values", "shapes", "types"[, "strides"]}.
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
        for attr in self.attrs:
            if attr.name == name:
                return attr.value
        return default


class DeviceOp(Struct, gc=False):
    """A kernel, a copy or a fill.

    `parent`: innermost operator around the launch, None for an orphan. Launch times: None if
    missing. `after`: ids it waits for: the predecessor on device and stream, those by events, the
    predecessor in the communicator.
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
        return self.start_ns + self.dur_ns


class Wait(Struct, gc=False):
    """A call that blocks its thread until device ops end.

    `name`: the runtime call. `op`: innermost operator around it. `after`: the last awaited op per
    stream, ended before the call returned. `source`: "event" if the trace names what was awaited,
    "call" if inferred.
    """

    tid: int
    name: str
    start_ns: int
    dur_ns: int
    op: int | None
    after: list[int]
    source: str = "event"  # a WaitSource


class Flow(Struct, gc=False, frozen=True):
    """Operator `source` before `target`.

    "fwdbwd": forward and backward. "thread": an operator on another thread than its starter, stated
    by a trace. `target` starts after `source` ends or, if `source` encloses what started it, after
    its start.
    """

    kind: str  # a FlowKind
    source: int
    target: int


class ProcessGroup(Struct, gc=False):
    """A communicator: global `ranks` in group order."""

    name: str
    desc: str
    backend: str
    ranks: list[int]


class Annotation(Struct, gc=False):
    """A user annotation that only the device trace has."""

    name: str
    tid: int
    start_ns: int
    dur_ns: int


class LinkReport(Struct):
    """What linking found; `problems` are for the user."""

    operators: int = 0
    matched: int = 0  # with times
    unmatched: int = 0  # non-root operators not in the device trace
    unclaimed: int = 0  # operators not in the host trace
    missing_parents: int = 0
    device_ops: int = 0
    by_correlation: int = 0  # by launch call
    by_order: int = 0  # by order of launch calls, without a number
    by_flow: int = 0  # by a flow from the host, there the launch
    by_external_id: int = 0  # by External id, without a launch call
    outside: int = 0  # launched outside any operator
    orphans: int = 0  # neither launch call nor operator
    unnumbered: int = 0  # of these, collectives with correlation 0
    launches: int = 0  # calls that launch
    launches_empty: int = 0  # of these, without a kernel, not into a graph
    copies_empty: int = 0  # of these, copies or fills without a device record
    waits: int = 0
    waits_explained: int = 0  # with an awaited device op
    waits_idle: int = 0  # nothing left to wait for
    waits_unexplained: int = 0  # unknown what was awaited
    stream_waits: int = 0
    stream_waits_explained: int = 0
    stream_waits_idle: int = 0
    stream_waits_unexplained: int = 0
    clock_problems: int = 0  # device ops before their launch or what they wait for
    nested: bool = False  # no host trace; operators nest by times
    unread: dict[str, int] = field(default_factory=dict)  # by category
    uncategorised: dict[str, int] = field(default_factory=dict)  # by process
    balance: Balance = field(default_factory=Balance)
    problems: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        form = {name: getattr(self, name) for name in self.__struct_fields__}
        return form | {"balance": self.balance.as_dict()}


class Linked(Struct):
    """All that is known of a rank.

    `operators`, `device_ops`: by id. `schema`, `pid`, `time`, `start_ts`, `finish_ts`: the host
    trace's. `origin_ns`: earliest event in ns since `base_ns`, the device trace's base time (0 for
    absolute times).
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
