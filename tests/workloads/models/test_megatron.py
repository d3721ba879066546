"""Megatron-LM's arguments give the model and the plan that Megatron-LM would build from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.workloads.job_file import Request, resolve
from yantra.workloads.models import megatron, zoo
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan.plan import Plan

ABOUT = ("name", "source", "notes", "seq_length")
ROTARY = "--position-embedding-type rope --normalization RMSNorm --swiglu --disable-bias-linear "
ARGUMENTS = {
    "llama3-8b": ROTARY
    + "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
    "--group-query-attention --num-query-groups 8 --untie-embeddings-and-output-weights "
    "--vocab-size 128256 --seq-length 8192",
    "gpt-1t": "--num-layers 128 --hidden-size 25600 --num-attention-heads 160 --seq-length 2048 "
    "--max-position-embeddings 2048 --vocab-size 51200",
    "mixtral-8x7b": ROTARY
    + "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
    "--group-query-attention --num-query-groups 8 --untie-embeddings-and-output-weights "
    "--padded-vocab-size 32000 --seq-length 4096 --num-experts 8 --moe-router-topk 2",
    "qwen3-235b-a22b": ROTARY
    + "--num-layers 94 --hidden-size 4096 --ffn-hidden-size 12288 --num-attention-heads 64 "
    "--group-query-attention --num-query-groups 4 --kv-channels 128 --qk-layernorm "
    "--untie-embeddings-and-output-weights --padded-vocab-size 151936 --seq-length 4096 "
    "--num-experts 128 --moe-router-topk 8 --moe-ffn-hidden-size 1536 --moe-layer-freq 1",
    "deepseek-v3": ROTARY
    + "--num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 "
    "--kv-channels 128 --multi-latent-attention --qk-layernorm --q-lora-rank 1536 "
    "--kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 "
    "--untie-embeddings-and-output-weights --padded-vocab-size 129280 --seq-length 4096 "
    "--num-experts 256 --moe-router-topk 8 --moe-ffn-hidden-size 2048 "
    "--moe-shared-expert-intermediate-size 2048 --moe-layer-freq ([0]*3+[1]*58) "
    "--moe-router-num-groups 8 --moe-router-group-topk 4 --moe-router-enable-expert-bias",
}
SCRIPT = """#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1   # overlap
TP=${TP:-8}; PP=4
DTYPE="fp8"
ARGS=(
    --num-layers 32 --hidden-size 4096
    "--num-attention-heads 32"   # a comment (in a list)
    --seq-length 4096 --max-position-embeddings=4096
    --data-path $1
)
ARGS+=(--vocab-size 50257 --tensor-model-parallel-size $TP)
if [[ "$DTYPE" == "fp8" ]]; then
    ARGS+=("--fp8-format hybrid")
elif [ -z "$DTYPE" ]; then
    ARGS+=(--fp16)
else
    echo plain
fi
if [ -n "$LATER" ]; then MORE="--log-interval 1"; fi
COMMAND="pretrain_gpt.py ${ARGS[@]} --pipeline-model-parallel-size ${PP} \\
    --bf16 $MORE"
torchrun --nnodes 4 --nproc_per_node=8 $COMMAND 2>&1 | tee log.txt
"""


@pytest.mark.parametrize(
    ("launcher", "world"),
    [
        ("torchrun --nproc_per_node 16", 16),
        ("torchrun --nproc-per-node=8 --nnodes 2", 16),
        ("torchrun --nproc_per_node 8 --nnodes $N", None),
        ("python", None),
    ],
)
def test_one_node_runs_where_torchrun_is_told_of_none(launcher: str, world: int | None) -> None:
    found = megatron.from_text(f"{launcher} pretrain_gpt.py {DENSE_TEXT}", "run.sh").plan
    assert found.get("world_size") == world


DENSE_TEXT = (
    "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --ffn-hidden-size 128 --bf16 "
    "--seq-length 32 --max-position-embeddings 32 --vocab-size 128 --disable-bias-linear "
    "--micro-batch-size 1 --global-batch-size 32"
)


def sizes(model: Transformer) -> dict[str, Any]:
    return {field: value for field, value in vars(model).items() if field not in ABOUT}


def job(arguments: str) -> megatron.Job:
    return megatron.from_arguments(arguments.split())


def refused(arguments: str) -> str:
    with pytest.raises(ConfigError) as error:
        megatron.from_text(arguments, "run.sh")
    return str(error.value)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_the_arguments_of_a_known_model_give_it(name: str) -> None:
    assert sizes(job(ARGUMENTS[name]).model) == sizes(zoo.get(name))
    assert job(ARGUMENTS[name]) == megatron.from_text(ARGUMENTS[name])


def test_defaults_are_those_of_megatron() -> None:
    model, plan, ignored = job(ARGUMENTS["gpt-1t"])
    assert model.ffn_hidden_size == 4 * model.hidden_size
    assert (model.tie_word_embeddings, model.qkv_bias, model.mlp_bias) == (True, True, True)
    assert ignored == ()
    assert plan == {
        "sequence_parallel": False,
        "overlap_grad_reduce": False,
        "dropout": True,
        "dtype": "fp32",
    }
    gated = job("--num-layers 1 --hidden-size 4096 --num-attention-heads 32 --seq-length 1 "
                "--swiglu --vocab-size 1 --no-position-embedding").model  # fmt: skip
    assert gated.ffn_hidden_size == 10880  # 64 floor(2/3 4 h / 64)


def test_the_vocabulary_is_padded_for_every_rank() -> None:
    small = "--num-layers 1 --hidden-size 64 --num-attention-heads 4 --seq-length 8 " + ROTARY
    assert job(small + "--vocab-size 50257").model.vocab_size == 50304
    split = small + "--vocab-size 50257 --tensor-model-parallel-size 8"
    assert job(split).model.vocab_size == 51200
    by_one = split + " --make-vocab-size-divisible-by 1"
    assert job(by_one).model.vocab_size == 50264


def test_what_the_arguments_say_about_the_plan_is_kept() -> None:
    plan = job(
        ARGUMENTS["llama3-8b"]
        + " --tensor-model-parallel-size 2 --sequence-parallel --pipeline-model-parallel-size 4 "
        "--num-layers-per-virtual-pipeline-stage 2 --use-distributed-optimizer --bf16 "
        "--overlap-grad-reduce --micro-batch-size 1 --global-batch-size 64 "
        "--hidden-dropout 0 --attention-dropout 0.0 --recompute-granularity full "
        "--recompute-method uniform --recompute-num-layers 1 --attention-backend unfused "
        "--use-tp-pp-dp-mapping --use-megatron-fsdp"
    ).plan
    assert plan == {
        "tensor_model_parallel_size": 2,
        "sequence_parallel": True,
        "pipeline_model_parallel_size": 4,
        "num_virtual_stages_per_pipeline_rank": 4,
        "schedule": "interleaved",
        "use_distributed_optimizer": True,
        "bf16": True,
        "overlap_grad_reduce": True,
        "overlap_param_gather": False,
        "micro_batch_size": 1,
        "global_batch_size": 64,
        "dropout": False,
        "recompute_granularity": "full",
        "flash_attention": False,
        "order": "tp-cp-ep-pp-dp",
        "data_parallel_sharding_strategy": "optim_grads_params",
    }


def test_experts_are_split_like_the_rest_unless_the_arguments_say_otherwise() -> None:
    split = ARGUMENTS["mixtral-8x7b"] + " --tensor-model-parallel-size 2"
    assert job(split).plan["expert_tensor_parallel_size"] == 2
    alone = split + " --expert-tensor-parallel-size 1"
    assert job(alone).plan["expert_tensor_parallel_size"] == 1
    assert "expert_tensor_parallel_size" not in job(ARGUMENTS["llama3-8b"]).plan


def test_what_is_not_used_is_told() -> None:
    found = job(
        ARGUMENTS["llama3-8b"] + " --lr 1e-4 --train-iters 10 --save out --lr 2e-4 "
        "--use-nccl-ub --mtp-num-layers 1 --data-path 0.5 a 0.5 b"
    )
    assert found.ignored == ("--lr", "--train-iters", "--save", "--data-path")
    assert [note.split(":")[0] for note in found.model.notes] == ["--use-nccl-ub"]
    assert found.model.mtp_num_layers == 1


def test_a_layout_and_the_model_have_as_many_layers_that_predict() -> None:
    arguments = ARGUMENTS["llama3-8b"] + " --pipeline-model-parallel-size 2"
    layout = " --pipeline-model-parallel-layout Et*16|t*16mL"
    assert job(arguments + layout + " --mtp-num-layers 1").model.mtp_num_layers == 1
    with pytest.raises(ConfigError, match="has 1 layers m, and --mtp-num-layers is 0"):
        job(arguments + layout)


def test_a_script_is_read_as_the_shell_would(tmp_path: Path) -> None:
    path = tmp_path / "train.sh"
    path.write_text(SCRIPT, encoding="utf-8")
    model, plan, ignored = megatron.load(path)
    assert (model.name, model.source) == ("train", str(path))
    assert (model.num_layers, model.num_attention_heads, model.vocab_size) == (32, 32, 51200)
    assert plan["fp8_format"] == "hybrid"
    assert "fp16" not in plan
    assert (plan["tensor_model_parallel_size"], plan["pipeline_model_parallel_size"]) == (8, 4)
    assert plan["world_size"] == 32
    assert ignored == ("--data-path",)  # $LATER is not set


def test_arguments_may_be_added_to_those_of_a_script(tmp_path: Path) -> None:
    path = tmp_path / "train.sh"
    path.write_text(SCRIPT, encoding="utf-8")
    assert megatron.load(path, ["--num-layers", "8"]).model.num_layers == 8


def test_a_vocabulary_that_a_tokenizer_knows_is_given_beside_a_script(tmp_path: Path) -> None:
    path = tmp_path / "train.sh"
    path.write_text(SCRIPT.replace("--vocab-size 50257 ", ""), encoding="utf-8")
    source = ("megatron_args", str(path))
    with pytest.raises(ConfigError, match="needs --vocab-size or --padded-vocab-size"):
        resolve(Request(source))
    made = resolve(Request(source, {"--vocab-size": 50257}, {"--no-sequence-parallel": True}))
    assert made.model.front.vocab == 51200  # type: ignore[attr-defined]


def test_what_depends_on_the_unknown_is_refused_only_if_it_is_used() -> None:
    script = "L=$1\npython pretrain_gpt.py --num-layers $L --save $2"
    assert refused(script) == (
        "run.sh: --num-layers: line 1 uses $1, which the script does not set: "
        "give it in a script beside this one that runs it; write out what it is"
    )
    script = "if grep x y; then\n  L=3\nfi\npython pretrain_gpt.py --num-layers $L"
    assert "--num-layers: line 1 makes it depend on a condition" in refused(script)
    script = "python pretrain_gpt.py --num-layers $((2 * $(nproc)))"
    assert "--num-layers: line 1 computes it" in refused(script)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("--num-layer 3", "--num-layer: not an argument that is known here; it may change the"),
        ("--num-layer 3", "did you mean 'num-layers'?"),
        ("--num-layers three", '--num-layers: expected a whole number, got "three"'),
        ("--num-layers 3 4", "--num-layers: expected one value, got 2"),
        ("--num-layers", "--num-layers: expected one value, got 0"),
        ("--swiglu yes", 'a switch takes no value, got "yes"'),
        ("--num-layers 3", "run.sh: needs --hidden-size"),
        ("--hybrid-layer-pattern MM", "layers of several kinds is not covered"),
        ("python a.py", "one command that runs a Python program with --num-layers, got 0"),
        ("python pretrain_bert.py --num-layers 3", "pretrain_bert.py trains a model of another"),
        (
            "python a.py --num-layers 3\npython b.py --num-layers 4",
            "one command that runs a Python program with --num-layers, got 2",
        ),
    ],
)
def test_a_wrong_argument_is_named(text: str, problem: str) -> None:
    assert problem in refused(text)


@pytest.mark.parametrize(
    ("name", "more", "problem"),
    [
        ("llama3-8b", "--num-attention-heads 7", "expected a divisor of"),
        ("llama3-8b", "--position-embedding-type relative", 'got "relative"'),
        ("llama3-8b", "--normalization BatchNorm", "expected LayerNorm or RMSNorm"),
        ("llama3-8b", "--window-size 128,128", "--window-size: expected (keys before, 0)"),
        ("llama3-8b", "--recompute-granularity full", "expected uniform or block"),
        ("llama3-8b", "--num-layers-per-virtual-pipeline-stage 5", "do not make whole virtual"),
        ("gpt-1t", "--num-query-groups 8", "give both"),
        ("gpt-1t", "--qk-layernorm", "with biases are not covered"),
        ("gpt-1t", "--multi-latent-attention", "covered with --qk-layernorm"),
        ("gpt-1t", "--make-vocab-size-divisible-by 0", "expected at least 1, got 0"),
        ("deepseek-v3", "--group-query-attention", "excludes --multi-latent-attention"),
        ("deepseek-v3", "--moe-layer-freq [1]*60", "a frequency or a list for the 61 layers"),
        ("deepseek-v3", "--moe-layer-freq exit()", "--moe-layer-freq: expected a frequency"),
        ("deepseek-v3", "--moe-layer-freq [1]*9**9**9", "--moe-layer-freq: expected a frequency"),
        ("deepseek-v3", "--moe-router-topk 999", "--moe-router-topk: expected a whole number 1"),
    ],
)
def test_what_cannot_be_is_refused(name: str, more: str, problem: str) -> None:
    with pytest.raises(ConfigError) as error:
        job(f"{ARGUMENTS[name]} {more}")
    assert problem in str(error.value)


def test_frequencies_are_those_of_megatron() -> None:
    model = job(ARGUMENTS["mixtral-8x7b"] + " --moe-layer-freq 4").model
    assert [layer for layer in range(9) if model.has_experts(layer)] == [0, 4, 8]
    model = job(ARGUMENTS["llama3-8b"] + " --window-size (127,0) --window-attn-skip-freq 4").model
    assert [model.window(layer) for layer in range(5)] == [128, 128, 128, 0, 128]


@given(st.text(alphabet="-$ab{}()[]\"'\\ \n=;#|*1if", max_size=60))
def test_any_text_gives_a_job_or_a_config_error(text: str) -> None:
    with pytest.raises(ConfigError):
        megatron.from_text(text)


def test_what_is_computed_again_is_read_with_its_granularity() -> None:
    arguments = ARGUMENTS["mixtral-8x7b"] + " --recompute-modules moe_act layernorm"
    assert "recompute_modules" not in job(arguments).plan
    found = job(arguments + " --recompute-granularity selective").plan
    assert Plan.of(found).recompute_modules == "moe_act,layernorm"
    full = " --recompute-granularity full --recompute-method block --recompute-num-layers 3"
    plan = Plan.of(job(ARGUMENTS["llama3-8b"] + full).plan)
    assert (plan.recompute, plan.recompute_method, plan.recompute_layers) == ("full", "block", 3)


@pytest.mark.parametrize(
    ("words", "graphs"),
    [
        (
            "--cuda-graph-impl transformer_engine --cuda-graph-scope attn moe_router",
            "attn,moe_router",
        ),
        ("--cuda-graph-impl local --cuda-graph-scope full_iteration", "full_iteration"),
        ("--enable-cuda-graph", "attn,mlp,moe"),
        ("--cuda-graph-scope attn", "none"),
    ],
)
def test_graphs_are_read_with_what_makes_them(words: str, graphs: str) -> None:
    assert Plan.of(job(f"{ARGUMENTS['llama3-8b']} {words}").plan).cuda_graphs == graphs


def test_modules_are_offloaded_with_their_switch() -> None:
    arguments = f"{ARGUMENTS['llama3-8b']} --offload-modules core_attn attn_proj"
    assert "offload_modules" not in job(arguments).plan
    switch = " --fine-grained-activation-offloading"
    assert Plan.of(job(arguments + switch).plan).offload_modules == "core_attn,attn_proj"
    with pytest.raises(ConfigError, match="give --offload-modules"):
        job(ARGUMENTS["llama3-8b"] + switch)


@pytest.mark.parametrize(
    ("model", "words", "unfused"),
    [
        ("llama3-8b", "", "none"),
        ("llama3-8b", "--no-rope-fusion --no-bias-dropout-fusion", "rope,bias_dropout_add"),
        ("llama3-8b", "--no-masked-softmax-fusion", "softmax_masks"),
        ("mixtral-8x7b", "", "router,permute"),
        ("mixtral-8x7b", "--moe-permute-fusion --no-bias-swiglu-fusion", "bias_activation,router"),
        ("mixtral-8x7b", "--moe-permute-fusion --moe-router-fusion", "none"),
    ],
)
def test_what_is_not_fused_is_read(model: str, words: str, unfused: str) -> None:
    assert Plan.of(job(f"{ARGUMENTS[model]} {words}").plan).unfused_kernels == unfused


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("meta-llama/Meta-Llama-3-8B", 128_256),
        ("/data/llama-7b/tokenizer.model", 32_000),
        ("$D/Mixtral/tokenizer.model", 32_000),
        ("/data/own/tokenizer.model", 0),
    ],
)
def test_the_words_of_a_path_are_those_of_the_model_in_it(path: str, words: int) -> None:
    from yantra.workloads.models.megatron.tokenizers import words_of_path

    assert words_of_path(path) == words
