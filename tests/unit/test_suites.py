"""Suites: who stands for whom, and clusters ranked by the few as by the many."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.cli import main
from yantra.library.build import build
from yantra.library.families import chosen
from yantra.library.features import NAMES
from yantra.suites.choose import choose, distances, medoids_of, read, write
from yantra.suites.judged import judge, tau
from yantra.suites.page import page
from yantra.suites.run import Time, ranked, run_suite
from yantra.suites.traces import Given, in_folder, of_library

POINTS = st.lists(
    st.lists(st.integers(0, 9), min_size=len(NAMES), max_size=len(NAMES)),
    min_size=2, max_size=12, unique_by=tuple,
)  # fmt: skip
NAMED = ("width.h1k.l4.tp8", "width.h8k.l4.fsdp16", "serving.llama3-8b.d16.tp8")


def _given(points: list[list[int]]) -> list[Given]:
    return [
        Given(f"t{at}", "", f"digest {at}", dict(zip(NAMES, map(float, point), strict=True)))
        for at, point in enumerate(points)
    ]


@given(POINTS, st.data())
@settings(max_examples=60, deadline=None)
def test_everyone_is_with_the_nearest_and_no_swap_helps(
    points: list[list[int]], data: st.DataObject
) -> None:
    traces = _given(points)
    count = data.draw(st.integers(1, len(traces)))
    far = distances(traces)
    found = medoids_of(far, count)
    cost = far[:, found].min(axis=1).sum()
    for place in range(count):
        for other in range(len(traces)):
            swapped = [*found[:place], other, *found[place + 1 :]]
            assert far[:, swapped].min(axis=1).sum() >= cost - 1e-6
    suite = choose(traces, count)
    assert sum(one.weight for one in suite.chosen) == pytest.approx(1)
    assert sorted(name for one in suite.chosen for name, _ in one.covers) == sorted(
        one.name for one in traces
    )


@given(POINTS, st.data())
@settings(max_examples=40, deadline=None)
def test_copies_and_order_change_no_suite(points: list[list[int]], data: st.DataObject) -> None:
    traces = _given(points)
    count = data.draw(st.integers(1, len(traces)))
    copies = [one._replace(name=f"copy of {one.name}") for one in traces[: len(traces) // 2]]
    shuffled = data.draw(st.permutations(traces))
    suite = choose(traces, count)
    assert choose(shuffled, count) == suite
    assert choose([*traces, *copies], count) == suite._replace(copies=len(copies))


def test_as_many_as_there_are_cover_all_exactly() -> None:
    some = of_library()[:40]
    suite = choose(some, 40)
    assert suite.coverage == 1 and all(one.farthest == 0 for one in suite.chosen)
    means = [choose(some, count).mean for count in (1, 4, 16, 40)]
    assert means == sorted(means, reverse=True)
    with pytest.raises(ConfigError, match="from 1 to 40"):
        choose(some, 41)


TIMES = st.lists(st.lists(st.floats(1, 1e9), min_size=3, max_size=3), min_size=1, max_size=5)


@given(TIMES, st.floats(0.1, 10))
@settings(max_examples=60, deadline=None)
def test_a_trace_of_another_unit_changes_no_ratio(table: list[list[float]], factor: float) -> None:
    def rank(times: list[list[float]]) -> dict[str, float]:
        cells = {(str(row), name): Time(value, value / 2, value * 2)
                 for row, values in enumerate(times)
                 for name, value in zip("abc", values, strict=True)}  # fmt: skip
        weights = {str(row): 1.0 for row in range(len(times))}
        return {one.cluster: one.ns for one in ranked(cells, weights, "abc", {}, {}).clusters}

    one, other = rank(table), rank([[value * factor for value in table[0]], *table[1:]])
    for first, second in combinations("abc", 2):
        assert one[first] / one[second] == pytest.approx(other[first] / other[second], rel=1e-9)


def test_the_mean_is_geometric_and_agreement_is_by_weight() -> None:
    times = {("x", "a"): Time(1, 0.9, 1.1), ("x", "b"): Time(4, 3, 5),
             ("y", "a"): Time(9, None, None), ("y", "b"): Time(3, None, None)}  # fmt: skip
    first, second = ranked(times, {"x": 3.0, "y": 1.0}, "ab", {}, {}).clusters
    assert (first.cluster, second.cluster) == ("a", "b")
    assert first.ns == pytest.approx(9**0.25) and second.ns == pytest.approx((64 * 3) ** 0.25)
    assert (first.agree, first.sure) == (0.75, 0.75)
    assert (second.agree, second.sure) == (None, None)


def test_a_trace_that_one_cluster_refuses_is_left_out_for_all() -> None:
    times = {("x", "a"): Time(1, None, None), ("x", "b"): Time(2, None, None),
             ("y", "b"): Time(1, None, None)}  # fmt: skip
    ranking = ranked(times, {"x": 0.2, "y": 0.8}, "ab", {"y": "a: no"}, {})
    assert ranking.weights == {"x": 1.0} and ranking.clusters[1].ratio == 2
    with pytest.raises(UnsupportedError, match="no trace runs on all"):
        ranked(times, {"y": 1.0}, "ab", {"y": "a: no"}, {})


def test_orders_have_a_tau() -> None:
    assert tau("abcd", "abcd") == 1 and tau("abcd", "dcba") == -1
    assert tau("abcd", "abdc") == pytest.approx(2 / 3)


def test_a_suite_runs_as_its_traces_do(tmp_path: Path) -> None:
    given_ = [one for one in of_library() if one.name in NAMED]
    write(choose(given_, 3), tmp_path / "suite.json")
    suite = read(tmp_path / "suite.json")
    assert suite == choose(given_, 3)
    ranking = run_suite(suite, ["hgx-h100", "mi300x"])
    plan = {"tp": 8, "global_batch": 16}
    model = {"vocab_size": 32000, "hidden_size": 1024, "num_attention_heads": 8,
             "ffn_hidden_size": 4096, "num_layers": 4}  # fmt: skip
    from yantra.run.simulate import simulate
    from yantra.scenario.on_cluster import on_cluster

    workload = {"model": model, "plan": plan, "sequence": 2048}
    alone = simulate(on_cluster(workload, "mi300x"))
    (mine,) = [one for one in ranking.clusters if one.cluster == "mi300x"]
    assert mine.times[NAMED[0]].ns == pytest.approx(alone.figures.step_time_ns, rel=1e-9)
    text = page(suite, ranking)
    assert all(name in text for name in (*NAMED, "hgx-h100", "mi300x"))


def test_a_folder_gives_what_the_library_says_of_it(tmp_path: Path) -> None:
    build(chosen(NAMED), str(tmp_path))
    found = {one.name: one for one in in_folder(str(tmp_path))}
    for one in of_library():
        if one.name in NAMED:
            assert found[one.name].digest == one.digest
            assert found[one.name].features == pytest.approx(one.features, rel=1e-3, abs=1e-6)


def test_traces_by_rank_are_one_job(tmp_path: Path) -> None:
    from yantra.workloads.templates import load

    build(chosen(NAMED[:1]), str(tmp_path))
    load(tmp_path / f"{NAMED[0]}.yw").expand(tmp_path / "ranks")
    whole, ranks = in_folder(str(tmp_path))
    if whole.file.endswith(".et"):
        whole, ranks = ranks, whole
    assert ranks.name == "ranks/workload" and ranks.digest != whole.digest
    for name in ("flops", "traffic", "inner", "outer", "calls", "overlap", "message"):
        assert ranks.features[name] == pytest.approx(whole.features[name], abs=1e-6), name
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="no workloads"):
        in_folder(str(tmp_path / "empty"))


def test_few_rank_as_all_do_on_a_small_library() -> None:
    some = [one for one in of_library() if one.name.startswith("width.h") and ".l4." in one.name]
    found = judge(some, ("hgx-h100", "hgx-h20", "mi300x", "hgx-b200"), 4)
    assert found.traces == 12 and found.chosen >= 0.6
    assert np.mean(found.drawn) <= 1 and len(found.drawn) == 100


def test_the_commands_select_run_and_report(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    suite, html = tmp_path / "suite.json", tmp_path / "page.html"
    build(chosen(NAMED), str(tmp_path))
    assert main(["suite", "select", str(tmp_path), "-k", "2", "-o", str(suite)]) == 0
    assert "coverage" in capsys.readouterr().out
    line = ["suite", "run", str(suite), "--cluster", "hgx-h100", "--cluster", "hgx-h20"]
    assert main([*line, "--json", "--report", str(html)]) == 0
    ranked_ = json.loads(capsys.readouterr().out)["clusters"]
    assert [one["cluster"] for one in ranked_] == ["hgx-h100", "hgx-h20"]
    assert "hgx-h20" in html.read_text()
    (tmp_path / "width.h1k.l4.tp8.yw").unlink()
    (tmp_path / "width.h8k.l4.fsdp16.yw").unlink()
    assert main(line) == 2 and "select again" in capsys.readouterr().err
    assert main(["suite", "run", str(suite)]) == 2
    assert main(["suite", "run", str(html), "--cluster", "hgx-h100"]) == 2


def test_nccl_without_gpus_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from yantra.base import pytorch
    from yantra.suites.replay import replay_suite

    without = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
    monkeypatch.setattr(pytorch, "torch_for", lambda where: without)
    with pytest.raises(ConfigError, match="take --replay gloo"):
        replay_suite(choose(of_library()[:2], 1), "nccl")
