"""Generated training steps against published ones (docs/reference/accuracy.md,
training_steps.py).
"""

from __future__ import annotations

import pytest

from tests.validation import training_steps
from tests.validation.training_steps import Case, cases, models, recorded, simulated
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.workloads.models.catalogue import find
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

CASES = list(cases())
RECORD = recorded()
SMALL = [case for case in CASES if not case.large]
LONG = 32768


def ours_s(name: str) -> float:
    return next(RECORD[case.key].achievable for case in CASES if case.name == name)


def published_s(name: str) -> float:
    return next(case.published_s for case in CASES if case.name == name)


@pytest.mark.parametrize("case", SMALL, ids=lambda case: f"{case.name} {case.cluster}")
def test_a_step_takes_what_is_recorded(case: Case) -> None:
    assert simulated(case) == pytest.approx(RECORD[case.key], rel=1e-5)


def test_every_step_is_recorded_and_the_page_shows_the_record() -> None:
    assert [case.key for case in CASES] == list(RECORD)
    page = training_steps.PAGE.read_text(encoding="utf-8")
    shown = training_steps.page_with(page, RECORD)
    assert page == shown, "run: python -m tests.validation.training_steps --write"


def test_the_record_is_small_enough_to_be_checked_and_has_the_sources_of_all() -> None:
    assert len(SMALL) >= 14
    assert {case.group for case in CASES} == {"recompute", "megatron", "mpt", "llama3"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case.key))
def test_ours_is_optimistic_within_the_bounds_that_the_page_states(case: Case) -> None:
    ours = RECORD[case.key]
    assert ours.nominal < ours.achievable < case.published_s
    off = 1 - ours.achievable / case.published_s
    if case.model.sequence == LONG:
        assert 0.4 < off < 0.61
    elif case.cluster == "dgx-a100-80gb":
        assert 0.14 < off < 0.31
    else:
        assert 0.23 < off < 0.5


@pytest.mark.parametrize("model", ["22B", "175B", "530B", "1T"])
def test_selective_recomputation_saves_about_what_was_published(model: str) -> None:
    saved = [
        seconds(f"{model} selective") / seconds(f"{model} full recompute")
        for seconds in (ours_s, published_s)
    ]
    assert saved[0] == pytest.approx(saved[1], rel=0.05)
    assert 0.73 < saved[0] < 0.78


def test_larger_models_use_the_devices_better_as_published() -> None:
    """The model flops utilization of table 5, in the same order; 1T is not interleaved."""
    names = [f"{model} selective" for model in ("22B", "175B", "530B")]
    used = [_utilization(name, ours_s(name)) for name in names]
    assert used == sorted(used)
    published = [_utilization(name, published_s(name)) for name in names]
    assert published == sorted(published)
    assert published == pytest.approx([0.415, 0.514, 0.560], abs=0.01)


def _utilization(name: str, seconds: float) -> float:
    case = next(case for case in CASES if case.name == name)
    flops = 3 * case.model.flops(causal="full") * case.global_batch
    return flops / (seconds * case.ranks * 312e12)


def test_interleaving_shortens_the_bubble_by_the_number_of_stages() -> None:
    case = next(case for case in CASES if case.name == "175B selective")
    m, p, v = 16, 8, 3

    def seconds(chunks: int) -> float:
        plan = case.plan.replace(vpp=chunks, global_batch=m)
        workload = Templates(workload=train(case.model, plan))
        parts = cluster_parts(case.cluster, plan.ranks)
        return float(simulate(Scenario(workload=workload, **parts)).finish_ns.max())

    assert seconds(v) / seconds(1) == pytest.approx((m + (p - 1) / v) / (m + p - 1), rel=0.02)


def test_models_have_the_published_numbers_of_parameters() -> None:
    known = {name: (model, number) for name, (model, number) in models().items() if number}
    assert len(known) == 8
    for name, (model, number) in known.items():
        assert model.parameters() == number, name


@pytest.mark.parametrize(
    ("model", "gib"), [("22B", 45.5625), ("175B", 45.5625), ("530B", 31.640625), ("1T", 32.958984)]
)
def test_weights_gradients_and_state_are_those_of_figure_1(model: str, gib: float) -> None:
    """Korthikanti et al. count 18 bytes for the 12 h^2 of a layer; ours has its biases, too."""
    case = next(case for case in CASES if case.name == f"{model} selective")
    memory = train(case.model, case.plan.replace(vpp=1, global_batch=case.plan.micro_batch)).memory
    names = sorted(memory, key=lambda name: int(name.removeprefix("stage")))
    middle = memory[names[len(names) // 2]]
    held = middle["weights"] + middle["gradients"] + middle["optimizer"]
    if model == "22B":  # its only stage has the embedding: 51,200 tokens and 2048 positions
        held -= 18 * (51200 // 8 + 2048) * case.model.hidden
    assert held / 2**30 == pytest.approx(gib, rel=1e-3)


def test_checkpointing_by_operators_keeps_what_torchtitan_reserved() -> None:
    """The same page, table 1: two sequences of 8192 on each of 8 GPUs, compiled 77.0 GiB."""
    plan = Plan(dp=8, zero=3, micro_batch=2, global_batch=16, fused_loss=False)

    def peak(recompute: str) -> float:
        step = train("llama3-8b", plan.replace(recompute=recompute))
        return float(step.memory["stage0"]["peak"]) / 2**30

    assert 0.88 < peak("operators") / 77.0 < 1.0
    assert peak("selective") / 77.0 > 1.3


def test_sharding_over_more_ranks_frees_what_was_measured() -> None:
    """torchtitan at b5bcd76, benchmarks/llama3_h100_202412: 8 and 128 GPUs with FSDP.

    82.4 and 67.0 GiB, compiled 77.0 and 62.0. FSDP keeps 16 bytes per weight, ours are 18.
    """
    model = find("llama3-8b")

    def fixed(ranks: int) -> float:
        (memory,) = train(model, Plan(dp=ranks, zero=3, recompute="full")).memory.values()
        return float(memory["weights"] + memory["gradients"] + memory["optimizer"]) / 2**30

    freed = fixed(8) - fixed(128)
    assert freed * 16 / 18 < 77.0 - 62.0 < 82.4 - 67.0 < freed < 16
