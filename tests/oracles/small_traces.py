"""Hand-made host and device traces, short to write, for worked cases."""

from __future__ import annotations

import json
from typing import Any

from yantra.tracing.pytorch import host, kineto
from yantra.tracing.pytorch.link import link
from yantra.tracing.pytorch.linked import Linked

PROCESS = "[pytorch|profiler|execution_trace|process]"
THREAD = "[pytorch|profiler|execution_trace|thread]"


def node(
    identity: int, name: str, parent: int, *, values: list[Any] | None = None, **numbers: int
) -> dict[str, Any]:
    """Return a node of a host trace; `numbers` are attributes (rf_id defaults to the id)."""
    known = {"rf_id": identity, "fw_parent": 0, "seq_id": -1, "scope": 0, "tid": 1, "fw_tid": 0}
    empty = {"values": [], "shapes": [], "types": []}
    return {
        "id": identity,
        "name": name,
        "ctrl_deps": parent,
        "inputs": {**empty, "values": values or []},
        "outputs": empty,
        "attrs": [
            {"name": key, "type": "uint64", "value": value}
            for key, value in {**known, **numbers}.items()
        ],
    }


def host_trace(*nodes: dict[str, Any], schema: str = "1.1.1-chakra.0.0.4") -> dict[str, Any]:
    """Return a host trace with a process and a thread root (ids 1 and 2) and `nodes`."""
    roots = [node(1, PROCESS, 1, rf_id=0, tid=0, scope=7), node(2, THREAD, 1, rf_id=0, scope=7)]
    return {
        "schema": schema,
        "pid": 100,
        "time": "now",
        "start_ts": 1,
        "nodes": [*nodes, *roots],
        "finish_ts": 2,
    }


def event(
    cat: str, name: str, ts: float, dur: float, *, tid: Any = 100, pid: Any = 100, **args: Any
) -> dict[str, Any]:
    """Return a complete event of a device trace; underscores in `args` names become spaces."""
    shown = {key.replace("__", " "): value for key, value in args.items()}
    return {
        "ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
        "args": shown,
    }  # fmt: skip


def op(number: int, name: str, ts: float, dur: float, **more: Any) -> dict[str, Any]:
    return event("cpu_op", name, ts, dur, Record__function__id=number, **more)


def call(name: str, ts: float, dur: float, correlation: int, **more: Any) -> dict[str, Any]:
    return event("cuda_runtime", name, ts, dur, correlation=correlation, **more)


def kernel(
    ts: float, dur: float, correlation: int, *, stream: int = 7, cat: str = "kernel",
    name: str = "k", **more: Any,
) -> dict[str, Any]:  # fmt: skip
    return event(
        cat, name, ts, dur, tid=stream, pid=0, device=0, stream=stream, correlation=correlation,
        **more,
    )  # fmt: skip


def linked(nodes: list[dict[str, Any]], events: list[dict[str, Any]], **top: Any) -> Linked:
    device = {**top, "traceEvents": events}
    found = link(
        host.parse(json.dumps(host_trace(*nodes)).encode(), "host"),
        kineto.parse(json.dumps(device).encode(), "device"),
    )
    check_counts(found)
    return found


def check_counts(found: Linked) -> None:
    """Each device op, blocking call and wait of a stream is counted once, by what explains it."""
    of = found.report
    owned = of.by_correlation + of.by_flow + of.by_order + of.by_external_id
    assert owned == sum(op.parent is not None for op in found.device_ops)
    assert owned + of.outside + of.orphans == of.device_ops == len(found.device_ops)
    assert of.waits_explained + of.waits_idle + of.waits_unexplained == of.waits
    streams = of.stream_waits_explained, of.stream_waits_idle, of.stream_waits_unexplained
    assert sum(streams) == of.stream_waits
    assert of.balance.launches.total == of.launches
