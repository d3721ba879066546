"""What a framework is told of a plan is that plan: the same fields, layers and time."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.workloads.frameworks.plans import MODELS, SEQUENCE, asked, plans, read_back, step_ns
from yantra.base.errors import ConfigError
from yantra.workloads.frameworks import FRAMEWORKS, emit
from yantra.workloads.job_file import request_of, resolve
from yantra.workloads.models import zoo
from yantra.workloads.plan.plan import Plan

FILTERED = [HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large]
FEW = settings(max_examples=6, deadline=None, suppress_health_check=FILTERED, derandomize=True)
ALL = settings(FEW, max_examples=200)


def same(framework: str, data: st.DataObject) -> None:
    model, plan = data.draw(plans(framework))
    tree = read_back(framework, model, plan)
    job = resolve(request_of(tree, "back", ""))
    assert (job.plan, job.sequence) == (plan, SEQUENCE)
    assert step_ns(tree) == step_ns(asked(model, plan))


@pytest.mark.parametrize("framework", FRAMEWORKS)
@FEW
@given(data=st.data())
def test_a_plan_comes_back_with_its_time(framework: str, data: st.DataObject) -> None:
    same(framework, data)


@pytest.mark.slow
@pytest.mark.parametrize("framework", FRAMEWORKS)
@ALL
@given(data=st.data())
def test_200_plans_come_back_with_their_times(framework: str, data: st.DataObject) -> None:
    same(framework, data)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(
    "field", [{"routing": "zipf:1.2"}, {"prefetch": 3, "zero": 3}, {"exposed_gradients": 0.5}]
)
def test_a_field_without_a_word_is_refused_by_name(framework: str, field: dict) -> None:
    with pytest.raises(ConfigError) as told:
        emit(framework, MODELS[framework][0], Plan(dp=8, **field))
    assert told.value.where == f"plan.{next(iter(field))}"


@pytest.mark.parametrize("framework", ["megatron", "nemo"])
@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("vpp", {"vpp": 2, "schedule": "interleaved"}),
        ("overlap_p2p", {"pp": 2, "vpp": 2, "schedule": "interleaved", "overlap_p2p": False}),
        ("overlap_parameters", {"zero": 1, "overlap_gradients": False}),
        ("narrow_weights", {"dtype": "fp8", "narrow_weights": True}),
        ("narrow_weights", {"dtype": "fp8", "narrow_weights": True, "zero": 1,
                            "offload_optimizer": True}),
    ],
)  # fmt: skip
def test_what_megatron_refuses_to_start_is_refused_by_name(
    framework: str, field: str, fields: dict
) -> None:
    with pytest.raises(ConfigError) as told:
        emit(framework, MODELS[framework][0], Plan(dp=8, global_batch=64, **fields))
    assert told.value.where == f"plan.{field}"


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_model_without_words_is_refused_by_name(framework: str) -> None:
    with pytest.raises(ConfigError, match="dlrm"):
        emit(framework, zoo.get("dlrm"), Plan(dp=8))
