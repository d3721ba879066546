"""Inputs for ASTRA-sim's branch of MLSys 2026, drawn from a seed by our own writer. A second root
keeps each rank going: upstream stalls behind a skipped node where nothing else is in flight.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from yantra.chakra import CollectiveType, IOInfo, Node, NodeType, TraceBuilder

RANKS = 8
_KINDS = (CollectiveType.ALL_REDUCE, CollectiveType.ALL_GATHER, CollectiveType.ALL_TO_ALL)


def write(seed: int, folder: Path) -> list[str]:
    draw = Random(f"mlsys26 {seed}")
    halves = draw.choice(([[0, 1, 2, 3], [4, 5, 6, 7]], [[0, 2, 4, 6], [1, 3, 5, 7]]))
    everyone: list[int] = draw.choice(([], list(range(RANKS))))
    groups = [{"pg_name": str(at), "ranks": ranks} for at, ranks in enumerate([everyone, *halves])]
    lists = draw.choice((NodeType.METADATA, NodeType.COMP, NodeType.INVALID))
    steps = [
        (draw.random() < 0.4, draw.choice(_KINDS), draw.choice((4096, 1 << 20, 100_003)))
        for _ in range(draw.randrange(2, 6))
    ]
    for rank in range(RANKS):
        trace = _trace(Random(f"mlsys26 {seed} {rank}"), groups, lists, steps, rank)
        trace.build().write(folder / f"workload.{rank}.et")
    kinds = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
    system = {
        "scheduling-policy": "LIFO",
        "endpoint-delay": 10,
        "active-chunks-per-dimension": 2,
        "preferred-dataset-splits": 4,
        "local-mem-bw": 1600,
        "collective-optimization": "localBWAware",
        "roofline-enabled": draw.choice((0, 1)),
        "peak-perf": 50,
        **{f"{kind}-implementation": [draw.choice(("ring", "direct"))] for kind in kinds},
    }
    kind = draw.choice(("Ring", "Switch", "FullyConnected"))
    (folder / "network.yml").write_text(
        f"topology: [{kind}]\nnpus_count: [{RANKS}]\nbandwidth: [50.0]\nlatency: [500.0]\n"
    )
    (folder / "system.json").write_text(json.dumps(system))
    (folder / "memory.json").write_text('{"memory-type": "NO_MEMORY_EXPANSION"}')
    return [
        f"--workload-configuration={folder / 'workload'}",
        f"--system-configuration={folder / 'system.json'}",
        f"--network-configuration={folder / 'network.yml'}",
        f"--remote-memory-configuration={folder / 'memory.json'}",
    ]


def _trace(
    draw: Random,
    groups: list[dict[str, Any]],
    lists: NodeType,
    steps: list[tuple[bool, CollectiveType, int]],
    rank: int,
) -> TraceBuilder:
    trace = TraceBuilder(first_id=1)
    text = '["' + json.dumps(groups) + '"]'
    listed = Node(1, "## process_group:init ##", lists, inputs=IOInfo(values=text))
    listed.set("is_cpu_op", False)
    trace.add(listed)
    trace.compute("root", duration_micros=2, num_ops=10**6, tensor_size=10**6)
    first = trace.compute(
        duration_micros=draw.randrange(1, 50), num_ops=10**8, tensor_size=10**6, after=listed
    )
    before, last = first, first
    for all_ranks, kind, size in steps:
        kernel = trace.compute(
            duration_micros=draw.randrange(1, 60),
            num_ops=draw.randrange(1, 10**10),
            tensor_size=draw.randrange(1, 10**7),
            after=last if last is before else [last, before],
        )
        if draw.random() < 0.3:
            kernel.ctrl_deps.append(kernel.data_deps.pop())
        own = next(group["pg_name"] for group in groups[1:] if rank in group["ranks"])
        call = trace.collective(kind, size, group="0" if all_ranks else own, after=kernel)
        if draw.random() < 0.4:
            call.set("tensor_size", draw.randrange(10**6))
        before, last = last, call if draw.random() < 0.5 else kernel
    return trace
