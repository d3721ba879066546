"""Scripts that start Megatron-LM, and bare lists of its arguments, read to a model and a plan."""

from __future__ import annotations

from yantra.workloads.models import megatron
from yantra.workloads.models.assemble import model_of
from yantra.workloads.plan.plan import Plan

FORM = "text"

_SCRIPT = b"""#!/bin/bash
TP=2
PP=${1:-4}
NAME="gpt $TP"  # a comment
ARGS=(
    --num-layers 8 --hidden-size 64
    --num-attention-heads 4
    --seq-length 32 --max-position-embeddings 32
)
ARGS+=(--vocab-size 96 --tensor-model-parallel-size $TP)
if [ $TP -gt 1 ]; then
    ARGS+=(--sequence-parallel "--fp8-format hybrid")
else
    ARGS+=(--fp16)
fi
torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py ${ARGS[@]} \\
    --pipeline-model-parallel-size ${PP} --global-batch-size $((8 * TP)) --swiglu
"""
_LIST = b"""--num-layers 4 --hidden-size 64 --num-attention-heads 4 --group-query-attention
--num-query-groups 2 --seq-length 32 --vocab-size 96 --num-experts 4 --moe-router-topk 2
--expert-model-parallel-size 2 --use-distributed-optimizer --micro-batch-size 1 --world-size 8
--moe-layer-freq '([0]*1+[1]*3)' --ffn-hidden-size=128 --untie-embeddings-and-output-weights
"""


def seeds() -> list[bytes]:
    return [_SCRIPT, _LIST]


def read(data: bytes) -> object:
    job = megatron.from_text(data.decode("utf-8", "replace"), "train.sh")
    return model_of(job.model), Plan.of(job.plan)
