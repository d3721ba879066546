"""TorchTitan's TOML, Hugging Face's arguments and DeepSpeed's JSON, as jobs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
from yantra.scenario.text import load
from yantra.scenario.training import STEP, plan_of
from yantra.workloads import job_file
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


def test_a_model_of_the_hub_is_named_by_its_id() -> None:
    text = TOML.replace('"8B"', '"full"') + "[hf_transformers]\nmodel = 'Qwen/Qwen3-4B'\n"
    assert tree(text)["model"] == "Qwen/Qwen3-4B"
    left_open = tree(text.replace("Qwen3-4B", "Own-4B"))["model"]
    assert left_open.problem.startswith("expected the id")
    assert left_open.where == "file: hf_transformers.model"


FLAVORS = """
from .args import MoEArgs, TransformerModelArgs
own = {
    "own": TransformerModelArgs(dim=768, n_layers=4, n_heads=12, n_kv_heads=4, vocab_size=1000,
                                ffn_dim_multiplier=1.3),
    "more": TransformerModelArgs(dim=768, n_layers=4, n_heads=12, moe_args=MoEArgs(num_experts=8)),
}
"""


def test_a_flavor_of_ones_own_has_the_sizes_that_python_beside_it_says() -> None:
    files = {"torchtitan/models/llama3/__init__.py": FLAVORS}
    text = TOML.replace('"8B"', '"own"')
    found = read(text, "file", files, quiet=True)
    assert found is not None
    assert found["model"] == {
        "num_layers": 4, "hidden_size": 768, "num_attention_heads": 12, "num_query_groups": 4,
        "ffn_hidden_size": 2816, "vocab_size": 1000, "seq_length": 2048,
    }  # fmt: skip
    assert tree(text)["model"].problem == 'expected one of 8B, 70B, 405B, 1B, 3B, got "own"'


def test_experts_of_a_flavor_are_in_every_second_layer_with_the_width_shared_among_them() -> None:
    files = {"torchtitan/models/llama4/__init__.py": FLAVORS}
    text = TOML.replace('"8B"', '"more"').replace('"llama3"', '"llama4"')
    found = read(text, "file", files, quiet=True)
    assert found is not None
    model = found["model"]
    assert (model["num_experts"], model["moe_router_topk"]) == (8, 1)
    assert (model["moe_ffn_hidden_size"], model["ffn_hidden_size"]) == (1024, 2048)
    assert model["moe_layer_freq"] == [0, 1, 0, 1]


def test_devices_that_nothing_says_are_as_many_as_hold_the_job(tmp_path: Path) -> None:
    path = tmp_path / "train.toml"
    text = TOML.replace('"8B"', '"70B"').replace("_shard_degree = 4", "_shard_degree = -1")
    path.write_text(text, encoding="utf-8")
    with pytest.warns(match="64 devices do not hold the job; taken as 128"):
        assert plan_of(load(path, "hgx-h100").workload).ranks == 128
    with pytest.raises(ConfigError, match="hgx-h100 has 80 GiB"):
        load(path, "hgx-h100", {"workload.plan.ranks": 8})


def test_every_second_layer_is_half_of_a_chunk() -> None:
    plan = tree(TOML.replace('"op"', '"2"'))["plan"]
    assert (plan["recompute_method"], plan["recompute_layers"]) == ("block", 8)


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
        (TOML.replace('"op"', '"ops"'), "expected op or a number of layers"),
        ("model_name_or_path: llama3-8b\nbeta: 0.1\n", "beta: losses over pairs of answers"),
    ],
)
def test_what_may_change_the_time_is_refused_by_key(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as told:
        tree(text)
    assert problem in str(told.value)


def test_an_unknown_key_is_left_to_a_setting_or_left_out() -> None:
    left_open = tree(f"{TOML}new_key = 3")["model"]
    assert left_open.where == "file, line 15: activation_checkpoint.new_key"
    text = TOML.replace("seq_len", "greeting = 1\nseq_len")
    with pytest.warns(match="line 7: training.greeting: not a key that is known here; left out"):
        assert read(text, "file", {}) == tree(TOML)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("python sft.py --model_name_or_path a/none", "--model_name_or_path: no model is named"),
        ("python sft.py --model_name_or_path Qwen/Qwen3-8B-AWQ", "beside weights in int4"),
        ("python sft.py --model_name_or_path", "names no model"),
        ("python sft.py --model $M --per_device_train_batch_size 4", "line 2 uses $M, which"),
        ("python sft.py --per_device_train_batch_size 4", "its program says the model"),
    ],
)
def test_a_model_left_open_is_refused_until_a_setting_says_it(
    text: str, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "train.sh"
    path.write_text(f"#!/bin/bash\n{text} --model_max_length 512 --bf16 True\n", encoding="utf-8")
    with pytest.raises(ConfigError) as told:
        load(path, "hgx-h100")
    assert problem in str(told.value).replace("model_name_or_path: no", "--model_name_or_path: no")
    assert "--set workload.model=NAME says it" in str(told.value)
    with pytest.warns(match="taken as 8"):
        step = load(path, "hgx-h100", {"workload.model": "Qwen/Qwen3-0.6B"}).workload
    assert plan_of(step).micro_batch == (4 if "batch_size 4" in text else 8)


def test_an_argument_in_doubt_is_as_usual_which_a_note_says() -> None:
    with pytest.warns(match=r"--zero_stage: line 7 uses \$STAGE.*--set workload.plan.zero=VALUE"):
        found = read(CHAT.replace("$ZERO --", "$STAGE --"), "train.sh", {})
    assert found is not None and found["plan"]["zero"] == 0


NEMO = """
name: megatron_llama
trainer: {devices: 8, num_nodes: 2, precision: bf16}
model:
  micro_batch_size: 1
  global_batch_size: 32
  tensor_model_parallel_size: 4
  encoder_seq_length: 1024
  num_layers: 4
  hidden_size: 512
  ffn_hidden_size: 1024
  num_attention_heads: 8
  normalization: rmsnorm
  bias: False
  activation: fast-swiglu
  position_embedding_type: rope
  optim: {name: distributed_fused_adam}
"""


def test_a_configuration_of_nemo_is_megatrons_arguments() -> None:
    with pytest.warns(match="a vocabulary of 32000, of its name"):
        found = read(NEMO, "own.yaml", {})
    assert found is not None and found["model"]["vocab_size"] == 32_256  # padded for tp
    assert "vocab_size" not in tree(NEMO.replace("_llama", "_own"))["model"]
    plan = found["plan"]
    assert (plan["world_size"], plan["use_distributed_optimizer"]) == (16, True)
    assert found["model"]["ffn_hidden_size"] == 1024


TUNED = """
run: {model_train_name: NAME}
trainer: {devices: 8, num_nodes: 2, precision: bf16}
model:
  tensor_model_parallel_size: 4
  micro_batch_size: 1
  global_batch_size: 64
  peft: {peft_scheme: lora, lora_tuning: {adapter_dim: 16}}
  data: {train_ds: {max_seq_length: 2048}}
"""


def test_a_plan_whose_sizes_a_checkpoint_has_takes_a_model_by_name_or_from_a_setting() -> None:
    found = tree(TUNED.replace("NAME", "mixtral_8x7b"))
    assert (found["model"]["num_experts"], found["sequence"]) == (8, 2048)
    plan = found["plan"]
    assert (plan["world_size"], plan["lora_rank"]) == (16, 16)
    opened = tree(TUNED.replace("NAME", "own"))["model"]
    assert "says no num_layers" in str(opened.refusal("--set"))
    with pytest.raises(ConfigError, match=r"peft_scheme: expected lora or null"):
        tree(TUNED.replace("scheme: lora", "scheme: ptuning"))


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("  hybrid_override_pattern: M*M*\n", "model.hybrid_override_pattern: layers of several"),
        ("  new_field: 3\n", "model.new_field: not a field that is known here"),
        ("  attention_type: multiquery\n", "model.attention_type: expected multihead"),
    ],
)
def test_a_field_of_nemo_that_may_change_the_time_is_refused(more: str, problem: str) -> None:
    with pytest.raises(ConfigError) as told:
        tree(NEMO + more)
    assert problem in str(told.value)


def test_nemo_multiplies_and_knows_the_words_of_a_tokenizer() -> None:
    config = """
trainer: {num_nodes: 1, devices: 8, precision: bf16}
model:
  num_layers: 4
  hidden_size: 512
  ffn_hidden_size: ${multiply:4, ${.hidden_size}}
  num_attention_heads: 8
  encoder_seq_length: 256
  window_size: [128, 0]
  tensor_model_parallel_size: 2
  tokenizer: {library: megatron, type: GPT2BPETokenizer}
"""
    model = read(config, "a.yaml", {}, quiet=True)["model"]  # type: ignore[index]
    assert (model["vocab_size"], model["window_size"]) == (50432, 129)  # 197 times 2 x 128
    assert model.get("ffn_hidden_size", 4 * model["hidden_size"]) == 2048
    other = config.replace(
        "megatron, type: GPT2BPETokenizer", "huggingface, type: tiiuae/falcon-7b"
    )
    assert read(other, "a.yaml", {}, quiet=True)["model"]["vocab_size"] == 65024  # type: ignore[index]
    unknown = read(config.replace("GPT2BPE", "Own"), "a.yaml", {}, quiet=True)
    assert "vocab_size" not in unknown["model"]  # type: ignore[index]


def test_words_for_numbers_are_refused_by_their_place() -> None:
    for wrong, place in (
        (CONFIG | {"train_micro_batch_size_per_gpu": "two"}, "train_micro_batch_size_per_gpu"),
        (CONFIG | {"zero_optimization": {"stage": "x"}}, "zero_optimization.stage"),
    ):
        with pytest.raises(ConfigError, match=f"{place}: expected a whole number"):
            tree(json.dumps(wrong))


def test_words_of_fsdp_are_levels_of_sharding(tmp_path: Path) -> None:
    said = "model_name_or_path: meta-llama/Meta-Llama-3-8B\nbf16: true\n"
    for words, level in (("full_shard auto_wrap", 3), ("shard_grad_op", 2)):
        tree = read(f"{said}fsdp: {words}\n", "a.yaml", {}, quiet=True)
        assert tree["plan"]["zero"] == level  # type: ignore[index]
    for more, problem in (("fsdp: hybrid_shard", "words of full_shard"),):
        with pytest.raises(ConfigError, match=problem):
            read(f"{said}{more}\n", "a.yaml", {}, quiet=True)
    inner = tmp_path / "examples" / "train"
    inner.mkdir(parents=True)
    (tmp_path / "examples" / "ds.json").write_text('{"zero_optimization": {"stage": 2}}')
    found = read(f"{said}deepspeed: examples/ds.json\n", str(inner / "a.yaml"), quiet=True)
    assert found["plan"]["zero"] == 2  # type: ignore[index]


def test_nemo_is_read_from_its_programs_arguments_over_the_configuration() -> None:
    script = """torchrun --nproc_per_node=8 --nnodes=2 train/megatron_gpt_pretraining.py \\
  --config-path=/own/conf --config-name=megatron_own model.micro_batch_size=2 \\
  ++model.num_layers=6 trainer.precision=bf16
"""
    found = read(script, "train.sh", {"conf/megatron_own.yaml": NEMO}, quiet=True)
    assert found is not None
    assert (found["model"]["num_layers"], found["model"]["hidden_size"]) == (6, 512)
    assert (found["plan"]["micro_batch_size"], found["plan"]["world_size"]) == (2, 16)


def test_torchtitan_is_read_from_the_file_that_a_script_names_and_its_keys() -> None:
    script = """NGPU=${NGPU:-"4"}
CONFIG=${CONFIG:-own.toml}
torchrun --nproc_per_node=$NGPU -m torchtitan.train --job.config_file $CONFIG \\
  --training.seq_len 4096 --parallelism.tensor_parallel_degree 2 "$@"
"""
    found = read(script, "run_train.sh", {"own.toml": TOML}, quiet=True)
    assert found is not None
    assert (found["model"], found["sequence"], found["plan"]["tp"]) == ("llama3-8b", 4096, 2)


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ("tokenizer: {tokenizer_model: Qwen/Qwen3-0.6B}", "own.yaml"),
        ("checkpoint: {pretrained_checkpoint: /a/Qwen3-0.6B-mcore}", "own.yaml"),
        ("", "conf/qwen3_0.6b_pretrain.yaml"),
    ],
)
def test_a_configuration_without_sizes_is_of_the_model_that_it_names(more: str, name: str) -> None:
    text = f"model: {{tensor_model_parallel_size: 2}}\ntrain: {{global_batch_size: 8}}\n{more}\n"
    found = read(text, name, {}, quiet=True)
    assert found is not None and found["model"]["hidden_size"] == 1024
    with pytest.raises(ConfigError, match=r"says no num_layers.*--set workload.model=NAME"):
        job_file.request_of(read(text.replace(more, ""), "own.yaml", {}, quiet=True), "own", "")


def test_sharding_that_is_in_another_file_is_left_open_or_taken_from_it() -> None:
    start = "accelerate launch --config_file own.yaml sft.py --model_name_or_path llama3-8b"
    opened = read(start, "train.sh", {}, quiet=True)
    assert opened is not None
    with pytest.raises(ConfigError, match=r"own.yaml: cannot be read.*workload.plan.zero=VALUE"):
        STEP.read(opened, "workload", "")
    text = """cat > fsdp.json <<'END'
{"fsdp": "shard_grad_op auto_wrap"}
END
swift sft --model llama3-8b --per_device_train_batch_size 2 --fsdp fsdp.json
"""
    found = read(text, "train.sh", {}, quiet=True)
    assert found is not None and (found["plan"]["zero"], found["plan"]["micro_batch"]) == (2, 2)
    found = read(text.replace("--fsdp fsdp.json", "--deepspeed zero3_offload"), "x", {}, quiet=True)
    assert found is not None and found["plan"]["offload_optimizer"] is True


def test_weights_in_the_hosts_memory_are_a_bound_which_a_note_says() -> None:
    tree = {"zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}}
    with pytest.warns(match="weights are taken to stay on the devices.*bounds from below"):
        read(json.dumps(tree), "ds.json", {})


def test_a_configuration_whose_comment_says_how_to_start_it_is_still_one() -> None:
    text = "# llamafactory-cli train own.yaml\nmodel_name_or_path: llama3-8b\nbf16: true\n"
    found = read(text, "own.yaml", {}, quiet=True)
    assert found is not None and found["model"] == "llama3-8b"


def test_ms_swift_names_its_model_without_a_batch() -> None:
    found = read("swift sft --model llama3-8b --lora_rank 4\n", "train.sh", {}, quiet=True)
    assert found is not None and (found["model"], found["plan"]["lora_rank"]) == ("llama3-8b", 4)


def test_fields_of_nemo_that_name_others_from_the_top_have_their_values() -> None:
    text = """
trainer: {num_nodes: 1, devices: -1, precision: bf16}
seq: {length: 512}
model: {num_layers: 2, hidden_size: 128, num_attention_heads: 4, vocab_size: 1000,
        encoder_seq_length: '${own.seq.length}', max_position_embeddings: 512,
        micro_batch_size: 1, global_batch_size: 8}
"""
    found = tree(text)
    assert found["model"]["seq_length"] == 512
    assert found["plan"]["ranks"] == 8
