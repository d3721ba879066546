"""Every event of a recording is read, left out by a named rule, or the recording is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.mutated_recordings import judged, mutated
from tests.oracles.small_traces import call, event, kernel, node, op
from tests.oracles.small_traces import linked as pair
from yantra.base.errors import TraceError
from yantra.cli import main
from yantra.tracing.pytorch import kineto
from yantra.tracing.pytorch.balance import Balance, Sum, from_text, to_text
from yantra.tracing.pytorch.link import link_alone
from yantra.tracing.pytorch.link.summary import warnings
from yantra.tracing.pytorch.linked import Linked


def parse(events: Any, where: str = "device.json") -> kineto.KinetoTrace:
    data = events if isinstance(events, bytes) else json.dumps(events).encode()
    return kineto.parse(data, where, shapes=True)


def linked(events: Any) -> Linked:
    return link_alone(parse(events))


STEP = [op(1, "aten::mm", 5, 9), call("cudaLaunchKernel", 6, 1, 8), kernel(9, 2, 8)]


@pytest.mark.parametrize("block", range(6))
def test_the_balance_of_any_recording_adds_up_and_nothing_goes_without_a_word(
    block: int, tmp_path: Path
) -> None:
    read = 0
    for seed in range(block * 20, block * 20 + 20):
        made = mutated(seed)
        found = judged(made, tmp_path)
        assert not found.wrong, (seed, made.changes)
        read += not found.refused
    assert read >= 5


def test_a_balance_says_what_no_part_explains() -> None:
    events = Sum(5)
    events.add("operators", 2)
    events.leave_out("counters", 2)
    balance = Balance(events=events)
    assert balance.unaccounted == {"events": 1}
    assert "1 of the 5 events are not accounted for" in balance.problems()[0]
    assert from_text(to_text(balance)) == balance
    assert from_text("{") is None and from_text(3) is None
    events.add("operators", 1)
    assert not balance.problems()


def test_begin_and_end_are_one_event_of_two() -> None:
    whole = parse(STEP)
    halves: list[dict[str, Any]] = []
    for one in STEP:
        end = one["ts"] + one["dur"]
        halves.append({key: value for key, value in one.items() if key != "dur"} | {"ph": "B"})
        halves.append({"ph": "E", "pid": one["pid"], "tid": one["tid"], "ts": end})
    pairs = parse(halves)
    for lists in zip(whole.lists(), pairs.lists(), strict=True):
        first, second = ([(e.name, e.start, e.end) for e in made] for made in lists)
        assert first == second
    assert pairs.balance.total == 6 and not pairs.balance.unaccounted
    alone = parse([*STEP, {"ph": "B", "ts": 1, "pid": 1, "tid": 1}, {"ph": "E", "ts": 0}])
    assert alone.balance.left_out == {"begun and never ended": 1, "ended and never begun": 1}


def test_nested_begins_end_with_the_innermost_first() -> None:
    mark = {"pid": 1, "tid": 1, "cat": "cpu_op"}
    events = [
        {"ph": "B", "name": "outer", "ts": 1, **mark},
        {"ph": "B", "name": "inner", "ts": 2, **mark},
        {"ph": "E", "ts": 3, **mark},
        {"ph": "E", "ts": 9, **mark},
    ]
    assert [(e.name, e.start, e.end) for e in parse(events).cpu] == [
        ("outer", 1000, 9000),
        ("inner", 2000, 3000),
    ]


def test_events_without_a_category_are_counted_by_their_process_or_the_file_is_refused() -> None:
    bare = {"ph": "X", "name": "gemm", "ts": 3, "dur": 1, "pid": 5, "tid": 1}
    name = {"ph": "M", "name": "process_name", "pid": 5, "args": {"name": "Accelerator"}}
    trace = parse([*STEP, name, bare, bare])
    assert trace.uncategorised == {"Accelerator": 2}
    assert not trace.balance.unaccounted
    said = warnings(linked([*STEP, name, bare]).report)
    assert "1 event without a category on 'Accelerator', not read" in said
    with pytest.raises(
        TraceError, match=r"none of its 3 events has a category .* record with torch"
    ):
        parse([name, bare, bare])


def npu(**more: Any) -> list[dict[str, Any]]:
    flow = {"cat": "async_npu", "name": "async_npu", "id": "1", "bp": "e"}
    work = {"ph": "X", "name": "Add_AiCore", "pid": 200, "tid": 4, "ts": "1030.000", "dur": 500}
    return [
        {"ph": "M", "name": "process_name", "pid": 200, "args": {"name": "Ascend Hardware"}},
        event("cpu_op", "aten::add_", 1000, 20, pid=100, tid=1),
        {"ph": "s", "pid": 100, "tid": 1, "ts": "1005.000"} | flow,
        {"ph": "f", "pid": 200, "tid": 4, "ts": "1030.000"} | flow,
        work | {"args": {"Stream Id": 4}} | more,
    ]


def test_work_of_a_device_at_the_end_of_a_flow_is_read_with_its_operator() -> None:
    found = linked(npu())
    (work,) = found.device_ops
    operators = {operator.id: operator.name for operator in found.operators}
    assert (work.name, work.stream, work.dur_ns) == ("Add_AiCore", 4, 500_000)
    assert work.parent is not None and operators[work.parent] == "aten::add_"
    assert (work.launch_start_ns, work.start_ns) == (5000, 30_000)
    assert not found.report.balance.unaccounted and not warnings(found.report)


@pytest.mark.parametrize("ts", [1030, 1100.5, 1530, 1029.999])
def test_a_flow_ends_at_the_span_around_it_or_the_next(ts: float) -> None:
    events = npu()
    events[3]["ts"] = ts
    (work,) = linked([*events, npu()[-1] | {"ts": 1600, "tid": 4, "pid": 201}]).device_ops
    assert work.parent is not None


def test_other_rows_of_such_a_device_are_its_work_too() -> None:
    more = npu()[-1] | {"ts": 1600, "tid": 5}
    found = linked([*npu(), more])
    assert [op.parent is None for op in found.device_ops] == [False, True]
    assert found.report.orphans == 1


def test_a_category_is_read_only_if_all_of_its_events_are_tied_to_calls() -> None:
    tied = event("npu_task", "task", 30, 5, pid=9, tid=9, correlation=8)
    assert [e.name for e in parse([*STEP[:2], tied]).device] == ["task"]
    loose = event("npu_task", "task", 40, 5, pid=9, tid=9)
    trace = parse([*STEP[:2], tied, loose])
    assert trace.unread == {"npu_task": 2} and not trace.device


@pytest.mark.parametrize("kind", ["privateuse1", "mlu", "npu"])
def test_other_accelerators_are_read_by_their_correlation_numbers(kind: str) -> None:
    launch = event(f"{kind}_runtime", "launch", 12, 2, pid=1, tid=1, correlation=8)
    copy = event(f"{kind}_driver", "copy", 15, 2, pid=1, tid=1, correlation=9)
    work = event(f"{kind}_kernel", "task", 30, 5, pid=9, tid=9, correlation=8)
    moved = event(f"{kind}_memcpy", "moved", 36, 5, pid=9, tid=9, correlation=9)
    trace = parse([STEP[0], launch, copy, work, moved])
    assert [(one.name, one.cat) for one in trace.device] == [
        ("task", "kernel"), ("moved", "gpu_memcpy")
    ]  # fmt: skip
    assert not trace.unread and not trace.uncategorised


NUMBERS = ("inf", "-inf", "nan", "-nan", "nan(ind)", "Infinity", "-Infinity", "NaN", "1.#INF")


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_that_are_not_finite_are_read_as_they_are_printed(number: str) -> None:
    text = json.dumps(STEP).replace('"device": 0', f'"GB/s": {number}, "nested": [{number}]')
    trace = parse(text.encode())
    assert [len(events) for events in trace.lists()] == [1, 1, 1, 0, 0, 0]
    for key in ("ts", "dur"):  # an event without a time is reported, and not one of 0 us
        spoiled = [STEP[0], STEP[1] | {key: "here"}]
        timeless = parse(json.dumps(spoiled).replace('"here"', number).encode())
        assert not timeless.calls and timeless.balance.left_out == {"impossible": 1}
        assert "1 impossible event left out" in timeless.problems[0]
    named = [*STEP, op(2, f"of {number}, [{number}]", 30, 1)]
    text = json.dumps(named).replace('"device": 0', f'"GB/s":{number}')
    assert parse(text.encode()).cpu[-1].name == f"of {number}, [{number}]"


@pytest.mark.parametrize("bad", [b"\xff", b"\x80", b"\xed\xa0\x80", b"\xc3"])
@pytest.mark.parametrize("where", [b"aten::mm", b"cpu_op"])
def test_bytes_that_are_no_text_cost_a_letter_and_no_event(bad: bytes, where: bytes) -> None:
    data = json.dumps([*STEP, op(2, "aten::add", 30, 1)]).encode()
    spoiled = data.replace(where, where[:2] + bad + where[2:], 1)
    trace = parse(spoiled)
    assert trace.balance.total == 4 and not trace.balance.unaccounted
    assert (len(trace.cpu), len(trace.device)) == (2, 1)
    if where == b"aten::mm":
        name = trace.cpu[0].name or ""
        assert name.startswith("at") and name.endswith("en::mm")


def test_a_mark_of_the_byte_order_is_passed_over() -> None:
    assert parse(b"\xef\xbb\xbf" + json.dumps(STEP).encode()) == parse(STEP)


@pytest.mark.parametrize("times", [2, 3])
def test_several_recordings_in_one_file_are_told(times: int) -> None:
    one = json.dumps({"traceEvents": STEP}).encode()
    with pytest.raises(
        TraceError, match=f"{times} JSON texts, the second from byte {len(one) + 1}"
    ):
        parse(one * times)


LABELS: list[Callable[[int, int], Any]] = [
    lambda rank, pid: f"[TP{rank:02}] {pid}",
    lambda rank, pid: f"[DP0][TP{rank}] {pid}",
    lambda rank, pid: (rank + 1) * 100_000 + pid,
]


@pytest.mark.parametrize("label", LABELS)
def test_a_file_merged_of_several_ranks_is_refused(label: Callable[[int, int], Any]) -> None:
    def of(rank: int, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [one | {"pid": label(rank, one["pid"])} for one in events]

    with pytest.raises(TraceError, match="holds the processes of several ranks"):
        parse([*of(0, STEP), *of(1, STEP)])
    assert len(parse(of(1, STEP)).device) == 1
    if isinstance(label(0, 0), str):  # kernels alone: only the label shows it
        with pytest.raises(TraceError, match="holds the processes of several ranks"):
            parse([*of(0, STEP[2:]), *of(1, STEP[2:])])


def test_calls_of_two_processes_whose_numbers_differ_are_one_recording() -> None:
    other = call("runFunction", 7, 1, 9, pid=17)
    assert len(parse([*STEP[1:], other]).calls) == 2


def test_threads_and_streams_that_are_texts_stay_apart() -> None:
    events = [op(1, "a", 5, 9, tid="thread 1"), op(2, "b", 6, 1, tid="thread 2")]
    first, second = parse(events).cpu
    assert isinstance(first.tid, int) and isinstance(second.tid, int) and first.tid != second.tid
    streams = [kernel(9, 2, 8, stream="0x1"), kernel(9, 2, 9, stream="0x2")]  # type: ignore[arg-type]
    assert len({op.stream for op in linked([*STEP[:2], *streams]).device_ops}) == 2


def test_nodes_of_a_host_trace_add_up_and_a_record_of_groups_is_no_operator() -> None:
    nodes = [
        node(3, "aten::mm", 2, rf_id=1),
        node(4, "aten::lost", 2, rf_id=9),
        node(5, "## process_group:init ##", 2, rf_id=0),
    ]
    report = pair(nodes, STEP).report
    assert report.balance.nodes.parts == {
        "operators with times": 1,
        "operators without times": 1,
        "roots and records of process groups": 3,
    }
    assert not report.balance.unaccounted and report.unmatched == 1


RECORDINGS = [
    json.dumps({"traceEvents": STEP}).encode(),
    json.dumps(STEP).encode(),
    json.dumps({"traceEvents": STEP}).encode().replace(b"aten::mm", b"aten::\xffm"),
    b'{"schema": "1.1.1-chakra.0.0.4", "nodes": []}',
]


@pytest.mark.parametrize("data", RECORDINGS, ids=["object", "list", "bytes", "host"])
def test_run_takes_a_recording_on_a_cluster(
    data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trace.json").write_bytes(data)
    assert main(["run", "trace.json"]) == 2
    said = "error: trace.json: a recording, which does not name a cluster; add --cluster hgx-h100"
    assert said in capsys.readouterr().err
    runs = main(["run", "trace.json", "--cluster", "mi300x"])
    told = "trace.json: has no field 'finish_ts'" if runs else "trace.json: recording of PyTorch, "
    assert told in capsys.readouterr().err


def test_stats_takes_recordings_and_shows_their_balance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trace.json").write_text(json.dumps([*STEP, event("python_function", "f", 1, 9)]))
    assert main(["chakra", "convert", "pytorch", "trace.json", "-o", "job"]) == 0
    capsys.readouterr()
    shown = []
    for path in ("trace.json", "job.0.et"):
        assert main(["chakra", "stats", path]) == 0
        shown.append(capsys.readouterr().out.replace(path, "the trace"))
    assert shown[0] == shown[1]
    assert (
        "4 events: operators 1, runtime calls 1, kernels 1; left out: frames of Python 1"
        in (shown[0])
    )
