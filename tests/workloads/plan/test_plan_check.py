"""Which plans a model can be trained by, why not, and the nearest possible plan."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.divisors import divisors
from yantra.base.errors import ConfigError
from yantra.base.records import Record
from yantra.workloads.plan.check import check, facts_of, problems
from yantra.workloads.plan.nearest import cost, nearest
from yantra.workloads.plan.plan import Plan
from yantra.workloads.plan.words import difference


class Attention(Record):
    heads: int
    kv_heads: int
    causal: bool = True


class Width(Record):
    intermediate: int


class Experts(Record):
    experts: int
    intermediate: int
    shared: int = 0


class Layer(Record):
    attention: Record | None
    mlp: Record


class Words(Record):
    vocab: int
    positions: int = 0


class Tables(Record):
    columns: int


class Sizes(Record):
    name: str
    front: Record
    layers: tuple[Record, ...]
    tail: Record
    sequence: int
    fixed_sequence: bool = False


def model(
    layers: int = 80,
    heads: int = 64,
    kv_heads: int = 8,
    mlp: Record | None = None,
    sequence: int = 8192,
    **more: Any,
) -> Sizes:
    layer = Layer(
        attention=Attention(heads=heads, kv_heads=kv_heads), mlp=mlp or Width(intermediate=28672)
    )
    words = Words(vocab=128256)
    return Sizes(
        name="large",
        front=more.pop("front", words),
        layers=(layer,) * layers,
        tail=words,
        sequence=sequence,
        **more,
    )


DENSE = model()
TABLES = model(front=Tables(columns=128))
EXPERTS = model(32, 32, 8, Experts(experts=8, intermediate=14336), 4096)


def test_the_sizes_of_a_model_are_read_from_its_blocks() -> None:
    facts = facts_of(model(mlp=Experts(experts=16, intermediate=1024, shared=2)))
    assert (facts.layers, facts.heads, facts.kv_heads) == (80, (64,), (8,))
    assert (facts.experts, facts.expert_widths, facts.widths) == ((16,), (1024,), (2048,))
    assert facts.is_causal


@pytest.mark.parametrize(
    ("which", "plan"),
    [
        (DENSE, Plan()),
        (DENSE, Plan(tp=8, pp=8, dp=16, global_batch=1024, zero=1)),
        (DENSE, Plan(tp=8, pp=4, cp=2, dp=3)),
        (DENSE, Plan(tp=4, cp=2, cp_kind="a2a", dp=2)),
        (DENSE, Plan(pp=8, vpp=5, global_batch=16)),
        (DENSE, Plan(pp=7, global_batch=16)),  # 80 layers over 7 stages, unevenly
        (EXPERTS, Plan(tp=2, dp=16, ep=8, etp=4)),
        (EXPERTS, Plan(cp=4, dp=2, ep=8, shard=8, zero=3)),
        (EXPERTS, Plan(order="tp-cp-ep-pp-dp", tp=8, dp=8, ep=8, pp=2)),
    ],
)
def test_a_possible_plan_passes(which: Sizes, plan: Plan) -> None:
    check(plan, which)


@pytest.mark.parametrize(
    ("which", "plan", "where", "reason", "near"),
    [
        (DENSE, Plan(tp=7, dp=8), "tp", "64 attention heads are not divisible by 7", "tp=8 dp=7"),
        (
            model(kv_heads=12, heads=24),
            Plan(tp=8),
            "tp",
            "12 key-value heads are not divisible by 8",
            "tp=4 dp=2",
        ),
        (
            model(mlp=Width(intermediate=100)),
            Plan(tp=8),
            "tp",
            "the MLP width 100 is not divisible by 8",
            "tp=4 dp=2",
        ),
        (
            DENSE,
            Plan(sequence_parallel=True),
            "sequence_parallel",
            "runs over the tp ranks, and tp is 1",
            "sequence_parallel=False",
        ),
        (
            DENSE,
            Plan(dp=6, micro_batch=2, global_batch=100),
            "global_batch",
            "100 is no multiple of micro-batch x dp = 2 x 6 = 12; the nearest: 96 or 108",
            "global_batch=96",
        ),
        (
            DENSE,
            Plan(pp=8, vpp=2, global_batch=12),
            "schedule",
            "needs micro-batches in groups of one per device (8), got 12",
            "global_batch=16",
        ),
        (
            DENSE,
            Plan(pp=8, vpp=2, global_batch=16, schedule="1f1b"),
            "schedule",
            "1f1b needs 1 chunk per device, got 2",
            "schedule='interleaved'",
        ),
        (DENSE, Plan(pp=128), "pp", "80 layers cannot fill 128 stages", "pp=64 dp=2"),
        (
            DENSE,
            Plan(pp=8, vpp=16, global_batch=8),
            "vpp",
            "80 layers cannot fill 128 stages",
            "vpp=10",
        ),
        (
            model(sequence=1000),
            Plan(tp=8, cp=2),
            "cp",
            "1000 tokens are not divisible by tp x cp = 8 x 2 = 16",
            "tp=4 dp=2",
        ),
        (
            model(sequence=1000),
            Plan(cp=8),
            "cp",
            "1000 tokens are not divisible by 2 x 8: each of the 8 ranks takes two chunks",
            "cp=4 dp=2",
        ),
        (
            DENSE,
            Plan(tp=8, cp=4, cp_kind="a2a"),
            "cp",
            "a2a shares heads, and 8 key-value heads / tp 8 = 1 is not divisible by 4",
            "tp=2 dp=4",
        ),
        (EXPERTS, Plan(dp=16, ep=16), "ep", "8 experts are not divisible by 16", "ep=8"),
        (
            EXPERTS,
            Plan(dp=8, etp=3),
            "etp",
            "ep x etp = 1 x 3 = 3 must divide the tp x cp x dp = 1 x 1 x 8 = 8 ranks of a stage",
            "etp=4",
        ),
        (
            EXPERTS,
            Plan(tp=2, sequence_parallel=False),
            "sequence_parallel",
            "experts with tp = 2 need it",
            "sequence_parallel=True",
        ),
        (DENSE, Plan(dp=2, ep=2), "ep", "large has no experts, got 2", "ep=1"),
        (
            DENSE,
            Plan(capacity_factor=1.5),
            "capacity_factor",
            "large has no experts",
            "without capacity_factor",
        ),
        (
            DENSE,
            Plan(dp=4, zero=3, shard=3),
            "shard",
            "groups of 3 ranks do not divide dp x cp = 4 x 1 = 4",
            "shard=4",
        ),
        (DENSE, Plan(dp=4, shard=2), "shard", "shards nothing with zero = 0", "without shard"),
        (
            DENSE,
            Plan(dp=4, zero=1, prefetch=2),
            "prefetch",
            "nothing is gathered ahead with zero = 1; give 3",
            "prefetch=1",
        ),
        (
            EXPERTS,
            Plan(cp=4, dp=2, ep=8, shard=4, zero=3),
            "shard",
            "experts have no shard groups of their own; left out, other weights are sharded "
            "over dp x cp = 8",
            "without shard",
        ),
        (
            TABLES,
            Plan(dp=4, ep=2, etp=2),
            "etp",
            "large has no experts, got 2",
            "etp=1",
        ),
        (
            TABLES,
            Plan(dp=4, ep=2, routing="zipf:1.2", capacity_factor=1.5),
            "routing",
            "large has no experts to route to",
            "routing='uniform' without capacity_factor",
        ),
        (TABLES, Plan(ep=3, dp=3), "ep", "128 columns of tables are not divisible by 3", "ep=1"),
        (
            EXPERTS,
            Plan(order="tp-cp-ep-pp-dp", tp=8, dp=4, ep=4, pp=2),
            "order",
            "8 neighbouring ranks share a stage in one, 4 in the other",
            "order='tp-cp-ep-dp-pp'",
        ),
    ],
)
def test_an_impossible_plan_is_refused_with_the_numbers_and_the_nearest_plan(
    which: Sizes, plan: Plan, where: str, reason: str, near: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        check(plan, which)
    assert raised.value.where == where
    assert reason in str(raised.value)
    ranks = "1 rank" if plan.ranks == 1 else f"{plan.ranks} ranks"
    assert str(raised.value).endswith(f"the nearest possible plan on {ranks}: {near}")


def test_a_model_of_one_length_takes_no_other() -> None:
    with pytest.raises(ConfigError, match="sequence: large always has 197 tokens, got 512"):
        check(Plan(), model(sequence=197, fixed_sequence=True), 512)
    with pytest.raises(ConfigError, match="sequence: large has 512 positions, got 8192"):
        check(Plan(), model(front=Words(vocab=128256, positions=512)))


def test_every_broken_rule_is_told() -> None:
    with pytest.raises(ConfigError) as raised:
        check(Plan(tp=7, dp=2, global_batch=3), DENSE)
    assert str(raised.value).startswith("global_batch: 3 is no multiple")
    assert "\n  also tp: 64 attention heads" in str(raised.value)


def test_errors_call_fields_as_the_user_did() -> None:
    plan = Plan.of({"--tensor-model-parallel-size": 7, "--dp": 8})
    with pytest.raises(ConfigError) as raised:
        check(plan, DENSE)
    assert raised.value.where == "--tensor-model-parallel-size"
    near = "the nearest possible plan on 56 ranks: --tensor-model-parallel-size 8 --dp 7"
    assert str(raised.value).endswith(near)


def test_a_difference_of_switches_is_written_as_flags() -> None:
    plan = Plan.of({"--tp": 2, "--no-sequence-parallel": True})
    other = plan.replace(sequence_parallel=True, overlap_p2p=False, shard=None)
    assert difference(plan, other) == "--sequence-parallel --no-overlap-p2p"


def test_a_difference_names_what_does_not_follow_from_the_rest() -> None:
    plan = Plan(dp=8)
    assert difference(plan, plan.replace(zero=3, global_batch=8)) == "zero=3"
    fewer = plan.replace(dp=4, tp=2, global_batch=8)
    assert difference(plan, fewer) == "tp=2 dp=4 global_batch=8"
    assert difference(plan, plan.replace(dp=4, tp=2)) == "tp=2 dp=4"


AXIS = st.sampled_from([1, 2, 3, 4, 6, 8])
IMPOSSIBLE = st.builds(
    Plan,
    tp=AXIS,
    cp=AXIS,
    pp=AXIS,
    dp=AXIS,
    ep=AXIS,
    etp=AXIS,
    vpp=st.sampled_from([1, 2, 3]),
    micro_batch=st.sampled_from([1, 2]),
    global_batch=st.integers(1, 40),
)
SMALL = model(12, 12, 4, Experts(experts=12, intermediate=96), 288)


@pytest.mark.parametrize(
    ("given_fields", "near"),
    [
        ({"--ranks": 64, "--tp": 32, "--pp": 2}, "64 ranks: --tp 8"),
        ({"world_size": 64, "tp": 32, "pp": 2}, "64 ranks: tp=8"),
        (
            {"--tp": 5, "--dp": 2, "--gradient-accumulation-steps": 3},
            "10 ranks: --tp 2 --dp 5 --gradient-accumulation-steps 1",
        ),
        (
            {"--dp": 8, "--zero": 1, "--num-distributed-optimizer-instances": 2, "--tp": 3},
            "24 ranks: --tp 2 --dp 12 --num-distributed-optimizer-instances 3",
        ),
    ],
)
def test_the_nearest_plan_can_be_typed(given_fields: dict[str, Any], near: str) -> None:
    with pytest.raises(ConfigError) as raised:
        check(Plan.of(given_fields), DENSE)
    assert str(raised.value).endswith(near)


def test_a_name_that_stands_for_a_value_gives_way_to_the_fields_own() -> None:
    plan = Plan.of({"--use-distributed-optimizer": True, "--dp": 4, "--no-sp": True, "--tp": 2})
    other = plan.replace(zero=3, sequence_parallel=True)
    assert difference(plan, other) == "--sequence-parallel --zero 3"


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        (
            Plan(tp=2**40, pp=2**40, dp=2**40),
            f"tp: tp x cp x dp x pp = {2**40} x 1 x {2**40} x {2**40} = {2**120} ranks; at most "
            f"{2**31} can be",
        ),
        (
            Plan(pp=2**31),
            f"global_batch: 1 micro-batch through {2**31} chunks of layers are {2**31} passes; at "
            f"most {2**20} can be\n  also pp: 80 layers cannot fill {2**31} stages\n",
        ),
        (Plan(dp=8, global_batch=2**40, micro_batch=2**40), "global_batch: "),
        (Plan(tp=3, dp=698_377_680), "tp: 64 attention heads are not divisible by 3\n"),
    ],
)
def test_huge_numbers_are_refused_at_once(plan: Plan, problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        check(plan, DENSE)
    assert str(raised.value).startswith(problem)


@given(st.integers(1, 5000))
def test_divisors_are_those_that_divide(number: int) -> None:
    assert list(divisors(number)) == [d for d in range(1, number + 1) if number % d == 0]


@given(plan=IMPOSSIBLE)
def test_the_nearest_plan_is_possible_and_has_as_many_ranks(plan: Plan) -> None:
    facts = facts_of(SMALL)
    found = nearest(plan, facts, 288)
    assert found is not None
    assert found.ranks == plan.ranks
    assert not list(problems(found, facts, 288))


@given(plan=IMPOSSIBLE)
def test_no_plan_that_differs_in_one_field_is_nearer(plan: Plan) -> None:
    facts = facts_of(SMALL)
    found = nearest(plan, facts, 288)
    assert found is not None
    for field, values in (
        ("ep", range(1, 13)),
        ("etp", range(1, 13)),
        ("vpp", range(1, 13)),
        ("micro_batch", range(1, 41)),
        ("global_batch", range(1, 81)),
    ):
        for value in values:
            other = plan.replace(**{field: value})
            if cost(plan, other) < cost(plan, found):
                assert any(problems(other, facts, 288)), (field, value)


@given(plan=IMPOSSIBLE)
def test_a_possible_plan_is_its_own_nearest(plan: Plan) -> None:
    facts = facts_of(SMALL)
    if not any(problems(plan, facts, 288)):
        assert nearest(plan, facts, 288) == plan
