"""What ASTRA-sim (master 518bd51, unaware and aware; `ext_unaware` with the scheduling keys of 1.0)
printed for some 300 inputs, to the tick. Format: tests/golden/recorded.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import identities
from tests.golden import recorded
from yantra.compile import Model
from yantra.run.simulate import run, run_native

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("*.jsonl"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_rank_finishes_when_and_in_the_order_that_astra_sim_printed(
    file: Path, tmp_path: Path
) -> None:
    for line in file.read_text().splitlines():
        case = json.loads(line)
        folder = tmp_path / case["name"]
        folder.mkdir()
        recorded.write(case, folder)
        for backend in case["expected"]:
            model = recorded.model_of(case, backend, folder)
            outcome = run_native(model)
            said = recorded.expected(case, backend)
            where = f"{case['name']} on {backend}"
            assert recorded.ticks_of(outcome) == said, where
            assert_the_record_holds(model, outcome, where)


def assert_the_record_holds(model: Model, plain: Any, where: str) -> None:
    result = run(model, fold="off", record=True)
    for column in ("finish", "finish_order", "start", "end"):
        assert getattr(result.outcome, column) == getattr(plain, column), where
    identities.hold(result, where)


def test_the_record_covers_every_kind_of_input() -> None:
    cases = [json.loads(line) for file in FILES for line in file.read_text().splitlines()]
    names = {case["name"] for case in cases}
    assert len(names) == len(cases) >= 300
    assert {backend for case in cases for backend in case["expected"]} == {
        "unaware",
        "aware",
        "ext_unaware",
    }
    assert sum(file.stat().st_size for file in FILES) < 1_000_000
