"""Figures show the numbers of their tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.clusters import dimension, scenario
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.cli import main
from yantra.cli.plot import _OF_RESULTS
from yantra.export import plot_files
from yantra.export.plot import FIGURES, _joined, figures_of_matplotlib
from yantra.export.stored import load_result
from yantra.result import Result
from yantra.run.simulate import simulate

pytest.importorskip("matplotlib")


def run(network: str, ranks: int = 4) -> Result:
    trace = TraceBuilder()
    small = trace.collective(CollectiveType.ALL_REDUCE, 1 << 16)
    large = trace.collective(CollectiveType.ALL_GATHER, 1 << 20, after=small)
    trace.compute(duration_micros=30, after=large)
    return simulate(scenario([trace] * ranks, dimension("ring", size=ranks), network=network))


@pytest.fixture(scope="module")
def result() -> Result:
    return run("store_and_forward")


def test_the_command_has_every_figure() -> None:
    assert tuple(FIGURES) == _OF_RESULTS


def test_bars_of_links_are_their_busy_shares_the_busiest_first(result: Result) -> None:
    (axes,) = result.plot("links").axes
    busy = sorted(result.links.values("busy"), reverse=True)
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([100 * b for b in busy])
    assert axes.get_yticklabels()[0].get_text().startswith("rank ")


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("network", ["store_and_forward", "analytical"])
def test_a_result_in_a_file_is_drawn_as_the_run_was(
    network: str, figure: str, tmp_path: Path
) -> None:
    whole = run(network)
    whole.to_json(tmp_path / "r.json")
    (drawn,), (again,) = (
        one.plot(figure).axes for one in (whole, load_result(tmp_path / "r.json"))
    )
    for axes in (drawn, again):
        axes.figure.draw_without_rendering()
    assert _seen(again) == _seen(drawn)


def _seen(axes: Any) -> list[Any]:
    labels = [label.get_text() for label in (*axes.get_xticklabels(), *axes.get_yticklabels())]
    shapes = [*axes.patches, *axes.lines, *axes.collections]
    return [axes.get_title(), labels, [str(one.get_window_extent()) for one in shapes]]


def test_a_result_in_a_file_needs_no_traces_to_be_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("store_and_forward").to_json(tmp_path / "r.json")
    monkeypatch.chdir(tmp_path)
    assert main(["plot", "links", "r.json", "-o", "l.svg"]) == 0
    assert (tmp_path / "l.svg").read_text(encoding="utf-8").count("rank 0 to rank 1") == 1


def test_a_network_without_links_shows_dimensions_and_says_so(tmp_path: Path) -> None:
    folded = run("ideal")
    notes = folded.export("plot", tmp_path / "l.svg", figure="links")
    assert notes == ["this network keeps no links, so the figure has its dimensions"]
    (axes,) = folded.plot("links").axes
    (bar,) = axes.patches
    assert bar.get_width() == pytest.approx(100 * folded.dimension_uses[0].busy)


def test_points_of_bandwidth_are_the_rows_of_the_table(result: Result) -> None:
    (axes,) = result.plot("bandwidth").axes
    drawn = {
        (line.get_label(), x, y)
        for line in axes.lines
        for x, y in zip(*line.get_data(), strict=True)
    }
    names = ("kind", "buffer_bytes", "bus_bandwidth_gb_per_s")
    assert drawn == set(zip(*(result.collectives.values(name) for name in names), strict=True))


def test_sizes_are_labelled_as_sizes_and_the_legend_hides_no_point(result: Result) -> None:
    figure = result.plot("bandwidth")
    (axes,) = figure.axes
    figure.draw_without_rendering()
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert axes.get_xscale() == "log" and {"64 KiB", "4 MiB"} <= set(labels) and len(labels) <= 9
    assert axes.get_legend().get_window_extent().x0 >= axes.get_window_extent().x1


def spans_of(axes: Any) -> list[tuple[float, float]]:
    return sorted(
        (path.get_extents().x0, path.get_extents().x1)
        for group in axes.collections
        for path in group.get_paths()
    )


def test_a_gantt_chart_has_each_span_of_ranks_that_differ(result: Result) -> None:
    (axes,) = result.plot("gantt").axes
    nodes = result.nodes
    told = sorted(
        (start / 1e6, end / 1e6)
        for rank, start, end in zip(nodes["rank"], nodes["start_ns"], nodes["end_ns"], strict=True)
        if rank == 0
    )
    np.testing.assert_allclose(spans_of(axes), told)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0 (4 alike)"]


def test_a_gantt_chart_shows_work_not_posted_receives_and_tells_the_backward_pass() -> None:
    """Rank 1 posts its receive at 0 and computes at 0; the send begins at 300 us."""
    sender, receiver = TraceBuilder(), TraceBuilder()
    work = sender.compute("layer.0.mlp", duration_micros=300)
    sender.send(1, 1000, after=work)
    sender.compute("layer.0.mlp.dgrad", duration_micros=50)
    receiver.recv(0, 1000)
    drawn = simulate(scenario([sender, receiver], dimension("ring", size=2))).plot("gantt").axes[0]
    names = [text.get_text() for text in drawn.get_legend().get_texts()]
    assert names == ["compute", "backward compute", "send"]
    assert [label.get_text() for label in drawn.get_yticklabels()] == ["0", "1"]
    assert len(spans_of(drawn)) == 3


def test_of_many_ranks_some_are_drawn_and_the_rest_counted(tmp_path: Path) -> None:
    traces = [TraceBuilder() for _ in range(64)]
    for rank, trace in enumerate(traces):
        trace.compute(duration_micros=10 + rank)
    many = simulate(scenario(traces, dimension("ring", size=64)))
    assert many.export("plot", tmp_path / "g.png") == ["not drawn: 48 more ranks"]
    assert (tmp_path / "g.png").read_bytes().startswith(b"\x89PNG")


def test_columns_of_a_table_are_drawn(result: Result) -> None:
    (axes,) = result.collectives.plot("size_bytes", "start_ns", "end_ns").axes
    assert [line.get_label() for line in axes.lines] == ["start_ns", "end_ns"]
    assert list(axes.lines[0].get_ydata()) == result.collectives.values("start_ns")
    with pytest.raises(ConfigError, match="column 'kind' is text"):
        result.collectives.plot("size_bytes", "kind")


@pytest.mark.parametrize(
    ("path", "figure", "said"),
    [
        ("a.jpg", "links", r"expected a name in \.svg, \.pdf, \.png"),
        ("a.svg", "link", "no figure is named 'link'; did you mean 'links'"),
    ],
)
def test_a_mistake_names_what_there_is(
    result: Result, tmp_path: Path, path: str, figure: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        result.export("plot", tmp_path / path, figure=figure)
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_error_names_the_extra(
    result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'matplotlib>=3.8'"):
        result.plot("links")


def test_nodes_too_close_to_be_seen_apart_are_one_bar_as_long() -> None:
    start = np.array([0, 20, 10, 50, 90, 94, 98])
    stop = start + np.array([9, 3, 9, 30, 3, 3, 1])
    assert _joined(start, stop, 5) == [(0, 9), (10, 13), (50, 30), (90, 9)]


FLOWS = "flow,bytes,slowdown\n" + "".join(
    f"{at},{1000 * (at + 1)},{1 + at % 10}\n" for at in range(100)
)


def _lines(figure: Any) -> list[Any]:
    return [line for axes in figure.axes for line in axes.lines]


def test_slowdowns_are_percentiles_of_parts_of_equally_many_flows(tmp_path: Path) -> None:
    """Ten flows a part, each with slowdowns 1 to 10."""
    for name in ("hpcc", "dcqcn"):
        (tmp_path / f"{name}.csv").write_text(FLOWS)
    figure = figures_of_matplotlib().Figure()
    assert plot_files.fct([str(tmp_path / "hpcc.csv"), str(tmp_path / "dcqcn.csv")], figure) == []
    assert [line.get_label() for line in _lines(figure)] == 3 * ["hpcc", "dcqcn"]
    for axes, share in zip(figure.axes, (0.5, 0.95, 0.99), strict=True):
        x, y = axes.lines[0].get_data()
        assert len(x) == 10 and x[0] == 5500
        np.testing.assert_allclose(y, 1 + 9 * share)


def test_a_flow_without_an_end_is_counted_not_drawn(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(FLOWS + "100,5,\n")
    (note,) = plot_files.fct([str(path)], figures_of_matplotlib().Figure())
    assert note.endswith("not drawn: 1 flow without an end")


def test_a_queue_counts_for_the_time_until_the_next_sample_of_its_port() -> None:
    link = np.array([0, 0, 0, 1, 1])
    at_ns = np.array([0.0, 10.0, 30.0, 0.0, 70.0])
    level, share = plot_files.time_share(link, at_ns, np.array([0.0, 500.0, 0.0, 900.0, 0.0]))
    assert list(level) == [0, 500, 900]
    np.testing.assert_allclose(share, [0.1, 0.3, 1.0])


def test_a_front_joins_its_trials_and_names_them(tmp_path: Path) -> None:
    trials = [
        {"cluster": "a", "ranks": 8, "time": 2.0, "usd": 1.0},
        {"cluster": "b", "ranks": 8, "time": 1.0, "usd": 2.0},
        {"cluster": "b", "ranks": 4, "time": 3.0, "usd": 3.0},
        {"cluster": "b", "ranks": 2, "time": None, "usd": None},
    ]
    form = {"objectives": ["time", "usd"], "front": [0, 1], "trials": trials}
    (tmp_path / "front.json").write_text(json.dumps(form))
    figure = figures_of_matplotlib().Figure()
    (note,) = plot_files.front([str(tmp_path)], figure)
    assert note.endswith("not drawn: 1 trial without a plan")
    everything, best = _lines(figure)
    assert len(everything.get_xdata()) == 3 and list(best.get_xdata()) == [1.0, 2.0]
    assert [text.get_text() for text in figure.axes[0].texts] == ["b x8", "a x8"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("fct a.csv -o a.svg", "a.csv: expected a .csv with bytes, slowdown, which yantra network"),
        ("queues b.csv -o a.svg", "b.csv: line 2: expected numbers, got"),
        ("front a.csv -o a.svg", "a.csv: expected front.json of yantra explore run -o"),
        ("fct a.csv --cluster hgx-h100 -o a.svg", "yantra plot: fct draws files as they are"),
        ("links a.csv b.csv -o a.svg", "yantra plot: links draws one file, got 2"),
    ],
)
def test_a_wrong_file_says_what_is_expected(
    line: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("x\n1\n")
    Path("b.csv").write_text("link,at_ns,queue_bytes\n0,soon,1\n")
    assert main(["plot", *line.split()]) == 2
    assert capsys.readouterr().err.startswith(f"error: {said}")
