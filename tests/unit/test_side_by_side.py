"""Several results side by side: each change is the one that `compare` finds, on one scale."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.unit.test_compare_page import EVIL, ran, text_of
from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.explain import compare, side_by_side
from yantra.explain.compare_words import signed
from yantra.explain.comparison import form_of
from yantra.explain.joined import joined
from yantra.explain.side_by_side_words import sure_of_others
from yantra.explain.timelines import UNITS, lanes_of

RATES = (50.0, 100.0, 25.0)


def test_each_result_is_compared_with_the_first() -> None:
    runs = [ran(rate) for rate in RATES]
    pairs = side_by_side(runs, ("a", "b", "c")).data["comparisons"]
    assert pairs == [
        compare(runs[0], runs[1], ("a", "b")).data,
        compare(runs[0], runs[2], ("a", "c")).data,
    ]


def test_causes_of_every_result_add_up_to_its_run() -> None:
    runs = [ran(rate) for rate in RATES]
    pairs = side_by_side(runs).data["comparisons"]
    rows = joined(pairs, lambda data: data["critical_path"]["by_kind"], lambda row: row["kind"])
    for at, result in enumerate(runs):
        assert sum(one.times[at] for one in rows) == pytest.approx(result.makespan_ns, rel=1e-12)


def test_a_row_that_one_comparison_lacks_did_not_change_there() -> None:
    changed = {"name": "x", "a_ns": 5.0, "b_ns": 7.0, "change_ns": 2.0}
    (row,) = joined(
        [{"rows": []}, {"rows": [changed]}], lambda data: data["rows"], lambda row: row["name"]
    )
    assert row.times == [5.0, 5.0, 7.0]
    assert row.changes == [0.0, 2.0]


def test_every_two_results_after_the_first_are_told_apart_by_their_intervals() -> None:
    ends = {"b": [8.0, 12.0], "c": [11.0, 14.0], "d": [13.0, 15.0], "e": None}
    pairs = [{"b": {"name": name, "interval_ns": of}} for name, of in ends.items()]
    assert sure_of_others(pairs) == [
        "Others within their 90 % intervals: b and c, c and d. "
        "Others with intervals apart: b and d."
    ]
    assert sure_of_others(pairs[:1]) == sure_of_others([pairs[0], pairs[3]]) == []


def test_timelines_end_with_their_run_on_the_scale_of_the_longest() -> None:
    forms = [form_of(ran(rate)) for rate in RATES]
    longest = max(form["makespan_ns"] for form in forms)
    for form in forms:
        ranks = lanes_of(form, longest)
        assert [lanes.rank for lanes in ranks] == [0, 1, 2, 3]
        last = max(past for lanes in ranks for spans in lanes.spans.values() for _, past in spans)
        assert last == pytest.approx(UNITS * form["makespan_ns"] / longest, abs=1)


def test_spans_of_a_kind_ascend_and_are_apart() -> None:
    form = form_of(ran(50.0))
    for lanes in lanes_of(form, form["makespan_ns"]):
        for spans in lanes.spans.values():
            flat = [at for span in spans for at in span]
            assert flat == sorted(set(flat))


def test_the_share_of_kernels_is_that_of_the_table_of_ranks() -> None:
    result = ran(50.0)
    compute = result.ranks.values("compute_ns")
    for lanes in lanes_of(form_of(result), result.makespan_ns):
        share = compute[lanes.rank] / result.makespan_ns
        assert lanes.busy["COMP"] == pytest.approx(share, rel=1e-9)


def test_the_command_shows_three_files_beside_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = [ran(rate) for rate in RATES]
    for name, result in zip("abc", runs, strict=True):
        result.to_json(f"{name}.json")
    files = ["a.json", "b.json", "c.json"]
    assert main(["compare", *files, "--report", "c.html"]) == 0
    text = capsys.readouterr().out
    page = text_of(Path("c.html").read_text())
    for told in (text, page):
        assert "a takes " in told and "b: 4 ranks, Ring 4" in told
        for result in runs[1:]:
            assert signed(result.makespan_ns - runs[0].makespan_ns) in told
    assert main(["compare", *files, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["format"] == "yantra-side-by-side"
    assert [pair["b"]["name"] for pair in data["comparisons"]] == ["b", "c"]


def test_a_result_without_nodes_or_path_is_still_shown(tmp_path: Path) -> None:
    runs = [ran(50.0), ran(100.0, record=False), ran(25.0)]
    side_by_side(runs).to_report(tmp_path / "c.html")
    text = text_of((tmp_path / "c.html").read_text())
    assert "the critical path of run 2: yantra run --record keeps it" in text


def test_names_of_users_are_text_in_pictures_too(tmp_path: Path) -> None:
    names = (EVIL, "b", "c")
    side_by_side([ran(rate) for rate in RATES], names).to_report(tmp_path / "c.html")
    page = (tmp_path / "c.html").read_text()
    assert EVIL not in page
    assert len(re.findall(r'id="lanes-\d"', page)) == 3


def test_fewer_than_two_results_or_a_wrong_number_of_names_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected two results or more, got 1"):
        side_by_side([ran(50.0)])
    with pytest.raises(ConfigError, match="expected a name for each of 2, got 1"):
        side_by_side([ran(50.0), ran(25.0)], ("one",))
