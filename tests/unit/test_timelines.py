"""Timelines, case by case: which ranks, which rows, memory, errors, the command."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from tests.clusters import dimension, scenario
from tests.oracles.timelines import read
from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.cli import main
from yantra.compile import compile
from yantra.export.timeline import shown
from yantra.result import Result
from yantra.run.simulate import run, simulate
from yantra.scenario import Resources
from yantra.scenario.fabric_fields import FabricField

ENDS = ("dimension", "source", "destination")


def _all_reduce(ranks: int) -> Result:
    trace = TraceBuilder()
    trace.compute("work", duration_micros=5)
    trace.collective(CollectiveType.ALL_REDUCE, 1 << 20, after=trace.nodes[-1:])
    return run(compile(scenario([trace] * ranks, dimension(size=ranks))), fold="auto")


def test_a_folded_run_shows_one_rank_of_each_class(tmp_path: Path) -> None:
    result = _all_reduce(16)
    assert result.outcome.folded
    result.to_perfetto(tmp_path / "t.pftrace")
    timeline = read(tmp_path / "t.pftrace")
    assert timeline.processes == {0: "rank 0 (class 0, 16 ranks)"}
    result.to_perfetto(tmp_path / "t.pftrace", ranks="3,5-6")
    timeline = read(tmp_path / "t.pftrace")
    assert list(timeline.processes) == [3, 5, 6]
    assert [[s.start for s in timeline.of_process(rank)] for rank in (3, 5, 6)] == [[0, 5000]] * 3
    result.to_perfetto(tmp_path / "t.pftrace", ranks="all")
    assert len(read(tmp_path / "t.pftrace").processes) == 16
    result.to_perfetto(tmp_path / "t.pftrace", ranks=[1])
    assert list(read(tmp_path / "t.pftrace").processes) == [1]


def test_overlapping_nodes_of_a_track_go_to_rows_of_its_name(tmp_path: Path) -> None:
    trace = TraceBuilder()
    for duration in (3, 1, 1, 4):
        trace.compute(duration_micros=duration)
    question = scenario([trace] * 2, dimension(size=2), resources=Resources(compute_streams=2))
    simulate(question).to_perfetto(tmp_path / "t.pftrace")
    timeline = read(tmp_path / "t.pftrace")
    slices = {slice.args["id"]: slice for slice in timeline.of_process(0)}
    times = [(slices[id].start, slices[id].end) for id in range(4)]
    assert times == [(0, 3000), (0, 1000), (1000, 2000), (2000, 6000)]
    rows = [slices[id].track for id in range(4)]
    assert rows[0] != rows[1] == rows[2] == rows[3]
    assert {timeline.tracks[row] for row in rows} == {"compute"}


def test_ranks_that_are_not_there_are_refused(tmp_path: Path) -> None:
    result = _all_reduce(16)
    for ranks in ("16", [16], [-1], [], "x", "5-3"):
        with pytest.raises(ConfigError, match="ranks: "):
            result.to_perfetto(tmp_path / "t.pftrace", ranks=ranks)
    assert list(tmp_path.iterdir()) == []


def test_more_slices_than_a_viewer_holds_are_refused_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown, "MOST_SLICES", 10)
    result = _all_reduce(16)
    result.to_chrome(tmp_path / "t.json")
    said = (
        "16 ranks have 32 slices, and a viewer holds about 10; choose some 5 of them, such as 0-4"
    )
    with pytest.raises(ConfigError, match=said):
        result.to_chrome(tmp_path / "t.json", ranks="all")


def test_a_name_with_gz_is_compressed_the_same_each_time(tmp_path: Path) -> None:
    result = _all_reduce(4)
    for name in ("t.pftrace", "t.json"):
        export = result.to_chrome if name == "t.json" else result.to_perfetto
        export(tmp_path / name)
        export(tmp_path / f"{name}.gz")
        packed = (tmp_path / f"{name}.gz").read_bytes()
        assert gzip.decompress(packed) == (tmp_path / name).read_bytes()
        export(tmp_path / f"{name}.gz")
        assert (tmp_path / f"{name}.gz").read_bytes() == packed


def test_saved_activations_are_counted_from_start_and_to_end(tmp_path: Path) -> None:
    trace = TraceBuilder()
    for alloc, free in ((100, 0), (20, 0), (0, 100), (0, 20)):
        node = trace.compute(duration_micros=1, after=trace.nodes[-1:])
        if alloc:
            node["act_alloc"] = alloc
        if free:
            node["act_free"] = free
    result = simulate(scenario([trace] * 2, dimension(size=2), fold="off"))
    result.to_perfetto(tmp_path / "t.pftrace")
    counters = read(tmp_path / "t.pftrace").counters
    expected = [(0, 100), (1000, 120), (3000, 20), (4000, 0)]
    assert counters[0, "memory: saved activations (bytes)"] == expected
    assert set(counters) == {(rank, "memory: saved activations (bytes)") for rank in (0, 1)}


def test_live_tensors_are_counted_where_they_are_tracked(tmp_path: Path) -> None:
    trace = TraceBuilder()
    for inputs, outputs in (([], ["a", "8"]), (["a", "8"], [])):
        node = trace.compute(duration_micros=1, after=trace.nodes[-1:])
        node["inputs"], node["outputs"] = inputs, outputs
    asked = scenario([trace] * 2, dimension(size=2), track_local_memory=True, fold="off")
    result = simulate(asked)
    result.to_chrome(tmp_path / "t.json")
    counters = read(tmp_path / "t.json").counters
    assert counters[1, "memory: tensors (bytes)"] == [(0, 8), (2000, 0)]


@pytest.mark.parametrize("network", ["analytical", "store_and_forward"])
def test_counters_of_the_network_are_the_tables_of_the_recording(
    network: Any, tmp_path: Path
) -> None:
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, 1 << 20)
    question = scenario([trace] * 4, dimension(), network=network)
    result = simulate(question, record=True)
    result.to_perfetto(tmp_path / "t.pftrace")
    counters = read(tmp_path / "t.pftrace").counters
    table = result.recording.utilisation()
    rows = zip(table.values("from_ns"), table.values("utilisation"), strict=True)
    told = [(int(start), 100 * share) for start, share in rows]
    name = "network: dimension 0 (Ring 4) (%)"
    assert counters.pop((4, name)) == [*told, (int(result.makespan_ns), 0.0)]
    expected: dict[Any, list[tuple[int, float]]] = {}
    ends = list(zip(*(result.links.values(n) for n in ENDS), strict=True))
    for link, *_, start, end, _, share in result.recording.link_rates.rows():
        name = "network: link {1} to {2} of dimension {0} (%)".format(*ends[link])
        points = expected.setdefault((4, name), [(-1, 0.0)])
        if points[-1][0] == int(start):
            points.pop()
        points += [(int(start), 100 * share), (int(end), 0.0)]
    assert counters == {name: points[1:] for name, points in expected.items()}


def test_links_of_a_fabric_have_counters_by_their_names(tmp_path: Path) -> None:
    fabric = {"leaves": 2, "ranks_per_leaf": 1, "spines": 1, "bandwidth": "50 GB/s"}
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, 1 << 20)
    tree = {"kind": "leaf_spine", "latency": "1 us", **fabric}
    question = scenario([trace] * 2, dimension(size=2), network="flow")
    over = FabricField().read(tree, "fabric", "")
    result = simulate(question.replace(fabric=over), record=True)
    result.to_perfetto(tmp_path / "t.pftrace")
    counters = read(tmp_path / "t.pftrace").counters
    names = {name for _, name in counters}
    assert "network: links rank up (%)" in names
    assert "network: link leaf 0 to spine 0 (leaf up) (%)" in names
    most = max(value for _, value in counters[2, "network: links rank up (%)"])
    assert 99 < most <= 100.1, "bytes of a stretch are whole"


@pytest.fixture
def step(tmp_path: Path) -> str:
    path = str(tmp_path / "step.yw")
    sizes = "--model llama3-8b --tp 8 --pp 2 --global-batch 1"
    main(["workload", "train", *sizes.split(), "-o", path])
    return path


def test_the_command_writes_timelines(
    step: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = ["run", "--workload", step, "--cluster", "hgx-h100", "--stack", "roofline"]
    base += ["--trace-messages", "500"]
    for name in ("a.pftrace", "a.json", "a.pftrace.gz"):
        assert main([*base, "--trace", str(tmp_path / name)]) == 0
    both = [read(tmp_path / name) for name in ("a.pftrace", "a.json")]
    assert both[0].processes == both[1].processes
    assert [vars(s) | {"inner": 0} for s in both[0].slices] == [
        vars(s) | {"inner": 0} for s in both[1].slices
    ]
    told = capsys.readouterr().err
    assert "messages of collectives not drawn: the limit is" in told
    for options, problem in (
        (["--trace", "a.txt"], "error: --trace: expected a name that ends in .pftrace or .json"),
        (["--trace", "a.json", "--trace-ranks", "0,99"], "error: --trace-ranks: expected 0 to 15"),
    ):
        assert main([*base, *options]) == 2
        assert problem in capsys.readouterr().err
    assert main([*base, "--trace-ranks", "all"]) == 2
    assert "--trace-ranks goes with --trace" in capsys.readouterr().err
