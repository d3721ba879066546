"""Training jobs: model, plan and sequence from names, files and flags, and written again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from yantra.base.errors import ConfigError
from yantra.workloads import job_file
from yantra.workloads.job_file import Request, read, resolve, text_of, write
from yantra.workloads.models import description, zoo
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan import names
from yantra.workloads.plan.plan import Plan

CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 512,
    "intermediate_size": 1024,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "num_hidden_layers": 3,
    "vocab_size": 1000,
    "max_position_embeddings": 2048,
}
MEGATRON = """\
torchrun --nproc-per-node 8 --nnodes 2 pretrain_gpt.py --num-layers 4 --hidden-size 256
 --num-attention-heads 8 --seq-length 512 --max-position-embeddings 512 --micro-batch-size 1
 --global-batch-size 16 --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --bf16
 --vocab-size 1000 --sequence-parallel
"""


def sizes_of(name: str) -> Transformer:
    known = zoo.get(name)
    assert isinstance(known, Transformer)
    return known


LLAMA = sizes_of("llama3-8b")


def test_a_job_of_names_alone() -> None:
    made = resolve(Request(("name", "llama3-8b"), {}, {"--tp": 8, "--dp": 4}))
    assert (made.model, made.plan, made.sequence) == (model_of(LLAMA), Plan(tp=8, dp=4), 8192)


def test_sizes_by_any_name_change_a_known_model() -> None:
    made = resolve(Request(("name", "llama3-8b"), {"num_hidden_layers": 4, "--dff": 256}))
    assert made.model == model_of(LLAMA.replace(num_layers=4, ffn_hidden_size=256))


def test_patterns_by_layer_follow_the_number_of_layers() -> None:
    large = resolve(Request(("name", "deepseek-v3"))).model.layers
    few = resolve(Request(("name", "deepseek-v3"), {"num_layers": 5})).model.layers
    assert few == large[:5]
    more = resolve(Request(("name", "deepseek-v3"), {"num_layers": 70})).model.layers
    assert more == large + large[-1:] * (70 - len(large))


def test_a_model_may_be_its_sizes_alone() -> None:
    sizes = {"n_layer": 2, "n_embd": 64, "n_head": 4, "dff": 256, "vocab_size": 100}
    made = resolve(Request(sizes=sizes, sequence=128))
    assert (len(made.model.layers), made.model.hidden, made.sequence) == (2, 64, 128)
    with pytest.raises(ConfigError, match="model: needs vocab_size, seq_length"):
        resolve(Request(sizes={k: v for k, v in sizes.items() if k != "vocab_size"}))


def test_a_huggingface_config_is_a_model(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    made = resolve(Request(("hf_config", str(path)), sequence=1024))
    assert (len(made.model.layers), made.sequence) == (3, 1024)


def test_arguments_of_megatron_are_a_model_and_a_plan_that_flags_cover(tmp_path: Path) -> None:
    path = tmp_path / "pretrain.sh"
    path.write_text(MEGATRON.replace("\n ", " \\\n "))
    made = resolve(Request(("megatron_args", str(path)), plan={"--pp": 1}))
    assert (made.plan.tp, made.plan.pp, made.plan.dp) == (4, 1, 4)
    assert (len(made.model.layers), made.sequence) == (4, 512)


def test_a_python_file_gives_a_model(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from yantra.workloads.models import zoo\n"
        "PLUGIN = zoo.get('llama3-8b').replace(name='mine', num_layers=2)\n"
    )
    made = resolve(Request(job_file.source_of(str(path))))
    assert made.model == model_of(LLAMA.replace(name="mine", num_layers=2))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("x = 1\n", "expected a line PLUGIN = <a Model or Transformer"),
        ("import nothing_of_this_name\n", "cannot be imported: ModuleNotFoundError"),
    ],
)
def test_a_python_file_without_a_model_is_refused(
    content: str, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(content)
    with pytest.raises(ConfigError, match=problem):
        resolve(Request(("file", str(path))))


def test_what_is_given_later_covers_what_was_given_before() -> None:
    lower = Request(("name", "llama3-8b"), {"num_layers": 2}, {"world_size": 64, "tp": 8}, 512)
    upper = Request(plan={"--dp": 2, "--tensor-parallel-size": 4}, sizes={"num_layers": 3})
    made = resolve(upper.over(lower))
    assert made.plan == Plan(tp=4, dp=2)
    assert (len(made.model.layers), made.sequence) == (3, 512)
    other = Request(("name", "llama3-70b")).over(lower)
    assert resolve(other).model.name == "llama3-70b"


JOBS = [
    {"model": "llama3-8b", "sequence": 4096, "plan": {"tp": 8, "zero": 1}},
    {"model": {"name": "llama3-8b", "num_hidden_layers": 2}, "plan": {"ranks": 16, "tp": 2}},
    {
        "model": {"n_layer": 2, "n_embd": 64, "n_head": 4, "dff": 256, "vocab_size": 100},
        "seq_length": 128,
        "plan": {"tensor_model_parallel_size": 2, "overlap_p2p": False, "routing": "uniform"},
    },
    {"model": {"hf_config": "config.json"}, "sequence": 1024},
]


@pytest.mark.parametrize("tree", JOBS)
def test_a_job_that_is_written_and_read_is_the_same(tree: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    path = tmp_path / "job.json"
    path.write_text(json.dumps(tree))
    made = resolve(read(path))
    other = tmp_path / "deeper"
    other.mkdir()
    write(other / "again.yaml", made)
    again = resolve(read(other / "again.yaml"))
    assert (again.model, again.plan, again.sequence) == (made.model, made.plan, made.sequence)
    assert text_of(again, str(other)) == (other / "again.yaml").read_text()


def test_a_written_job_says_everything() -> None:
    made = resolve(Request(("name", "llama3-8b"), plan={"tp": 2}))
    lines = text_of(made).splitlines()
    assert lines[:4] == ["model:", '  name: "llama3-8b"', "sequence: 8192", "plan:"]
    fields = [line.strip().split(":")[0] for line in lines[4:]]
    left_out = {name for name, value in vars(made.plan).items() if value is None}
    assert set(Plan.field_names) - set(fields) == left_out
    assert {"shard", "bucket_elements", "capacity_factor", "stage_layers"} <= left_out


def test_splits_steps_and_adapters_are_kept_in_a_file(tmp_path: Path) -> None:
    fields = {"pp": 4, "stage_layers": "7,9,9,7", "steps": 3, "lora_rank": 8, "lora_targets": "q,k"}
    made = resolve(Request(("name", "llama3-8b"), plan=fields))
    write(tmp_path / "job.yaml", made)
    again = resolve(read(tmp_path / "job.yaml")).plan
    assert again == made.plan and again.stage_layers == (7, 9, 9, 7)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1]", "job.yaml: expected the keys model, sequence and plan, got [1]"),
        ("modl: x", "job.yaml: modl: unknown key; did you mean 'model'?"),
        ("plan: 3", "job.yaml: plan: expected fields of a plan, got 3"),
        ("model: 3", "job.yaml: model: expected a name, or a mapping, got 3"),
        ("model: {name: a, file: b}", "file and name both say which model; give one"),
        ("model: {hf_config: 3}", "job.yaml: model.hf_config: expected a text, got 3"),
        ("seq: 3\nsequence: 4", "job.yaml: sequence: means the same as seq; give one"),
        ("model: llama3-8c", "no model is named 'llama3-8c'"),
        ("model: llama3-8b\nplan: {tpp: 2}", "tpp: a plan has no field of this name"),
        ("model: llama3-8b\nsequence: -1", "sequence: expected a whole number of at least 1"),
        (
            "model: {name: llama3-8b, layrs: 2}",
            "model: layrs: a transformer has no size of this name",
        ),
        ("model: {name: llama3-8b, num_layers: two}", "num_layers: expected a whole number"),
        ("model: {name: llama3-8b, n_layer: 2, num_layers: 3}", "num_layers: contradicts n_layer"),
        ("", "job.yaml: expected the keys model, sequence and plan, got null"),
    ],
)
def test_a_wrong_job_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as raised:
        resolve(read(path))
    assert problem in str(raised.value)


def test_names_of_the_model_and_of_the_plan_are_apart() -> None:
    sizes = {*Transformer.field_names, *(n for more in description.ALIASES.values() for n in more)}
    assert sizes & set(names.known_names()) == set()
