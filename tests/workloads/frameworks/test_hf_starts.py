"""Launches of Hugging Face's trainers: by accelerate, beside YAML, with adapters, of which kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from yantra.base.errors import ConfigError
from yantra.workloads.frameworks import read

MODEL = "--model_name_or_path Qwen/Qwen3-8B --max_seq_length 2048"
ZERO = """
distributed_type: DEEPSPEED
deepspeed_config: {zero_stage: 3, offload_optimizer_device: cpu}
mixed_precision: bf16
num_machines: 2
num_processes: 16
"""
FSDP = "fsdp_config: {fsdp_sharding_strategy: SHARD_GRAD_OP}\nmixed_precision: bf16\n"
SFT = """
model_name_or_path: Qwen/Qwen3-8B
max_length: 4096
per_device_train_batch_size: 2
per_device_train_batch_size: 4
gradient_checkpointing: true
bf16: true
"""


def plan(text: str, config: str = "") -> dict[str, Any]:
    found = read(text, "train.sh", {"c/own.yaml": config}, quiet=True)
    assert found is not None
    made: dict[str, Any] = found["plan"]
    return made


def refused(text: str) -> str:
    with pytest.raises(ConfigError) as error:
        read(text, "train.sh", {}, quiet=True)
    return str(error.value)


def test_accelerate_says_devices_sharding_and_type() -> None:
    launch = "accelerate launch --config_file c/own.yaml"
    made = plan(f"{launch} sft.py {MODEL}", ZERO)
    assert (made["ranks"], made["zero"], made["dtype"]) == (16, 3, "bf16")
    assert made["offload_optimizer"] is True
    made = plan(f"{launch} --num_processes 4 sft.py {MODEL}", FSDP)
    assert (made["ranks"], made["zero"]) == (4, 2)
    kept = "fsdp_config: {fsdp_version: 2, fsdp_reshard_after_forward: false}\n"
    assert plan(f"{launch} sft.py {MODEL}", kept)["zero"] == 2
    assert plan(f"{launch} sft.py {MODEL}", kept.replace("false", "true"))["zero"] == 3


def test_arguments_may_be_in_yaml_beside_and_on_the_line() -> None:
    text = "accelerate launch --num_processes 8 \\\n  src/sft.py \\\n  --config c/own.yaml"
    made = plan(text, SFT)
    assert (made["micro_batch"], made["recompute"], made["ranks"]) == (4, "full", 8)
    made = plan(f"{text} --per_device_train_batch_size 1", SFT)
    assert made["micro_batch"] == 1
    assert plan("llamafactory-cli train c/own.yaml", SFT)["micro_batch"] == 4


def test_the_last_program_before_the_model_is_the_trainer() -> None:
    text = f"python submit.py --gpus 4 -- accelerate launch --num_processes 8 finetune.py {MODEL}"
    assert plan(text)["ranks"] == 8
    assert plan(f"torchrun --nproc_per_node 2 -m own.train {MODEL}")["ranks"] == 2
    hosts = "deepspeed --include 'a:0,1@b:2,3,4'"
    assert plan(f"{hosts} train.py {MODEL}")["ranks"] == 5


def test_a_file_that_is_not_there_is_taken_by_its_name_which_a_note_says() -> None:
    text = f"deepspeed sft.py {MODEL} --deepspeed ../ds_zero2_offload.json"
    with pytest.warns(match="zero2_offload.json is not there; taken as ZeRO stage 2 with the opt"):
        read(text, "train.sh", {})
    made = plan(text)
    assert (made["zero"], made["offload_optimizer"]) == (2, True)
    made = plan(f"deepspeed sft.py {MODEL} --deepspeed configs/ds_z3_no_offload.conf")
    assert (made["zero"], made["offload_optimizer"]) == (3, False)
    opened = plan(f"deepspeed sft.py {MODEL} --deepspeed my.json")["zero"]
    assert "its name says no ZeRO stage" in str(opened.refusal("--set"))


@pytest.mark.parametrize(
    ("more", "rank", "targets"),
    [
        ("--lora_r 32", 32, None),
        ("--use_peft", 16, None),
        ("--use_lora True", 8, None),
        ("--use_lora False --lora_r 8", None, None),
        ("--finetuning_type lora --lora_rank 64 --lora_target all", 64, "all-linear"),
        ("--finetuning_type lora", 8, "all-linear"),
        ("--finetuning_type full", None, None),
        ("--lora_target_modules q_proj,o_proj --lora_r 4", 4, "q_proj,o_proj"),
    ],
)
def test_adapters(more: str, rank: int | None, targets: str | None) -> None:
    made = plan(f"python sft.py {MODEL} {more}")
    assert (made.get("lora_rank"), made.get("lora_targets")) == (rank, targets)


def test_sequences_are_split_as_ulysses_does() -> None:
    made = plan(f"python sft.py {MODEL} --sequence_parallel_size 4 --dtype bfloat16")
    assert (made["cp"], made["cp_kind"], made["dtype"]) == (4, "a2a", "bf16")


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("dpo_tune_cache.py", "losses over pairs"),
        ("grpo_fast.py", "yantra rl"),
        ("reward_modeling.py", "models of rewards"),
        ("run_eval.py", "trains nothing"),
    ],
)
def test_programs_that_train_otherwise_are_refused(program: str, problem: str) -> None:
    assert problem in refused(f"accelerate launch own/{program} {MODEL}")


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("--q_lora True", "weights in 4 bits"),
        ("--finetuning_type freeze", 'expected full or lora, got "freeze"'),
        ("--stage kto", "losses over pairs"),
    ],
)
def test_what_would_change_the_time_is_refused(more: str, problem: str) -> None:
    assert problem in refused(f"python sft.py {MODEL} {more}")


def test_arguments_of_another_script_are_not_read() -> None:
    assert "expected its command" in refused(f"./finetune.sh {MODEL}")


def test_another_optimizer_is_a_note() -> None:
    with pytest.warns(match="optim: adafactor is taken as Adam"):
        read(f"python sft.py {MODEL} --optim adafactor", "train.sh", {})


def test_a_configuration_beside_the_program_and_paths_of_another_machine_are_found(
    tmp_path: Path,
) -> None:
    (tmp_path / "recipes").mkdir()
    text = "model_name_or_path: llama3-8b\nper_device_train_batch_size: 2\nmax_seq_length: 512\n"
    (tmp_path / "recipes" / "own.yaml").write_text(text, encoding="utf-8")
    script = "accelerate launch --config_file ~/a/single_gpu.yaml --num_processes 1 sft.py "
    script += "/own/recipes/own.yaml --per_device_train_batch_size 4\n"
    with pytest.warns(match=r"/own/recipes/own\.yaml is not there; read is"):
        found = read(script, str(tmp_path / "run.sh"))
    assert found is not None
    plan = found["plan"]
    assert (plan["micro_batch"], plan["ranks"], plan["zero"]) == (4, 1, 0)


@pytest.mark.parametrize(("name", "stage"), [("fsdp_config", 3), ("multi_gpu", 0), ("zero2", 2)])
def test_a_configuration_of_accelerate_that_is_not_there_is_taken_by_its_name(
    name: str, stage: int
) -> None:
    script = f"accelerate launch --config_file {name}.yaml sft.py --model_name_or_path llama3-8b\n"
    found = read(script, "file", {}, quiet=True)
    assert found is not None
    assert found["plan"]["zero"] == stage


def test_weights_in_four_bits_and_models_of_rewards_are_refused() -> None:
    text = "model_name_or_path: llama3-8b\nper_device_train_batch_size: 1\n"
    for more, where, problem in (
        ("bits: 4\n", "file", "weights in few bits"),
        ("use_4bit: true\n", "file", "weights in 4 bits"),
        ("", "config_qlora.yaml", "weights in 4 bits"),
        ("", "rm.yaml", "models of rewards"),
    ):
        with pytest.raises(ConfigError, match=problem):
            read(text + more, where, {}, quiet=True)
    assert read(f"{text}bits: 16\n", "file", {}, quiet=True) is not None


def test_a_pattern_of_paths_names_the_products_that_adapters_are_on() -> None:
    text = "model_name_or_path: llama3-8b\nlora_r: 8\n"
    found = read(f"{text}lora_target_modules: 'x.*.(q_proj|v_proj)'\n", "file", {}, quiet=True)
    assert found is not None
    assert found["plan"]["lora_targets"] == "q_proj,v_proj"
