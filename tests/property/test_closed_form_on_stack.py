"""Plans judged on a stack: the closed form has the times and interval of `yantra run --stack`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.chakra import CollectiveType
from yantra.cli.plan import command as plan_command
from yantra.explore.answers.best import best_plans
from yantra.explore.answers.sensitivity import sensitivities
from yantra.explore.answers.words import lines
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.on_stack import parts_for
from yantra.explore.closed_form.scale import Scale
from yantra.explore.closed_form.space import PlanSpace
from yantra.explore.study.study import run_study
from yantra.explore.study.study_file import study_of
from yantra.fabric import clusters, stacks
from yantra.fabric.stacks.choice import UNKNOWN
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates
from yantra.scenario.named import parts_at
from yantra.scenario.on_cluster import on_cluster
from yantra.scenario.one_collective import collective_on
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.catalogue import find
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.training.train import train

CLUSTERS = ("hgx-h100", "dgx-a100-80gb", "hgx-b200")
STACKS = (UNKNOWN, "megatron-bridge", "megatron-2022", "megatron-deepspeed-2023")
LINE = "{{value: {}, source: test}}"
FILE = """
title: A stack of a test
sources: {{test: a test}}
machines:
  any:
    rows: 1
    models: 1
    products: {products}
    attention: {attention}
    rest: {rest}
    launch: {launch}
    interval: {{value: 0.2, source: test}}
"""


@cache
def small(layers: int = 2) -> Any:
    sizes: dict[str, Any] = {"hidden_size": 2048, "num_attention_heads": 16, "vocab_size": 8192}
    sizes |= {"ffn_hidden_size": 4096, "seq_length": 1024, "num_layers": layers}
    return model_of(Transformer(name="small", source="test", **sizes))


def written(
    folder: Path, factor: float = 1.0, launch: str = "0 us", taken: float | None = None
) -> str:
    numbers = dict.fromkeys(("products", "attention", "rest"), LINE.format(factor))
    text = FILE.format(**numbers, launch=LINE.format(launch))
    if taken is not None:
        text += f"    taken: {LINE.format(taken)}\n"
    path = folder / "mine.yaml"
    path.write_text(text)
    return str(path)


def closed(
    model: Any, space: PlanSpace, cluster: str, stack: str, scale: Scale | None = None
) -> Any:
    columns = space.columns(model)
    machine = Machine(cluster, space.ranks, scale, stack=stack)
    judged = ClosedForm(model, machine, space.sequence).judge(columns, space.global_batch)
    return columns, judged.time_ns


def ran(model: Any, space: PlanSpace, columns: Any, row: int, parts: dict[str, Any]) -> float:
    workload = train(model, space.plan(columns, row), space.sequence)
    return simulate(Scenario(workload=Templates(workload=workload), **parts)).makespan_ns


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(CLUSTERS),
    st.sampled_from(STACKS),
    st.sampled_from([(1, 1), (2, 1), (8, 1), (16, 1), (2, 2)]),
    st.sampled_from(["none", "full"]),
    st.integers(0, 99),
)
def test_a_plan_takes_what_its_run_takes(
    cluster: str, stack: str, split: tuple[int, int], again: str, seed: int
) -> None:
    ranks, tp = split
    space = PlanSpace(
        ranks=ranks, global_batch=ranks * 2, tp=(tp,), pp=(1,), recompute=(again,), overlap=(False,)
    )
    columns, times = closed(small(), space, cluster, stack)
    row = int(np.random.default_rng(seed).integers(len(times)))
    run = ran(small(), space, columns, row, parts_for(cluster, ranks, "bf16", stack))
    # What begins and ends layers of a group together is no part of the closed form.
    assert times[row] == pytest.approx(run, rel=2e-3 if tp == 1 else 1e-2)


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
def test_sms_that_collectives_take_make_what_hides_them_longer(zero: int, tmp_path: Path) -> None:
    model = find("llama3-8b")
    space = PlanSpace(
        ranks=16, global_batch=32, most_tp=8, sequence=2048, zero=(zero,), overlap=(True, False)
    )
    _, bare = closed(model, space, "hgx-h100", written(tmp_path))
    stack = written(tmp_path, taken=0.2)
    columns, times = closed(model, space, "hgx-h100", stack)
    assert (bare <= times * (1 + 1e-9)).all() and (times <= bare / 0.8 * (1 + 1e-9)).all()
    alone = (columns["overlap"] == 0) & (columns["tp"] * columns["pp"] == 1)
    assert times[alone] == pytest.approx(bare[alone]) and (times > bare)[~alone].any()
    parts = parts_for("hgx-h100", 16, "bf16", stack)
    rows = np.random.default_rng(zero).permutation(np.flatnonzero(columns["overlap"]))[:6]
    runs = [ran(model, space, columns, int(row), parts) for row in rows]
    errors = abs(times[rows] / runs - 1)
    assert np.median(errors) < 0.03 and max(errors) < 0.1


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_stack_that_changes_nothing_has_the_measured_times(cluster: str, tmp_path: Path) -> None:
    space = PlanSpace(ranks=8, global_batch=8, tp=(1,), pp=(1,), overlap=(False,))
    columns, times = closed(small(), space, cluster, written(tmp_path))
    parts = parts_at(cluster, 8, "bf16", speeds="measured")
    for row in range(0, len(times), 2):
        assert times[row] == pytest.approx(ran(small(), space, columns, row, parts), rel=3e-3)


def test_equal_factors_make_every_plan_as_much_longer(tmp_path: Path) -> None:
    space = PlanSpace(ranks=16, global_batch=16, most_tp=8)
    found = []
    for factor in (1.0, 1.5):
        path = written(tmp_path, factor, "20 us")
        found.append(closed(small(), space, "hgx-h100", path)[1])
    assert found[1] == pytest.approx(1.5 * found[0], rel=1e-9)


def test_twice_the_rates_halve_every_plan_and_one_rate_never_more(tmp_path: Path) -> None:
    space = PlanSpace(ranks=16, global_batch=16, most_tp=8)
    path = written(tmp_path, 1.1, "5 us")
    _, now = closed(small(), space, "hgx-h100", path)
    every = Scale()
    for rate in Machine("hgx-h100", 16).rates:
        every = every.times(rate, 2.0)
        _, faster = closed(small(), space, "hgx-h100", path, Scale().times(rate, 2.0))
        assert (faster <= now * (1 + 1e-9)).all()
        assert (faster >= now / 2 * (1 - 1e-9)).all()
    assert closed(small(), space, "hgx-h100", path, every)[1] == pytest.approx(now / 2, rel=1e-9)


@pytest.mark.parametrize("kind", [CollectiveType.ALL_REDUCE, CollectiveType.REDUCE_SCATTER])
@pytest.mark.parametrize("ranks", [8, 32])
def test_a_collective_takes_what_was_measured(kind: CollectiveType, ranks: int) -> None:
    machine = Machine("hgx-h100", ranks, stack=UNKNOWN)
    parts = parts_for("hgx-h100", ranks, "bf16", UNKNOWN)
    for size in (1, 4, 100_000, 3 << 20, 5 << 30):
        alone = collective_on("hgx-h100", kind, size * ranks, ranks)
        run = simulate(Scenario(workload=alone.workload, **parts)).makespan_ns
        per_rank = size * ranks
        assert machine.collective_ns(kind, ranks, 1, per_rank) == pytest.approx(run, rel=1e-5)


def test_lines_of_several_groups_are_those_of_each() -> None:
    groups = ((8, 1), (4, 8), (32, 1))
    for stack in (UNKNOWN, "roofline"):
        machine = Machine("hgx-h100", 32, stack=stack)
        table = machine.table_of(CollectiveType.ALL_GATHER, groups)
        sizes = 2.0 ** np.arange(2, 34, 0.37)
        at = table.begins.searchsorted(sizes, side="right")
        for row, group in enumerate(groups):
            starts, slopes = machine.lines_at(CollectiveType.ALL_GATHER, *group, sizes)
            assert table.starts[row, at] == pytest.approx(starts)
            assert table.slopes[row, at] == pytest.approx(slopes)


@pytest.mark.parametrize(("cluster", "ranks"), [("hgx-h100", 256), ("mi300x", 128)])
def test_a_group_takes_as_long_among_few_ranks_as_among_all(cluster: str, ranks: int) -> None:
    few, every = Machine(cluster, ranks), Machine(cluster, ranks)
    every._enough = lambda size, stride: ranks  # type: ignore[method-assign]
    smaller = 0
    for size, stride in ((2, 8), (8, 1), (4, 2), (16, 4), (8, 8), (36, 2), (2, 36)):
        if ranks % (size * stride) == 0:
            smaller += few._enough(size, stride) < ranks
            for kind in (CollectiveType.ALL_REDUCE, CollectiveType.ALL_TO_ALL):
                assert few.lines_of(kind, size, stride) == every.lines_of(kind, size, stride)
    assert smaller


JOBS = (
    ("llama3-70b", "hgx-b200", PlanSpace(ranks=64, global_batch=64, most_tp=8, sequence=2048)),
    ("mixtral-8x7b", "hgx-h100", PlanSpace(ranks=32, global_batch=32, most_tp=8, sequence=2048)),
    ("gpt3-13b", "dgx-a100-80gb", PlanSpace(ranks=16, global_batch=32, most_tp=8, sequence=2048)),
)


@pytest.mark.parametrize(("name", "cluster", "space"), JOBS)
def test_plans_of_all_kinds_are_near_their_runs(name: str, cluster: str, space: PlanSpace) -> None:
    model, stack = find(name), "megatron-bridge"
    columns, times = closed(model, space, cluster, stack)
    parts = parts_for(cluster, space.ranks, "bf16", stack)
    rows = np.random.default_rng(3).permutation(len(times))[:8]
    off = [abs(times[row] / ran(model, space, columns, int(row), parts) - 1) for row in rows]
    assert np.median(off) < 0.02
    assert max(off) < 0.07


@pytest.mark.parametrize("dtype", ["bf16", "fp8"])
@pytest.mark.parametrize("stack", STACKS)
def test_a_plan_is_run_as_the_command_runs_it(stack: str, dtype: Any, tmp_path: Path) -> None:
    space = PlanSpace(ranks=8, global_batch=8, tp=(2,), pp=(1,), dtype=dtype, micro_batch=(2,))
    workload = train(small(), space.plan(space.columns(small()), 0))
    workload.save(tmp_path / "step.yw")
    given = on_cluster(str(tmp_path / "step.yw"), "hgx-h100", stack=stack, ignore_memory=True)
    own = Scenario(workload=Templates(workload=workload), **parts_for("hgx-h100", 8, dtype, stack))
    assert simulate(own).makespan_ns == simulate(given).makespan_ns


def test_the_interval_of_the_best_plan_is_that_of_its_run() -> None:
    space = PlanSpace(ranks=8, global_batch=16, most_tp=8, recompute=("none",))
    answer = best_plans(small(), "hgx-h100", space, stack="megatron-2022", top=3)
    parts = parts_for("hgx-h100", 8, "bf16", "megatron-2022")
    for one in answer.ranked:
        workload = Templates(workload=train(small(), one.plan))
        result = simulate(Scenario(workload=workload, **parts))
        assert one.time_ns == result.makespan_ns
        assert one.sure is not None
        assert result.interval is not None
        assert (one.sure.low, one.sure.high) == (result.interval.low, result.interval.high)
        assert one.sure.rests_on == result.interval.rests_on
    wins = [one.sure.wins for one in answer.ranked if one.sure is not None]
    assert sum(wins) <= 1.0  # two more were drawn beside them
    assert wins[0] == max(wins)  # one like the first wins less often than one that is not
    text = "\n".join(lines(answer))
    assert "rests on: measured" in text
    assert "wins" in text


def test_plans_at_speeds_alone_have_no_interval_and_say_so() -> None:
    space = PlanSpace(ranks=8, global_batch=8, tp=(1,), pp=(1,), recompute=("none",))
    for stack, said in (("roofline", "usually 20 to 55 % too fast"), ("nominal", "data sheet")):
        answer = best_plans(small(), "hgx-h100", space, stack=stack)
        assert {one.sure for one in answer.ranked} == {None}
        assert said in "\n".join(lines(answer))
    times = [closed(small(), space, "hgx-h100", of)[1].min() for of in ("nominal", "roofline")]
    assert times[0] < times[1]


def test_sensitivities_on_a_stack_sum_to_minus_one() -> None:
    space = PlanSpace(ranks=16, global_batch=16, tp=(2,), pp=(2,), vpp=(1,))
    found = sensitivities(small(), clusters.load("hgx-h100"), space, stack="megatron-2022")
    assert sum(one.elasticity for one in found) == pytest.approx(-1.0, abs=1e-3)
    assert all(-1.0 <= one.elasticity <= 1e-9 for one in found)


STUDY: dict[str, Any] = {
    "model": "llama3-8b", "global_batch": 16, "clusters": ["hgx-h100"], "ranks": [16],
    "sequence": 1024, "plan": {"recompute": ["none"], "pp": [1, 2]},
}  # fmt: skip


def test_several_stacks_are_an_axis_of_a_study(tmp_path: Path) -> None:
    every = [UNKNOWN, "megatron-2022", "roofline"]
    both = study_of(STUDY | {"stack": every, "scale": {"peak": [1, 1.2]}}, "study")
    folder = str(tmp_path / "kept")
    found = run_study(both, folder)
    assert [(one["scale"]["peak"], one["stack"]) for one in found.trials] == [
        (peak, stack) for peak in (1.0, 1.2) for stack in every
    ]
    alone = run_study(study_of(STUDY | {"stack": "megatron-2022"}, "study"))
    assert alone.trials[0]["step_time"] == found.trials[1]["step_time"]
    assert "stack" not in alone.trials[0]
    assert run_study(both, folder, resume=True).trials == found.trials


def test_a_stack_that_is_none_is_refused_where_it_stands() -> None:
    with pytest.raises(ConfigError, match=r"study: stack.*megatron-2021"):
        study_of(STUDY | {"stack": "megatron-2O21"}, "study")
    for wrong in ([UNKNOWN, UNKNOWN], [], 5, [UNKNOWN, 3], "", "achievable"):
        with pytest.raises(ConfigError, match="study: stack"):
            study_of(STUDY | {"stack": wrong}, "study")
    with pytest.raises(ConfigError, match="roofline and nominal are speeds alone"):
        study_of(STUDY | {"stack": "rooflin"}, "study")
    words = ["--model", "llama3-8b", "--ranks", "8", "--cluster", "hgx-h100"]
    told = CliRunner().invoke(plan_command, [*words, "--global-batch", "8", "--stack", "megatro"])
    assert isinstance(told.exception, ConfigError)
    assert "--stack" in str(told.exception)


def test_measured_times_at_other_rates_have_no_run() -> None:
    machine = Machine("hgx-h100", 8, Scale(peak=2.0), stack=UNKNOWN)
    with pytest.raises(UnsupportedError, match="stack: roofline"):
        machine.parts  # noqa: B018


def test_the_search_on_a_stack_knows_every_shipped_one() -> None:
    space = PlanSpace(ranks=8, global_batch=8, tp=(1,), pp=(1,), micro_batch=(1,), zero=(0,))
    times = {name: closed(small(), space, "hgx-h100", name)[1][0] for name in stacks.names()}
    assert all(time > 0 for time in times.values())
    assert len(set(times.values())) > len(times) // 2
