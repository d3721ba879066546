"""A trace as PyTorch's profiler would have recorded it: operators, launches, kernels, waits.

A computation of a thread is an operator, one of a stream a kernel that the operator before it
launches, a communication a kernel of NCCL. Dependencies between streams, and of threads on streams,
are CUDA events with their records, which the linker reads back exactly. What a delay covers is a
gap. Trade-off: tags of messages are lost, the k-th send meets the k-th receive.

Source: the fields are those that `tracing.pytorch.events` reads.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from yantra.chakra.schema import CollectiveType, Node, NodeType
from yantra.chakra.trace import Trace
from yantra.tracing.share.lanes import disjoint
from yantra.tracing.share.together import Members, Run, together

_BEGIN = 2_000  # ns: an operator before all others launches what no operator does
_CALL = 1_000  # ns of a launch, if the operator is long enough
_NETWORK = 1_000_000  # first stream of communication
_SIGNALS = 2_000_000  # first stream of empty kernels
_COLLECTIVES = {
    CollectiveType.ALL_REDUCE: ("allreduce", "AllReduce_Sum_f32_RING_LL"),
    CollectiveType.REDUCE: ("reduce", "Reduce_Sum_f32_RING_LL"),
    CollectiveType.ALL_GATHER: ("allgather", "AllGather_RING_LL"),
    CollectiveType.GATHER: ("gather", "SendRecv"),
    CollectiveType.SCATTER: ("scatter", "SendRecv"),
    CollectiveType.BROADCAST: ("broadcast", "Broadcast_RING_LL"),
    CollectiveType.ALL_TO_ALL: ("all_to_all", "SendRecv"),
    CollectiveType.REDUCE_SCATTER: ("reduce_scatter", "ReduceScatter_Sum_f32_RING_LL"),
    CollectiveType.REDUCE_SCATTER_BLOCK: ("reduce_scatter", "ReduceScatter_Sum_f32_RING_LL"),
    CollectiveType.BARRIER: ("barrier", "AllReduce_Sum_f32_RING_LL"),
}
_UNSIZED = "ncclDevKernel_Generic(ncclDevComm*)"
_COMMUNICATION = (NodeType.COMM_COLL, NodeType.COMM_SEND, NodeType.COMM_RECV)
_EACH = (CollectiveType.ALL_GATHER, CollectiveType.GATHER)  # sizes are of a rank's share


def kineto(
    traces: Mapping[int, Trace], world_size: int, groups: Members
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each rank and its device trace (a JSON object) of what `redraw` made; times in us from 0 on
    one clock.
    """
    every = {"0": tuple(range(world_size)), **groups}
    config = [
        {"pg_name": name, "pg_desc": "", "backend_config": "cuda:nccl", "pg_size": len(ranks)}
        | {"ranks": list(ranks)}
        for name, ranks in every.items()
    ]
    by_rank = {
        rank: _with_signals({node.id: node for node in trace}) for rank, trace in traces.items()
    }
    runs = together(by_rank, every, _BEGIN)
    for rank, nodes in by_rank.items():
        about = {"backend": "nccl", "rank": rank, "world_size": world_size, "pg_config": config}
        events = list(_Timeline(nodes, runs[rank], rank, every).events())
        yield rank, {"schemaVersion": 1, "distributedInfo": about, "traceEvents": events}


class _Timeline:
    def __init__(
        self, nodes: dict[int, Node], runs: Mapping[int, Run], rank: int, groups: Members
    ) -> None:
        # a stream runs what is launched first, so its launches are in order of time
        self.nodes = {id: nodes[id] for id in sorted(nodes, key=lambda id: runs[id].start)}
        self.runs = runs
        self.rank = rank
        self.groups = groups
        self.begin = min(
            (runs[id].start for id, node in nodes.items() if not _is_delay(node)), default=_BEGIN
        )
        self.line = self._lines()
        self.numbers = count(1)
        self.launches: dict[int, list[int]] = defaultdict(list)  # of an operator
        self.awaited: dict[int, int] = {}  # correlation of the record after a launch
        self.launched: dict[int, int] = {}
        self.alone: set[int] = set()  # correlations of launches with an operator of their own

    def events(self) -> Iterator[dict[str, Any]]:
        """The events of all nodes."""
        for number in (-1, *self.nodes):
            node = self.nodes.get(number)
            if node is None or _is_thread(node):
                self.launches[number] = []
        self._place_launches()
        first = Run(self.begin - _BEGIN, self.begin)
        yield from self._operator(-1, "operator", first, self._first_thread())
        free: dict[int, float] = defaultdict(lambda: self.begin)
        for id, node in self.nodes.items():
            run = self.runs[id]
            if _is_delay(node):
                continue
            if _is_thread(node):
                thread = _lane(node)
                yield from self._waits(node, thread, free[thread])
                yield from self._operator(id, node.name, run, thread)
                free[thread] = run.end
            else:
                yield self._kernel(node, run)

    def _first_thread(self) -> int:
        return next((_lane(node) for node in self.nodes.values() if _is_thread(node)), 1)

    def _place_launches(self) -> None:
        ends = sorted((self.runs[n].end if n >= 0 else self.begin, n) for n in self.launches)
        order = {number: place for place, (_, number) in enumerate(ends)}
        latest: dict[int, int] = {}  # of a stream
        of: dict[int, int] = {}
        needed = set()
        for id, node in self.nodes.items():
            if _is_delay(node):
                of[id] = max((of[p] for p in self._before(node) if p in of), default=0)
                continue
            if _is_thread(node):
                of[id] = order[id]
                needed |= {p for p in self._before(node) if not _is_thread(self.nodes[p])}
                continue
            stream = self._stream(node)
            places = [of[parent] for parent in self._before(node) if parent in of]
            of[id] = latest[stream] = max([latest.get(stream, 0), *places])
            self.launches[ends[of[id]][1]].append(id)
            needed |= {
                parent
                for parent in self._before(node)
                if not _is_thread(self.nodes[parent]) and self._stream(self.nodes[parent]) != stream
            }
        for id in needed:
            self.awaited[id] = next(self.numbers)

    def _before(self, node: Node) -> list[int]:
        return _parents(self.nodes, node)

    def _operator(self, id: int, name: str, run: Run, thread: int) -> Iterator[dict[str, Any]]:
        yield _event("cpu_op", name, thread, run, {})
        calls = self._calls(id)
        each = min(_CALL, (run.end - run.start) // (len(calls) + 1))
        at = run.end - each * len(calls)
        for name, correlation, sync in calls:
            call = Run(at, at + max(each - 1, 0))
            if correlation in self.alone:  # calls of one operator would be one call
                yield _event("cpu_op", "operator", thread, call, {})
            yield _event("cuda_runtime", name, thread, call, {"correlation": correlation})
            if sync:
                yield _event("cuda_sync", "Stream Wait Event", sync["stream"], call, sync)
            at += each

    def _calls(self, id: int) -> list[tuple[str, int, dict[str, Any]]]:
        calls: list[tuple[str, int, dict[str, Any]]] = []
        for kernel in self.launches[id]:
            node = self.nodes[kernel]
            stream = self._stream(node)
            for parent in self._before(node):
                other = self.nodes[parent]
                if _is_thread(other) or self._stream(other) == stream:
                    continue
                number = next(self.numbers)
                sync = self._sync("Stream Wait Event", parent, stream, number)
                calls.append(("cudaStreamWaitEvent", number, sync))
            self.launched[kernel] = next(self.numbers)
            if node.type in _COMMUNICATION:
                self.alone.add(self.launched[kernel])
            calls.append(("cudaLaunchKernel", self.launched[kernel], {}))
            if kernel in self.awaited:
                calls.append(("cudaEventRecord", self.awaited[kernel], {}))
        return calls

    def _sync(self, kind: str, source: int, stream: int, correlation: int) -> dict[str, Any]:
        return {
            "cuda_sync_kind": kind,
            "stream": stream,
            "device": 0,
            "correlation": correlation,
            "wait_on_stream": self._stream(self.nodes[source]),
            "wait_on_cuda_event_record_corr_id": self.awaited[source],
        }

    def _waits(self, node: Node, thread: int, free: float) -> Iterator[dict[str, Any]]:
        sources = [p for p in self._before(node) if not _is_thread(self.nodes[p])]
        if not sources:
            return
        number = next(self.numbers)
        call = Run(free, max(free, *(self.runs[source].end for source in sources)))
        args = {"correlation": number}
        yield _event("cuda_runtime", "cudaEventSynchronize", thread, call, args)
        for source in sources:
            sync = self._sync("Event Sync", source, -1, number)
            yield _event("cuda_sync", "Event Sync", 0, call, sync)

    def _kernel(self, node: Node, run: Run) -> dict[str, Any]:
        stream = self._stream(node)
        args: dict[str, Any] = {
            "stream": stream,
            "device": 0,
            "correlation": self.launched[node.id],
        }
        name = node.name if node.get("communication") is None else _UNSIZED
        if node.type == NodeType.COMM_COLL:
            name, more = self._collective(node)
            args |= more
        elif node.type in (NodeType.COMM_SEND, NodeType.COMM_RECV):
            name, more = self._message(node)
            args |= more
        moved = node.get("tensor_size")
        is_copy = node.type in (NodeType.MEM_LOAD, NodeType.MEM_STORE)
        if is_copy:
            way = "HtoD" if node.type == NodeType.MEM_LOAD else "DtoH"
            name, args = f"Memcpy {way} (Pinned)", args | {"bytes": moved}
        return _event("gpu_memcpy" if is_copy else "kernel", name, stream, run, args)

    def _collective(self, node: Node) -> tuple[str, dict[str, Any]]:
        kind = CollectiveType(int(str(node["comm_type"])))
        word, kernel = _COLLECTIVES[kind]
        size = int(str(node["comm_size"]))
        name, ranks = self._group(node)
        whole = size * len(ranks) if kind in _EACH else size
        given, got = size, whole
        if kind in (CollectiveType.REDUCE_SCATTER, CollectiveType.REDUCE_SCATTER_BLOCK):
            got = size // len(ranks)
        return f"ncclDevKernel_{kernel}(ncclDevComm*)", {
            "Collective name": word,
            "In msg nelems": given,
            "Out msg nelems": got,
            "dtype": "Byte",
            "Group size": len(ranks),
            "Process Group Name": name,
            "Process Group Ranks": json.dumps(list(ranks)),
        }

    def _message(self, node: Node) -> tuple[str, dict[str, Any]]:
        is_send = node.type == NodeType.COMM_SEND
        size = int(str(node["comm_size"]))
        peer = int(str(node["comm_dst" if is_send else "comm_src"]))
        source, target = (self.rank, peer) if is_send else (peer, self.rank)
        name, ranks = self._group(node)
        return "ncclDevKernel_SendRecv(ncclDevComm*)", {
            "Collective name": "send" if is_send else "recv",
            "In msg nelems": size,
            "Out msg nelems": size,
            "dtype": "Byte",
            "Group size": len(ranks),
            "Process Group Name": name,
            "Process Group Ranks": json.dumps(list(ranks)),
            "Src Rank": source,
            "Dst Rank": target,
        }

    def _group(self, node: Node) -> tuple[str, tuple[int, ...]]:
        name = str(node.get("pg_name") or "0")
        return name, self.groups.get(name, self.groups["0"])

    def _stream(self, node: Node) -> int:
        if node.type in _COMMUNICATION:
            return _NETWORK + self.line[node.id]
        return _lane(node)

    def _lines(self) -> dict[int, int]:
        """Communications on streams of their own where they overlap."""
        nodes = [id for id, node in self.nodes.items() if node.type in _COMMUNICATION]
        return dict(
            zip(
                nodes,
                disjoint([(run.start, run.end) for run in map(self.runs.__getitem__, nodes)]),
                strict=True,
            )
        )


def _parents(nodes: Mapping[int, Node], node: Node) -> list[int]:
    """A node's parents; for delays theirs."""
    found: list[int] = []
    for parent in node.data_deps:
        other = nodes[parent]
        found += _parents(nodes, other) if _is_delay(other) else [parent]
    return found


def _with_signals(nodes: dict[int, Node]) -> dict[int, Node]:
    """Threads that wait for threads do so for an empty kernel: no event of a trace says it."""
    made: dict[int, Node] = {}
    next_id = max(nodes, default=0) + 1
    for id, node in nodes.items():
        if _is_thread(node) and not _is_delay(node):
            for parent in _parents(nodes, node):
                if _is_thread(nodes[parent]) and _lane(nodes[parent]) != _lane(node):
                    signal = Node(next_id, "kernel", NodeType.COMP, 0, [parent])
                    signal.set("stream", _SIGNALS + next_id)
                    made[next_id] = signal
                    node.data_deps.append(next_id)
                    next_id += 1
        made[id] = node
    return made


def _is_delay(node: Node) -> bool:
    return node.get("part") == "delay"


def _is_thread(node: Node) -> bool:
    return node.type == NodeType.COMP and bool(node.get("is_cpu_op"))


def _lane(node: Node) -> int:
    value = node.get("thread" if _is_thread(node) else "stream", 0)
    return value if isinstance(value, int) else 0


def _event(category: str, name: str, thread: int, run: Run, args: dict[str, Any]) -> dict[str, Any]:
    at = {"ts": run.start / 1000, "dur": (run.end - run.start) / 1000}
    row = 0 if category in ("kernel", "gpu_memcpy", "cuda_sync") else 1
    return {"ph": "X", "cat": category, "name": name, "pid": row, "tid": thread, **at, "args": args}
