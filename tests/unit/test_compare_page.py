"""The page of a comparison: its words, its tables, and that it fetches nothing."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from tests.cases import ALL_REDUCE, cluster, scenario
from yantra.chakra import TraceBuilder
from yantra.cli import main
from yantra.explain import Comparison, compare
from yantra.explain.compare_words import sentences, signed
from yantra.result import Result
from yantra.run.simulate import simulate

EVIL = '<script>alert("1")</script>'


def ran(bytes_per_ns: float, name: str = "sum", record: bool = True) -> Result:
    def step(builder: TraceBuilder, rank: int) -> None:
        kernel = builder.compute("forward", duration_micros=20 + 10 * (rank == 3))
        builder.collective(ALL_REDUCE, 1 << 20, name=name, after=kernel)

    topology = cluster(("ring", 4, bytes_per_ns, 500.0))
    return simulate(scenario(topology, step), record=record)


def page_of(comparison: Comparison, folder: Path) -> str:
    comparison.to_report(folder / "c.html")
    return (folder / "c.html").read_text()


def text_of(page: str) -> str:
    plain = re.sub(r"<(style|script)[^>]*>.*?</\1>", "", page, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", " ", plain))


def test_the_page_holds_the_sentences_and_all_changes(tmp_path: Path) -> None:
    comparison = compare(ran(50.0), ran(100.0))
    text = text_of(page_of(comparison, tmp_path))
    for sentence in sentences(comparison.data):
        assert sentence in text
    for row in comparison.data["critical_path"]["by_kind"]:
        assert signed(row["change_ns"]) in text
    assert "cluster.topology[0].bandwidth" in text


def test_the_bars_of_both_paths_have_one_scale(tmp_path: Path) -> None:
    comparison = compare(ran(50.0), ran(100.0))
    page = page_of(comparison, tmp_path)
    bars = re.findall(r'<svg[^>]* class="bar">.*?</svg>', page, flags=re.DOTALL)
    widths = [sum(float(x) for x in re.findall(r'width="([\d.]+)%"', bar)) for bar in bars]
    makespan = comparison.data["makespan_ns"]
    assert widths == pytest.approx([100, 100 * makespan["b"] / makespan["a"]], abs=0.01)


def test_names_of_users_are_text(tmp_path: Path) -> None:
    page = page_of(compare(ran(50.0, EVIL), ran(100.0, EVIL), (EVIL, "b")), tmp_path)
    assert EVIL not in page
    assert EVIL in text_of(page)


def test_the_page_fetches_nothing(tmp_path: Path) -> None:
    page = page_of(compare(ran(50.0), ran(100.0)), tmp_path)
    assert re.search(r"(?:src|href)=\"(?!#)", page) is None
    assert "default-src 'none'" in unescape(page)


def test_what_is_missing_is_said_on_the_page(tmp_path: Path) -> None:
    text = text_of(page_of(compare(ran(50.0, record=False), ran(100.0)), tmp_path))
    assert "the critical path of a: yantra run --record keeps it" in text
    assert "One of the results holds no critical path." in text


def test_the_command_writes_the_page_and_the_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ran(50.0).to_json("a.json")
    ran(100.0).to_json("b.json")
    assert main(["compare", "a.json", "b.json", "--report", "c.html"]) == 0
    head, _, words = capsys.readouterr().out.partition("\n\n")
    assert head.startswith("both: 4 ranks, Ring 4, analytical network, Yantra ")
    assert words.startswith("a.json takes ")
    assert Path("c.html").read_text() == page_of(compare("a.json", "b.json"), tmp_path)
    assert main(["compare", "a.json", "b.json", "--report", "none/c.html"]) == 2
    assert "error: none/c.html: cannot be written" in capsys.readouterr().err
