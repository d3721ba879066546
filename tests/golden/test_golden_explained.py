"""Explanations of inputs whose times ASTRA-sim printed: their parts add up to those times."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from tests.golden import recorded
from yantra.explain import explain
from yantra.run.simulate import run

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("*.jsonl"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_path_of_an_input_of_each_kind_adds_up_to_what_astra_sim_printed(
    file: Path, tmp_path: Path
) -> None:
    case = json.loads(file.read_text().splitlines()[0])
    recorded.write(case, tmp_path)
    for backend in case["expected"]:
        result = run(recorded.model_of(case, backend, tmp_path), record=True)
        longest = max(result.outcome.finish)
        data = explain(result).data
        kinds = data["critical_path"]["by_kind"].values()
        assert sum(Fraction(str(ns)) for ns in kinds) == longest == data["makespan_ns"]
        assert sum(Fraction(str(one["length_ns"])) for one in data["phases"]) == longest
        for row in data["what_if"]:
            assert row["problem"] or row["gain_ns"] == longest - row["makespan_ns"]
        assert all(len(line) <= 80 for line in explain(result).text().splitlines())
