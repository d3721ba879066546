"""Launch calls without kernels are reported; kernels without numbers find their calls by order."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracles.small_traces import call, event, kernel, op
from tests.unit.test_recordings_lose_nothing import linked
from yantra.tracing.pytorch.convert import ConvertReport, convert_job
from yantra.tracing.pytorch.link.summary import warnings

Events = list[dict[str, Any]]


def launches(number: int, *, kernels: int = 0) -> Events:
    events: Events = []
    for at in range(number):
        begin = 100 + 50 * at
        events += [op(at + 1, "aten::mm", begin, 20)]
        events += [call("cudaLaunchKernel", begin + 5, 4, 50 + at)]
        if at < kernels:
            events.append(kernel(begin + 12, 10, 50 + at))
    return events


@pytest.mark.parametrize(
    ("kernels", "shows"), [(0, "the host alone"), (3, "no work of the device")]
)
def test_launch_calls_without_kernels_are_told(kernels: int, shows: str) -> None:
    (said,) = warnings(linked(launches(5, kernels=kernels)).report)
    assert f"{5 - kernels} of 5 launch calls have no kernel or copy" in said and shows in said
    assert not warnings(linked(launches(5, kernels=5)).report)


def test_a_copy_without_a_record_may_have_had_nothing_to_move() -> None:
    events = [*launches(1, kernels=1), call("cudaMemsetAsync", 130, 1, 99)]
    (said,) = warnings(linked(events).report)
    assert "1 of 2 launch calls copy or fill and have no record" in said


def test_what_is_launched_into_a_graph_is_not_missing() -> None:
    capture = [
        call("cudaStreamBeginCapture", 10, 1, 1),
        call("cudaLaunchKernel", 12, 1, 2),
        call("cudaStreamEndCapture", 14, 1, 3),
    ]
    report = linked([*capture, *launches(1, kernels=1)]).report
    assert not warnings(report)
    assert report.balance.launches.parts == {"with a device op": 1, "captured into a graph": 1}


@pytest.mark.parametrize(("end", "lost"), [(40, 0), (50, 0), (51, 1)])
def test_a_launch_within_one_that_has_work_is_a_part_of_it(end: int, lost: int) -> None:
    """The first lasts until 50; the second, within it, has work of its own."""
    served = [call("cudaLaunchKernel", 0, 50, 1), call("cudaLaunchKernel", 10, 10, 2)]
    within = call("cudaLaunchKernel", 30, end - 30, 3)
    events = [op(1, "aten::mm", 0, 90), *served, within, kernel(60, 5, 1), kernel(70, 5, 2)]
    assert linked(events).report.launches_empty == lost


def test_a_blocking_call_takes_its_time_where_the_kernels_are_lost() -> None:
    events = [*launches(5), call("cudaDeviceSynchronize", 400, 500, 99)]
    assert recorded_us(events) == 800


def test_a_copy_that_blocks_takes_its_time_too() -> None:
    events = [*launches(2), call("cudaMemcpy", 400, 300, 99)]
    assert recorded_us(events) == 600
    assert linked(events).report.waits_unexplained == 1


def recorded_us(events: Events) -> int:
    report: ConvertReport = convert_job([lambda: linked(events)], lambda *_: None).report
    return report.recorded[0].length_us


def communication(count: int, *, stream: int = 1, first: int = 0, group: str = "0") -> Events:
    events: Events = []
    for at in range(first, first + count):
        begin = 130 + 100 * at
        args = {"Collective__name": "allreduce", "In__msg__nelems": 4096 * (at + 1)}
        args |= {"Out__msg__nelems": 4096 * (at + 1), "Group__size": 2, "dtype": "BFloat16"}
        args |= {"Process__Group__Name": group}
        events += [op(30 + at, "record_param_comms", begin, 20, External__id=30 + at, **args)]
        events += [call("hipExtLaunchKernel", begin + 5, 4, 200 + at)]
        events += [kernel(begin + 15, 40, 0, stream=stream, name="ncclDevKernel_Generic(x)")]
    return events


def test_kernels_without_numbers_belong_to_their_calls_by_order() -> None:
    found = linked(communication(3))
    names = {operator.id: operator.host_id for operator in found.operators}
    assert [op.correlation for op in found.device_ops] == [200, 201, 202]
    starts = [op.launch_start_ns for op in found.device_ops]
    assert starts == sorted(starts, key=lambda start: start or 0) and None not in starts
    assert len({names[op.parent] for op in found.device_ops if op.parent is not None}) == 3
    assert found.report.by_order == 3 and found.report.orphans == 0
    assert "paired with the launch calls of their stream by order: 3" in " ".join(
        warnings(found.report)
    )


def test_a_kernel_before_the_first_call_was_launched_before_the_recording() -> None:
    early = kernel(100, 5, 0, stream=1, name="ncclDevKernel_Generic(x)")
    report = linked([op(1, "aten::mm", 90, 5), early, *communication(2)]).report
    assert (report.by_order, report.orphans, report.unnumbered) == (2, 1, 1)


def test_streams_are_told_apart_by_the_calls_of_their_group() -> None:
    events = communication(3, stream=1, group="0") + communication(2, stream=2, first=3, group="1")
    found = linked(events)
    groups = {operator.id: operator.comm for operator in found.operators}
    of_stream = {
        (op.stream, comm.group_name)
        for op in found.device_ops
        if op.parent is not None and (comm := groups[op.parent]) is not None
    }
    assert of_stream == {(1, "0"), (2, "1")}


def test_nothing_is_paired_where_the_numbers_do_not_fit() -> None:
    events = communication(3)
    events.remove([one for one in events if one["name"] == "hipExtLaunchKernel"][1])
    report = linked(events).report
    assert (report.by_order, report.orphans) == (0, 3)
    assert any("fit no launch call by their order" in said for said in warnings(report))


def test_other_kernels_are_not_paired() -> None:
    events = communication(2)
    for one in events:
        if one["cat"] == "kernel":
            one["name"] = "gemm"
    assert linked(events).report.orphans == 2


def test_every_launch_is_counted_once() -> None:
    events = [*launches(4, kernels=2), *communication(2), event("cuda_runtime", "cudaMalloc", 1, 1)]
    report = linked(events).report
    assert report.launches == 6
    assert not report.balance.unaccounted
