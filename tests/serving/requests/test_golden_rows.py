"""Rows of recorded schedules are requests, also those outside the repository where they are."""

from __future__ import annotations

import json

import pytest

from tests.serving.requests.golden import requests_of
from tests.serving.requests.samples import SHARED, tokens
from yantra.serving.requests import OWN

ROWS = [[0, 64, 3, ["a", 50]], [7, 100, 5, ["a", 50]], [10**9 + 1, 120, 5, "r1", 105, 64]]


def test_recorded_rows_are_requests() -> None:
    them = requests_of(ROWS)
    assert them.arrival_ns.tolist() == [0, 7, 10**9 + 1]
    assert them.limit.tolist() == [3, 5, 64]
    assert tokens(them, 0)[:51] == [*tokens(them, 1)[:50], (OWN, 50)]
    assert tokens(them, 2, 105) == tokens(them, 1, 105)


@pytest.mark.parametrize("name", ["schedules.json", "sglang_schedules.json"])
def test_all_recorded_cases_are_read(name: str) -> None:
    path = SHARED / "golden" / "serving" / name
    if not path.exists():
        pytest.skip(f"no {name} beside the repository")
    for case in json.loads(path.read_text()):
        them = requests_of(case["requests"])
        assert them.arrival_ns.tolist() == [row[0] for row in case["requests"]]
        assert them.output.tolist() == [row[2] for row in case["requests"]]
