"""Scenarios of several jobs that share a cluster."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from yantra.chakra import CollectiveType, TraceBuilder
from yantra.scenario import jobs

FORM = "text"

_TEXT = """jobs:
  - {name: one, scenario: job.yaml, ranks: "0,2"}
  - {name: other, scenario: job.yaml, ranks: "1,3", at: 5 us}
cluster:
  topology: [{kind: switch, size: 4, bandwidth: 10 GB/s, latency: 1 us}]
  fabric:
    {kind: leaf_spine, leaves: 2, ranks_per_leaf: 2, spines: 1, bandwidth: 10 GB/s, latency: 1 us}
network: flow
collectives: {all_reduce: [ring]}
"""


def seeds() -> list[bytes]:
    return [_TEXT.encode()]


def read(data: bytes) -> object:
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, 1000)
    with TemporaryDirectory() as folder:
        for rank in range(2):
            trace.build().write(Path(folder) / f"step.{rank}.et")
        (Path(folder) / "job.yaml").write_text('workload: {traces: "step.{rank}.et"}\n')
        path = Path(folder) / "jobs.yaml"
        path.write_bytes(data)
        return jobs.load(path)
