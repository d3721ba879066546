"""Collectives whose time is known: how they run, and what the time is."""

from __future__ import annotations

from typing import Any

import pytest

from yantra.base.errors import ConfigError
from yantra.collectives.selection import FIELD, selection_of
from yantra.collectives.selection.measured import fits, systems
from yantra.collectives.selection.selection import Choice, Group, Selection, Timed
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.scenario.named import parts_at
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

H100 = {"system": "h100", "adapter": "48.5 GB/s"}
NODE = (("switch", 8), ("switch", 4))


def chosen(kind: str, group: Group, **options: Any) -> Timed:
    selection = selection_of(FIELD.read({"kind": "measured", "options": H100 | options}, "", ""))
    choice, *_ = selection.choices(kind, group)
    assert isinstance(choice.algorithms, Timed)
    return choice.algorithms


def at(timed: Timed, size: int) -> float:
    return dict(timed.points)[size]


@pytest.mark.parametrize("system", systems("node"))
@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"])
def test_more_bytes_take_longer_and_fits_are_near(system: str, kind: str) -> None:
    timed = chosen(kind, Group(8, NODE, (0,), 0, 8), system=system)
    times = [ns for _, ns in timed.points]
    assert times == sorted(times)
    assert fits()[system, kind, "node"].mean_error < 0.11  # of all versions of NCCL


def test_an_all_gather_is_counted_by_what_all_have_together() -> None:
    group = Group(8, NODE, (0,), 0, 8)
    gather, scatter = chosen("all_gather", group), chosen("reduce_scatter", group)
    assert at(gather, 2**26) == pytest.approx(at(scatter, 2**29), rel=0.1)


def test_what_is_extrapolated_says_so() -> None:
    assert "extrapolated" not in chosen("all_reduce", Group(8, NODE, (0,), 0, 8)).basis
    assert "extrapolated" in chosen("all_reduce", Group(32, NODE, (0, 1), 0, 8)).basis
    rack = Group(72, (("switch", 72),), (0,), 0, 72)
    assert "from 4 to 72 ranks" in chosen("all_reduce", rack, system="gb200").basis


def test_over_nodes_is_never_faster_than_within_one() -> None:
    for kind in ("all_reduce", "all_gather", "all_to_all"):
        node = chosen(kind, Group(8, NODE, (0,), 0, 8))
        nodes = chosen(kind, Group(32, NODE, (0, 1), 0, 8))
        assert all(b >= a for (_, a), (_, b) in zip(node.points, nodes.points, strict=True))


def test_a_token_sent_to_a_node_once_takes_less() -> None:
    group = Group(32, NODE, (0, 1), 0, 8)
    once = chosen("all_to_all", group, copies=8)
    share = (1 - (3 / 4) ** 8) * 4 / 8
    sent = at(chosen("all_to_all", group), 2**30)
    assert at(once, 2**30) == pytest.approx(share * sent, rel=0.02)


def test_a_system_that_nobody_measured_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"no measured collectives of 'h10'; .*did you mean"):
        chosen("all_reduce", Group(8, NODE, (0,), 0, 8), system="h10")


class Slow(Selection):
    def choices(self, kind: str, group: Group) -> list[Choice]:
        return [Choice(0, Timed(((1, 1e6),), "a test"))]


@pytest.mark.parametrize(
    "plan",
    [
        Plan(tp=8, dp=2, global_batch=8),
        Plan(tp=4, pp=2, dp=2, global_batch=8),
        Plan(tp=2, cp=2, pp=2, dp=2, vpp=2, global_batch=16),
        Plan(dp=16, zero=3),
    ],
)
@pytest.mark.parametrize("selection", [Slow, None])
@pytest.mark.parametrize("record", [False, True])
def test_folded_runs_equal_whole_ones(plan: Plan, selection: Any, record: bool) -> None:
    parts = parts_at("hgx-h100", 16, speeds="measured")
    if selection is not None:
        parts["collectives"] = parts["collectives"].replace(selection=selection)
    workload = Templates(workload=train("llama3-8b", plan))
    scenario = Scenario(workload=workload, **parts)
    folded = simulate(scenario.replace(fold="require"), record=record)
    whole = simulate(scenario.replace(fold="off"), record=record)
    assert list(folded.finish_ns) == list(whole.finish_ns)


def test_all_members_end_so_long_after_the_last_has_come() -> None:
    parts = cluster_parts("hgx-h100", 8, stack="roofline")
    parts["collectives"] = parts["collectives"].replace(selection=Slow)
    workload = Templates(workload=train("llama3-8b", Plan(tp=8)))
    nodes = simulate(Scenario(workload=workload, **parts)).collectives
    durations = nodes["end_ns"] - nodes["start_ns"]
    assert list(durations) == pytest.approx([1e6] * len(durations))


@pytest.mark.parametrize("selection", [Slow, None])
def test_a_summary_says_where_collectives_are_not_counted(selection: Any) -> None:
    from yantra.export.summary import summarise

    workload = train("llama3-8b", Plan(tp=8), 512)
    parts = parts_at("hgx-h100", 8, speeds="measured")
    if selection is not None:
        parts["collectives"] = parts["collectives"].replace(selection=selection)
    result = simulate(Scenario(workload=Templates(workload=workload), **parts))
    is_told = "count no messages of theirs" in " ".join(summarise(result).text().split())
    assert is_told is (not any(use.messages for use in result.dimension_uses))
    assert is_told is (selection is Slow)
