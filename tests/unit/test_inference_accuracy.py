"""Measured iterations of decode are judged by runs with the default, group by group."""

from __future__ import annotations

from pathlib import Path

import pytest

from yantra.accuracy import inference
from yantra.accuracy.inference import Figures, Row
from yantra.run.interval import interval
from yantra.run.simulate import simulate

ROW = Row("llama3-8b", "bf16", "H100", 1, 1, 8, 1024, 64.0, 1.0)


def test_errors_are_ours_over_measured_by_model_machine_and_type_and_of_all() -> None:
    result = simulate(inference.scenario_of(ROW))
    seconds = result.makespan_ns / 1e9
    within = interval(result)
    assert within is not None
    ends = [seconds * within.low, seconds * within.high * 1.001]
    rows = [ROW._replace(seconds=took) for took in (seconds / 2, *ends)]
    refused = ROW._replace(tp=7)
    found, told = inference.judge([*rows, refused])
    errors = [seconds / row.seconds - 1.0 for row in rows]
    assert [(one.model, one.machine, one.rows) for one in found] == [
        ("llama3-8b", "hgx-h100", 3),
        ("all rows", "", 3),
    ]
    for one in found:
        assert one.bias == pytest.approx(sum(errors) / 3, rel=1e-9)
        assert one.mean == pytest.approx(sum(map(abs, errors)) / 3, rel=1e-9)
        assert one.median == pytest.approx(sorted(map(abs, errors))[1], rel=1e-9)
        assert one.covered == pytest.approx(1 / 3)
    assert len(told) == 1
    assert told[0].startswith("llama3-8b on 7 H100, batch 8: ")


def test_a_row_with_prompts_in_its_median_iteration_is_not_judged() -> None:
    assert inference.is_pure(ROW._replace(batch=32, output=64.0))
    assert not inference.is_pure(ROW._replace(batch=33, output=64.0))


def test_rows_are_read_in_seconds_and_figures_as_they_were_recorded(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    line = "llama3-8b,bf16,H100,2,1,8,1024,64,12.5"
    file.write_text(f"# of a test\n{','.join(inference.COLUMNS)}\n{line}\n")
    assert inference.read(str(file)) == [ROW._replace(tp=2, seconds=0.0125)]
    figures = [Figures("m", "hgx-h100", "bf16", 3, 0.1, 0.2, -0.3, 0.9)]
    inference.record(figures, str(file))
    assert inference.recorded(str(file)) == figures
    assert inference.table(figures)[2] == "| m | hgx-h100 bf16 | 3 | 10.0% | 20.0% | -30.0% | 90% |"


def test_exactly_one_file_is_judged(capsys: pytest.CaptureFixture[str]) -> None:
    assert inference.main(["--write"]) == inference.main(["a", "b"]) == 2
    assert "ROWS.csv" in capsys.readouterr().err
