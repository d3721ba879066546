"""Inputs of the speed benchmarks, in ASTRA-sim's own file formats."""

from __future__ import annotations

import json
import random
from pathlib import Path

from yantra.chakra import CollectiveType, TraceBuilder

MEBIBYTE = 1 << 20


def all_reduce(
    folder: Path, blocks: list[tuple[str, int]], algorithm: str, latest_us: int = 0
) -> None:
    """With `latest_us` each rank computes before it, for a time of its own up to that."""
    draw = random.Random(1)
    for rank in range(_cluster(folder, blocks, algorithm)):
        builder = TraceBuilder()
        before = []
        if latest_us:
            before = [builder.compute(duration_micros=draw.randint(1, latest_us))]
        builder.collective(CollectiveType.ALL_REDUCE, MEBIBYTE, name="all-reduce", after=before)
        (folder / f"workload.{rank}.et").write_bytes(builder.build().to_bytes())


def messages(folder: Path, blocks: list[tuple[str, int]], count: int) -> None:
    """A rank has at most eight sends and receives under way: with all at once the reference takes
    minutes.
    """
    draw = random.Random(1)
    builders = [TraceBuilder() for _ in range(_cluster(folder, blocks, "ring"))]
    for _ in range(count):
        src = draw.randrange(len(builders))
        dst = (src + 1 + draw.randrange(len(builders) - 1)) % len(builders)
        size, tag = draw.choice([1024, 4096, 16384, 65536]), draw.randrange(64)
        builders[src].send(dst, size, tag=tag, after=builders[src].nodes[-8:-7])
        builders[dst].recv(src, size, tag=tag, after=builders[dst].nodes[-8:-7])
    for rank, builder in enumerate(builders):
        (folder / f"workload.{rank}.et").write_bytes(builder.build().to_bytes())


def _cluster(folder: Path, blocks: list[tuple[str, int]], algorithm: str) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    ranks = 1
    for _, size in blocks:
        ranks *= size
    network = {
        "topology": [block for block, _ in blocks],
        "npus_count": [size for _, size in blocks],
        "bandwidth": [50.0] * len(blocks),
        "latency": [500.0] * len(blocks),
    }
    lines = [f"{key}: {json.dumps(value)}" for key, value in network.items()]
    (folder / "network.yml").write_text("\n".join(lines).replace('"', "") + "\n")
    names = [algorithm] * len(blocks)
    kinds = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
    system = {
        "scheduling-policy": "LIFO",
        "endpoint-delay": 10,
        "active-chunks-per-dimension": 1,
        "preferred-dataset-splits": 4,
        "collective-optimization": "localBWAware",
        "local-mem-bw": 50,
        **{f"{kind}-implementation": names for kind in kinds},
    }
    (folder / "system.json").write_text(json.dumps(system, indent=1))
    (folder / "memory.json").write_text('{"memory-type": "NO_MEMORY_EXPANSION"}\n')
    return ranks
