"""What a space of plans reports: which fields vary, and what bounds them."""

from __future__ import annotations

from typing import Any

import pytest

from yantra.explore.closed_form.space import PlanSpace
from yantra.workloads.models.catalogue import find
from yantra.workloads.plan.plan import Plan

SPACES: list[dict[str, Any]] = [
    {},
    {"pp": (1,), "gradient_dtype": ("bf16",)},
    {"overlap": (True, False), "sequence_parallel": (False,)},
    {"zero": (2,), "recompute": ("operators",), "embedding_as_layer": (False,), "dtype": "fp8"},
    {"micro_batch": (1,), "vpp": (1, 2), "lora_rank": 8},
]


@pytest.mark.parametrize("given", SPACES)
def test_a_field_is_fixed_or_some_row_may_vary_it(given: dict[str, Any]) -> None:
    space = PlanSpace(ranks=16, global_batch=32, most_tp=8, **given)
    columns = space.columns(find("llama3-8b"))
    plans = [space.plan(columns, row) for row in range(0, len(columns["tp"]), 7)]
    fixed = space.fixed
    for name in Plan().given:
        values = {getattr(plan, name) for plan in plans}
        if name not in fixed:
            continue
        follows = fixed[name] is None or (name == "sequence_parallel" and fixed[name])
        assert follows or values == {fixed[name]}, name
    varied = {name for name in Plan().given if len({getattr(p, name) for p in plans}) > 1}
    follow = {"schedule", "sequence_parallel", "global_batch"}
    assert varied - follow <= set(Plan().given) - set(fixed)


def test_fields_that_are_not_given_say_what_bounds_them() -> None:
    space = PlanSpace(ranks=16, global_batch=32, most_tp=8)
    assert set(space.bounds) == {"tp", "cp", "micro_batch"}
    given = space.replace(cp=(1, 2), micro_batch=(1,), most_tp=None, lora_rank=8)
    assert set(given.bounds) == {"zero"}
    most = space.columns(find("llama3-8b"))
    assert (most["micro_batch"] * 8192 <= 131_072 * most["cp"]).all()
