"""Random PyTorch-like programs: `write_pair(folder, operators=1000, seed=1)` writes host.json and
device.json and returns the truth.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MAIN, AUTOGRAD, SIDE = 4000, 4001, 4002
HOST_TID = {MAIN: 1, AUTOGRAD: 2, SIDE: 3}
COMPUTE, COPY, COMM, SIDE_STREAM = 7, 20, 24, 28
DEVICE = {COMPUTE: 0, COPY: 0, COMM: 0, SIDE_STREAM: 1}
BASE_NS = 1_700_000_000_000_000_000
GROUP = ("0", "default_pg")


@dataclass
class Options:
    sync_events: bool = True  # Kineto has CUDA synchronisation events
    whole_us: bool = False  # times truncated to microseconds, as old Kineto wrote them
    flows: bool = True  # Kineto draws fwdbwd flows
    backward: bool = True
    collectives: bool = True
    side_thread: bool = True
    blocking: bool = True  # blocking calls
    depth: int = 4
    iterations: int = 2


@dataclass
class DeviceWork:
    correlation: int
    stream: int
    start: int
    end: int


@dataclass
class Truth:
    """What the program did; device ops by correlation, operators by host id."""

    work: dict[int, DeviceWork] = field(default_factory=dict)
    parent: dict[int, int] = field(default_factory=dict)  # device op -> operator
    before: dict[int, int | None] = field(default_factory=dict)  # stream predecessor
    event_waits: set[tuple[int, int]] = field(default_factory=set)  # source, target device op
    host_waits: dict[int, set[int]] = field(default_factory=dict)  # blocking call -> device ops
    collectives: list[int] = field(default_factory=list)  # in order of issue
    backward: set[tuple[int, int]] = field(default_factory=set)  # forward, backward operator
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)  # operator -> start, end
    exclusive: dict[int, int] = field(default_factory=dict)
    threads: dict[int, int] = field(default_factory=dict)  # operator -> thread
    end: int = 0


class Program:
    def __init__(self, seed: int, operators: int, options: Options) -> None:
        self.random = random.Random(seed)
        self.options = options
        self.budget = operators
        self.truth = Truth()
        self.nodes: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.clock: defaultdict[int, int] = defaultdict(int)
        self.thread = MAIN
        self.stack: dict[int, list[list[int]]] = {}  # open operators: id, external id, covered
        self.last_on: dict[int, DeviceWork] = {}
        self.pending: defaultdict[int, set[int]] = defaultdict(set)  # stream -> sources to wait for
        self.recorded: dict[int, DeviceWork | None] = {}  # correlation of the record -> last op
        self.ids = self.numbers(1)
        self.rf_ids = self.numbers(1)
        self.external = self.numbers(1)
        self.correlations = self.numbers(1_000_000)
        self.sequence = self.numbers(1)
        self.comm_sequence = self.numbers(30)
        self.flows = self.numbers(1)
        self.roots: dict[int, int] = {}
        self.process = next(self.ids)

    @staticmethod
    def numbers(start: int) -> Iterator[int]:
        while True:
            yield start
            start += 1

    # ---- time

    def spend(self, least: int = 200, most: int = 20_000) -> None:
        self.clock[self.thread] += self.random.randint(least, most)

    @property
    def now(self) -> int:
        return self.clock[self.thread]

    # ---- operators

    @contextmanager
    def operator(
        self, name: str, *, scope: int = 0, seq: int = -1, fw_tid: int = 0, **extra: Any
    ) -> Iterator[int]:
        self.budget -= 1
        root = self._root()
        stack = self.stack.setdefault(self.thread, [])
        parent = stack[-1][0] if stack else root
        identity, rf, external = next(self.ids), next(self.rf_ids), next(self.external)
        for _ in range(self.random.randint(0, 3)):  # ids are shared with tensors
            next(self.ids)
        start = self.now
        stack.append([identity, external, 0])
        self.spend(100, 3000)
        yield identity
        self.spend(100, 3000)
        covered = stack.pop()[2]
        end = self.now
        if stack:
            stack[-1][2] += end - start
        self.truth.spans[identity] = (start, end)
        self.truth.exclusive[identity] = end - start - covered
        self.truth.threads[identity] = self.thread
        self._node(identity, name, parent, rf, scope, seq, fw_tid, extra.get("values", []))
        args = {"External id": external, "Record function id": rf, "Ev Idx": rf}
        if seq >= 0:
            args |= {"Sequence number": seq, "Fwd thread id": fw_tid}
        cat = "user_annotation" if scope == 7 else "cpu_op"
        self._event(cat, name, self.thread, start, end, args)

    def _root(self) -> int:
        if self.thread not in self.roots:
            self.roots[self.thread] = next(self.ids)
            name = "[pytorch|profiler|execution_trace|thread]"
            self._node(self.roots[self.thread], name, self.process, 0, 7, -1, 0, [])
        return self.roots[self.thread]

    def _node(
        self, identity: int, name: str, parent: int, rf: int, scope: int, seq: int, fw_tid: int,
        values: list[Any],
    ) -> None:  # fmt: skip
        numbers = {"rf_id": rf, "fw_parent": 0, "seq_id": seq, "scope": scope}
        numbers |= {"tid": HOST_TID[self.thread], "fw_tid": fw_tid}
        attrs: list[dict[str, Any]] = [
            {"name": key, "type": "uint64", "value": value} for key, value in numbers.items()
        ]
        attrs.append({"name": "op_schema", "type": "string", "value": ""})
        self.nodes.append(
            {
                "id": identity,
                "name": name,
                "ctrl_deps": parent,
                "inputs": {"values": values, "shapes": [], "types": []},
                "outputs": {"values": [], "shapes": [], "types": []},
                "attrs": attrs,
            }
        )

    def _event(
        self, cat: str, name: str, tid: int, start: int, end: int, args: dict[str, Any],
        pid: int = MAIN,
    ) -> None:  # fmt: skip
        self.events.append(
            {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": start,
             "dur": end - start, "args": args}
        )  # fmt: skip

    # ---- runtime calls

    def call(self, name: str, duration: int, *, until: int = 0) -> int:
        """Make a runtime call that ends at `until` at the earliest; return its correlation."""
        correlation = next(self.correlations)
        start = self.now
        self.clock[self.thread] = max(start + duration, until)
        stack = self.stack.get(self.thread)
        external = stack[-1][1] if stack else correlation
        args = {"External id": external, "correlation": correlation, "cbid": 1}
        self._event("cuda_runtime", name, self.thread, start, self.now, args)
        return correlation

    def launch(self, stream: int, name: str, cat: str = "kernel", call: str = "") -> DeviceWork:
        calls = {"kernel": ["cudaLaunchKernel", "cuLaunchKernelEx", "cudaLaunchKernelExC"]}
        calls |= {"gpu_memset": ["cudaMemsetAsync"], "gpu_memcpy": ["cudaMemcpyAsync"]}
        begin = self.now
        duration = self.random.randint(2_000, 9_000)
        earliest = begin + self.random.randint(duration // 2, 2 * duration)
        before = self.last_on.get(stream)
        correlation = self.call(call or self.random.choice(calls[cat]), duration)
        start = max([earliest, before.end + 1000 if before else 0])
        for source in self.pending.pop(stream, set()):
            start = max(start, self.truth.work[source].end + 1000)
            self.truth.event_waits.add((source, correlation))
        work = DeviceWork(correlation, stream, start, start + self.random.randint(1_000, 40_000))
        self._device_event(work, name, cat)
        self.truth.work[correlation] = work
        self.truth.before[correlation] = before.correlation if before else None
        stack = self.stack.get(self.thread)
        if stack:
            self.truth.parent[correlation] = stack[-1][0]
        self.last_on[stream] = work
        return work

    def _device_event(self, work: DeviceWork, name: str, cat: str) -> None:
        args = {"External id": work.correlation, "device": DEVICE[work.stream],
                "context": 1, "stream": work.stream, "correlation": work.correlation}  # fmt: skip
        if cat != "kernel":
            args["bytes"] = 4096
        device = DEVICE[work.stream]
        self._event(cat, name, work.stream, work.start, work.end, args, pid=device)

    def _sync_event(self, kind: str, correlation: int, start: int, **args: int) -> None:
        if self.options.sync_events:
            full = {"cuda_sync_kind": kind, "correlation": correlation, "device": 0, "context": 1}
            tid = args.get("stream", -1)
            self._event("cuda_sync", kind, tid, start, self.now, {**full, **args}, pid=0)

    def wait_stream(self, waiting: int, source: int) -> None:
        record = self.call("cudaEventRecord", 800)
        last = self.last_on.get(source)
        start = self.now
        wait = self.call("cudaStreamWaitEvent", 900)
        self._sync_event(
            "Stream Wait Event", wait, start, stream=waiting, wait_on_stream=source,
            wait_on_cuda_event_record_corr_id=record, wait_on_cuda_event_id=1,
        )  # fmt: skip
        if last is not None:
            self.pending[waiting].add(last.correlation)

    def synchronize(self, stream: int | None) -> None:
        streams = [s for s in self.last_on if DEVICE[s] == 0] if stream is None else [stream]
        awaited = [self.last_on[s] for s in streams if s in self.last_on]
        until = max((work.end + 1500 for work in awaited), default=0)
        start = self.now
        if stream is None:
            correlation = self.call("cudaDeviceSynchronize", 2000, until=until)
            self._sync_event("Context Sync", correlation, start, stream=-1)
        else:
            correlation = self.call("cudaStreamSynchronize", 2000, until=until)
            self._sync_event("Stream Sync", correlation, start, stream=stream)
        self.truth.host_waits[correlation] = {work.correlation for work in awaited}

    def synchronize_event(self, stream: int) -> None:
        record = self.call("cudaEventRecord", 700)
        last = self.last_on.get(stream)
        with self.operator("aten::empty"):
            pass
        start = self.now
        until = last.end + 1200 if last else 0
        correlation = self.call("cudaEventSynchronize", 1500, until=until)
        self._sync_event(
            "Event Sync", correlation, start, stream=-1, wait_on_stream=stream,
            wait_on_cuda_event_record_corr_id=record, wait_on_cuda_event_id=2,
        )  # fmt: skip
        self.truth.host_waits[correlation] = {last.correlation} if last else set()

    # ---- programs

    def body(self, depth: int) -> None:
        for _ in range(self.random.randint(1, 3)):
            if self.budget <= 0:
                return
            with self.operator(f"aten::op{self.random.randint(0, 30)}"):
                choice = self.random.random()
                if depth > 0 and choice < 0.5:
                    self.body(depth - 1)
                elif choice < 0.85:
                    self.launch(self.stream, f"kernel_{self.random.randint(0, 9)}<float>")
                elif choice < 0.9:
                    self.launch(self.stream, "Memset (Device)", "gpu_memset")
                elif self.options.blocking and choice < 0.93:
                    self.launch(self.stream, "Memcpy DtoH (Device -> Pinned)", "gpu_memcpy")
                    self.synchronize(self.stream)
            self.spend(0, 5000)

    @property
    def stream(self) -> int:
        return SIDE_STREAM if self.thread == SIDE else COMPUTE

    def layer(self) -> Callable[[], None]:
        seq = next(self.sequence)
        with self.operator("aten::linear", seq=seq) as forward:
            self.launch(COMPUTE, "gemm<float>")
            self.body(self.options.depth - 2)
        started = self.truth.spans[forward][0]

        def backward() -> None:
            with self.operator("autograd::engine::evaluate_function: LinearBackward0"):
                start = self.now
                fw_tid = HOST_TID[MAIN]
                with self.operator("LinearBackward0", scope=1, seq=seq, fw_tid=fw_tid) as back:
                    start = self.now
                    self.launch(COMPUTE, "gemm_backward<float>")
                    self.body(self.options.depth - 2)
            start = self.truth.spans[back][0]
            self.truth.backward.add((forward, back))
            self._flow(MAIN, started, AUTOGRAD, start)
            if self.options.collectives and self.random.random() < 0.3:
                self.collective()

        return backward

    def _flow(self, source: int, at: int, target: int, then: int) -> None:
        if self.options.flows:
            flow = {"id": next(self.flows), "cat": "fwdbwd", "name": "fwdbwd", "pid": MAIN}
            self.events.append({**flow, "ph": "s", "tid": source, "ts": at})
            self.events.append({**flow, "ph": "f", "tid": target, "ts": then, "bp": "e"})

    def collective(self) -> None:
        number = next(self.comm_sequence)
        values = [[[5, 6, 0, 1024, 4, "cuda:0"]], number, list(GROUP), 0, "allreduce"]
        values += [[], [], 0, 1, 2]
        with (
            self.operator("c10d::allreduce_"),
            self.operator("record_param_comms", values=values),
        ):
            self.wait_stream(COMM, COMPUTE)
            with self.operator("nccl:all_reduce", scope=7):
                name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
                work = self.launch(COMM, name)
        self.truth.collectives.append(work.correlation)

    def iteration(self, number: int) -> None:
        with self.operator(f"ProfilerStep#{number}", scope=7):
            if self.random.random() < 0.5:
                self.launch(COPY, "Memcpy HtoD (Pinned -> Device)", "gpu_memcpy")
                self.wait_stream(COMPUTE, COPY)
            backwards = [self.layer() for _ in range(self.random.randint(1, 4))]
            self.body(self.options.depth)
            if self.options.backward:
                with self.operator("## backward ##", scope=7):
                    self._run_backward(backwards)
            if self.options.collectives and self.truth.collectives:
                self.wait_stream(COMPUTE, COMM)
            self.body(self.options.depth)
            if self.options.blocking:
                ends = (self.synchronize_event, self.synchronize)
                self.random.choice(ends)(COMPUTE)
        if self.options.blocking and self.random.random() < 0.5:
            self.synchronize(None)
        self.spend()

    def _run_backward(self, backwards: list[Callable[[], None]]) -> None:
        self.spend()
        self.clock[AUTOGRAD] = self.now + 9_000
        self.thread = AUTOGRAD
        for backward in reversed(backwards):
            backward()
            self.spend(0, 4000)
        self.thread = MAIN
        self.clock[MAIN] = self.clock[AUTOGRAD] + 7_000

    def run(self) -> Program:
        number = 0
        while number < self.options.iterations or self.budget > 0:
            self.iteration(number)
            number += 1
            if self.options.side_thread:
                self._run_side()
        self._node_of_process()
        ends = [end for _, end in self.truth.spans.values()]
        ends += [work.end for work in self.truth.work.values()]
        self.truth.end = max([*ends, *self.clock.values()])
        return self

    def _run_side(self) -> None:
        self.thread = SIDE
        keep = self.budget
        while self.clock[SIDE] < self.clock[MAIN] - 100_000 and self.budget > keep - 50:
            with self.operator("side::op"):
                self.spend()
                self.launch(SIDE_STREAM, "side_kernel")
            self.spend()
        self.thread = MAIN

    def _node_of_process(self) -> None:
        HOST_TID[0] = 0
        self.thread = 0
        name = "[pytorch|profiler|execution_trace|process]"
        self._node(self.process, name, self.process, 0, 7, -1, 0, [])
        self.thread = MAIN

    # ---- files

    def host_json(self) -> dict[str, Any]:
        return {"schema": "1.0.3-chakra.0.0.4", "pid": MAIN, "time": "2026-01-01 00:00:00",
                "start_ts": 1, "nodes": self.nodes, "finish_ts": 2}  # fmt: skip

    def device_json(self) -> dict[str, Any]:
        events = [self._with_time(event) for event in self.events]
        self.random.shuffle(events)
        group = {"pg_name": GROUP[0], "pg_desc": GROUP[1], "backend_config": "cuda:nccl",
                 "pg_size": 2, "ranks": [0, 1]}  # fmt: skip
        info = {"backend": "nccl", "rank": 0, "world_size": 2, "pg_count": 1, "pg_config": [group]}
        trace: dict[str, Any] = {"schemaVersion": 1, "distributedInfo": info}
        if not self.options.whole_us:
            trace["baseTimeNanoseconds"] = BASE_NS
        return {**trace, "traceEvents": events}

    def _with_time(self, event: dict[str, Any]) -> dict[str, Any]:
        offset = BASE_NS // 1000 if self.options.whole_us else 5_000_000_000
        if self.options.whole_us:
            timed = {**event, "ts": offset + event["ts"] // 1000}
            return {**timed, "dur": event["dur"] // 1000} if "dur" in event else timed
        timed = {**event, "ts": offset + event["ts"] / 1000}
        return {**timed, "dur": event["dur"] / 1000} if "dur" in event else timed


def run(seed: int, operators: int = 60, options: Options | None = None) -> Program:
    return Program(seed, operators, options or Options()).run()


def write_pair(
    folder: Path | str, *, operators: int, seed: int = 1, options: Options | None = None
) -> Truth:
    program = run(seed, operators, options)
    for name, trace in (("host", program.host_json()), ("device", program.device_json())):
        (Path(folder) / f"{name}.json").write_text(json.dumps(trace))
    return program.truth
