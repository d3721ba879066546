"""A result, a table and a critical path in a notebook: well formed, short and escaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import yantra
from tests.clusters import dimension, scenario
from yantra.base.units import format_time
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.result import Result
from yantra.result.html import MOST_ROWS
from yantra.run.simulate import simulate

EVIL = '<script>alert("1")</script>&'


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.cells: list[str] = []
        self.bars: list[dict[str, str | None]] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "rect":
            self.bars.append(dict(attrs))
        if tag != "br":
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "td":
            self.cells[-1] += data


@pytest.fixture(scope="module")
def result() -> Result:
    traces = []
    for rank in range(16):
        trace = TraceBuilder()
        work = trace.compute(EVIL, duration_micros=5 + rank)
        for _ in range(4):
            work = trace.collective(CollectiveType.ALL_REDUCE, 1 << 20, name=EVIL, after=work)
        traces.append(trace)
    return simulate(scenario(traces, dimension(size=16)), record=True)


def test_a_result_shows_bars_as_long_as_its_parts(result: Result) -> None:
    page = Page(result._repr_html_())
    assert "script" not in page.tags
    rows: dict[str | None, float] = {}
    for bar in page.bars:
        rows[bar["y"]] = rows.get(bar["y"], 0) + float(bar["width"] or 0)
    assert len(rows) == 3, "too many different ranks: the first, the median and the last to finish"
    assert max(rows.values()) == pytest.approx(480, abs=0.02)
    equal = [TraceBuilder() for _ in range(4)]
    for trace in equal:
        trace.compute(duration_micros=5)
    page = Page(simulate(scenario(equal, dimension()))._repr_html_())
    assert [bar["width"] for bar in page.bars] == ["480.00"]


def test_no_colour_is_that_of_a_ground(result: Result) -> None:
    for text in (result._repr_html_(), result.critical_path._repr_html_()):
        assert "background" not in text
        assert not {"#000", "#000000", "#fff", "#ffffff", "black", "white"} & set(text.split('"'))
        assert 'fill="currentColor"' in text


def test_a_table_is_cut_and_says_so(result: Result) -> None:
    page = Page(result.nodes._repr_html_())
    assert page.tags.count("tr") == 1 + MOST_ROWS
    assert EVIL in page.cells
    assert f"nodes: 80 rows, of which these are the first {MOST_ROWS}" in result.nodes._repr_html_()
    assert "dimensions: 1 row</p>" in result.dimensions._repr_html_()


def test_a_critical_path_shows_its_kinds_and_longest_steps(result: Result) -> None:
    path = result.critical_path
    page = Page(path._repr_html_())
    kinds = [kind for kind, length in path.by_kind().items() if length > 0]
    assert len(page.bars) == len(kinds)
    assert sum(float(bar["width"] or 0) for bar in page.bars) == pytest.approx(480, abs=0.05)
    expected = sorted((step.length_ns for step in path.steps), reverse=True)[:MOST_ROWS]
    assert page.cells[1::9] == [format_time(length) for length in expected]


def test_colours_are_those_of_the_report(result: Result) -> None:
    parts = Path(yantra.__file__).parent / "export" / "report" / "parts"
    css = (parts / "shell.css").read_text()
    for text in (result._repr_html_(), result.critical_path._repr_html_()):
        found = set(re.findall(r'fill="(#[0-9a-f]{6})"', text)) - {"#a0a0a0"}
        assert found and all(colour in css for colour in found)
