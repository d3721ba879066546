"""The recorded numbers of pipeline schedules are those of `../shared/golden/workloads`.

Skipped without that folder.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workloads.schedules.test_recorded import executed, recorded
from yantra.workloads.schedules.in_flight import peaks

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "workloads"
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason=f"{SHARED} is not there")


def shared(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((SHARED / name).read_text())
    return rows


def test_every_makespan_is_recorded() -> None:
    ours, theirs = recorded("makespans.json"), shared("pipe_makespans.json")
    assert len(ours) == len(theirs)
    for row, golden in zip(ours, theirs, strict=True):
        assert row["schedule"] == golden["schedule"].replace("_", "-")
        for key in ("p", "m", "F", "b", "W", "c", "peak"):
            assert row[key] == golden[key]
        assert row["makespan"] == pytest.approx(golden["makespan"], rel=1e-9)
        work = golden["m"] * (golden["F"] + golden["b"] + golden["W"])
        assert golden["busy"] == pytest.approx([work] * golden["p"])


def test_every_row_but_those_of_another_zb_v_is_recorded() -> None:
    ours = iter(recorded("rows.json"))
    for golden in shared("pipe_rows.json"):
        name = golden["name"].split()[0].replace("_", "-")
        if name == "zbv" or "peak inflight" in golden["name"]:
            continue
        row = next(ours)
        assert row["schedule"] == name
        assert (row["p"], row["m"]) == (golden["p"], golden.get("m", golden.get("M")))
        makespan = golden["got"] if "got" in golden else golden["makespan"]
        assert row["makespan"] == pytest.approx(makespan, rel=1e-8)
    assert next(ours, None) is None


def test_zb_v_is_no_slower_than_the_other_order_and_holds_as_much() -> None:
    rows = [row for row in shared("pipe_rows.json") if row["name"] == "zbv"]
    assert len(rows) == 27
    for golden in rows:
        F, b, W = golden["c"]
        row = {"p": golden["p"], "m": golden["m"], "F": F, "b": b, "W": W}
        orders, execution = executed("zb-v", row, 2)
        assert execution.makespan <= golden["got"] + 1e-9
        assert list(peaks(orders)) == golden["peak"]


def test_the_greedy_generators_numbers_are_recorded() -> None:
    theirs = [
        [r["p"], r["m"], *r["chunk_costs"], r["ref_makespan"], r["span_idle"], r["peak_chunk_acts"]]
        for r in shared("zbv_ref.json")
    ]
    assert [list(row.values()) for row in recorded("zbv.json")] == theirs
