"""Random pairs of host and device traces, as a profiled GPU program might leave them."""

from __future__ import annotations

from random import Random
from typing import Any

Json = dict[str, Any]

_HOST = 100
_GPU_OF_STREAM = {7: 0, 20: 0, 24: 1}
_KERNELS = ("gemm", "relu", "ncclDevKernel_AllReduce_Sum_f32", "ncclKernel_AllReduce")


class _Run:
    def __init__(self, random: Random, fractions: bool, syncs: bool) -> None:
        self.random = random
        self.fractions = fractions
        self.syncs = syncs
        self.events: list[Json] = []
        self.nodes: list[Json] = []
        self.stream_end = {7: 0.0, 20: 0.0, 24: 0.0}
        self.stream_waits: dict[int, float] = dict.fromkeys(self.stream_end, 0.0)
        self.recorded: list[tuple[int, int, float]] = []
        self.correlation = 10
        self.record = 0
        self.node = 1

    def at(self, time: float) -> float | int:
        return round(time + 1000.125, 3) if self.fractions else 1000 + int(time)

    def event(self, cat: str, name: str, place: tuple[int, int], span: Any, args: Json) -> Json:
        begin, end = self.at(span[0]), self.at(span[1])
        dur = round(end - begin, 3) if self.fractions else end - begin
        made = {
            "ph": "X",
            "cat": cat,
            "name": name,
            "pid": place[0],
            "tid": place[1],
            "ts": begin,
            "dur": dur,
            "args": args,
        }
        self.events.append(made)
        return made

    def step(self, most: float) -> float:
        return self.random.choice((0.0, 1.0, self.random.uniform(0, most)))

    def runtime(self, name: str, tid: int, begin: float, end: float, external: int) -> int:
        self.correlation += 1
        args = {"External id": external, "correlation": self.correlation}
        self.event("cuda_runtime", name, (_HOST, tid), (begin, end), args)
        return self.correlation

    def device(self, cat: str, name: str, stream: int, span: Any, correlation: int) -> Json:
        args = {"correlation": correlation, "stream": stream, "device": _GPU_OF_STREAM[stream]}
        return self.event(cat, name, (_GPU_OF_STREAM[stream], stream), span, args)


def pair(random: Random, fractions: bool = False, syncs: bool = True) -> tuple[Json, Json]:
    """Return a host trace (schema 1.0.2) and a device trace as JSON objects."""
    run = _Run(random, fractions, syncs)
    run.nodes.append(_host_node(1, "[pytorch|profiler|execution_trace|process]", 1, 0))
    ends = []
    for tid in random.sample(range(101, 105), random.randint(1, 3)):
        ends.append(_thread(run, tid))
    steps = random.choice((0, 1, 1, 1, 2, 3))
    for step in range(steps):
        span = (max(ends) * step / steps, max(ends) * (step + 1) / steps + 2)
        run.event("user_annotation", f"ProfilerStep#{step}", (_HOST, 101), span, {})
    run.event("gpu_memset", "Memset", (0, 7), (1, 2), {"stream": 7, "correlation": 9})
    run.events.insert(0, {"ph": "M", "name": "process_name", "pid": 0, "ts": 0, "args": {}})
    if random.random() < 0.5:
        random.shuffle(run.events)
    random.shuffle(run.nodes)
    host = {
        "schema": "1.0.2-chakra.0.0.4",
        "pid": 7,
        "time": "2024-01-01",
        "start_ts": 5,
        "nodes": run.nodes,
        "finish_ts": 9,
    }
    return host, {"schemaVersion": 1, "traceEvents": run.events}


def _thread(run: _Run, tid: int) -> float:
    run.node += 1
    root = run.node
    run.nodes.append(_host_node(root, "[pytorch|profiler|execution_trace|thread]", 1, 0))
    time = run.step(40)
    for _ in range(run.random.randint(1, 6)):
        time = _operator(run, tid, root, time, 0)
        time += run.random.choice((0.0, 1.0, 30.0, 1500.0 * run.random.random()))
    return time


def _operator(run: _Run, tid: int, parent: int, begin: float, depth: int) -> float:
    random = run.random
    name = random.choice(("aten::mm", "aten::add", "nccl:coalesced", "nccl:all_reduce"))
    cat = random.choice(("cpu_op", "cpu_op", "user_annotation"))
    external = random.choice((run.record + 1, run.record + 1, 3, -1))
    args: Json = {} if external < 0 else {"External id": external}
    run.record += 1
    record = run.record
    if random.random() < 0.9:
        args["Record function id"] = record
    time = begin + run.step(10)
    if random.random() < 0.95:
        run.node += 1
        above = parent if random.random() < 0.95 else 10_000
        run.nodes.append(_host_node(run.node, name, above, record, 0.5e-5))
        parent = run.node
    for _ in range(random.randint(0, 3 if depth < 3 else 0)):
        if random.random() < 0.5:
            time = _operator(run, tid, parent, time, depth + 1)
        else:
            time = _call(run, tid, time, random.choice((external, record + 1, 77)))
        time += run.step(10)
    end = time + run.step(20) - (0.0 if random.random() < 0.97 else 1.0)
    run.event(cat, name, (_HOST, tid), (begin, max(begin, end)), args)
    return end if random.random() < 0.97 else end - 1


def _call(run: _Run, tid: int, begin: float, external: int) -> float:
    kinds = [_launch, _launch, _launch]
    if run.syncs:
        kinds += [_synchronise, _record_event, _wait_for_event]
    return run.random.choice(kinds)(run, tid, begin, external)


def _launch(run: _Run, tid: int, begin: float, external: int) -> float:
    random = run.random
    end = begin + 1 + run.step(4)
    copy = random.random() < 0.2
    call = "cudaMemcpyAsync" if copy else random.choice(("cudaLaunchKernel", "cuLaunchKernel"))
    correlation = run.runtime(call, tid, begin, end, external)
    if random.random() < 0.03:
        return end
    stream = random.choice((7, 7, 20, 24))
    start = max(begin + 1 + run.step(9), run.stream_end[stream], run.stream_waits[stream])
    finish = start + 1 + run.step(30)
    run.stream_end[stream] = finish + random.choice((0.0, 1.0, 2.0))
    cat, name = ("gpu_memcpy", "Memcpy") if copy else ("kernel", random.choice(_KERNELS))
    made = run.device(cat, name, stream, (start, finish), correlation)
    if random.random() < 0.9:
        made["args"]["External id"] = external
    if "nccl" in name:
        made["args"]["Process Group Name"] = "1"
    return end


def _synchronise(run: _Run, tid: int, begin: float, external: int) -> float:
    random = run.random
    whole = random.random() < 0.5
    stream = random.choice((7, 20, 24))
    finish = max(run.stream_end.values()) if whole else run.stream_end[stream]
    end = max(begin + 1, finish) + run.step(3)
    call = "cudaDeviceSynchronize" if whole else "cudaStreamSynchronize"
    correlation = run.runtime(call, tid, begin, end, external)
    args = {"correlation": correlation, "External id": external, "stream": -1 if whole else stream}
    name = "Context Sync" if whole else "Stream Sync"
    place = (0, -1) if whole else (_GPU_OF_STREAM[stream], stream)
    run.event("cuda_sync", name, place, (begin, max(begin, end - 1)), args)
    return end


def _record_event(run: _Run, tid: int, begin: float, external: int) -> float:
    end = begin + 1 + run.step(2)
    stream = run.random.choice((7, 20, 24))
    correlation = run.runtime("cudaEventRecord", tid, begin, end, external)
    run.recorded.append((correlation, stream, run.stream_end[stream]))
    return end


def _wait_for_event(run: _Run, tid: int, begin: float, external: int) -> float:
    if not run.recorded:
        return _synchronise(run, tid, begin, external)
    recorded, on_stream, finish = run.random.choice(run.recorded)
    wait = {"wait_on_stream": on_stream, "wait_on_cuda_event_record_corr_id": recorded}
    if run.random.random() < 0.5:
        end = max(begin + 1, finish) + run.step(2)
        correlation = run.runtime("cudaEventSynchronize", tid, begin, end, external)
        args = {"correlation": correlation, "External id": external, "stream": -1, **wait}
        place = (_GPU_OF_STREAM[on_stream], -1)
        run.event("cuda_sync", "Event Sync", place, (begin, end), args)
        return end
    end = begin + 1 + run.step(2)
    stream = run.random.choice((7, 20, 24))
    correlation = run.runtime("cudaStreamWaitEvent", tid, begin, end, external)
    args = {"correlation": correlation, "External id": external, "stream": stream, **wait}
    place = (_GPU_OF_STREAM[on_stream], stream)
    run.event("cuda_sync", "Stream Wait Event", place, (begin, begin + 1), args)
    run.stream_waits[stream] = max(run.stream_waits[stream], finish)
    return end


def _host_node(node: int, name: str, parent: int, record: int, value: Any = 1) -> Json:
    attrs = {
        "rf_id": record,
        "fw_parent": 0,
        "seq_id": -1,
        "scope": 0,
        "tid": 1,
        "fw_tid": 0,
        "op_schema": "",
    }
    empty: Json = {"values": [], "shapes": [], "types": []}
    return {
        "id": node,
        "name": name,
        "ctrl_deps": parent,
        "inputs": {"values": [value, "\u00e9"], "shapes": [[], []], "types": ["Double", "String"]},
        "outputs": empty,
        "attrs": [{"name": key, "type": "int64", "value": attrs[key]} for key in attrs],
    }
