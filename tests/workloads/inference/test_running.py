"""Workloads of inference run to their ends, in both semantics, and are the same each time."""

from __future__ import annotations

from itertools import product
from math import prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workloads.importers.running import Semantics, finish
from tests.workloads.inference.jobs import DENSE, LATENT, TRANSFORMERS, known, made, shortened
from tests.zoo import drawn, some
from yantra.workloads.serving import InferencePlan

BOTH: tuple[Semantics, ...] = ("astra-sim", "yantra")


@pytest.mark.parametrize("phase", ["prefill", "decode"])
@pytest.mark.parametrize("name", some(TRANSFORMERS))
def test_every_known_transformer_runs_on_eight_ranks(name: str, phase: str) -> None:
    has_experts = known(name).num_experts > 0
    plan = InferencePlan(tp=2, pp=2, dp=2, ep=4 if has_experts else 1)
    job = {"batch": 8, "prompt": 64, "iterations": 2 if phase == "decode" else None}
    work = made(shortened(name), plan, phase=phase, **job)
    for semantics in BOTH:
        assert min(finish(work, semantics)) > 0


@st.composite
def plans(draw: st.DrawFn, *, experts: bool, most: int = 8) -> InferencePlan:
    sizes = [one for one in product((1, 2, 4), repeat=3) if prod(one) <= most]
    tp, pp, dp = draw(st.sampled_from(sizes))
    sp = tp > 1 and draw(st.booleans())
    pairs = [
        (ep, etp)
        for ep, etp in product((1, 2, 4, 8), repeat=2)
        if tp * dp % (ep * etp) == 0 and (sp or ep * etp % tp == 0)
    ]
    ep, etp = draw(st.sampled_from(pairs)) if experts else (1, None)
    return InferencePlan(
        tp=tp, pp=pp, dp=dp, ep=ep, etp=etp, sequence_parallel=sp,
        low_latency=ep > 1 and draw(st.booleans()),
        micro_batches=draw(st.sampled_from((None, 1, 3))),
        kv_cache_dtype=draw(st.sampled_from((None, "fp8"))),
        weight_dtype=draw(st.sampled_from((None, "fp8", "fp4"))),
    )  # fmt: skip


@given(st.data())
@drawn(10)
def test_any_plan_runs_to_its_end(data: st.DataObject) -> None:
    model = data.draw(st.sampled_from((DENSE, LATENT)))
    plan = data.draw(plans(experts=model is LATENT))
    phase = data.draw(st.sampled_from(("prefill", "decode", "mixed")))
    work = made(
        model, plan, phase=phase,
        batch=plan.dp * data.draw(st.integers(1, 4)),
        context=data.draw(st.integers(1, 40)),
        prompts=plan.dp * data.draw(st.integers(1, 3)) if phase == "mixed" else None,
        prompt=data.draw(st.integers(1, 40)),
        max_num_batched_tokens=data.draw(st.sampled_from((None, 11, 64))),
        iterations=data.draw(st.sampled_from((None, 3))) if phase != "prefill" else None,
    )  # fmt: skip
    for semantics in BOTH:
        finish(work, semantics)


@given(st.data())
@drawn(6)
def test_any_two_grids_run_to_their_ends(data: st.DataObject) -> None:
    model = data.draw(st.sampled_from((DENSE, LATENT)))
    source, target = (
        data.draw(plans(experts=model is LATENT, most=4)).replace(kv_cache_dtype="bf16")
        for _ in range(2)
    )
    work = made(
        model, source, decode_plan=target, phase="disaggregated",
        batch=4 * data.draw(st.integers(1, 2)), prompt=data.draw(st.integers(1, 40)),
        max_num_batched_tokens=data.draw(st.sampled_from((None, 11, 64))),
        iterations=data.draw(st.integers(1, 3)),
        transfer=data.draw(st.sampled_from(("layer", "end"))),
    )  # fmt: skip
    for semantics in BOTH:
        finish(work, semantics)


def test_an_iteration_waits_for_the_token_of_the_one_before() -> None:
    plan = InferencePlan(pp=2, micro_batches=1)
    times = [
        max(finish(made(DENSE, plan, phase="decode", batch=2, context=9, iterations=n), "yantra"))
        for n in (1, 2, 4)
    ]
    assert times[2] > 1.9 * times[1] > 3.6 * times[0]


def test_equal_inputs_give_equal_bytes(tmp_path: Path) -> None:
    plans = InferencePlan(tp=2), InferencePlan(ep=4)
    files = []
    for number in range(2):
        work = made(LATENT, plans[0], decode_plan=plans[1], phase="disaggregated", batch=4)
        files.append(tmp_path / f"{number}.yw")
        work.save(files[-1])
    assert files[0].read_bytes() == files[1].read_bytes()
