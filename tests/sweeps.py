"""The scenario that tests of sweeps run: an all-reduce whose topology is filled in."""

from __future__ import annotations

SCENARIO = """
workload: {{traces: "step.{{rank}}.et"}}
cluster:
  topology: [{{kind: {kind}, size: {size}, bandwidth: 50 GB/s, latency: 500 ns}}]
  device: {{memory_bandwidth: 1 TB/s}}
collectives: {{all_reduce: [ring], chunks: 4}}
"""
