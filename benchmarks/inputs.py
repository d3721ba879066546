"""Inputs of the speed benchmarks, in ASTRA-sim's own file formats, made by our own writer."""

from __future__ import annotations

import json
from pathlib import Path

from yantra.chakra import CollectiveType, TraceBuilder

MEBIBYTE = 1 << 20


def all_reduce(folder: Path, blocks: list[tuple[str, int]], algorithm: str) -> None:
    """Write a 1 MiB all-reduce in 4 chunks over a product of (block, size) dimensions."""
    folder.mkdir(parents=True, exist_ok=True)
    ranks = 1
    for _, size in blocks:
        ranks *= size
    builder = TraceBuilder()
    builder.collective(CollectiveType.ALL_REDUCE, MEBIBYTE, name="all-reduce")
    content = builder.build().to_bytes()
    for rank in range(ranks):
        (folder / f"workload.{rank}.et").write_bytes(content)
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
