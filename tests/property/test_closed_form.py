"""The closed form of plans: against the simulation, against itself, and its laws."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from yantra.base.errors import CapacityError, ConfigError
from yantra.chakra import CollectiveType
from yantra.compile import compile
from yantra.explore.answers import runner
from yantra.explore.answers.best import best_plans
from yantra.explore.answers.runner import Shared
from yantra.explore.answers.words import lines, page
from yantra.explore.closed_form import exact as exact_runs
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.exact import Budget
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.on_stack import parts_for
from yantra.explore.closed_form.scale import Scale
from yantra.explore.closed_form.space import COLUMNS, PlanSpace
from yantra.run import simulate as simulate_runs
from yantra.run import work
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.scenario.quirks import Quirk
from yantra.workloads.models.catalogue import find
from yantra.workloads.plan.check import facts_of, problems
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.step.layers import layer_ranges
from yantra.workloads.training.train import train

CLUSTER = "hgx-h100"
EITHER: dict[str, Any] = {"sequence_parallel": (True, False), "overlap": (True, False)}
JOBS = [("llama3-8b", 32, 64), ("mixtral-8x7b", 32, 32), ("gpt3-13b", 16, 32)]


@pytest.mark.parametrize(("name", "ranks", "batch"), JOBS)
def test_memory_is_exact_and_time_near_the_simulation(name: str, ranks: int, batch: int) -> None:
    model = find(name)
    space = PlanSpace(ranks=ranks, global_batch=batch, most_tp=8, sequence=2048, **EITHER)
    columns = space.columns(model)
    judged = ClosedForm(model, Machine(CLUSTER, ranks, stack="unknown"), 2048).judge(columns, batch)
    parts = parts_for(CLUSTER, ranks, "bf16", "unknown")
    rng = np.random.default_rng(7)
    errors = []
    for row in rng.choice(len(columns["tp"]), 6, replace=False):
        workload = train(model, space.plan(columns, int(row)), 2048)
        assert judged.memory_bytes[row] == pytest.approx(max(workload.peaks().values()), rel=1e-6)
        result = simulate(Scenario(workload=Templates(workload=workload), **parts))
        errors.append(abs(judged.time_ns[row] / result.makespan_ns - 1))
    assert np.median(errors) < 0.02
    assert max(errors) < 0.08


@pytest.mark.parametrize("name", ["llama3-8b", "mixtral-8x7b", "deepseek-v2-lite", "vit-b/16"])
def test_every_row_of_a_space_is_a_legal_plan(name: str) -> None:
    model = find(name)
    kinds = ("p2p", "all_gather", "a2a")
    space = PlanSpace(
        ranks=24, global_batch=48, most_tp=8, cp=(1, 2), cp_kind=kinds, etp=(1, 2), **EITHER
    )
    columns = space.columns(model)
    facts, rows = facts_of(model), len(columns["tp"])
    for row in range(0, rows, max(rows // 100, 1)):
        plan = space.plan(columns, row)
        assert plan.ranks == 24
        assert list(problems(plan, facts, model.sequence)) == []
    if name != "vit-b/16":  # no rank can have a part of its sequence
        assert {1, 2} <= set(columns["cp"].tolist()) and len(set(columns["cp_kind"].tolist())) == 3
    assert set(columns["etp"].tolist()) == ({1, 2} if facts.experts else {1})


def test_contexts_are_split_until_each_of_two_chunks_of_a_rank_is_short() -> None:
    space = PlanSpace(ranks=64, global_batch=64, sequence=16384, tp=(1,), pp=(1,))
    assert set(space.columns(find("llama3-8b"))["cp"].tolist()) == {1, 2, 4}
    given = space.replace(cp=(1, 64)).columns(find("llama3-8b"))
    assert set(given["cp"].tolist()) == {1, 64}


@pytest.mark.parametrize("name", ["llama3-8b", "mixtral-8x7b", "dit-xl/2", "vit-b/16"])
def test_a_space_has_every_legal_plan_of_its_ranges(name: str) -> None:
    model, ranks, batch = find(name), 6, 12
    facts = facts_of(model)
    only: Any = {"cp": (1, 2), "etp": (1,), "gradient_dtype": ("fp32",)}
    only |= {"zero": (0, 3), "recompute": ("none", "operators")}
    only["micro_batch"] = (1, 2, 3, 4, 6, 12)  # whatever tokens they have
    columns = PlanSpace(ranks=ranks, global_batch=batch, **only, **EITHER).columns(model)
    found = set(zip(*(columns[name].tolist() for name in COLUMNS), strict=True))
    sizes = (1, 2, 3, 6)
    wanted = set()
    for tp, cp, ep, pp in product(sizes, (1, 2), sizes, sizes):
        dp = ranks // (tp * cp * pp)
        if tp * cp * pp * dp != ranks or batch % dp:
            continue
        each = batch // dp
        for micro_batch in (size for size in range(1, each + 1) if each % size == 0):
            for vpp, *ends in _pipelines(len(model.layers), pp):
                for zero, again, split, overlap in product((0, 3), (0, 3), (0, 1), (0, 1)):
                    nothing = (tp == 1 and not split) or (
                        dp * cp == 1 and not (zero == 0 < overlap)
                    )
                    plan = Plan(
                        tp=tp, cp=cp, ep=ep, pp=pp, vpp=vpp, dp=dp, micro_batch=micro_batch,
                        zero=zero, global_batch=batch, sequence_parallel=bool(split) and tp > 1,
                        embedding_as_layer=bool(ends[0]), loss_as_layer=bool(ends[1]),
                    )  # fmt: skip
                    if not nothing and not list(problems(plan, facts, model.sequence)):
                        row = tp, cp, ep, pp, vpp, dp, zero, micro_batch, again
                        wanted.add((*row, 1, 0, 0, *ends, split, overlap))
    assert found == wanted


def _pipelines(layers: int, pp: int) -> Iterator[tuple[int, int, int]]:
    """Yield chunks and whether the ends count as layers, of equal stages the first."""
    for vpp in range(1, layers + 3 if pp > 1 else 2):
        seen = set()
        for front, tail in product((0, 1), (0, 1)):
            try:
                ranges = layer_ranges(layers, pp * vpp, front=bool(front), tail=bool(tail))
            except ConfigError:
                continue
            if ranges not in seen:
                seen.add(ranges)
                yield vpp, front, tail


@pytest.mark.parametrize("name", ["dlrm", "vit-b/16", "mamba2-2.7b"])
def test_law_4_memory_of_models_of_other_forms_is_the_planned_one(name: str) -> None:
    model = find(name)
    space = PlanSpace(ranks=8, global_batch=32, zero=(0, 1, 2))
    columns = space.columns(model)
    memory = ClosedForm(model, Machine(CLUSTER, 8)).memory(columns, 32)
    for row in np.random.default_rng(3).permutation(len(memory))[:6]:
        peak = max(train(model, space.plan(columns, int(row))).peaks().values())
        assert memory[row] == pytest.approx(peak, rel=1e-5)  # small shards are padded


def test_a_ring_of_keys_and_values_waits_for_what_its_neighbours_compute() -> None:
    model = find("llama3-8b")
    space = PlanSpace(
        ranks=16, global_batch=16, sequence=8192, tp=(2, 8), cp=(2,), pp=(1, 2), vpp=(1,),
        zero=(1,), micro_batch=(1,), recompute=("none",),
    )  # fmt: skip
    columns = space.columns(model)
    judged = ClosedForm(model, Machine(CLUSTER, 16), 8192).judge(columns, 16)
    for row in range(len(columns["tp"])):
        workload = train(model, space.plan(columns, row), 8192)
        parts = cluster_parts(CLUSTER, 16, stack="roofline")
        scenario = Scenario(workload=Templates(workload=workload), **parts)
        alone = simulate(scenario.replace(quirks=frozenset({Quirk.LINKS_CARRY_ANYTHING.value})))
        assert judged.time_ns[row] == pytest.approx(alone.makespan_ns, rel=0.01)
        # Messages that share ports take longer, which the closed forms of the parts do not know.
        shared_ns = simulate(scenario).makespan_ns
        assert alone.makespan_ns <= shared_ns <= 1.05 * judged.time_ns[row]


def test_the_space_of_530b_on_512_devices_has_539696_plans() -> None:
    space = PlanSpace(ranks=512, global_batch=1920, most_tp=8, cp=(1, 2), **EITHER)
    assert len(space.columns(find("gpt-530b"))["tp"]) == 539_696


@pytest.mark.parametrize(
    ("sequence_parallel", "overlap"), [(True, False), (False, True), (False, False)]
)
def test_switches_are_near_the_simulation_where_messages_are_long(
    sequence_parallel: bool, overlap: bool
) -> None:
    model = find("llama3-8b")
    space = PlanSpace(
        ranks=32, global_batch=64, sequence=2048, tp=(4,), pp=(2,), vpp=(1, 4, 16), zero=(0,),
        micro_batch=(8,), sequence_parallel=(sequence_parallel,), overlap=(overlap,),
    )  # fmt: skip
    columns = space.columns(model)
    judged = ClosedForm(model, Machine(CLUSTER, 32), 2048).judge(columns, 64)
    for row in range(len(columns["tp"])):
        plan = space.plan(columns, row)
        assert plan.sequence_parallel is sequence_parallel
        assert plan.overlap_gradients is plan.overlap_parameters is overlap
        workload = train(model, plan, 2048)
        parts = cluster_parts(CLUSTER, 32, stack="roofline")
        result = simulate(
            Scenario(
                workload=Templates(workload=workload),
                **parts,
            )
        )
        assert judged.time_ns[row] == pytest.approx(result.makespan_ns, rel=0.03)


def test_no_row_stands_twice_and_parts_add_up() -> None:
    model = find("llama3-8b")
    columns = PlanSpace(ranks=16, global_batch=32, **EITHER).columns(model)
    rows = np.stack([columns[name] for name in COLUMNS], axis=1)
    assert len(np.unique(rows, axis=0)) == len(rows)
    judged = ClosedForm(model, Machine(CLUSTER, 16)).judge(columns, 32)
    whole = judged.kernels_ns + judged.communication_ns + judged.bubble_ns + judged.behind_ns
    assert whole == pytest.approx(judged.time_ns, rel=1e-12)


@pytest.mark.parametrize(
    ("size", "stride", "expected"),
    [
        (8, 1, (1.0, 0.0)),  # inside a node
        (4, 8, (0.0, 1.0)),  # across nodes only
        (2, 8, (0.0, 1.0)),
        (1, 1, (0.0, 0.0)),
    ],
)
def test_a_group_uses_the_links_of_the_dimensions_it_spans(
    size: int, stride: int, expected: tuple[float, float]
) -> None:
    assert Machine(CLUSTER, 32).occupancy(size, stride) == expected


def test_a_group_over_nodes_uses_both_dimensions_by_what_each_moves() -> None:
    machine = Machine(CLUSTER, 32)
    inner, outer = (7 / 8 / 370.8, 3 / 4 / 8 / 48.5)
    assert machine.occupancy(32, 1) == pytest.approx((1.0, outer / inner), rel=1e-9)


def test_few_microbatches_of_an_interleaved_pipeline_pay_for_weights_of_each_chunk() -> None:
    model = find("llama3-8b")
    space = PlanSpace(
        ranks=16, global_batch=32, sequence=2048, tp=(1,), pp=(2,), zero=(1,), micro_batch=(2,),
        recompute=("full",),
    )  # fmt: skip
    columns = space.columns(model)
    judged = ClosedForm(model, Machine(CLUSTER, 16), 2048).judge(columns, 32)
    parts = cluster_parts(CLUSTER, 16, stack="roofline")
    errors = []
    for row in range(len(columns["tp"])):
        workload = train(model, space.plan(columns, row), 2048)
        result = simulate(Scenario(workload=Templates(workload=workload), **parts))
        errors.append(abs(judged.time_ns[row] / result.makespan_ns - 1))
    assert len(errors) > 4
    assert np.median(errors) < 0.03
    assert max(errors) < 0.08


@pytest.mark.parametrize(
    ("ranks", "batch", "seq", "stack"),
    [
        pytest.param(16, 16, 2048, "roofline", marks=pytest.mark.slow),
        pytest.param(8, 8, 1024, "roofline", marks=pytest.mark.slow),
        (8, 8, 1024, "megatron-2022"),
    ],
)
def test_the_best_plan_of_a_small_space_is_that_of_simulating_all(
    ranks: int, batch: int, seq: int, stack: str
) -> None:
    model = find("llama3-8b")
    space = PlanSpace(
        ranks=ranks, global_batch=batch, sequence=seq, most_tp=8, recompute=("none",), pp=(1, 2),
        zero=(0, 1), gradient_dtype=("fp32",),
    )  # fmt: skip
    answer = best_plans(model, CLUSTER, space, stack=stack, refined=False)
    columns, parts = space.columns(model), parts_for(CLUSTER, ranks, "bf16", stack)
    times = []
    for row in range(len(columns["tp"])):
        workload = train(model, space.plan(columns, row), seq)
        room = answer.capacity_bytes - answer.reserve_bytes
        if max(workload.peaks().values()) <= room:
            scenario = Scenario(workload=Templates(workload=workload), **parts)
            times.append(simulate(scenario).makespan_ns)
    assert len(times) == answer.fitting
    assert answer.ranked[0].time_ns == min(times)


def test_differences_of_the_ranked_add_up_to_their_times() -> None:
    answer = best_plans(
        find("llama3-8b"), CLUSTER, PlanSpace(ranks=16, global_batch=32, sequence=2048), top=3
    )
    times = [one.time_ns for one in answer.ranked]
    assert times == sorted(times) and len(times) == 3
    for one in answer.ranked:
        assert sum(one.parts_ns) == pytest.approx(one.time_ns, rel=1e-9)
        assert one.refined or one.error <= answer.error + 1e-12
        assert one.memory_bytes <= answer.capacity_bytes


def test_what_searches_share_changes_nothing() -> None:
    model = find("llama3-8b")
    space = PlanSpace(ranks=16, global_batch=32, sequence=2048, vpp=(1,))
    shared = Shared(model, 2048)
    for cluster in (CLUSTER, "dgx-a100-80gb"):
        alone = best_plans(model, cluster, space, top=2)
        together = best_plans(model, cluster, space, top=2, shared=shared)
        assert alone._replace(judged_s=0.0) == together._replace(judged_s=0.0)


def test_a_machine_with_other_rates_and_equal_links_measures_no_group_again() -> None:
    kind = CollectiveType.ALL_REDUCE
    base = Machine(CLUSTER, 16)
    size_bytes = 1 << 26
    start, slope = base.line_of(kind, 4, 2, size_bytes)
    faster = Machine(CLUSTER, 16, Scale(peak=2.0, latency=2.0), like=base)
    # A start is the difference of two times a thousand times as long.
    assert faster.line_of(kind, 4, 2, size_bytes) == pytest.approx((start / 2, slope), rel=1e-4)
    peak = Machine(CLUSTER, 16, Scale(peak=2.0), like=base)
    assert peak._measured is base._measured
    links = Scale(links=(2.0,))
    alone, like = Machine(CLUSTER, 16, links), Machine(CLUSTER, 16, links, like=base)
    of_both = [one.line_of(kind, 4, 2, size_bytes) for one in (alone, like)]
    assert of_both[0] == of_both[1] != (start, slope)


def test_a_plan_without_events_left_has_the_time_of_the_closed_form_and_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "Budget", lambda: Budget(0))
    space = PlanSpace(ranks=8, global_batch=16, sequence=1024)
    answer = best_plans(find("llama3-8b"), CLUSTER, space, top=2)
    assert answer.simulated == 0 and answer.error is None
    for one in answer.ranked:
        assert one.time_ns == one.closed_ns
        assert one.not_simulated == "the simulations of a cluster may take 0 events"
    text = "\n".join(lines(answer))
    assert f"<caption>Plans on {answer.cluster}" in page("plans", [answer])
    assert "none simulated" in text and "by closed form alone (~): 1, 2; the simulations" in text


def test_a_run_of_all_of_many_ranks_is_refused_before_it_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(work, "_MANY_MESSAGES", 0)
    plan = Plan(pp=4, micro_batch=1, global_batch=4)
    workload = train(find("llama3-8b"), plan, 1024)
    scenario = Scenario(
        workload=Templates(workload=workload), **cluster_parts(CLUSTER, 4, stack="roofline")
    )
    exact = Budget().simulate(scenario)
    assert exact.result is None
    assert exact.reason.startswith("not folded, so all 4 ranks are run, about")


def test_a_run_of_more_nodes_than_events_are_left_is_given_up_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (exact_runs, simulate_runs):
        monkeypatch.setattr(module, "EVENTS_PER_SLICE", 10)
    plan = Plan(pp=4, micro_batch=1, global_batch=64)
    workload = train(find("llama3-8b"), plan, 1024)
    scenario = Scenario(
        workload=Templates(workload=workload), **cluster_parts(CLUSTER, 4, stack="roofline")
    )
    nodes = sum(len(compile(scenario).graphs.of(rank)) for rank in range(4))
    assert Budget(2 * nodes).simulate(scenario).result is not None
    budget = Budget(nodes - 1)
    exact = budget.simulate(scenario)
    assert exact.result is None and exact.reason.endswith(f"may take {nodes - 1:,} events")
    assert budget.simulate(scenario).result is None  # only the slice is spent


def test_a_search_without_an_answer_says_what_is_missing() -> None:
    with pytest.raises(CapacityError, match=r"none of .* fits; the smallest"):
        best_plans(find("llama3-70b"), CLUSTER, PlanSpace(ranks=2, global_batch=2))
    with pytest.raises(ConfigError, match=r"on 16 ranks with a global batch of 7 and .*tp 1"):
        PlanSpace(ranks=16, global_batch=7, pp=(1,), tp=(1,)).columns(find("llama3-8b"))
    with pytest.raises(ConfigError, match="pp: an empty choice"):
        PlanSpace(ranks=16, global_batch=7, pp=())
    with pytest.raises(ConfigError, match="sequence: bert-base has 512 positions, got 1024"):
        PlanSpace(ranks=2, global_batch=2, sequence=1024).columns(find("bert-base"))
    with pytest.raises(ConfigError, match="overlap: expected true or false, got 1"):
        PlanSpace(ranks=2, global_batch=2, overlap=(1,))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="zero: expected 0, 1, 2 or 3, got 4"):
        PlanSpace(ranks=16, global_batch=7, zero=(4,))


def test_a_group_of_very_many_ranks_is_measured_within_what_the_clock_holds() -> None:
    machine = Machine(CLUSTER, 16384, Scale(links=(1.0, 0.01)))
    for kind in (CollectiveType.ALL_GATHER, CollectiveType.ALL_TO_ALL):
        for _, start, slope in machine.lines_of(kind, 2048, 8):
            assert start > 0 and slope > 0


@pytest.mark.parametrize(
    ("cluster", "ranks"),
    [("tpu-v5p", 256), ("tpu-v4", 1024), ("trainium2", 64), ("gb200-nvl72", 144)],
)
@pytest.mark.parametrize(("size", "stride"), [(2, 1), (4, 2), (16, 1), (3, 8)])
def test_a_group_takes_the_same_among_few_ranks_as_among_all(
    cluster: str, ranks: int, size: int, stride: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if ranks % (size * stride):
        return
    few, every = Machine(cluster, ranks), Machine(cluster, ranks)
    monkeypatch.setattr(every, "_enough", lambda *_: ranks)
    for kind in (CollectiveType.ALL_REDUCE, CollectiveType.ALL_TO_ALL):
        assert few._measure(kind, size, stride) == every._measure(kind, size, stride)
