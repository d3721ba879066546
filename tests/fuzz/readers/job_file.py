"""Job files of training: read, resolved to a model and a plan, checked, and written again."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from yantra.workloads import job_file
from yantra.workloads.plan.check import check

FORM = "text"

_NAMED = b"""model: llama3-8b
sequence: 4096
plan: {tp: 2, pp: 2, dp: 4, vpp: 2, schedule: interleaved, global_batch: 32, zero: 1}
"""
_SIZES = b"""model:
  num_layers: 4
  hidden_size: 64
  n_head: 4
  dff: 128
  vocab_size: 96
  moe_layer_freq: [0, 1, 1, 1]
  num_experts: 4
  moe_router_topk: 2
  moe_ffn_hidden_size: 64
seq_len: 32
plan:
  world_size: 8
  use_distributed_optimizer: true
  recompute: selective
  order: tp-cp-ep-dp-pp
  routing: "zipf:1.2"
"""


def seeds() -> list[bytes]:
    return [_NAMED, _SIZES]


def read(data: bytes) -> object:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "job.yaml"
        path.write_bytes(data)
        made = job_file.resolve(job_file.read(path))
    check(made.plan, made.model, made.sequence)
    return job_file.text_of(made)
