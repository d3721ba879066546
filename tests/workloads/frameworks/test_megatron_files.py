"""Whole files of Megatron-LM, as jobs; nothing is executed."""

from __future__ import annotations

import pytest

from yantra.base.errors import ConfigError
from yantra.base.open_values import Open
from yantra.workloads.frameworks import read

ARGUMENTS = (
    "--num-layers 8 --hidden-size 512 --num-attention-heads 8 --seq-length 256 --lr 1e-4 "
    "--max-position-embeddings 256 --micro-batch-size 1 --bf16 --tensor-model-parallel-size 2"
)
SCRIPT = f"""#!/bin/bash
GPUS=8
NODES=${{SLURM_NNODES:-2}}
BATCH=$((GPUS * $NODES / 2 * 4))
ARGS=(--nproc_per_node $GPUS --nnodes $NODES)
torchrun ${{ARGS[@]}} pretrain_gpt.py {ARGUMENTS} \\
  --global-batch-size $BATCH --vocab-size 1000 --save $1
"""
YAML = "MODEL_ARGS:\n" + "".join(
    f"  --{line.strip()}\n"
    for line in ARGUMENTS.replace(" --", "\n--")
    .replace("--", "")
    .replace(" ", ": ")
    .replace("bf16", "bf16: true")
    .splitlines()
)


def tree(text: str) -> dict:
    found = read(text, "file", quiet=True)
    assert found is not None
    return found


def test_a_script_says_model_plan_and_devices_by_arithmetic() -> None:
    found = tree(SCRIPT)
    assert found["plan"]["world_size"] == 16
    assert found["plan"]["global_batch_size"] == 32
    assert found["model"]["num_layers"] == 8


def test_yaml_and_script_are_one_job() -> None:
    by_yaml = tree(f"{YAML}  --vocab-size: 1000\n  --global-batch-size: 32\n")
    by_script = tree(SCRIPT)
    assert by_yaml["model"] == by_script["model"]
    assert by_yaml["plan"].pop("ranks") == 8
    by_script["plan"].pop("world_size")
    assert by_yaml["plan"] == by_script["plan"]


def test_a_merged_mapping_of_yaml_is_taken_in() -> None:
    text = f"{YAML}  --vocab-size: 1000\n".replace("MODEL_ARGS:", "BASE: &base")
    found = tree(f"{text}MODEL_ARGS:\n  <<: *base\n  --num-layers: 4\n")
    assert (found["model"]["num_layers"], found["model"]["hidden_size"]) == (4, 512)


def test_devices_that_the_plan_does_not_divide_are_a_placeholder() -> None:
    text = SCRIPT.replace("GPUS=8", "GPUS=1").replace("$((GPUS", "$((8")
    with pytest.warns(match="starts on 2 devices, which its plan does not divide; taken as 8"):
        assert read(f"{text.rstrip()} --pipeline-model-parallel-size 4\n", "file") is not None


def test_no_more_devices_are_taken_than_the_batch_has_sequences() -> None:
    found = tree(f"{YAML}  --vocab-size: 1000\n  --global-batch-size: 2\n")
    assert found["plan"]["ranks"] == 4


def test_the_vocabulary_of_a_known_tokenizer_is_padded_as_by_megatron() -> None:
    found = tree(f"{YAML}  --vocab-file: ${{DATA}}/vocab.json\n")
    assert found["model"]["vocab_size"] == 50_432


def test_what_is_ignored_and_assumed_is_told() -> None:
    with pytest.warns(match="ignored, as it changes no time: --lr") as told:
        assert read(f"{YAML}  --vocab-size: 1000\n", "file") is not None
    assert any("on how many devices it starts; taken as 8" in str(one.message) for one in told)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (SCRIPT.replace("pretrain_gpt", "run_text_generation_server"), "trains nothing"),
        (SCRIPT.replace("pretrain_gpt", "tasks/main"), "trains a model of another kind"),
        (f"{YAML}  --num-layer: 1\n", "--num-layer: not an argument that is known here"),
        ("MODEL_ARGS: [--num-layers]", "expected arguments by name in MODEL_ARGS"),
    ],
)
def test_what_may_change_the_time_is_refused_by_argument(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as told:
        tree(text)
    assert problem in str(told.value)


@pytest.mark.parametrize(
    ("text", "of", "problem"),
    [
        (SCRIPT.replace("GPUS=8", "GPUS=$(nproc)"), "global_batch_size", "line 4 computes it"),
        (
            SCRIPT.replace("GPUS=8", ". ./s.sh\nGPUS=8").replace("layers 8", "layers $L"),
            "model",
            "uses $L, which the script does not set, as ./s.sh, which it sources, may",
        ),
        (f"{YAML}  --new-norm: 1\n", "model", "not an argument that is known here"),
        (f"{YAML}  --fp8-format: $F\n", "fp8_format", "it uses $F, which the file does not set"),
    ],
)
def test_what_may_change_the_time_is_left_to_a_setting(text: str, of: str, problem: str) -> None:
    found = tree(text)
    value = found["model"] if of == "model" else found["plan"][of]
    assert isinstance(value, Open)
    assert problem in value.problem
    assert value.where.startswith("file: --")


def test_what_says_nothing_of_a_model_or_a_plan_is_left_out_which_a_note_says() -> None:
    with pytest.warns(match="--new-trace: not an argument that is known here; left out"):
        found = read(f"{YAML}  --vocab-size: 1000\n  --new-trace: 1\n", "file")
    assert found == tree(f"{YAML}  --vocab-size: 1000\n")


def test_an_argument_under_a_condition_that_stays_open_is_taken() -> None:
    start = 'S=--sequence-parallel\nif grep x y; then\n  S="$S --hidden-dropout 0"\nfi\n'
    text = SCRIPT.replace("--save $1", "$S")
    with pytest.warns(match="line 2 makes it depend on a condition, which is taken to hold"):
        found = read(start + text, "file")
    assert found == tree(SCRIPT.replace("--save $1", "--sequence-parallel --hidden-dropout 0"))


def test_a_size_that_is_missing_is_asked_for_by_its_setting() -> None:
    from yantra.scenario.training import STEP, ranks_of, step_of_job

    with pytest.raises(ConfigError, match=r"--set workload\.model\.vocab_size=N says it"):
        ranks_of(step_of_job(STEP.write(step_of_job(tree(YAML), "f"), ""), "f"))


def test_arguments_behind_a_placeholder_are_read() -> None:
    bare = SCRIPT.replace("--save $1", "--recompute-activations")
    told = SCRIPT.replace("--save $1", "--save <Specify path> --recompute-activations")
    assert tree(told) == tree(bare) != tree(SCRIPT)
    assert tree(told.replace("<Specify path>", "<PATH>/x < in.txt > out.txt")) == tree(SCRIPT)


@pytest.mark.parametrize(
    ("former", "today"),
    [
        ("--checkpoint-activations", "--recompute-granularity full --recompute-method uniform"),
        (
            "--activations-checkpoint-method block --activations-checkpoint-num-layers 2",
            "--recompute-granularity full --recompute-method block --recompute-num-layers 2",
        ),
        ("--DDP-impl local --data-impl mmap", ""),
    ],
)
def test_former_names_mean_what_those_of_today_do(former: str, today: str) -> None:
    assert tree(SCRIPT.replace("--save $1", former)) == tree(SCRIPT.replace("--save $1", today))


def test_words_that_a_script_passes_on_are_none() -> None:
    quoted = 'run="pretrain_gpt.py $@ --num-layers 8 ' + ARGUMENTS.partition("8 ")[2]
    assert tree(f'{quoted} --vocab-size 1000"\nsrun sh -c "$run"')["model"]["num_layers"] == 8
