"""Makespans, idle times and peaks of schedules, as another executor recorded them.

The heads of the files in `data` say how each number came about.
"""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from yantra.workloads import schedules
from yantra.workloads.schedules.execution import Costs, Execution, execute
from yantra.workloads.schedules.in_flight import peaks
from yantra.workloads.schedules.schedule import Orders

DATA = Path(__file__).parent / "data"

Row = dict[str, Any]


def recorded(name: str) -> list[Row]:
    table = json.loads((DATA / name).read_text())
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def grouped(name: str) -> list[tuple[str, list[Row]]]:
    rows = recorded(name)
    return [
        (schedule, list(part))
        for schedule, part in groupby(
            sorted(rows, key=lambda row: str(row["schedule"])), lambda row: str(row["schedule"])
        )
    ]


def executed(name: str, row: Row, share: int) -> tuple[Orders, Execution]:
    """Run a schedule; durations of a row are divided by `share`."""
    schedule, v = schedules.get(name), row.get("v", 1)
    p, m = row["p"], row["m"]
    costs = Costs(
        forward=row["F"] / share,
        input_gradient=row["b"] / share,
        weight_gradient=row["W"] / share,
        overlapped=row.get("overlapped"),
        latency=row.get("c", 0),
    )
    orders = schedule.orders(p, m, v)
    return orders, execute(orders, schedule.stages(p, v), costs)


@pytest.mark.parametrize(
    ("name", "rows"),
    grouped("makespans.json"),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_makespan_peak_and_work_are_those_recorded(name: str, rows: list[Row]) -> None:
    base, _, chunks = name.partition("-v") if name.startswith("interleaved") else (name, "", "1")
    assert rows
    for row in rows:
        row |= {"v": int(chunks)}
        stages = schedules.get(base).stages(row["p"], row["v"])
        orders, execution = executed(base, row, stages.count // row["p"])
        assert execution.makespan == pytest.approx(row["makespan"], rel=1e-9), row
        assert list(peaks(orders)) == row["peak"], row
        work = row["m"] * (row["F"] + row["b"] + row["W"])
        assert execution.busy == pytest.approx([work] * row["p"], rel=1e-9), row


def test_all_684_makespans_are_there() -> None:
    assert len(recorded("makespans.json")) == 684


@pytest.mark.parametrize(
    ("name", "rows"),
    grouped("rows.json"),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_makespan_idle_time_and_peak_are_those_recorded(name: str, rows: list[Row]) -> None:
    assert rows
    for row in rows:
        orders, execution = executed(name, row, row["v"])
        assert execution.makespan == pytest.approx(row["makespan"], rel=1e-9), row
        if row["idle"] is not None:
            idle = execution.idle_inside if name == "zb-h2" else execution.idle
            assert list(idle) == pytest.approx(row["idle"], abs=1e-9), row
        if row["peak"] is not None:
            assert list(peaks(orders)) == row["peak"], row


def test_zb_v_is_no_slower_than_its_greedy_generator() -> None:
    """And has its peaks; where passes take equal time or nearly so, its makespan too.

    The generator is greedy, so that for (F, b, W) = (10, 12, 11) the fixed order is 6 faster.
    """
    rows = recorded("zbv.json")
    assert len(rows) == 7
    for row in rows:
        orders, execution = executed("zb-v", row, 1)
        slower = 6 if (row["F"], row["b"], row["W"]) == (10, 12, 11) else 0
        assert execution.makespan == row["makespan"] - slower
        assert list(peaks(orders)) == row["peak"]
        if row["F"] == row["b"] == row["W"]:
            assert list(execution.idle_inside) == row["idle"] == [0] * row["p"]
