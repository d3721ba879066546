"""Decoding a Chakra trace and resolving its graph, in nodes a second on one core.

The trace is a typical one: two computations and a collective in turn, three to four attributes
each, names that differ, a data and a control dependency. Goal: 3 million nodes a second of
processor time.

    python benchmarks/bench_trace_decode.py
"""

from __future__ import annotations

import time

from yantra import _core
from yantra.chakra import CollectiveType, Kind, NodeType

GOAL_NODES_PER_S = 3e6
NODES = 500_000
REPEATS = 9


def typical_trace(nodes: int) -> bytes:
    recorder = _core.TraceRecorder()
    recorder.end_metadata("")
    for node in range(nodes):
        parents = [node - 1] if node else []
        recorder.attribute("is_cpu_op", Kind.BOOL, False, "")
        if node % 3 == 2:
            recorder.attribute("comm_type", Kind.INT64, CollectiveType.ALL_REDUCE, "")
            recorder.attribute("comm_size", Kind.INT64, node * 977 % (1 << 24), "")
            recorder.attribute("pg_name", Kind.STRING, "1", "")
            name = f"layer{node}.grad_all_reduce"
            recorder.node(node, name, NodeType.COMM_COLL, 0, 0, parents, [])
        else:
            recorder.attribute("num_ops", Kind.INT64, node * 7919 % (1 << 34), "")
            recorder.attribute("tensor_size", Kind.UINT64, node * 977 % (1 << 24), "")
            name = f"layer{node}.forward"
            earlier = [node - 3] if node >= 3 else []
            recorder.node(node, name, NodeType.COMP, 0, node % 1000, parents, earlier)
    return recorder.finish().encode()


def measure(data: bytes) -> tuple[float, float]:
    decoding, building = [], []
    for _ in range(REPEATS):
        start = time.process_time()
        trace = _core.decode_trace(data)
        decoded = time.process_time()
        graph = trace.graph()
        decoding.append(decoded - start)
        building.append(time.process_time() - decoded)
        del trace, graph
    return min(decoding), min(building)


def main() -> None:
    data = typical_trace(NODES)
    decoding, building = measure(data)
    rate = NODES / (decoding + building)
    print(
        f"trace decode + graph: {rate / 1e6:.2f} M nodes/s (goal {GOAL_NODES_PER_S / 1e6:.0f} M); "
        f"{decoding / NODES * 1e9:.0f} + {building / NODES * 1e9:.0f} ns a node "
        f"of {len(data) / NODES:.0f} bytes"
    )


if __name__ == "__main__":
    main()
