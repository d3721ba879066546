"""`yantra.predict` and `yantra.plan` as frames, figures and pieces of a notebook."""

from __future__ import annotations

import sys
from html import unescape

import pytest

import yantra
from yantra.asked import Plans, Prediction
from yantra.base.errors import UnsupportedError
from yantra.base.units import format_time

JOB = {"ranks": 8, "cluster": "hgx-h100", "sequence": 1024, "global_batch": 8}


@pytest.fixture(scope="module")
def said() -> Prediction:
    return yantra.predict("gpt3-1.3b", tp=2, **JOB)


@pytest.fixture(scope="module")
def bare() -> Prediction:
    return yantra.predict("gpt3-1.3b", tp=2, stack="roofline", **JOB)


@pytest.fixture(scope="module")
def plans() -> Plans:
    return yantra.plan("gpt3-1.3b", top=3, **JOB)  # type: ignore[arg-type]


def test_a_row_says_what_the_prediction_says(said: Prediction, bare: Prediction) -> None:
    (row,) = said.table.rows()
    found = dict(zip(said.table.columns, row, strict=True))
    low, high = said.interval_s or (0.0, 0.0)
    assert found["time_ns"] == said.time_s * 1e9
    ends = found["time_low_ns"], found["time_high_ns"]
    assert ends == pytest.approx((low * 1e9, high * 1e9))
    assert 0 < low < said.time_s < high
    assert (found["mfu"], found["memory_bytes"]) == (said.mfu, said.memory_bytes)
    assert (found["cost_usd"], found["rests_on"]) == (said.cost_usd, said.rests_on)
    assert bare.table.values("time_low_ns") == [None]


def test_a_frame_has_a_row_for_each_plan_with_its_interval(plans: Plans) -> None:
    pandas = pytest.importorskip("pandas")
    frame = plans.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["time_ns"]) == [one.time_ns for one in plans.plans] == sorted(frame.time_ns)
    assert list(frame["tp"]) == [one.plan.tp for one in plans.plans]
    assert list(frame["recompute"]) == [one.plan.recompute for one in plans.plans]
    assert (frame.time_low_ns < frame.time_ns).all() and (frame.time_ns < frame.time_high_ns).all()
    assert frame.wins.sum() == pytest.approx(1.0)
    assert len(pandas.concat([plans.to_pandas(), frame])) == 2 * len(plans.plans)


def test_predictions_are_rows_of_one_frame(said: Prediction, bare: Prediction) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.concat([said.to_pandas(), bare.to_pandas()])
    assert list(frame.time_ns) == [said.time_s * 1e9, bare.time_s * 1e9]
    assert list(frame.time_low_ns.isna()) == [False, True]


def test_a_figure_has_a_bar_and_an_interval_for_each_time(
    said: Prediction, bare: Prediction, plans: Plans
) -> None:
    pytest.importorskip("matplotlib")
    low, high = said.interval_s or (0.0, 0.0)
    (axes,) = said.plot().axes
    (bar,) = axes.patches
    unit = 1e9 * bar.get_width() / (said.time_s * 1e9)  # of the axis in a second
    (lines,) = axes.containers[1].lines[2]
    ((start, _), (end, _)) = lines.get_segments()[0]
    assert (start, end) == pytest.approx((low * unit, high * unit))
    assert len(bare.plot().axes[0].containers) == 1
    (axes,) = plans.plot().axes
    assert len(axes.patches) == len(plans.plans)
    label = axes.get_yticklabels()[0].get_text()
    assert f"dp {plans.best.plan.dp}" in label and "none" not in label
    assert len(axes.containers[1].lines[2][0].get_segments()) == len(plans.plans)


def test_a_notebook_shows_the_interval(said: Prediction, plans: Plans) -> None:
    low, high = said.interval_s or (0.0, 0.0)
    assert f"({format_time(low * 1e9)} to {format_time(high * 1e9)}, 90 %)" in said._repr_html_()
    shown = unescape(plans._repr_html_())
    for one in plans.plans:
        assert one.sure is not None
        assert format_time(one.time_ns) in shown
        assert format_time(one.time_ns * one.sure.low) in shown
    assert "rests on" in shown and "<html" not in shown


@pytest.mark.parametrize(("package", "method"), [("pandas", "to_pandas"), ("matplotlib", "plot")])
def test_what_is_not_installed_is_named_with_what_installs_it(
    package: str, method: str, said: Prediction, plans: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [one for one in sys.modules if one.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    for one in (said, plans):
        with pytest.raises(UnsupportedError, match=f"needs the package {package}, .* pip install"):
            getattr(one, method)()
