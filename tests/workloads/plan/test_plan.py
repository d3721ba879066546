"""The plan as a record: what follows from its fields, and which values no plan may have."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from yantra.base.errors import ConfigError
from yantra.workloads.plan.plan import Plan, skew_of


def test_a_plan_of_nothing_is_one_rank_with_one_micro_batch() -> None:
    plan = Plan()
    assert (plan.ranks, plan.micro_batches, plan.edp, plan.replicas) == (1, 1, 1, 1)
    assert not plan.sequence_parallel


def test_what_is_left_out_follows_from_the_rest_and_is_derived_again_by_replace() -> None:
    plan = Plan(tp=8, dp=4, micro_batch=2)
    assert plan.sequence_parallel
    assert plan.global_batch == 8
    assert plan.bucket_size == 40_000_000
    changed = plan.replace(tp=1, dp=64)
    assert not changed.sequence_parallel
    assert changed.global_batch == 128
    assert changed.bucket_size == 64_000_000
    assert changed.replace(bucket_elements=100).bucket_size == 100


def test_several_chunks_per_device_mean_the_interleaved_schedule_unless_one_is_given() -> None:
    assert Plan(pp=4, vpp=2).schedule == "interleaved"
    assert Plan(pp=4, vpp=2).replace(vpp=1).schedule == "1f1b"
    assert Plan(pp=4, vpp=2, schedule="zb-v").schedule == "zb-v"


def test_what_was_given_stays_in_replace() -> None:
    plan = Plan(tp=8, dp=4, sequence_parallel=False, global_batch=32)
    assert plan.replace(dp=2).global_batch == 32
    assert not plan.replace(tp=4).sequence_parallel


def test_a_plan_survives_pickling_and_can_be_a_key() -> None:
    plan = Plan(tp=8, dp=4)
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan
    assert hash(again) == hash(plan)
    assert again.replace(dp=8).global_batch == 8


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("tp", 0, "expected a whole number of at least 1, got 0"),
        ("dp", True, "expected a whole number of at least 1, got true"),
        ("pp", 2.0, "expected a whole number of at least 1, got 2.0"),
        ("shard", 0, "expected a whole number of at least 1, got 0"),
        ("zero", 4, "expected 0, 1, 2 or 3, got 4"),
        ("cp_kind", "ulysses", "expected one of p2p, all_gather, a2a"),
        ("recompute", "sel", "did you mean 'selective'?"),
        ("overlap_p2p", "yes", 'expected true or false, got "yes"'),
        ("order", "tp-cp-ddp-pp", "expected each of tp, cp, ep, dp, pp once"),
        ("order", "tp-cp-tp", "expected each of tp, cp, ep, dp, pp once"),
        ("order", 3, "expected each of tp, cp, ep, dp, pp once"),
        ("routing", "zipf", 'such as "zipf:1.2"'),
        ("routing", "zipf:nan", 'such as "zipf:1.2"'),
        ("capacity_factor", 0, "expected a number above 0, got 0"),
        ("schedule", "", "expected a name or a file"),
    ],
)
def test_a_value_that_no_plan_may_have_is_named(field: str, value: Any, problem: str) -> None:
    with pytest.raises(ConfigError, match=field) as raised:
        Plan(**{field: value})
    assert raised.value.where == field
    assert problem in raised.value.problem


def test_routing_is_uniform_or_skewed_by_a_number() -> None:
    assert skew_of("uniform") == 0
    assert skew_of("zipf:1.25") == 1.25
