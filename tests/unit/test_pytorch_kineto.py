"""Reading device traces: forms, times to the nanosecond, and the errors of broken ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.small_traces import call, event, kernel, op
from yantra.base.errors import TraceError
from yantra.tracing.pytorch import kineto


def parse(trace: Any) -> kineto.KinetoTrace:
    return kineto.parse(json.dumps(trace).encode(), "device.json")


def test_an_object_and_a_bare_list_of_events_are_the_same() -> None:
    events = [op(1, "aten::mm", 5, 4), call("cudaLaunchKernel", 6, 1, 8), kernel(9, 2, 8)]
    assert parse(events) == parse({"traceEvents": events})


def test_events_are_sorted_into_kinds_by_time_with_the_longest_first() -> None:
    trace = parse(
        [
            op(2, "inner", 5, 1),
            op(1, "outer", 5, 9),
            event("user_annotation", "step", 1, 50, Record__function__id=3),
            event("cuda_driver", "cuLaunchKernelEx", 6, 1, correlation=4),
            kernel(9, 1, 4),
            kernel(7, 1, 3, cat="gpu_memset"),
            event("cuda_sync", "Context Sync", 9, 1, cuda_sync_kind="Context Sync"),
            event("python_function", "train.py(3): step", 0, 99),
            event("overhead", "Unrecognized", 0, 1),
            event("gpu_user_annotation", "step", 0, 1),
            {"ph": "M", "name": "process_name", "args": {"name": "python"}},
            {"ph": "i", "name": "Record Window End", "ts": 3, "pid": "", "tid": ""},
        ]
    )
    assert [e.name for e in trace.cpu] == ["step", "outer", "inner"]
    assert [e.name for e in trace.calls] == ["cuLaunchKernelEx"]
    assert [e.cat for e in trace.device] == ["gpu_memset", "kernel"]
    assert len(trace.syncs) == 1


@pytest.mark.parametrize(
    ("ts", "dur", "start", "end"),
    [
        ("5", "3", 5000, 8000),
        ("5.25", "0.001", 5250, 5251),
        ("4458676522690.655", "156.777", 4458676522690655, 4458676522847432),
        ("1712867402348256", "476", 1712867402348256000, 1712867402348732000),
        ("1712867402348256.123", "1.001", 1712867402348256123, 1712867402348257124),
        ("-2.5", "1", -2500, -1500),
    ],
)
def test_times_are_exact(ts: str, dur: str, start: int, end: int) -> None:
    text = f'[{{"ph":"X","cat":"cpu_op","name":"a","tid":1,"ts":{ts},"dur":{dur}}}]'
    (only,) = kineto.parse(text.encode(), "device.json").cpu
    assert (only.start, only.end) == (start, end)


NANOSECONDS = st.integers(0, 2**61) | st.integers(2**52, 2**53 - 1)


@given(st.lists(NANOSECONDS, min_size=1, max_size=5), st.booleans())
@settings(max_examples=200)
def test_any_nanosecond_survives(times: list[int], bare: bool) -> None:
    events = ",".join(
        f'{{"ph":"X","cat":"cpu_op","tid":1,"ts":{time // 1000}.{time % 1000:03d}}}'
        for time in times
    )
    text = f"[{events}]" if bare else f'{{"traceEvents":[{events}]}}'
    trace = kineto.parse(text.encode(), "device.json")
    assert sorted(e.start for e in trace.cpu) == sorted(times)


def test_what_is_known_of_the_job() -> None:
    group = {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl",
             "pg_size": 2, "ranks": [0, 1]}  # fmt: skip
    info = {"backend": "nccl", "rank": 1, "world_size": 2, "pg_config": [group]}
    trace = parse({"distributedInfo": info, "baseTimeNanoseconds": 12, "traceEvents": []})
    assert (trace.rank, trace.world_size, trace.base_ns) == (1, 2, 12)
    assert [(g.name, g.ranks) for g in trace.groups] == [("0", [0, 1])]
    text = {"distributedInfo": {"rank": 0, "pg_config": json.dumps([group])}, "traceEvents": []}
    assert [g.desc for g in parse(text).groups] == ["default_pg"]


def test_collectives_tell_their_sizes_and_groups() -> None:
    said = {
        "Collective__name": "allreduce", "In__msg__nelems": 10, "Out__msg__nelems": 10,
        "dtype": "Float", "Process__Group__Name": "3", "Group__size": 4,
        "Process__Group__Ranks": "[0, 1, 2, 3]", "In__split__size": "[]",
    }  # fmt: skip
    trace = parse([op(1, "record_param_comms", 1, 1, **said), op(2, "aten::mm", 3, 1)])
    comm = trace.cpu[0].detail.comm()
    assert comm is not None
    assert (comm.collective, comm.in_nelems, comm.dtype, comm.group_name) == (
        "allreduce", 10, "Float", "3",
    )  # fmt: skip
    assert trace.cpu[1].detail.comm() is None


def test_hip_calls_name_their_stream_by_a_pointer() -> None:
    hip = event("cuda_runtime", "hipLaunchKernel", 1, 1, correlation=3, stream="0x0", size="64")
    assert parse([hip]).calls[0].detail.stream == "0x0"


BAD = [
    (b"", "is empty"),
    (b'{"traceEvents": [{"ph": "X"', "ends in the middle"),
    (b"{}", "no field 'traceEvents'"),
    (b'{"traceEvents": 3}', "traceEvents"),
    ([event("kernel", "k", "x", 1)], r"ts: expected `int . float"),  # type: ignore[arg-type]
    ([{"ph": "X", "cat": "cpu_op", "name": "a"}], r"traceEvents\[0\].ts: expected a number"),
    ([event("cpu_op", "a", "nan", 1)], "ts: expected a number"),  # type: ignore[arg-type]
    ([event("cpu_op", "a", 1, "inf")], "dur: expected microseconds"),  # type: ignore[arg-type]
    ([event("cpu_op", "a", 1, -5)], "dur: expected microseconds from 0"),
    ([kernel(1, 1, 2, bytes="many")], "expected `int | null`"),
    ([event("cpu_op", "a", 1e300, 1)], "ts: expected"),
]


@pytest.mark.parametrize(("data", "said"), BAD, ids=lambda value: str(value)[:20])
def test_a_broken_file_is_refused_with_the_reason(data: Any, said: str) -> None:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    with pytest.raises(TraceError, match=said) as error:
        kineto.parse(raw, "device.json")
    assert str(error.value).startswith("device.json")


def test_an_event_that_cannot_be_is_left_out_and_told() -> None:
    good = [op(1, "aten::mm", 5, 4), kernel(9, 2, 8)]
    bad = [kernel(11, -5, 9), kernel(12, 1, 9, stream={}), event("cpu_op", "a", "nan", 1)]  # type: ignore[arg-type]
    for place, wrong in enumerate(bad):
        trace = parse([*good, *bad[: place + 1]])
        assert (len(trace.cpu), len(trace.device)) == (1, 1)
        (problem,) = trace.problems
        events = "1 impossible event" if place == 0 else f"{place + 1} impossible events"
        assert problem.startswith(f"{events} left out; the first: dev")
        assert "$.traceEvents[" in parse([*good, wrong]).problems[0]
    assert "expected microseconds from 0 up, got -5" in parse([*good, bad[0]]).problems[0]


def test_categories_of_2021_are_those_of_today() -> None:
    old = {
        "Operator": "cpu_op",
        "Runtime": "cuda_runtime",
        "Kernel": "kernel",
        "Memcpy": "gpu_memcpy",
        "Memset": "gpu_memset",
    }
    events = [event(cat, cat, place, 1, tid="7") for place, cat in enumerate(old)]
    trace = parse(events)
    found = [*trace.cpu, *trace.calls, *trace.device]
    assert {e.name: e.cat for e in found} == old
    assert {e.tid for e in found} == {7}
    assert trace.unread == {}


def test_categories_that_are_not_read_are_counted() -> None:
    other = [event("mtia_ccp_events", "dma_request", 3, 1)] * 3
    aside = [event("python_function", "f", 3, 1), event("Trace", "PyTorch Profiler (0)", 0, 9)]
    assert parse([op(1, "aten::mm", 5, 4), *other, *aside]).unread == {"mtia_ccp_events": 3}
    with pytest.raises(
        TraceError, match=r"none of its 3 events .* got 3 of the category 'mtia_ccp_"
    ):
        parse(other)
