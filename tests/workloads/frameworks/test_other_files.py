"""TorchTitan's TOML, Hugging Face's arguments and DeepSpeed's JSON, as jobs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
from yantra.scenario.text import load
from yantra.scenario.training import plan_of
from yantra.workloads.frameworks import read

TOML = """
[model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 8
seq_len = 4096
[parallelism]
tensor_parallel_degree = 2
pipeline_parallel_degree = 2
data_parallel_shard_degree = 4
[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"
"""
CHAT = """
ZERO=$2
if [ "$ZERO" == "" ]; then
    ZERO=3
fi
deepspeed --num_gpus 4 main.py --model_name_or_path meta-llama/Llama-2-7b-hf --max_seq_len 512 \\
  --per_device_train_batch_size 4 --gradient_checkpointing --zero_stage $ZERO --deepspeed \\
  --learning_rate 1e-4 &> out.log
"""
CONFIG = {
    "train_micro_batch_size_per_gpu": 2,
    "gradient_accumulation_steps": 4,
    "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}},
    "bf16": {"enabled": True},
}


def tree(text: str) -> dict:
    found = read(text, "file", {}, quiet=True)
    assert found is not None
    return found


def test_a_pipeline_cuts_the_local_batch() -> None:
    found = tree(TOML)
    assert (found["model"], found["sequence"]) == ("llama3-8b", 4096)
    plan = found["plan"]
    assert (plan["dp"], plan["zero"], plan["micro_batch"]) == (4, 3, 1)
    assert plan["gradient_accumulation_steps"] == 8
    assert (plan["recompute"], plan["reshard_after_forward"]) == ("operators", False)


def test_a_condition_on_an_argument_left_out_is_decided() -> None:
    plan = tree(CHAT)["plan"]
    assert (plan["zero"], plan["ranks"], plan["dtype"]) == (3, 4, "fp16")
    assert plan["recompute"] == "full"


def test_a_configuration_without_a_model_takes_it_from_a_setting(tmp_path: Path) -> None:
    path = tmp_path / "ds.json"
    path.write_text(json.dumps(CONFIG), encoding="utf-8")
    settings = {"workload.model": "llama3-8b", "workload.plan.ranks": 16, "workload.sequence": 1024}
    with pytest.warns(match="on how many devices"):
        step = load(path, "hgx-h100", settings).workload
    plan = plan_of(step)
    assert (plan.zero, plan.dp, plan.micro_batches, plan.offload_optimizer) == (2, 16, 4, True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (TOML.replace('"8B"', '"9B"'), "model.flavor: expected one of llama3 8B, llama3 70B"),
        (TOML.replace('"op"', '"2"'), "every 2-nd layer is not covered"),
        (f"{TOML}new_key = 3", "line 15: activation_checkpoint.new_key: not a key that is known"),
        (CHAT.replace("$ZERO --", "$STAGE --"), "--zero_stage: line 7 uses $STAGE, which the"),
        ("model_name_or_path: llama3-8b\nbeta: 0.1\n", "beta: losses over pairs of answers"),
        ("model_name_or_path: nobody/none\n", "no model is named 'nobody/none'"),
    ],
)
def test_what_may_change_the_time_is_refused_by_key(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as told:
        tree(text)
    assert problem in str(told.value)
