"""Who is late and which transfers are slow: waits add up, planted faults are named, clean jobs not.

`python -m tests.planted` plants hundreds.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planted import KINDS, MINUTE_NS, answer, is_named, planted, read
from tests.recorded_jobs import Plan, write
from yantra.cli import main
from yantra.explain.recordings.why import Usual, Why
from yantra.tracing.clocks import on_one_clock
from yantra.tracing.why.accounts import IDLE, account, accounts
from yantra.tracing.why.causes import causes
from yantra.tracing.why.late import blames, meetings
from yantra.tracing.why.rank import PARTS, Launches, Rank, Work


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_fault_is_named(kind: str) -> None:
    plan = planted(kind, 7)
    assert is_named(plan, found := answer(plan)), found.named


@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_named_in_a_clean_job(seed: int) -> None:
    assert answer(planted("clean", seed)).named == []


def _waits(found: Why) -> list[float]:
    return [one.waited_ns for one in found.meetings]


def test_each_wait_is_blamed_once() -> None:
    found = answer(Plan(late=("host", 2, 1, 500.0)))
    assert sum(row.waited_ns for row in found.late) == pytest.approx(sum(_waits(found)))
    assert sum(row.times for row in found.late) == len(found.meetings)


def test_the_last_arriver_waits_for_nobody_and_transfers_begin_with_it() -> None:
    ranks = read(Plan(seed=5, late=("kernels", 1, 0, 0.3)))
    made = meetings(ranks, on_one_clock([one.ends() for one in ranks]))
    assert len(made) == 3 * (2 * 3 + 1)
    for one in made:
        assert one.came_ns[one.last] == max(one.came_ns)
        took = 121.0 if one.group == "0" else 61.0
        assert one.transfer_ns == pytest.approx(1000 * took, rel=0.1)
        assert one.waited_ns == sum(max(one.came_ns) - came for came in one.came_ns)


def test_clocks_a_minute_apart_change_no_wait() -> None:
    plan = Plan(seed=2, late=("loader", 3, 1, 900.0))
    same, apart = answer(plan), answer(plan._replace(apart_ns=MINUTE_NS))
    assert same.clocks.how == "agree" and apart.clocks.how == "estimated"
    assert _waits(apart) == pytest.approx(_waits(same), rel=0.02, abs=12_000)
    assert apart.named[0].split(":")[0] == same.named[0].split(":")[0]


def test_parts_of_a_rank_add_up_to_its_window() -> None:
    found = answer(Plan(seed=4, late=("gap", 0, 0, 700.0)))
    ranks = read(Plan(seed=4, late=("gap", 0, 0, 700.0)))
    mean = sum(one.end_ns - one.begin_ns for one in ranks) / len(ranks)
    assert sum(row.mean_ns for row in found.parts) == pytest.approx(mean)


def test_a_step_alone_has_its_collectives_alone() -> None:
    plan = Plan(steps=3, late=("host", 1, 2, 800.0))
    whole, last = answer(plan), answer(plan, step=2)
    assert {one.step for one in last.meetings} == {2}
    assert len(last.meetings) == len(whole.meetings) // 3
    (longer,) = [row for row in whole.steps if row.longer_because]
    assert longer.number == 2 and longer.longer_because.startswith("aten::unique of rank 1")


def test_one_rank_alone_has_accounts_and_no_late_ranks() -> None:
    one = read(Plan())[:1]
    assert meetings(one, on_one_clock([one[0].ends()])) == []
    assert blames(one, on_one_clock([one[0].ends()]), []) == []


@pytest.mark.parametrize(("slower", "is_slow"), [(1.0, False), (1.3, False), (1.7, True)])
def test_a_model_is_wrong_by_more_than_its_interval_more_often_than_links_are_slow(
    slower: float, is_slow: bool
) -> None:
    found = answer(Plan(seed=6, slow_all=slower))
    assert [one.slow for one in found.transfers if one.kind == "all_reduce"] == [
        "model" if is_slow else ""
    ]


def test_unexplained_time_before_a_batch_is_the_input_pipeline() -> None:
    """The next step's loader runs when the host has waited long for it."""
    found = answer(Plan(steps=4, late=("stall", 1, 0, 900.0)))
    (row,) = [cause for cause in found.causes if cause["rank"] == 1]
    assert row["name"] == "input pipeline" and row["most_ns"] == pytest.approx(2.7e6, rel=0.4)


def test_a_cause_has_no_more_time_than_the_table_gives_its_part() -> None:
    """A gap of one lane under the work of another is nobody's unexplained time."""
    spans = [(0, 100_000, 3), (20_000, 80_000, 4), (90_000, 150_000, 4), (110_000, 150_000, 4)]
    start, end, kind = np.array(spans).T
    work = Work(start, end, kind, 0 * kind, 0 * kind, ["delay"])
    rank = Rank(0, "", 1, 0, 150_000, [], [], work, {}, Launches((150_000,)))
    (cause,) = causes(rank)
    assert cause.ns == account(rank)["unexplained_device"] == 50_000


def test_the_command_prints_the_answer_and_refuses_an_unknown_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pattern = write(Plan(ranks=4, late=("host", 2, 1, 900.0)), tmp_path)
    assert main(["trace", "why", pattern]) == 0
    said = capsys.readouterr().out
    assert "rank 2 is late because of aten::unique (host work), since step 1" in " ".join(
        said.split()
    )
    assert main(["trace", "why", pattern, "--step", "1", "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert {one["last"] for one in form["collectives"] if one["waited_ns"] > 1e6} == {2}
    assert main(["trace", "why", pattern, "--step", "9"]) == 2
    assert "rank 0 has no step 9; it has 0, 1, 2" in capsys.readouterr().err
    assert main(["trace", "why", pattern, "--cluster", "hgx-h1000"]) == 2
    assert "hgx-h1000" in capsys.readouterr().err


END = 30
SPAN = st.tuples(st.integers(0, END), st.integers(0, END), st.integers(0, len(PARTS) - 1))


@given(
    spans=st.lists(SPAN, max_size=12),
    windows=st.lists(st.tuples(st.integers(0, END), st.integers(0, END)).map(sorted), max_size=4),
)
def test_each_moment_of_a_window_counts_for_the_first_part_under_way(
    spans: list[tuple[int, int, int]], windows: list[list[int]]
) -> None:
    columns = [np.array(column, dtype=np.int64) for column in zip(*spans, strict=True)]
    start, end, kind = columns or [np.zeros(0, dtype=np.int64)] * 3
    work = Work(np.minimum(start, end), np.maximum(start, end), kind, kind, kind, [])
    rank = Rank(0, "", 1, 0, END, [], [], work, {})
    found = accounts(rank, [(begin, over) for begin, over in windows])
    for (begin, over), parts in zip(windows, found, strict=True):
        seen = dict.fromkeys((*PARTS, IDLE), 0)
        for moment in range(begin, over):
            under_way = {k for s, e, k in spans if min(s, e) <= moment < max(s, e)}
            seen[PARTS[min(under_way)] if under_way else IDLE] += 1
        assert parts == seen
    assert account(rank) == accounts(rank, [(0, END)])[0]


@given(st.lists(st.dictionaries(st.sampled_from("ab"), st.integers(0, 9)), min_size=2, max_size=7))
def test_what_is_usual_is_the_median_of_the_other_steps(steps: list[dict[str, int]]) -> None:
    named = [{("host", name): ns for name, ns in step.items()} for step in steps]
    usual = Usual(named)
    for at, step in enumerate(named):
        for name, ns in step.items():
            others = [other.get(name, 0) for other in named[:at] + named[at + 1 :]]
            assert usual.median(name, ns) == median(others)
