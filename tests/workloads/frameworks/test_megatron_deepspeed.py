"""Scripts of Megatron-DeepSpeed: its names, and sharding by the JSON that they write."""

from __future__ import annotations

from typing import Any

import pytest

from yantra.base.errors import ConfigError
from yantra.workloads.frameworks import read

SCRIPT = """
ZERO=2
DS=ds_$ZERO.json
cat <<END > $DS
{"zero_optimization": {"stage": $ZERO, "overlap_comm": false}, "bf16": {"enabled": true}}
END
run="deepspeed --num_nodes 2 --num_gpus 8 pretrain_gpt.py --num-layers 4 --hidden-size 512 \
  --num-attention-heads 8 --seq-length 256 --max-position-embeddings 256 --vocab-size 1000 \
  --micro-batch-size 2 --global-batch-size 64 --bf16 --no-pipeline-parallel --train-tokens 9 \
  --checkpoint-activations --deepspeed --deepspeed_config $DS MORE &> log"
eval $run
"""


def job(more: str = "--num-experts 1", files: dict[str, str] | None = None) -> dict[str, Any]:
    found = read(SCRIPT.replace("MORE", more), "train.sh", files or {}, quiet=True)
    assert found is not None
    return found


def test_the_json_that_a_script_writes_says_the_sharding() -> None:
    found = job()
    plan = found["plan"]
    assert (plan["world_size"], plan["zero"], plan["overlap_grad_reduce"]) == (16, 2, False)
    assert plan["recompute_granularity"] == "full"
    assert "num_experts" not in found["model"]
    assert job("--zero-stage 3")["plan"]["zero"] == 3


def test_a_template_that_sed_fills_says_it_too() -> None:
    script = SCRIPT.replace("cat <<END > $DS", "sed 's/STAGE/1/' t.json > $DS\ncat <<END > other")
    files = {"t.json": '{"zero_optimization": {"stage": STAGE}}'}
    found = read(script.replace("MORE", ""), "train.sh", files, quiet=True)
    assert found is not None
    assert found["plan"]["zero"] == 1


def test_sequences_are_split_as_ulysses_does() -> None:
    plan = job("--ds-sequence-parallel-size 4 --cpu-optimizer")["plan"]
    assert (plan["context_parallel_size"], plan["cp_comm_type"]) == (4, "a2a")
    assert plan["optimizer_cpu_offload"] is True


def test_experts_are_in_every_second_layer_and_take_one_token_each() -> None:
    found = job("--num-experts 8 --moe-expert-parallel-size 4 --moe-train-capacity-factor 1.5")
    model = found["model"]
    assert model["num_experts"] == 8
    assert model.get("moe_router_topk", 1) == 1
    assert model["moe_layer_freq"] == [1, 0, 1, 0]
    assert found["plan"]["moe_expert_capacity_factor"] == 1.5
    free = job("--num-experts 8 --disable-moe-token-dropping --expert-interval 1 --topk 2")
    assert "moe_expert_capacity_factor" not in free["plan"]
    assert "moe_layer_freq" not in free["model"]
    assert free["model"]["moe_router_topk"] == 2


def test_a_zero_bubble_pipeline() -> None:
    more = "--enable-zbh1-pipeline --pipeline-model-parallel-size 2"
    assert job(more)["plan"]["schedule"] == "zb-h1"


def test_a_teacher_beside_the_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="--kd: a teacher beside the model"):
        job("--kd")
