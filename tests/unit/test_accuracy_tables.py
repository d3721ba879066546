"""Figures of accuracy are recorded, read again, pooled and shown as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.test_accuracy_figures import row
from yantra.accuracy import default, kernels, own_rows
from yantra.accuracy.fit import Parts
from yantra.accuracy.kernels import Error
from yantra.accuracy.predict import given_of
from yantra.accuracy.splits import on_left_out_machines
from yantra.accuracy.suite import chosen_rows


@pytest.mark.parametrize("of", [default, own_rows])
def test_what_is_recorded_is_read_as_it_was(
    of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = of.recorded()
    text = Path(of.RECORD).read_text()
    monkeypatch.setattr(of, "RECORD", str(tmp_path / "record.csv"))
    of.record(found)
    assert Path(of.RECORD).read_text() == text
    assert of.recorded() == found


def _cells(lines: list[str]) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")][2:]


def test_a_table_of_the_default_has_a_line_for_each_group() -> None:
    found = default.judge(default.recorded())
    groups = [*found.datasets, found.whole, *found.machines, *found.frameworks]
    told = _cells(default.table(found))
    assert [line[:3] for line in told] == [
        [one.name, str(one.rows), f"{one.mean:.1%}"] for one in groups
    ]


def test_a_table_of_own_steps_has_a_line_for_each_data_set_and_their_mean() -> None:
    found = own_rows.recorded()
    *told, whole = _cells(own_rows.table(found))
    moved = [sum(map(abs, one.moved)) / len(one.moved) for one in found]
    assert [line[:2] for line in told] == [[one.dataset, str(len(one.moved))] for one in found]
    assert [line[4] for line in told] == [f"{mean:.1%}" for mean in moved]
    assert whole[1] == str(sum(len(one.moved) for one in found))
    assert whole[4] == f"{sum(moved) / len(moved):.1%}"


@pytest.mark.parametrize("further", ["--strict", "data"])
def test_a_part_of_the_own_steps_is_not_recorded(further: str) -> None:
    assert own_rows.main(["--write", further]) == 2


def test_each_row_counts_alike_in_pooled_errors() -> None:
    one, three = Error("a", 1, 0.1, 0.2, 0.3, 0.4), Error("b", 3, 0.5, 0.6, 0.7, 0.8)
    expected = Error("all", 4, 0.4, 0.5, 0.6, 0.7)
    assert kernels.pooled("all", [one, three]) == pytest.approx(expected)
    assert kernels.shown(expected).split() == ["all", "4", "40.0%", "+50.0%", "60.0%", "70%"]
    assert kernels.shown(expected._replace(cover=float("nan"))).split()[-1] == "60.0%"


def test_a_machine_left_out_has_the_factors_of_other_machines_and_other_models() -> None:
    """Machine b takes twice what a takes; beside a profile nothing is known or judged."""
    seconds = {"a": 1.0, "b": 2.0}
    parts = [
        Parts(row(f"m{at}", took, cluster=machine), 1.0, 0.0, 0.0)
        for at in range(6)
        for machine, took in seconds.items()
    ]
    profiled = Parts(row("m9", 50.0, cluster="c")._replace(profile="p"), 1.0, 0.0, 0.0)
    alone = Parts(row("m9", 50.0, stack="other", cluster="a"), 1.0, 0.0, 0.0)
    found = on_left_out_machines([*parts, profiled, alone])
    assert list(found) == ["a", "b"]
    assert 1.4 < found["a"][0] < 2.0  # drawn to what is known before any step
    assert found["a"] == pytest.approx([found["a"][0]] * 6)
    assert 0.4 < found["b"][0] < 0.6


def test_the_command_judges_the_data_sets_it_is_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = own_rows.recorded()[0]
    asked: list[Any] = []
    monkeypatch.setattr(own_rows, "_sets", lambda names: asked.append(names) or [["a row"]])
    monkeypatch.setattr(own_rows, "candidates", lambda rows, every, strict: asked.append(strict))
    monkeypatch.setattr(own_rows, "figures", lambda rows, found: one)
    for strict in ([], ["--strict"]):
        assert own_rows.main([*strict, "mine.csv"]) == 0
        assert capsys.readouterr().out.splitlines() == own_rows.table([one])
    assert asked == [["mine.csv"], False, ["mine.csv"], True]


def test_a_row_of_a_framework_whose_host_waits_is_run_so() -> None:
    of_stack = {one.stack: one for one in chosen_rows()}
    waits = {one.file.name: given_of(one).host_waits for one in of_stack.values()}
    assert waits == {one.file.name: one.file.host_waits is not None for one in of_stack.values()}
    assert set(waits.values()) == {False, True}


def test_errors_after_one_constant_name_it() -> None:
    plain, scaled = (next(kernels.transfer_errors(constant)) for constant in (False, True))
    assert plain.group.endswith(" large") and " x " not in plain.group
    assert " x " in scaled.group
    assert abs(scaled.median) < 1e-3
    assert plain.rows == scaled.rows
