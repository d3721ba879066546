"""Linked traces for tests: `Rank` runs a list of steps on a clock of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from yantra.tracing.pytorch.linked import (
    EMPTY_IO,
    Attr,
    DeviceOp,
    Linked,
    Operator,
    ProcessGroup,
    Wait,
)

THREAD = "[pytorch|profiler|execution_trace|thread]"
_COMPUTE, _NETWORK = 7, 20  # streams
_KERNELS = {
    "allreduce": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
    "allgather": "ncclDevKernel_AllGather_RING_LL",
    "reducescatter": "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL",
    "broadcast": "ncclDevKernel_Broadcast_RING_LL",
    "reduce": "ncclDevKernel_Reduce_Sum_f32_RING_LL",
}


def attrs(**values: Any) -> list[Attr]:
    usual = {"rf_id": 0, "fw_parent": 0, "seq_id": -1, "scope": 0, "tid": 1, "fw_tid": 0}
    found = {**usual, "op_schema": "", **values}
    return [
        Attr(name, "string" if isinstance(v, str) else "uint64", v) for name, v in found.items()
    ]


def tensor(elements: int, width: int = 4) -> list[Any]:
    return [1, 2, 0, elements, width, "cuda:0"]


def io(*pairs: tuple[Any, str], shapes: Sequence[Any] | None = None) -> msgspec.Raw:
    values, types = [v for v, _ in pairs], [t for _, t in pairs]
    form = {"values": values, "shapes": shapes or [[] for _ in pairs], "types": types}
    return msgspec.Raw(json.dumps(form).encode())


def record(
    name: str,
    elements: int,
    group: str,
    sequence: int,
    peer: int = 0,
    splits: tuple[Sequence[int], Sequence[int]] = ((), ()),
) -> msgspec.Raw:
    """Inputs of `record_param_comms` in the layout of schema 1.0.3 and later."""
    return io(
        (tensor(elements), "Tensor(float)"),
        (sequence, "Int"),
        ([group, ""], "Tuple[String,String]"),
        (peer, "Int"),
        (name, "String"),
        *((list(rows), "GenericList[Int]" if rows else "GenericList[]") for rows in splits),
    )


class Rank:
    """One rank: a thread, a compute stream and a network stream. Times in nanoseconds."""

    def __init__(self, rank: int, world_size: int, groups: Iterable[ProcessGroup] = ()) -> None:
        self.linked = Linked(
            schema="1.1.1-chakra.0.0.4",
            pid=7,
            time="2024-01-01 00:00:00",
            start_ts=1,
            finish_ts=2,
            rank=rank,
            world_size=world_size,
            origin_ns=0,
            groups=list(groups),
        )
        self.now = 0
        self._next = 0
        self._free: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self.operator("[pytorch|profiler|execution_trace|process]", None, 0, timed=False)
        self.operator(THREAD, 0, 0, timed=False)

    def operator(
        self,
        name: str,
        parent: int | None,
        dur: int,
        *,
        timed: bool = True,
        inputs: msgspec.Raw = EMPTY_IO,
        outputs: msgspec.Raw = EMPTY_IO,
        **values: Any,
    ) -> Operator:
        made = Operator(
            id=self._id(),
            host_id=self._next + 1,
            name=name,
            parent=parent,
            tid=1,
            attrs=attrs(**values),
            inputs=inputs,
            outputs=outputs,
            start_ns=self.now if timed else None,
            dur_ns=dur if timed else 0,
            exclusive_ns=dur if timed else 0,
        )
        self.linked.operators.append(made)
        return made

    def launch(
        self, name: str, parent: Operator, dur: int, stream: int = _COMPUTE, *, cat: str = "kernel"
    ) -> DeviceOp:
        """Launch a device op from `parent`; it starts when its stream is free."""
        start = max(self.now + 1000, self._free.get(stream, 0))
        op = DeviceOp(
            id=self._id(),
            name=name,
            cat=cat,
            device=0,
            stream=stream,
            start_ns=start,
            dur_ns=dur,
            correlation=self._next,
            parent=parent.id,
            launch_tid=1,
            launch_start_ns=self.now,
            launch_end_ns=self.now + 500,
            after=[self._last[stream]] if stream in self._last else [],
        )
        self.linked.device_ops.append(op)
        self._free[stream], self._last[stream] = op.end_ns, op.id
        return op

    def compute(self, dur: int = 5000, kernel: int = 20_000, name: str = "aten::mul") -> DeviceOp:
        op = self.launch("kernel", self.operator(name, 1, dur), kernel)
        self.now += dur
        return op

    def talk(
        self, name: str, group: str, elements: int, sequence: int, *, peer: int = 0, dur: int = 9000
    ) -> DeviceOp:
        text = record(name, elements, group, sequence, peer)
        around = self.operator("record_param_comms", 1, 4000, inputs=text)
        inner = self.operator(f"nccl:{name}", around.id, 4000)
        kernel = _KERNELS.get(name, "ncclDevKernel_SendRecv")
        op = self.launch(f"{kernel}(ncclDevComm*)", inner, dur, _NETWORK)
        self.now += 4000
        return op

    def exchange(
        self, group: str, sequence: int, sends: Sequence[int], gets: Sequence[int], width: int = 100
    ) -> DeviceOp:
        around = self.operator(
            "record_param_comms",
            1,
            4000,
            inputs=record("all_to_allv", width * sum(sends), group, sequence, 0, (sends, gets)),
            outputs=io((tensor(width * sum(gets)), "Tensor(float)")),
        )
        inner = self.operator("nccl:all_to_allv", around.id, 4000)
        op = self.launch("ncclDevKernel_SendRecv(ncclDevComm*)", inner, 9000, _NETWORK)
        self.now += 4000
        return op

    def gloo(
        self, name: str, work: str, value: Any, *, delay: int, dur: int, below: bool, note: str = ""
    ) -> Operator:
        inputs = io(([value], "GenericList[Tensor(float)]"))
        api = self.operator(f"c10d::{name}", 1, 1500, inputs=inputs)
        if note:
            self.operator(f"chakra::comm|{note}", api.id, 1000, scope=7)
        begun, self.now = self.now, self.now + delay
        body = self.operator(
            f"gloo:{work}",
            api.id if below else 1,
            dur,
            scope=7,
            inputs=io((value, "Tensor(float)")),
        )
        body.tid = 2 + body.id
        self.now = begun + 2000
        return body

    def synchronize(self) -> None:
        start = self.now
        self.now = max([self.now + 1000, *(free + 1000 for free in self._free.values())])
        after = sorted(self._last.values())
        self.linked.waits.append(
            Wait(1, "cudaDeviceSynchronize", start, self.now - start, None, after)
        )

    def _id(self) -> int:
        self._next += 1
        return self._next - 1
