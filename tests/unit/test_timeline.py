"""Timelines: times in microseconds, lanes without overlaps, and the lines of logs read right."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.base.errors import ConfigError, TraceError
from yantra.chakra import CollectiveType, Kind, TraceBuilder
from yantra.cli import main
from yantra.cli.upstream import timeline_visualizer
from yantra.tracing.inspect.timeline import (
    Arrow,
    Span,
    Timeline,
    log_timeline,
    parse_log,
    timeline,
    write_timeline,
)
from yantra.tracing.inspect.timeline.upstream import megahertz

Captured = pytest.CaptureFixture[str]
PREFIX = "[2025-01-26 22:50:05.669] [workload] [debug] "


def written(made: Timeline, folder: Path) -> list[dict[str, Any]]:
    write_timeline(made, folder / "t.json")
    form = json.loads((folder / "t.json").read_text())
    assert form["displayTimeUnit"] == "ns"
    events: list[dict[str, Any]] = form["traceEvents"]
    return events


spans = st.builds(
    Span,
    st.integers(0, 2),
    st.sampled_from(["a", "b"]),
    st.just("x"),
    st.integers(0, 40).map(float),
    st.integers(0, 20).map(float),
    st.just({}),
    st.booleans(),
)


@given(st.lists(spans, max_size=60))
@settings(max_examples=150, deadline=None)
def test_spans_on_a_lane_do_not_overlap_unless_one_holds_the_other(
    tmp_path_factory: pytest.TempPathFactory, given_spans: list[Span]
) -> None:
    events = written(Timeline(given_spans, [], {}, []), tmp_path_factory.mktemp("t"))
    shown = [event for event in events if event["ph"] == "X"]
    assert [(e["pid"], e["cat"], e["ts"], e["dur"]) for e in shown] == [
        (s.process, s.lane, s.start_us, s.duration_us) for s in given_spans
    ]
    lanes: dict[int, list[tuple[float, float, str, bool]]] = {}
    for event, span in zip(shown, given_spans, strict=True):
        end = event["ts"] + event["dur"]
        lanes.setdefault(event["tid"], []).append((event["ts"], -end, event["cat"], span.nests))
    for items in lanes.values():
        assert len({lane for _, _, lane, _ in items}) == 1
        open_ends: list[float] = []
        for start, negative_end, _, nests in sorted(items, key=lambda item: item[:2]):
            open_ends = [end for end in open_ends if end > start]
            assert not open_ends or -negative_end <= min(open_ends)
            assert nests or not open_ends
            open_ends.append(-negative_end)


def test_spans_that_touch_share_a_lane_whatever_floating_point_says(tmp_path: Path) -> None:
    """1995.919 + 14.882 is 2010.8010000000002."""
    touching = [
        Span(0, "a", "x", 1995.919, 14.882, {}),
        Span(0, "a", "y", 2010.801, 44.868, {}),
        Span(0, "a", "z", 2055.0, 1.0, {}),
    ]
    events = written(Timeline(touching, [], {}, []), tmp_path)
    assert [event["tid"] for event in events if event["ph"] == "X"] == [1, 1, 2]


def timed() -> TraceBuilder:
    steps = TraceBuilder()
    operator = steps.compute("aten::mm", cpu=True, duration_micros=10)
    first = steps.compute("gemm", duration_micros=4, after=operator)
    second = steps.compute("copy", duration_micros=3, after=[operator, first])
    gather = steps.collective(CollectiveType.ALL_GATHER, 64, group="3", after=second)
    for node, start, duration, lane in (
        (operator, 500, 9_800, {"tid": 7}),
        (first, 12_000, 4_200, {"stream": 20}),
        (second, 16_250, 3_000, {"stream": 21}),
        (gather, 20_001, 1_500, {}),
    ):
        node.set("start_time_ns", start, Kind.INT64)
        node.set("duration_ns", duration, Kind.INT64)
        for name, value in lane.items():
            node.set(name, value, Kind.INT64)
    return steps


def test_a_trace_with_times_has_its_nanoseconds_and_a_lane_per_thread_stream_and_group(
    tmp_path: Path,
) -> None:
    timed().build().write(tmp_path / "job.1.et")
    made = timeline((tmp_path / "job.1.et",), arrows=True)
    assert [span[:5] for span in made.spans] == [
        (1, "cpu thread 7", "aten::mm", 0.5, 9.8),
        (1, "gpu stream 20", "gemm", 12.0, 4.2),
        (1, "gpu stream 21", "copy", 16.25, 3.0),
        (1, "group 3", "all_gather", 20.001, 1.5),
    ]
    assert made.spans[3].args == {"id": 3, "collective": "ALL_GATHER", "bytes": 64}
    assert made.arrows == [Arrow(*ends, "data") for ends in ((0, 1), (0, 2), (1, 2), (2, 3))]
    events = written(made, tmp_path)
    lanes = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert [lanes[e["tid"]] for e in events if e["ph"] == "X"] == [s.lane for s in made.spans]
    begin, end = (next(e for e in events if e["ph"] == phase) for phase in "sf")
    assert (begin["ts"], end["ts"], begin["id"], end["bp"]) == (10.3, 12.0, end["id"], "e")
    assert events[0] == {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "rank 1"}}


def test_a_trace_with_whole_microseconds_only(tmp_path: Path) -> None:
    steps = TraceBuilder()
    steps.compute("a", duration_micros=5)
    steps.compute("b", duration_micros=6).start_micros = 5
    steps.build().write(tmp_path / "a.et")
    assert [span[3:5] for span in timeline((tmp_path / "a.et",)).spans] == [(0, 5), (5, 6)]


def test_nodes_without_a_time_among_others_are_left_out_and_counted(tmp_path: Path) -> None:
    steps = timed()
    steps.compute("late")
    steps.compute("a gap", duration_micros=5)["part"] = "delay"
    steps.build().write(tmp_path / "a.et")
    made = timeline((tmp_path / "a.et",))
    assert len(made.spans) == 4
    assert made.warnings == [f"{tmp_path / 'a.et'}: 1 node without a start time, left out"]


def test_a_trace_without_times_is_refused(tmp_path: Path, capsys: Captured) -> None:
    steps = TraceBuilder()
    steps.compute("a", duration_micros=5)
    path = str(tmp_path / "a.et")
    steps.build().write(path)
    with pytest.raises(TraceError, match="no node has a start time; expected start_time_ns"):
        timeline((path,))
    assert main(["chakra", "timeline", path, "-o", str(tmp_path / "x")]) == 2


def log(*events: tuple[Any, ...], prefix: str = "", typed: bool = True) -> bytes:
    lines = []
    for event, rank, tick, node, name, type in events:
        about = f", node->type={type}" if typed else ""
        text = f"{event},sys->id={rank}, tick={tick}, node->id={node}, node->name={name}{about}"
        lines.append(prefix + text)
    return ("\n".join(lines) + "\n").encode()


AWKWARD = "void k<1, 2>(a=b, c), node->x"
EVENTS = (
    ("issue", 0, 0, 1, AWKWARD, 4),
    ("issue", 1, 10, 1, "recv", 6),
    ("callback", 0, 1500, 1, AWKWARD, 4),
    ("issue", 0, 1500, 2, "load", 2),
    ("issue", 0, 1500, 3, "meta", 1),
    ("callback", 1, 20, 1, "recv", 6),
    ("callback", 0, 1501, 3, "meta", 1),
    ("callback", 0, 1502, 2, "load", 2),
)
SPANS = [
    (0, "compute", AWKWARD, 0.0, 1.5),
    (1, "communication", "recv", 0.01, 0.01),
    (0, "other", "meta", 1.5, 0.001),
    (0, "memory", "load", 1.5, 0.002),
]


@pytest.mark.parametrize("prefix", ["", PREFIX])
def test_a_log_is_read_with_and_without_the_loggers_prefix(prefix: str, tmp_path: Path) -> None:
    noise = (prefix + "sys[0] finished, an issue of 5 cycles\n").encode()
    path = tmp_path / "log.log"
    path.write_bytes(noise + log(*EVENTS, prefix=prefix) + b"\xff\n")
    made = timeline((path,))
    assert [span[:5] for span in made.spans] == SPANS
    assert made.processes == {0: "rank 0", 1: "rank 1"}
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert timeline((path,)) == made
    slower = timeline((path,), ticks_per_us=500.0)
    assert slower.spans[0][3:5] == (0.0, 3.0)


@pytest.mark.parametrize(
    ("name", "lane"),
    [
        ("COMP_NODE_a", "compute"),
        ("x_COMM_COLL_NODE", "communication"),
        ("MEM_STORE_NODE_REMOTE_MEMORY", "memory"),
        ("aten::mm", "other"),
    ],
)
def test_a_log_without_types_goes_by_names(name: str, lane: str) -> None:
    data = log(("issue", 0, 0, 1, name, 0), ("callback", 0, 5, 1, name, 0), typed=False)
    assert log_timeline(parse_log(data)).spans[0].lane == lane


def test_nodes_that_never_call_back_are_told() -> None:
    made = log_timeline(parse_log(log(*EVENTS[:4])))
    assert len(made.spans) == 1
    assert made.warnings == [
        '2 nodes never called back, the first is node 1 "recv" of rank 1, issued on line 2'
    ]


BAD_LOGS = {
    b"issue,sys->id=0, tick=x, node->id=1, node->name=a\n": "log:1: expected issue or callback, "
    "then rank, tick, node id and name as x=y, got "
    '"issue,sys->id=0, tick=x, node->id=1, node->name=a"',
    b"\nissue,\n": "log:2: expected issue or callback, then rank, tick, node id and name as x=y, "
    'got "issue,"',
    log(("callback", 2, 5, 1, "a", 4)): "log:1: node 1 of rank 2 calls back but was not issued",
    log(("issue", 2, 5, 1, "a", 4), ("callback", 2, 4, 1, "a", 4)): "log:2: node 1 of rank 2 calls "
    "back at 4, before its issue at 5 (line 1)",
    b"nothing": "log: no line has a node's issue or callback",
}


@pytest.mark.parametrize("data", BAD_LOGS)
def test_logs_that_make_no_sense_are_refused_with_their_line(data: bytes) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_log(data)
    assert str(caught.value) == BAD_LOGS[data]


def test_what_is_neither_a_log_nor_a_trace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello\n")
    with pytest.raises(TraceError, match="this is a text file; expected a Chakra trace"):
        timeline((tmp_path / "a.txt",))


def test_the_log_of_a_run_gives_its_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    step = TraceBuilder()
    first = step.compute("one", duration_micros=3)
    second = step.compute("two", duration_micros=4, after=first)
    step.collective(CollectiveType.ALL_REDUCE, 1 << 20, name="sum", after=second)
    for rank in range(2):
        step.build().write(f"w.{rank}.et")
    system = {
        "scheduling-policy": "LIFO",
        "all-reduce-implementation": ["ring"],
        "preferred-dataset-splits": 1,
        "endpoint-delay": 10,
        "active-chunks-per-dimension": 1,
        "local-mem-bw": 50,
        "collective-optimization": "baseline",
        "trace-enabled": 1,
    }
    Path("s.json").write_text(json.dumps(system))
    Path("n.yml").write_text(
        "topology: [Ring]\nnpus_count: [2]\nbandwidth: [50.0]\nlatency: [500.0]\n"
    )
    Path("m.json").write_text('{"memory-type": "NO_MEMORY_EXPANSION"}')
    names = ("workload", "system", "network", "remote-memory")
    inputs = ("w", "s.json", "n.yml", "m.json")
    flags = [f"--{n}-configuration={i}" for n, i in zip(names, inputs, strict=True)]
    assert main(["astra-sim", *flags]) == 0
    made = timeline(("log/log.log",))
    by_rank = [[span for span in made.spans if span.process == rank] for rank in range(2)]
    for of_rank in by_rank:
        assert [span.name for span in of_rank] == ["one", "two", "sum"]
        assert [span.lane for span in of_rank] == ["compute", "compute", "communication"]
        assert [span[3:5] for span in of_rank[:2]] == [(0, 3), (3, 4)]
        assert all(a.start_us + a.duration_us <= b.start_us for a, b in pairwise(of_rank))


@pytest.fixture
def logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_bytes(log(*EVENTS, prefix=PREFIX))
    return ["--input_filename", "in.csv", "--output_filename", "out.json", "--num_npus", "2"]


def test_upstreams_command_gives_microseconds(logged: list[str]) -> None:
    assert timeline_visualizer.run([*logged, "--npu_frequency", "1.5GHz"]) == 0
    form = json.loads(Path("out.json").read_text())
    assert form["meta_cpu_count"] == 2
    assert form["traceEvents"][0] == {
        "pid": 0,
        "tid": 3,
        "ts": 0.0,
        "dur": 1.0,
        "ph": "X",
        "name": AWKWARD,
        "args": {"ms": 0.001},
    }
    assert [event["tid"] for event in form["traceEvents"]] == [3, 4, 5, 2]
    assert timeline_visualizer.run([*logged, "--npu_frequency", "1500"]) == 0
    assert json.loads(Path("out.json").read_text()) == form


def test_upstreams_command_in_compat_wants_types_in_names(logged: list[str]) -> None:
    with pytest.raises(ConfigError, match="does not say the type of the node"):
        timeline_visualizer.run([*logged, "--npu_frequency", "1000", "--compat", "upstream"])
    assert not Path("out.json").exists()


def test_upstreams_command_needs_room_for_all_npus(logged: list[str]) -> None:
    logged[-1] = "1"
    with pytest.raises(ConfigError, match="--num_npus: is 1, but the log has NPU 1"):
        timeline_visualizer.run([*logged, "--npu_frequency", "1000"])


@pytest.mark.parametrize(
    ("text", "mhz"),
    [("1500", 1500.0), ("1.5GHz", 1500.0), ("1 GHz", 1000.0), ("2e3 kHz", 2.0), ("1Hz", 1e-6)],
)
def test_frequencies_have_fractions_and_units(text: str, mhz: float) -> None:
    assert megahertz(text, "f") == pytest.approx(mhz)


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5GB", "fast", "nan", "9" * 400, "1e-9", "inf"])
def test_frequencies_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"expected a frequency such as 1\.5GHz"):
        megahertz(text, "--npu_frequency")


def test_a_bare_number_is_no_frequency_for_our_own_command(
    logged: list[str], capsys: Captured
) -> None:
    assert main(["chakra", "timeline", "in.csv", "-o", "x.json", "--frequency", "1500"]) == 2
    assert main(["chakra", "timeline", "in.csv", "-o", "x.json", "--frequency", "1.5GHz"]) == 0
    assert capsys.readouterr().out == "x.json: 4 spans of 2 ranks\n"
