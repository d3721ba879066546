"""Layers of stages as a plan gives them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.compile import compile
from yantra.scenario.text import loads, to_yaml
from yantra.scenario.training import plan_of
from yantra.workloads.models import megatron
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan.plan import Plan
from yantra.workloads.schedules.layout import layers_of
from yantra.workloads.training.train import train

SIZES = "--hidden-size 512 --ffn-hidden-size 1024 --num-attention-heads 8 --vocab-size 1024 --bf16"
ENDS_COUNT = ("embedding_as_layer", "loss_as_layer")
ARGUMENTS = f"{SIZES} --num-layers 12 --seq-length 64 --max-position-embeddings 64"


def small(layers: int) -> Transformer:
    return Transformer(
        name="small", source="", num_layers=layers, hidden_size=64, num_attention_heads=4,
        ffn_hidden_size=128, vocab_size=256, seq_length=32,
    )  # fmt: skip


def weights(plan: Plan, layers: int = 12) -> list[int]:
    made = train(model_of(small(layers)), plan)
    return [made.memory[f"stage{at}"]["weights"] for at in range(plan.pp)]


@given(st.lists(st.integers(1, 5), min_size=2, max_size=4))
def test_a_stage_has_the_layers_that_it_was_given(split: list[int]) -> None:
    plan = Plan(pp=len(split), global_batch=4, stage_layers=tuple(split))
    even = weights(Plan(pp=2, global_batch=4, stage_layers=(1, 1)), 2)
    two = weights(Plan(pp=2, global_batch=4, stage_layers=(2, 2)), 4)
    layer, ends = two[0] - even[0], (2 * even[0] - two[0], 2 * even[1] - two[1])
    extra = [ends[0], *[0] * (len(split) - 2), ends[1]]
    assert weights(plan, sum(split)) == [
        layer * count + more for count, more in zip(split, extra, strict=True)
    ]


def test_a_split_that_is_even_is_that_without_one() -> None:
    plain = train("llama3-8b", Plan(pp=4, global_batch=8))
    split = train("llama3-8b", Plan(pp=4, global_batch=8, stage_layers=(8, 8, 8, 8)))
    assert plain.totals == split.totals and plain.memory == split.memory
    ends = train("llama3-8b", Plan(pp=4, global_batch=8, first_stage_layers=8))
    assert ends.totals == plain.totals


def test_layers_of_the_ends_leave_the_rest_to_the_others() -> None:
    plan = Plan(pp=4, global_batch=4)
    ends = weights(plan.replace(first_stage_layers=2, last_stage_layers=4))
    assert ends == weights(plan.replace(stage_layers=(2, 3, 3, 4)))


def test_layers_of_a_device_are_shared_by_its_chunks() -> None:
    plan = Plan(pp=2, vpp=2, global_batch=4)
    by_device = train(model_of(small(12)), plan.replace(stage_layers=(4, 8)))
    by_stage = train(model_of(small(12)), plan.replace(stage_layers=(2, 4, 2, 4)))
    assert by_device.totals == by_stage.totals
    assert by_device.memory == by_stage.memory


def test_megatrons_arguments_give_the_same() -> None:
    pipe = "--pipeline-model-parallel-size 4 --global-batch-size 4 --micro-batch-size 1"
    ends = "--decoder-first-pipeline-num-layers 2 --decoder-last-pipeline-num-layers 4"
    by_ends = Plan.of(megatron.from_text(f"{ARGUMENTS} {pipe} {ends}").plan)
    assert (by_ends.first_stage_layers, by_ends.last_stage_layers) == (2, 4)
    layout = megatron.from_text(
        f"{ARGUMENTS} {pipe} --pipeline-model-parallel-layout 'Ett|(ttt|)*2,t*4,L'"
    )
    assert Plan.of(layout.plan).stage_layers == (2, 3, 3, 4)
    chunks = megatron.from_text(
        f"{ARGUMENTS} {pipe} --pipeline-model-parallel-layout 'Ett|(t|)*6tttt,L'"
    )
    plan = Plan.of(chunks.plan)
    assert (plan.vpp, plan.schedule, plan.stage_layers) == (2, "interleaved", (2, *[1] * 6, 4))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"stage_layers": (6, 9, 9)}, "3 numbers for 4 stages"),
        ({"stage_layers": (8, 8, 8, 9)}, r"8\+8\+8\+9 = 33; the model has 32"),
        ({"stage_layers": (16, 0, 8, 8)}, "stage 1 has no layer"),
        ({"stage_layers": "8,8,8,8", "first_stage_layers": 8}, "give one of the two"),
        ({"first_stage_layers": 7}, "leaves 25 of 32 layers for 3 stages"),
        (
            {"pp": 2, "stage_layers": (16, 16)} | dict.fromkeys(ENDS_COUNT, True),
            "make stages even",
        ),
        ({"pp": 1, "first_stage_layers": 7}, "one stage has all layers"),
    ],
)
def test_a_split_that_cannot_be_is_refused_with_its_field(
    fields: dict[str, object], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        train("llama3-8b", Plan(**({"pp": 4, "global_batch": 4} | fields)))


@pytest.mark.parametrize("text", ["", "6;9", "6,-9", "E", "tt|L", "Em|tL", "Et|tLx", "Et*99999L"])
def test_a_text_that_is_no_split_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="stage_layers"):
        layers_of(text)


def test_the_front_alone_may_be_a_stage() -> None:
    made = train("llama3-8b", Plan(pp=4, global_batch=4, stage_layers=(0, 16, 16, 0)))
    assert made.memory["stage0"]["weights"] == 2 * 128256 * 4096


@pytest.mark.parametrize("split", ["[7, 9, 9, 7]", '"7,9,9,7"', '"Et*7|t*9|t*9|t*7L"'])
def test_a_scenario_takes_a_split_as_a_list_or_a_text(split: str) -> None:
    text = f"""
workload:
  model: llama3-8b
  plan: {{pp: 4, global_batch: 4, stage_layers: {split}}}
cluster: hgx-h100
"""
    read = loads(text)
    assert loads(to_yaml(read)) == read
    assert plan_of(read.workload).stage_layers == (7, 9, 9, 7)
    assert compile(read).ranks == 4
