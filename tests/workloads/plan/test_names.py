"""Plans by the names that other programs give to their fields."""

from __future__ import annotations

from typing import Any

import pytest

from yantra.base.errors import ConfigError
from yantra.workloads.plan.names import ALIASES, COMPUTED, known_names
from yantra.workloads.plan.plan import Plan


def test_names_of_megatron_give_the_same_plan_as_our_own() -> None:
    assert Plan.of(
        tensor_model_parallel_size=8,
        pipeline_model_parallel_size=4,
        num_virtual_stages_per_pipeline_rank=2,
        context_parallel_size=2,
        expert_model_parallel_size=4,
        world_size=512,
        micro_batch_size=2,
        global_batch_size=64,
        sequence_parallel=True,
        use_distributed_optimizer=True,
        recompute_granularity="selective",
        cp_comm_type="a2a",
        overlap_grad_reduce=False,
        no_overlap_p2p_communication=True,
        bf16=True,
        grad_reduce_in_bf16=True,
    ) == Plan(
        tp=8,
        pp=4,
        vpp=2,
        cp=2,
        ep=4,
        dp=8,
        micro_batch=2,
        global_batch=64,
        sequence_parallel=True,
        zero=1,
        recompute="selective",
        cp_kind="a2a",
        overlap_gradients=False,
        overlap_p2p=False,
        gradient_dtype="bf16",
    )


def test_names_of_others_are_read_too() -> None:
    vllm = Plan.of(tensor_parallel_size=4, pipeline_parallel_size=2, data_parallel_size=3)
    assert vllm == Plan(tp=4, pp=2, dp=3)
    deepspeed = Plan.of(
        dp=8, zero_stage=3, train_micro_batch_size_per_gpu=2, gradient_accumulation_steps=4
    )
    assert deepspeed == Plan(dp=8, zero=3, micro_batch=2, global_batch=64)
    titan = Plan.of(
        tensor_parallel_degree=2, dp=8, zero=3, data_parallel_replicate_degree=2, torch_dtype="half"
    )
    assert titan == Plan(tp=2, dp=8, zero=3, shard=4, dtype="fp16")
    stg = Plan.of(dp=4, tp=2, weight_sharded=True, activation_recompute=True)
    assert stg == Plan(dp=4, tp=2, zero=3, recompute="full")


def test_flags_and_keywords_are_one() -> None:
    flags = Plan.of({"--tensor-model-parallel-size": 8, "--no-overlap-gradients": True})
    assert flags == Plan(tp=8, overlap_gradients=False)
    assert flags.spelling["tp"] == "--tensor-model-parallel-size"


def test_a_switch_that_is_off_says_nothing() -> None:
    assert Plan.of(use_distributed_optimizer=False, fp16=False, zero=2) == Plan(zero=2)


def test_a_switch_may_be_said_more_exactly_by_another_name() -> None:
    both = {
        "use_distributed_optimizer": True,
        "data_parallel_sharding_strategy": "optim_grads_params",
        "fp8_format": "hybrid",
        "bf16": True,
    }
    assert Plan.of(both) == Plan(zero=3, dtype="fp8")


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (
            {"tensor_model_paralel_size": 8},
            "tensor_model_paralel_size: a plan has no field of this name; "
            "did you mean 'tensor_model_parallel_size'?",
        ),
        (
            {"--tp": 8, "--tensor-model-parallel-size": 4},
            "--tensor-model-parallel-size: contradicts --tp: 4 and 8 for the same field, tp",
        ),
        ({"zero": 1, "zero_stage": 3}, "zero_stage: contradicts zero: 3 and 1"),
        ({"--micro-batch-size": 0}, "--micro-batch-size: expected a whole number of at least 1"),
        ({"sp": 4}, "sp: expected true or false: sequence parallelism runs over the tp ranks"),
        (
            {"fp8_format": "e5m2"},
            'fp8_format: expected one of e4m3, hybrid, got "e5m2"',
        ),
        ({"weight_sharded": 3}, "weight_sharded: expected one of true, false, got 3"),
        (
            {"tp": 8, "pp": 3, "world_size": 64},
            "world_size: 64 is no multiple of tp x cp x pp = 8 x 1 x 3 = 24; nearest: 48 or 72",
        ),
        (
            {"tp": 8, "dp": 4, "ranks": 64},
            "ranks: gives dp = 8, but dp says 4",
        ),
        ({"ranks": "64"}, 'ranks: expected a whole number of at least 1, got "64"'),
        (
            {"dp": 8, "num_distributed_optimizer_instances": 3},
            "num_distributed_optimizer_instances: 3 copies do not divide dp x cp = 8 ranks",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(names: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Plan.of(names)
    assert str(raised.value).startswith(problem)


def test_no_name_means_two_things() -> None:
    assert len(set(known_names())) == len(known_names())


def test_every_name_stands_for_a_field_and_translates_into_its_values() -> None:
    for alias in ALIASES:
        assert alias.field in Plan.field_names
        for value in (alias.values or {}).values():
            if value is not None:
                Plan(**{alias.field: value})
    assert {field for field, _ in COMPUTED.values()} <= set(Plan.field_names)
