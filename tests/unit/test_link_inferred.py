"""What linking infers, by small recordings, in us from the first event: a time may be 1 us wrong,
and an op that waits starts within 50 us.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.oracles.small_traces import call, event, kernel, linked, node, op
from yantra.tracing.pytorch.link.streams import _Queue
from yantra.tracing.pytorch.linked import DeviceOp, Linked

OPERATOR = node(3, "aten::linear", 2)
NOISE, TICK = 1, 0.001
BEGIN = 7000
NCCL = "ncclDevKernel_AllReduce_Sum_f32"


def link(*events: dict[str, Any]) -> Linked:
    return begun([OPERATOR], op(3, "aten::linear", 0, 10_000), *events)


def begun(nodes: list[dict[str, Any]], *events: dict[str, Any], **top: Any) -> Linked:
    return linked(nodes, [{**one, "ts": one["ts"] + BEGIN} for one in events], **top)


def launched(
    number: int, at: float, start: float, end: float, stream: int = 7, **more: Any
) -> list[dict[str, Any]]:
    ran = kernel(start, round(end - start, 3), number, stream=stream, **more)
    return [call("cudaLaunchKernel", at, 2, number), ran]


def on_device(device: int, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    events[1]["args"]["device"] = device
    return events


def awaited(trace: Linked) -> list[list[int]]:
    names = {one.id: one.correlation for one in trace.device_ops}
    return [[names[one] for one in wait.after] for wait in trace.waits]


def before(trace: Linked, number: int) -> list[int]:
    names = {one.id: one.correlation for one in trace.device_ops}
    (found,) = (one for one in trace.device_ops if one.correlation == number)
    return [names[one] for one in found.after]


def sync(kind: str, number: int, **more: Any) -> dict[str, Any]:
    return event("cuda_sync", kind, 0, 1, cuda_sync_kind=kind, correlation=number, device=0, **more)


# --- Which ops a blocking call waits for

CALLS = ["cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize"]


@pytest.mark.parametrize("name", CALLS)
def test_what_ends_with_a_blocking_call_is_awaited_within_noise(name: str) -> None:
    """The call returns at 45."""
    wait = call(name, 40, 5, 20)
    assert awaited(link(*launched(10, 1, 5, 45 + NOISE), wait)) == [[10]]
    late = link(*launched(10, 1, 5, 45 + NOISE + TICK), wait)
    assert awaited(late) == [[]]
    report = late.report
    unknown = (report.waits_unexplained, report.waits_idle, report.clock_problems)
    of_event = (0, 1, 0)
    of_device, of_stream = (0, 1, 1), (1, 0, 0)
    assert unknown == dict(zip(CALLS, (of_device, of_stream, of_event), strict=True))[name]


@pytest.mark.parametrize("name", CALLS)
def test_what_is_launched_as_a_blocking_call_begins_is_not_awaited(name: str) -> None:
    wait = call(name, 40, 10, 20, tid=8)
    assert awaited(link(*launched(10, 40 - TICK, 42, 44), wait)) == [[10]]
    assert awaited(link(*launched(10, 40, 42, 44), wait)) == [[]]


@pytest.mark.parametrize("other", [30, 60])
def test_a_stream_call_waits_for_the_stream_last_launched_on(other: int) -> None:
    """If its work runs as the call begins at 40, whatever else runs; or if nothing runs."""
    wait = call("cudaStreamSynchronize", 40, 30, 20)
    own = 50 if other == 60 else 35
    events = [*launched(10, 1, 5, other, 7), *launched(11, 4, 6, own, 8), wait]
    assert awaited(link(*events)) == [[11]]


def test_a_stream_call_waits_for_what_runs_before_a_stream_that_is_idle() -> None:
    wait = call("cudaStreamSynchronize", 40, 30, 20)
    idle = launched(13, 10, 12, 39, 10)
    for ends in ((50, 60), (60, 50)):
        running = [*launched(11, 1, 5, ends[0], 8), *launched(12, 4, 6, ends[1], 9)]
        assert awaited(link(*running, *idle, wait)) == [[11 if ends[0] > ends[1] else 12]]


@pytest.mark.parametrize("name", CALLS[1:])
def test_what_ended_as_a_call_began_was_not_running(name: str) -> None:
    wait = call(name, 40, 30, 20)
    idle = launched(12, 4, 6, 39, 8)
    ended = awaited(link(*launched(11, 1, 5, 40), *idle, wait))
    assert ended == [[12] if name == CALLS[1] else []]
    assert awaited(link(*launched(11, 1, 5, 40 + TICK), *idle, wait)) == [[11]]


def test_a_stream_call_of_a_thread_without_launches_waits_for_what_runs_or_nothing() -> None:
    wait = call("cudaStreamSynchronize", 40, 30, 20, tid=8)
    assert awaited(link(*launched(10, 1, 5, 50), wait)) == [[10]]
    idle = link(*launched(10, 1, 5, 39), wait)
    assert awaited(idle) == [[]]
    assert (idle.report.waits_idle, idle.report.waits_unexplained) == (1, 0)
    nothing = link(*launched(10, 80, 85, 90), wait)
    assert (nothing.report.waits_idle, nothing.report.waits_unexplained) == (1, 0)


@pytest.mark.parametrize("tid", ["worker", None])
def test_a_thread_without_a_number_has_launches_too(tid: str | None) -> None:
    events = [*launched(10, 1, 5, 30, 7), *launched(11, 4, 6, 20, 8)]
    events[2]["tid"] = tid
    own = call("cudaStreamSynchronize", 40, 5, 20, tid=tid)
    assert awaited(link(*events, own)) == [[11]]
    assert awaited(link(*events, {**own, "tid": 100})) == [[10]]


@pytest.mark.parametrize("ends", [(50, 60), (60, 50)])
def test_an_event_call_waits_for_what_ends_last_in_it(ends: tuple[int, int]) -> None:
    events = [*launched(10, 1, 5, ends[0], 7), *launched(11, 4, 6, ends[1], 8)]
    last = 10 if ends[0] == 60 else 11
    assert awaited(link(*events, call("cudaEventSynchronize", 40, 30, 20))) == [[last]]


def test_a_device_call_waits_for_all_streams_of_the_device_last_used() -> None:
    both = [*launched(10, 1, 5, 30, 7), *launched(11, 4, 6, 20, 8)]
    far = on_device(1, launched(12, 7, 9, 35, 9))
    wait = call("cudaDeviceSynchronize", 40, 5, 20)
    assert awaited(link(*both, *far, wait)) == [[12]]
    assert awaited(link(*far, *launched(13, 10, 12, 20, 8), *both, wait)) == [[10, 13]]
    other_thread = call("cudaDeviceSynchronize", 40, 5, 20, tid=8)
    assert awaited(link(*both, *far, other_thread)) == [[10, 11, 12]]


def test_named_calls_wait_for_their_device_or_stream_alone() -> None:
    events = [*launched(10, 1, 5, 30, 7), *launched(11, 4, 6, 20, 8)]
    events += on_device(1, launched(12, 7, 9, 35, 9))
    events += [call("cudaStreamSynchronize", 40, 5, 20), call("cudaDeviceSynchronize", 50, 5, 21)]
    trace = link(*events, sync("Stream Sync", 20, stream=7), sync("Context Sync", 21, stream=-1))
    assert awaited(trace) == [[10], [10, 11]]
    lost = link(*events, sync("Stream Sync", 99, stream=7))
    assert (lost.report.waits, lost.report.waits_unexplained) == (1, 1)
    assert awaited(lost) == []


def test_an_old_event_names_its_stream_and_the_last_op_there_is_awaited() -> None:
    events = [*launched(10, 1, 5, 30, 7), *launched(11, 4, 6, 20, 8), *launched(12, 8, 31, 44, 7)]
    wait = call("cudaEventSynchronize", 40, 5, 20)
    assert awaited(link(*events, wait, sync("Event Sync", 20, wait_on_stream=7))) == [[12]]
    unknown = link(*events, wait, sync("Event Sync", 20, wait_on_stream=-1))
    assert awaited(unknown) == [[]]
    assert unknown.report.waits_unexplained == 1


def test_a_copy_that_ends_with_its_call_is_awaited_within_noise() -> None:
    """The call returns at 60."""
    kind: dict[str, Any] = {"cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Pageable)"}
    blocking = call("cudaMemcpyAsync", 20, 40, 9)
    assert awaited(link(blocking, kernel(50, 10 + NOISE, 9, **kind))) == [[9]]
    assert awaited(link(blocking, kernel(50, 10 + NOISE + TICK, 9, **kind))) == []


def test_what_a_stream_waits_for_blocks_no_thread() -> None:
    told = sync("Stream Wait Event", 20, stream=20, wait_on_stream=7)
    trace = link(*launched(10, 1, 5, 30), call("cudaStreamWaitEvent", 40, 1, 20), told)
    assert (trace.waits, trace.report.waits) == ([], 0)


# --- Which op a stream waits for


def waiting(start: float, *more: dict[str, Any], launch: float = 12) -> Linked:
    """Link kernel 30, which waits for an event.

    Kernel 10 ends at 100; kernel 11, on the stream used last, ended long before: without a reason,
    the wait is for that one.
    """
    events = [*launched(10, 0, 10, 100, 7), *launched(11, 4, 12, 20, 8), *more]
    events += [call("cudaEventRecord", 8, 1, 21), call("cudaStreamWaitEvent", 10, 1, 22)]
    return link(*events, *launched(30, launch, start, start + 5, 20))


@pytest.mark.parametrize("delay", [-NOISE, 0, 50])
def test_an_op_that_starts_soon_after_another_ended_waited_for_it(delay: float) -> None:
    trace = waiting(100 + delay)
    assert before(trace, 30) == [10]
    assert trace.report.stream_waits_explained == 1


@pytest.mark.parametrize("delay", [-NOISE - TICK, 50 + TICK])
def test_an_op_that_starts_too_early_or_late_for_that_waited_for_the_other_stream(
    delay: float,
) -> None:
    assert before(waiting(100 + delay), 30) == [11]


def test_an_end_before_an_op_could_start_anyway_explains_nothing() -> None:
    """Its launch returns at 100, or a tick before."""
    assert before(waiting(102, launch=98), 30) == [11]
    assert before(waiting(102, launch=98 - TICK), 30) == [10]
    earlier = launched(31, 6, 90, 100, 20)  # on its stream
    assert before(waiting(102, *earlier), 30) == [31, 11]


@pytest.mark.parametrize("ends", [(99, 98), (98, 99)])
def test_of_two_ends_that_explain_a_start_the_last_is_awaited(ends: tuple[int, int]) -> None:
    two = [*launched(12, 1, 10, ends[0], 9), *launched(13, 2, 10, ends[1], 10)]
    events = [*two, *launched(11, 4, 12, 20, 8)]
    events += [call("cudaEventRecord", 8, 1, 21), call("cudaStreamWaitEvent", 10, 1, 22)]
    trace = link(*events, *launched(30, 12, 100, 105, 20))
    assert before(trace, 30) == [12 if ends[0] == 99 else 13]


def test_what_is_launched_after_the_record_is_not_awaited() -> None:
    """Kernel 10 was last on its stream when the event was recorded at 6, kernel 12 when waited."""
    events = [*launched(10, 0, 10, 20, 7), call("cudaEventRecord", 6, 1, 21)]
    events += [*launched(12, 7, 20, 22, 7), call("cudaStreamWaitEvent", 10, 1, 22)]
    trace = link(*events, *launched(30, 12, 23, 30, 20))
    assert before(trace, 30) == [10]
    assert before(trace, 12) == [10]


@pytest.mark.parametrize(("launch", "expected"), [(13, 12), (48 - TICK, 12), (48, 13)])
def test_a_late_start_is_explained_by_what_ended_last_before_it(
    launch: float, expected: int
) -> None:
    """Kernel 12 was launched behind 10 and after the record, but before the wait.

    A start within 50 us of the launch's end, at 50, is not late: the wait is for the stream that
    was used last.
    """
    events = [*launched(10, 0, 5, 8, 7), call("cudaEventRecord", 3, 1, 21)]
    events += [*launched(12, 6, 10, 100, 7), *launched(13, 8, 11, 12, 8)]
    events += [call("cudaStreamWaitEvent", 11, 1, 22)]
    assert before(link(*events, *launched(30, launch, 100, 105, 20)), 30) == [expected]


@pytest.mark.parametrize(("launch", "expected"), [(40 - TICK, [10]), (40, [])])
def test_a_collective_launched_as_a_wait_begins_is_not_awaited(
    launch: float, expected: list[int]
) -> None:
    events = [*launched(10, launch, 50, 60, 30, name=NCCL), call("cudaStreamWaitEvent", 40, 1, 22)]
    trace = link(*events, *launched(30, 60, 200, 210, 7))
    assert before(trace, 30) == expected
    report = trace.report
    assert (report.stream_waits_explained, report.stream_waits_idle) == (
        (1, 0) if expected else (0, 1)
    )


def collective(identity: int, *values: Any) -> dict[str, Any]:
    return node(identity, "record_param_comms", 2, values=list(values))


@pytest.mark.parametrize(("number", "expected"), [(5, [10]), (6, [12]), (9, [])])
def test_a_wait_of_a_communicator_names_its_collective_by_number(
    number: int, expected: list[int]
) -> None:
    """It is the last kernel of that call, though an older one is not awaited; 9 is not here."""
    tensors, group = [[5, 6, 0, 8, 4, "cuda:0"]], ["0", "d"]
    nodes = [collective(3 + at, tensors, 5 + at, group, 0, "allreduce") for at in range(2)]
    nodes.append(collective(5, number, group, 0, "wait"))
    events = [op(3 + at, "record_param_comms", 20 * at, 15) for at in range(3)]
    events += launched(10, 1, 50, 60, 30, name=NCCL)
    events += [*launched(11, 21, 60, 70, 30, name=NCCL), *launched(12, 25, 70, 80, 30, name=NCCL)]
    events.append(call("cudaStreamWaitEvent", 42, 1, 22))
    trace = begun(nodes, *events, *launched(30, 60, 200, 210, 7))
    assert before(trace, 30) == expected
    assert trace.report.stream_waits_idle == (not expected)


def test_a_recorded_wait_is_kept_within_noise_and_counted_otherwise() -> None:
    """Kernel 10 ends at 30."""
    told = sync("Stream Wait Event", 22, stream=20, wait_on_stream=7,
                wait_on_cuda_event_record_corr_id=21)  # fmt: skip
    calls = [call("cudaEventRecord", 8, 1, 21), call("cudaStreamWaitEvent", 10, 1, 22), told]
    source = launched(10, 0, 10, 30, 7)
    kept = link(*source, *calls, *launched(30, 12, 30 - NOISE, 40, 20))
    left = link(*source, *calls, *launched(30, 12, 30 - NOISE - TICK, 40, 20))
    assert (before(kept, 30), before(left, 30)) == ([10], [])
    assert (kept.report.clock_problems, left.report.clock_problems) == (0, 1)
    assert (kept.report.stream_waits_explained, left.report.stream_waits_explained) == (1, 0)
    assert (kept.report.stream_waits_unexplained, left.report.stream_waits_unexplained) == (0, 1)
    idle = link(*source, *calls)
    assert (idle.report.stream_waits, idle.report.stream_waits_idle) == (1, 1)


def test_ops_of_a_stream_that_overlap_wait_for_the_last_that_had_ended() -> None:
    """Kernel 11 begins a little before the end of 10, kernel 12 while both run."""
    first = launched(10, 0, 10, 30)
    within = link(*first, *launched(11, 3, 30 - NOISE, 50))
    assert (before(within, 11), within.report.problems) == ([10], [])
    overlap = link(*first, *launched(11, 3, 30 - NOISE - TICK, 50))
    assert before(overlap, 11) == []
    assert overlap.report.problems[0].startswith("1 device ops overlap")
    three = link(
        *first, *launched(11, 3, 15, 50), *launched(12, 6, 40, 60), *launched(13, 9, 60, 70)
    )
    assert [before(three, number) for number in (11, 12, 13)] == [[], [10], [12]]


def test_a_record_at_the_moment_of_a_wait_is_not_before_it() -> None:
    """So the record before it counts, at which kernel 10 was last on its stream, not kernel 12."""
    events = [*launched(10, 0, 10, 20, 7), call("cudaEventRecord", 6, 1, 21)]
    events += launched(12, 7, 20, 22, 7)
    for late, awaits in ((10, 10), (10 - TICK, 12)):
        record, wait = call("cudaEventRecord", late, 0, 23), call("cudaStreamWaitEvent", 10, 1, 22)
        trace = link(*events, record, wait, *launched(30, 12, 22, 30, 20))
        assert before(trace, 30) == [awaits]


# --- Launches and operators


@pytest.mark.parametrize(
    ("at", "named", "parent"),
    [
        (20, 50, "aten::addmm"),
        (20, None, "aten::addmm"),
        (10, 50, "aten::linear"),
        (10, 51, "aten::addmm"),
        (10, None, "aten::linear"),
        (70, 51, "aten::addmm"),
        (70, 50, "aten::linear"),
        (70, None, "aten::linear"),
        (70 + TICK, 51, "aten::linear"),
    ],
)
def test_only_at_its_edges_an_operator_has_a_call_if_the_call_names_it(
    at: float, named: int | None, parent: str
) -> None:
    """aten::addmm is from 10 to 70, in aten::linear; their numbers are 51 and 50."""
    more = {} if named is None else {"External__id": named}
    trace = begun(
        [OPERATOR, node(4, "aten::addmm", 3)],
        op(3, "aten::linear", 0, 100, External__id=50),
        op(4, "aten::addmm", 10, 60, External__id=51),
        call("cudaLaunchKernel", at, 2, 9, **more),
        kernel(80, 4, 9),
    )
    names = {one.id: one.name for one in trace.operators}
    assert [names.get(one.parent or 0) for one in trace.device_ops] == [parent]


def test_operators_without_any_number_are_matched_by_name_and_order() -> None:
    nodes = [node(number, "aten::mm", 2, rf_id=0) for number in (3, 4)]
    events = [event("cpu_op", "aten::mm", at, 5) for at in (10, 20)]
    assert [one.start_ns for one in begun(nodes, *events).operators[2:]] == [0, 10_000]


@pytest.mark.parametrize("number", [4, 0, -1])
def test_forward_and_backward_are_one_pair_by_a_number_from_0(number: int) -> None:
    nodes = [
        node(3, "aten::mm", 2, seq_id=number),
        node(4, "MmBackward0", 1, seq_id=number, scope=1, tid=2, fw_tid=1),
    ]
    trace = begun(nodes, op(3, "aten::mm", 0, 10), op(4, "MmBackward0", 20, 10, tid=101))
    names = {one.id: one.name for one in trace.operators}
    pairs = [(one.kind, names[one.source], names[one.target]) for one in trace.flows]
    assert pairs == ([("fwdbwd", "aten::mm", "MmBackward0")] if number >= 0 else [])


@pytest.mark.parametrize(
    ("kernel_says", "operator_says", "record_says", "expected"),
    [
        ("1", "2", "3", "1"),
        (None, "2", "3", "2"),
        (None, None, "3", "3"),
        (None, "2", "", "2"),
        (None, None, "", ""),
        (None, None, "9", ""),
    ],
)
def test_a_collective_is_of_the_group_that_its_kernel_its_operator_or_its_record_says(
    kernel_says: str | None, operator_says: str | None, record_says: str, expected: str
) -> None:
    """In this order; there is no group 9."""

    def said(group: str | None) -> dict[str, Any]:
        return {} if group is None else {"Process__Group__Name": group}

    record = collective(3, [[5, 6, 0, 8, 4, "cuda:0"]], 5, [record_says, "d"], 0, "allreduce")
    around = op(3, "record_param_comms", 0, 15, **said(operator_says))
    events = launched(10, 1, 50, 60, 30, name=NCCL, **said(kernel_says))
    groups = [{"pg_name": name, "ranks": [0, 1]} for name in ("1", "2", "3")]
    about = {"rank": 0, "pg_config": groups}
    (found,) = begun([record], around, *events, distributedInfo=about).device_ops
    assert found.pg_name == expected


def test_every_device_op_is_counted_once_by_how_its_launch_was_found() -> None:
    outside = [call("cudaLaunchKernel", 90, 2, 12), kernel(95, 1, 12)]
    named, orphan = kernel(96, 1, 13, External__id=50), kernel(97, 1, 14)
    events = [op(3, "aten::linear", 0, 80, External__id=50), *launched(10, 1, 5, 9)]
    report = begun([OPERATOR], *events, *launched(11, 3, 9, 12), *outside, named, orphan).report
    assert report.balance.device_ops.parts == {
        "by their launch call": 2,
        "by External id": 1,
        "launched outside operators": 1,
        "of an unknown launch": 1,
    }
    assert report.balance.device_ops.total == 5


def test_an_operator_that_moved_from_nowhere_has_no_flow() -> None:
    nodes = [OPERATOR, node(4, "gloo:all_reduce", 88)]
    events = op(3, "aten::linear", 0, 100), op(4, "gloo:all_reduce", 5, 9, tid=103)
    trace = begun(nodes, *events)
    assert trace.flows == []


def queue(*times: tuple[int, int, int | None]) -> _Queue:
    made = [
        DeviceOp(
            id=at, name="k", cat="kernel", device=0, stream=7, start_ns=start,
            dur_ns=end - start, correlation=at, parent=None, launch_start_ns=launch,
        )
        for at, (start, end, launch) in enumerate(times)
    ]  # fmt: skip
    issued = np.array([start if launch is None else launch for start, _, launch in times])
    return _Queue(made.__getitem__, np.arange(len(times)), issued, np.array([t[1] for t in times]))


def test_before_and_after_a_time_leave_out_what_is_at_it() -> None:
    ops = queue((10, 20, 1), (20, 30, 5), (30, 40, 9))
    found = {at: (ops.last_before(at), ops.first_after(at)) for at in (1, 5, 6, 9)}
    numbers = {at: tuple(one and one.id for one in pair) for at, pair in found.items()}
    assert numbers == {1: (None, 1), 5: (0, 2), 6: (1, 2), 9: (1, None)}


def test_what_ended_by_a_time_includes_what_ended_at_it() -> None:
    ops = queue((10, 20, 1), (20, 30, 5))
    ended = {at: ops.ended_by(at) for at in (19, 20, 29, 30)}
    numbers = {at: one and one.id for at, one in ended.items()}
    assert numbers == {19: None, 20: 0, 29: 0, 30: 1}


def test_an_op_without_a_launch_counts_as_launched_just_before_the_next() -> None:
    ops = queue((10, 20, 1), (20, 30, None), (30, 40, 9))
    last = ops.last_before(10)
    assert last is not None and last.id == 2
    assert list(ops.times) == [1, 9, 9]
