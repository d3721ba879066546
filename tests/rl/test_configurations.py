"""Configurations of other frameworks, read without running anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
from yantra.rl.configurations import read
from yantra.rl.configurations.reading import model_of

_BASE = """
grpo: {num_prompts_per_step: 32, num_generations_per_prompt: 16, sample_twice: true}
loss_fn: {reference_policy_kl_penalty: 0.01}
policy:
  model_name: Qwen/Qwen3-32B
  train_global_batch_size: 512
  train_micro_batch_size: 1
  logprob_batch_size: ${policy.train_micro_batch_size}
  max_total_sequence_length: 4096
  megatron_cfg: {enabled: true, tensor_model_parallel_size: 4, activation_checkpointing: true}
  generation:
    colocated: {enabled: true}
    vllm_cfg: {tensor_parallel_size: 4, gpu_memory_utilization: 0.6}
cluster: {num_nodes: 4, gpus_per_node: 8}
"""
_ASYNC = """
defaults: ./base.yaml
grpo: {async_grpo: {enabled: true, max_trajectory_age_steps: 1, in_flight_weight_updates: true}}
policy:
  logprob_batch_size: 2
  generation: {colocated: {enabled: false, resources: {num_nodes: 2, gpus_per_node: 8}}}
"""
_VERL = """
set -x
python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo \\
    data.train_batch_size=1024 data.max_prompt_length=512 data.max_response_length=1024 \\
    actor_rollout_ref.model.path=Qwen/Qwen3-32B \\
    actor_rollout_ref.actor.ppo_mini_batch_size=256 \\
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 \\
    actor_rollout_ref.rollout.tensor_model_parallel_size=2 \\
    actor_rollout_ref.rollout.n=5 \\
    actor_rollout_ref.rollout.layered_summon=True \\
    trainer.n_gpus_per_node=8 trainer.nnodes=2
"""
_SKYRL = """
: "${GPUS:=2}"
uv run -m main \\
  trainer.fully_async.max_staleness_steps=4 \\
  trainer.fully_async.num_parallel_generation_workers=$(( 4 * 5 )) \\
  trainer.policy.model.path="Qwen/Qwen3-32B" \\
  trainer.placement.colocate_all=false \\
  trainer.placement.policy_num_gpus_per_node=$GPUS \\
  trainer.train_batch_size=64 trainer.policy_mini_batch_size=64 \\
  generator.n_samples_per_prompt=8 \\
  generator.inference_engine.num_engines=4 \\
  generator.inference_engine.tensor_parallel_size=1
"""


def _written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_nemo_rl_with_the_file_it_begins_from(tmp_path: Path) -> None:
    base = read(_written(tmp_path, "base.yaml", _BASE))
    assert base.framework == "nemo-rl"
    assert base.fields["mode"] == "sync"
    assert base.fields["model"] == "qwen3-32b"
    assert base.fields["gpus"] == 32
    assert base.fields["score_tokens"] == 4096
    assert base.fields["train"]["recompute"] == "full"
    assert base.unknown == ["grpo.sample_twice"]
    apart = read(_written(tmp_path, "async.yaml", _ASYNC)).fields
    assert apart["mode"] == "one-off"
    assert apart["generate"]["gpus"] == 16
    assert apart["refit_rule"] == "pause"
    assert apart["score_tokens"] == 8192


def test_nemo_rl_states_rounds_validation_packing_and_mxfp8(tmp_path: Path) -> None:
    _written(tmp_path, "base.yaml", _BASE)
    text = """
defaults: ./base.yaml
grpo:
  use_dynamic_sampling: true
  batch_multiplier: 3
  dynamic_sampling_max_gen_batches: 10
  val_period: 5
  max_val_samples: 100
  val_batch_size: 40
policy:
  sequence_packing: {enabled: false, train_mb_tokens: 9000}
  dynamic_batching: {enabled: false, train_mb_tokens: 9000}
  megatron_cfg: {sequence_parallel: true}
  generation: {vllm_cfg: {async_engine: true, precision: fp8, is_mx: true}}
"""
    found = read(_written(tmp_path, "dapo.yaml", text))
    of = found.fields
    assert (of["oversampling"], of["most_rounds"], of["algorithm"]) == (3, 11, "dapo")
    assert of["filtered"] == pytest.approx(2 / 3)
    assert "batch_multiplier" in found.assumed["filtered"]
    assert (of["validate_every"], of["validate_samples"], of["validate_batch"]) == (5, 80, 40)
    assert (of["packing"], of["async_engine"], of["generate"]["dtype"]) == (False, True, "mxfp8")
    assert of["micro_tokens"] == 4096
    assert of["train"]["sequence_parallel"] is True
    assert found.unknown == ["grpo.sample_twice"]
    packed = text.replace(
        "{enabled: false, train_mb_tokens: 9000}\n  dynamic", "{train_mb_tokens: 9000}\n  dynamic"
    )
    assert read(_written(tmp_path, "packed.yaml", packed)).fields["micro_tokens"] == 9000
    base = read(str(tmp_path / "base.yaml"))
    assert "validate_every" not in base.fields
    assert not base.assumed


def test_rounds_of_verl_and_skyrl(tmp_path: Path) -> None:
    more = """    data.gen_batch_size=3072 algorithm.filter_groups.enable=True \\
    algorithm.filter_groups.metric=acc algorithm.filter_groups.max_num_gen_batches=10 \\
"""
    text = _VERL.replace("    trainer.n_gpus", f"{more}    trainer.n_gpus")
    of = read(_written(tmp_path, "verl.sh", text)).fields
    assert (of["oversampling"], of["most_rounds"], of["algorithm"]) == (3, 10, "dapo")
    text = _SKYRL.replace("colocate_all=false", "colocate_all=true").replace(
        "  trainer.train_batch",
        "  trainer.algorithm.dynamic_sampling.type=filter trainer.train_batch",
    )
    found = read(_written(tmp_path, "skyrl.sh", text))
    assert found.fields["most_rounds"] == 30
    assert "--set filtered=" in found.assumed["filtered"]


def test_a_script_of_verl(tmp_path: Path) -> None:
    found = read(_written(tmp_path, "run.sh", _VERL))
    assert found.framework == "verl"
    of = found.fields
    assert (of["prompts"], of["generations"], of["gpus"]) == (1024, 5, 16)
    assert of["train_batch"] == 256 * 5
    assert of["micro_tokens"] == 2 * (512 + 1024)
    assert of["reference"] is False
    assert of["train"]["zero"] == 3
    assert found.unknown == ["actor_rollout_ref.rollout.layered_summon"]


def test_a_script_of_skyrl(tmp_path: Path) -> None:
    found = read(_written(tmp_path, "run.sh", _SKYRL))
    assert found.framework == "skyrl"
    of = found.fields
    assert (of["mode"], of["staleness"], of["gpus"]) == ("async", 4, 6)
    assert of["generate"]["gpus"] == 4
    assert found.unknown == ["trainer.fully_async.num_parallel_generation_workers"]


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.yaml", "trainer: {x: 1}"), ("a.yaml", "- 1"), ("a.sh", "echo hello"),
     ("a.yaml", "defaults: ./missing.yaml\ngrpo: {}"),
     ("b.yaml", _BASE.replace("num_nodes: 4", "num_nodes: four"))],
)  # fmt: skip
def test_what_is_no_configuration_is_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(ConfigError):
        read(_written(tmp_path, name, text))


def test_names_of_hugging_face() -> None:
    assert model_of("meta-llama/Llama-3.1-8B-Instruct") == "llama3-8b"
    assert model_of("Qwen/Qwen3-30B-A3B") == "qwen3-30b-a3b"
    assert model_of("deepseek-ai/DeepSeek-V3") == "deepseek-v3"
    assert model_of("me/mine-7b") == "me/mine-7b"
