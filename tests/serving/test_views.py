"""A served trace as a table, a frame, a figure and a piece of a notebook."""

from __future__ import annotations

import csv
import sys
from html import unescape
from pathlib import Path

import pytest

import yantra
from tests.serving.fleets import COST, served
from yantra.base.errors import UnsupportedError
from yantra.serving.answer import Served
from yantra.serving.fleet import PHASES
from yantra.serving.measures import Objective
from yantra.serving.rows import write_rows


@pytest.fixture(scope="module")
def said() -> Served:
    return served(rate=60.0, num_blocks=250)


def test_parts_of_a_row_add_up_to_its_time(said: Served) -> None:
    table = said.table
    assert len(table) == 300
    whole = table["finish_s"] - table["arrival_s"]
    assert sum(table[f"{name}_s"] for name in PHASES) == pytest.approx(whole)
    assert table["first_token_s"] - table["arrival_s"] == pytest.approx(said.ran.ttft_s)


def test_the_table_has_the_rows_of_the_file(said: Served, tmp_path: Path) -> None:
    write_rows(said, tmp_path / "rows.csv")
    with open(tmp_path / "rows.csv", newline="") as file:
        head, *rows = csv.reader(file)
    assert tuple(head) == said.table.columns
    read = [[None if not cell else float(cell) for cell in row] for row in rows]
    assert read == [list(row) for row in said.table.rows()]
    assert said.table.values("moved_s") == [None] * 300


def test_a_frame_has_the_columns_of_the_table(said: Served) -> None:
    pandas = pytest.importorskip("pandas")
    frame = said.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == list(said.table.columns)
    assert frame.prompt.sum() == said.ran.requests.prompt.sum()


def test_a_figure_has_a_curve_for_each_measure_and_a_line_for_each_promise(said: Served) -> None:
    pytest.importorskip("matplotlib")
    (axes,) = said.plot([Objective("ttft", 99.0, 0.5)]).axes
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["TTFT", "TTFT p99 500.000 ms", "TPOT", "E2E"]
    ttft, promise, _, e2e = axes.lines
    assert ttft.get_xdata()[-1] == pytest.approx(1e3 * said.ttft.most)
    assert e2e.get_ydata()[-1] == 100
    assert promise.get_xdata() == [500.0, 500.0]


def test_without_matplotlib_the_package_is_named(
    said: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UnsupportedError, match="needs the package matplotlib"):
        said.plot()


def test_in_a_notebook_it_says_what_the_summary_says(said: Served) -> None:
    html = unescape(said._repr_html_())
    lines = said.summary().splitlines()
    assert lines[0] in html
    assert all(line in html for line in lines if line.startswith(("waited", "rests on", "a req")))
    assert html.count("<tr>") == 5
    assert "<svg" in html and "decode" in html


def test_serve_is_a_public_name_and_serves() -> None:
    said = yantra.serve(requests="constant:rate=10/s,count=20,isl=100,osl=10,seed=1", cost=COST)
    assert isinstance(said, yantra.serving.Served)
    assert said.requests_per_s > 9
