"""A device-trace event and the `args` that linking uses."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from yantra.tracing.pytorch.linked import CommArgs


class Args(Struct, gc=False):
    """`args` that linking uses; `name` is a process's or thread's."""

    name: Any = None
    external_id: int | None = field(default=None, name="External id")
    rf_id: int | None = field(default=None, name="Record function id")
    seq_id: int | None = field(default=None, name="Sequence number")
    fw_tid: int | None = field(default=None, name="Fwd thread id")
    correlation: int | None = None
    stream: int | str | None = None  # HIP call: a pointer, "0x0"
    device: int | None = None
    bytes: int | None = None
    sync_kind: str | None = field(default=None, name="cuda_sync_kind")
    wait_on_stream: int | None = None
    wait_on_record: int | None = field(default=None, name="wait_on_cuda_event_record_corr_id")
    collective: str | None = field(default=None, name="Collective name")
    in_nelems: int | None = field(default=None, name="In msg nelems")
    out_nelems: int | None = field(default=None, name="Out msg nelems")
    dtype: str | None = None
    in_splits: Any = field(default=None, name="In split size")
    out_splits: Any = field(default=None, name="Out split size")
    group_name: str | int | None = field(default=None, name="Process Group Name")
    group_desc: str | None = field(default=None, name="Process Group Description")
    group_size: int | None = field(default=None, name="Group size")
    group_ranks: Any = field(default=None, name="Process Group Ranks")
    src_rank: int | None = field(default=None, name="Src Rank")
    dst_rank: int | None = field(default=None, name="Dst Rank")
    sequence: int | None = field(default=None, name="Seq")

    def comm(self) -> CommArgs | None:
        if self.collective is None and self.group_name is None:
            return None
        return CommArgs(
            collective=self.collective or "",
            in_nelems=self.in_nelems,
            out_nelems=self.out_nelems,
            dtype=self.dtype or "",
            in_splits=_text(self.in_splits),
            out_splits=_text(self.out_splits),
            group_name=_text(self.group_name),
            group_desc=self.group_desc or "",
            group_size=self.group_size,
            ranks=_text(self.group_ranks),
            src_rank=self.src_rank,
            dst_rank=self.dst_rank,
            sequence=self.sequence,
        )


_NO_ARGS = Args()
_NO_LIST = Raw(b"[]")


class ShapedArgs(Args, gc=False):
    """With the profiler's view of an operator's inputs, as raw JSON."""

    dims: Raw = field(default=_NO_LIST, name="Input Dims")
    types: Raw = field(default=_NO_LIST, name="Input type")
    concrete: Raw = field(default=_NO_LIST, name="Concrete Inputs")
    strides: Raw = field(default=_NO_LIST, name="Input Strides")


class Event(Struct, gc=False):
    """`start` and `end` in ns after the trace's base time.

    `index`: place in the file. `owner`: for the linker, index of the innermost operator around a
    call, or -1.
    """

    ph: str = ""
    cat: str | None = None
    name: str | None = None
    pid: Any = None
    tid: Any = None
    ts: float | int | None = None
    dur: float | int | None = None
    id: Any = None
    args: Args | None = None
    start: int = field(default=0, name="yantra start")
    end: int = field(default=0, name="yantra end")
    index: int = field(default=0, name="yantra index")
    owner: int = field(default=-1, name="yantra owner")

    @property
    def detail(self) -> Args:
        return self.args or _NO_ARGS


class ShapedEvent(Event, gc=False):
    args: ShapedArgs | None = None


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
