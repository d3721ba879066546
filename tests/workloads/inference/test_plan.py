"""Plans of inference: what follows, what is refused, vLLM's names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workloads.inference.jobs import DENSE, LATENT, made
from yantra.base.errors import ConfigError, UnsupportedError, YantraError
from yantra.workloads.models import zoo
from yantra.workloads.models.assemble import model_of
from yantra.workloads.serving import InferencePlan, infer
from yantra.workloads.serving.iterations import Request, iterations_of
from yantra.workloads.serving.lanes import plays_of


def test_experts_that_need_more_ranks_than_tp_make_replicas() -> None:
    assert InferencePlan(ep=64).dp == 64
    assert InferencePlan(tp=4, ep=16).dp == 4
    assert (InferencePlan(tp=8).etp, InferencePlan(tp=8, ep=2).etp) == (8, 4)
    assert InferencePlan(tp=4, dp=2, ep=8).etp == 1


def test_types_follow_the_computing_type() -> None:
    plan = InferencePlan(dtype="fp8")
    assert (plan.weight_dtype, plan.kv_cache_dtype) == ("fp8", "bf16")


def test_the_names_of_vllm_are_read() -> None:
    plan = InferencePlan.of(
        tensor_parallel_size=4,
        data_parallel_size=2,
        enable_expert_parallel=True,
        kv_cache_dtype="fp8_e4m3",
        quantization="fp8",
        all2all_backend="deepep_low_latency",
        gpu_memory_utilization=0.8,
        block_size=32,
    )
    assert plan == InferencePlan(
        tp=4, dp=2, ep=8, kv_cache_dtype="fp8", weight_dtype="fp8", low_latency=True,
        gpu_memory_utilization=0.8, block_size=32,
    )  # fmt: skip


@pytest.mark.parametrize(
    "given, message",
    [
        ({"tp": 0}, "tp: expected a whole number of at least 1, got 0"),
        ({"tensor_parallel_size": 0}, "tensor_parallel_size: expected a whole number"),
        ({"dtype": "bf1"}, "did you mean 'bf16'"),
        ({"tensor_paralel_size": 2}, "did you mean 'tensor_parallel_size'"),
        ({"tp": 4, "tensor_parallel_size": 2}, "contradicts tp: 2 and 4"),
        ({"tp": 8, "dp": 2, "ep": 12}, "ep: ep x etp = 12 x 1 = 12 is no multiple of tp = 8"),
        ({"dp": 4, "ep": 3}, "ep: ep x etp = 3 x 1 = 3 does not divide tp x dp = 4; nearest: 2"),
        ({"low_latency": True}, "low_latency: nothing is exchanged with ep = 1"),
        ({"gpu_memory_utilization": 2}, "gpu_memory_utilization: expected a number above 0"),
        ({"all2all_backend": "naive"}, "expected one of deepep_high_throughput"),
        ({"ep": 2, "dp": 4, "enable_expert_parallel": True}, "but ep says 2"),
    ],
)
def test_impossible_plans_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        InferencePlan.of(given)


@pytest.mark.parametrize(
    "plan, message",
    [
        (InferencePlan(tp=16), "tp: dense: 16 ranks cannot share heads 8"),
        (InferencePlan(pp=5), "pp: expected at most one stage per layer (4), got 5"),
        (InferencePlan(ep=2), "ep: dense: it has no experts"),
    ],
)
def test_plans_that_do_not_fit_the_model_are_refused(plan: InferencePlan, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        made(DENSE, plan)


@pytest.mark.parametrize(
    "job, message",
    [
        ({"phase": "prefil"}, "phase: expected one of prefill"),
        ({"batch": 0}, "batch: expected a whole number of at least 1"),
        ({"batch": 3, "plan": InferencePlan(dp=2)}, "nearest: 4"),
        ({"phase": "decode", "context": 0}, "context: expected a whole number of at least 1"),
        ({"phase": "decode", "batch": 9, "max_num_batched_tokens": 8}, "expected at least 9"),
        ({"phase": "mixed", "batch": 8, "max_num_batched_tokens": 8}, "one token of a prompt"),
        ({"phase": "disaggregated", "context": 5}, "prompts start with an empty cache"),
        ({"iterations": 10**9, "phase": "decode"}, "iterations: expected at most 100000"),
    ],
)
def test_impossible_jobs_are_refused(job: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        made(DENSE, job.pop("plan", None), **job)


@pytest.mark.parametrize("name", ["resnet-50", "bert-base", "dlrm"])
def test_models_that_do_not_generate_are_told_so(name: str) -> None:
    with pytest.raises(UnsupportedError, match="inference generates token by token"):
        infer(model_of(zoo.get(name)))


FIELDS = st.fixed_dictionaries(
    {},
    optional={
        name: st.sampled_from((0, 1, 2, 3, 8, -1, None, "x", True, 0.5))
        for name in InferencePlan.field_names
    },
)


@settings(deadline=None)
@given(FIELDS)
def test_whatever_is_given_is_a_plan_or_an_error(fields: dict[str, Any]) -> None:
    try:
        plan = InferencePlan.of(fields)
        assert plan.grid().size == plan.ranks
    except YantraError as error:
        assert str(error)


def test_prompts_fill_what_generating_sequences_leave() -> None:
    requests = [Request(10), Request(0, 25), Request(0, 4)]
    found = [
        [(share.sequence, share.new, share.past, share.emits) for share in iteration]
        for iteration in iterations_of(requests, budget=12, count=4)
    ]
    assert found == [
        [(0, 1, 10, True), (1, 11, 0, False)],
        [(0, 1, 11, True), (1, 11, 11, False)],
        [(0, 1, 12, True), (1, 3, 22, True), (2, 4, 0, True)],
        [(0, 1, 13, True), (1, 1, 25, True), (2, 1, 4, True)],
    ]


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 20)), min_size=1, max_size=8),
    st.integers(1, 4),
)
def test_lanes_lose_and_repeat_no_token(work: list[tuple[int, int]], lanes: int) -> None:
    requests = [Request(past, prompt) for past, prompt in work]
    plays = plays_of(requests, min(lanes, len(work)), budget=12, generates=False)
    done = [0] * len(requests)
    emitted = [0] * len(requests)
    for play in plays:
        for share in play.iteration:
            if share.is_prompt:
                assert share.past == requests[share.sequence].past + done[share.sequence]
                done[share.sequence] += share.new
                emitted[share.sequence] += share.emits
    assert done == [prompt for _, prompt in work]
    assert emitted == [prompt > 0 for _, prompt in work]


def test_all_lanes_of_a_mixed_phase_go_on_while_one_has_prompts() -> None:
    plays = plays_of([Request(5)] * 4 + [Request(0, 30)], 2, budget=10)
    tokens = [(play.lane, sum(share.new for share in play.iteration)) for play in plays]
    assert tokens == [(0, 10), (1, 2)] * 3 + [(0, 8), (1, 2)]


def test_latent_rows_are_no_reason_to_refuse_a_split() -> None:
    made(LATENT, InferencePlan(tp=8), phase="decode", batch=1)


def test_the_page_names_every_field() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "inference.md"
    text = page.read_text(encoding="utf-8")
    assert all(f"| `{field}` |" in text for field in InferencePlan.field_names)
