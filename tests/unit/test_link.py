"""Worked cases of linking, each small enough to check by eye."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.oracles.small_traces import call, event, host_trace, kernel, linked, node, op
from yantra.base.errors import TraceError
from yantra.tracing.pytorch import host, kineto, linked_file
from yantra.tracing.pytorch.link import link, summary
from yantra.tracing.pytorch.linked import DeviceOp, Flow, Linked, ProcessGroup

OUTER, INNER = node(3, "aten::linear", 2), node(4, "aten::addmm", 3)
OPS = [op(3, "aten::linear", 0, 100), op(4, "aten::addmm", 10, 60)]


def sync(kind: str, correlation: int, **args: Any) -> dict[str, Any]:
    return event(
        "cuda_sync", kind, 0, 1, cuda_sync_kind=kind, correlation=correlation, device=0, **args
    )


def only(trace: Linked) -> DeviceOp:
    (found,) = trace.device_ops
    return found


def parent_name(trace: Linked, device_op: DeviceOp) -> str | None:
    names = {operator.id: operator.name for operator in trace.operators}
    return None if device_op.parent is None else names[device_op.parent]


@pytest.mark.parametrize(
    ("name", "cat"),
    [
        ("cudaLaunchKernel", "kernel"),
        ("cudaLaunchKernelExC", "kernel"),
        ("cuLaunchKernelEx", "kernel"),
        ("cudaMemsetAsync", "gpu_memset"),
        ("cudaMemcpy2DAsync", "gpu_memcpy"),
        ("cudaMemcpyPeerAsync", "gpu_memcpy"),
        ("hipExtModuleLaunchKernel", "kernel"),
        ("hipMemsetAsync", "gpu_memset"),
        ("a call of next year", "kernel"),
    ],
)
def test_any_call_with_the_correlation_is_the_launch(name: str, cat: str) -> None:
    trace = linked([OUTER, INNER], [*OPS, call(name, 20, 5, 9), kernel(30, 4, 9, cat=cat)])
    assert parent_name(trace, only(trace)) == "aten::addmm"
    assert only(trace).launch_name == name
    assert (only(trace).launch_start_ns, only(trace).launch_end_ns) == (20_000, 25_000)


def test_one_graph_launch_has_many_device_ops() -> None:
    graph = [kernel(30 + 5 * i, 4, 9) for i in range(3)]
    trace = linked([OUTER, INNER], [*OPS, call("cudaGraphLaunch", 80, 5, 9), *graph])
    assert [parent_name(trace, o) for o in trace.device_ops] == ["aten::linear"] * 3
    assert trace.report.by_correlation == 3


def test_external_id_decides_only_where_the_call_is_missing_or_outside() -> None:
    events = [
        op(3, "aten::linear", 0, 100, External__id=50),
        op(4, "aten::addmm", 10, 60, External__id=51),
        call("cudaLaunchKernel", 80, 5, 9, External__id=51),
        kernel(90, 4, 9, External__id=51),  # launched inside aten::linear
        call("cudaLaunchKernel", 20, 5, 10, External__id=50, tid=-5),
        kernel(95, 4, 10, External__id=50),  # launched on a thread without operators
        kernel(100, 4, 11, External__id=51),  # the call is missing
        kernel(105, 4, 12, External__id=12),  # the call is missing; no operator is named
        call("cudaLaunchKernel", 120, 5, 13),
        kernel(130, 4, 13),  # after all operators
    ]
    trace = linked([OUTER, INNER], events)
    by_correlation = {o.correlation: parent_name(trace, o) for o in trace.device_ops}
    assert by_correlation == {
        9: "aten::linear",
        10: "aten::linear",
        11: "aten::addmm",
        12: None,
        13: None,
    }
    report = trace.report
    assert (report.by_correlation, report.by_external_id) == (1, 2)
    assert (report.orphans, report.outside) == (1, 1)
    said = "device ops with neither a launch call nor an operator: 1"
    assert said in summary.warnings(report)


def test_the_first_operator_of_all_is_found_by_its_external_id_too() -> None:
    nodes = [node(0, "aten::first", 2, rf_id=9), OUTER, INNER]
    first = op(9, "aten::first", 1, 5, External__id=50)
    trace = linked(nodes, [first, *OPS, kernel(30, 5, 77, External__id=50)])
    assert parent_name(trace, only(trace)) == "aten::first"


def test_ids_put_an_operators_device_ops_behind_it_and_orphans_last() -> None:
    events = [
        *OPS,
        kernel(5, 1, 99),
        call("cudaLaunchKernel", 20, 1, 8),
        call("cudaLaunchKernel", 2, 1, 9),
        kernel(60, 1, 8),
        kernel(50, 1, 9),
    ]
    trace = linked([OUTER, INNER], events)
    assert [o.id for o in trace.operators] == [0, 1, 2, 4]
    assert [(o.id, o.correlation) for o in trace.device_ops] == [(3, 9), (5, 8), (6, 99)]
    assert [o.parent for o in trace.operators] == [None, 0, 1, 2]
    before = {o.correlation: o.after for o in trace.device_ops}
    assert before == {99: [], 9: [6], 8: [3]}


def test_whole_microseconds_do_not_hide_the_operator_of_a_call() -> None:
    """The operator ran from 10.9 to 20.8 and the call from 20.1; all were cut to whole us."""
    events = [
        op(3, "aten::linear", 0, 100, External__id=1),
        op(4, "aten::addmm", 10, 9, External__id=2),
        call("cudaLaunchKernel", 19, 1, 9, External__id=2),
        kernel(30, 1, 9),
    ]
    trace = linked([OUTER, INNER], events)
    assert parent_name(trace, only(trace)) == "aten::addmm"


def test_exclusive_time_leaves_out_operators_below_on_the_same_thread() -> None:
    nodes = [OUTER, INNER, node(5, "aten::t", 3), node(6, "gloo:all_reduce", 3)]
    events = [*OPS, op(5, "aten::t", 70, 20), op(6, "gloo:all_reduce", 30, 400, tid=7)]
    trace = linked(nodes, events)
    assert [o.exclusive_ns for o in trace.operators[2:]] == [20_000, 60_000, 20_000, 400_000]


def test_without_record_function_ids_names_and_sequence_numbers_match() -> None:
    nodes = [
        node(3, "aten::mm", 2, rf_id=0, seq_id=4),
        node(5, "aten::mm", 2, rf_id=0, seq_id=4),
        node(6, "aten::add", 2, rf_id=0, seq_id=5),
    ]
    events = [
        event("cpu_op", "aten::mm", 10, 5, Sequence__number=4),
        event("cpu_op", "aten::mm", 20, 5, Sequence__number=4),
        event("cpu_op", "aten::add", 30, 5, Sequence__number=5),
        event("cpu_op", "aten::add", 40, 5, Sequence__number=5),
    ]
    trace = linked(nodes, events)
    assert [o.start_ns for o in trace.operators[2:]] == [0, 10_000, None]
    assert trace.report.unmatched == 1
    assert trace.report.unclaimed == 2


def test_an_operator_with_a_number_is_not_matched_by_name_where_events_have_numbers() -> None:
    nodes = [OUTER, INNER, node(5, "aten::t", 3)]
    assert linked(nodes, [*OPS, event("cpu_op", "aten::t", 70, 20)]).report.unmatched == 1
    unnumbered = [{**one, "args": {}} for one in OPS]
    assert linked(nodes, [*unnumbered, event("cpu_op", "aten::t", 70, 20)]).report.unmatched == 0


def test_traces_that_share_few_operators_are_refused_unless_partial() -> None:
    nodes = [node(id, f"aten::op{id}", 2) for id in range(3, 13)]
    events = [op(id, f"aten::op{id}", id, 1) for id in range(9, 23)]
    with pytest.raises(TraceError, match=r"of 10 numbered .* and 14 .* share 4, expected") as error:
        linked(nodes, events)
    assert "6 of 10 operators have no event, 10 of 14 events no operator" in str(error.value)
    both = (
        host.parse(json.dumps(host_trace(*nodes)).encode(), "h"),
        kineto.parse(json.dumps(events).encode(), "d"),
    )
    assert link(*both, partial=True).report.matched == 4
    longer = [op(id, f"aten::op{id}", id, 1) for id in range(3, 60)]
    assert linked(nodes, longer).report.matched == 10  # one goes on longer than the other


def test_only_numbered_operators_tell_two_runs_apart() -> None:
    nodes = [node(id, "aten::mm", 2, seq_id=id if id < 5 else -1) for id in range(3, 20)]
    events = [event("cpu_op", "aten::mm", id, 1, Sequence__number=id) for id in (3, 4)]
    unnumbered = [event("cpu_op", "aten::mm", 20 + id, 1) for id in range(30)]
    assert linked(nodes, [*events, *unnumbered]).report.matched == 2


def test_traces_of_two_processes_are_questioned() -> None:
    found = linked([OUTER], [op(3, "aten::linear", 0, 1, pid=55)])
    assert found.report.problems == [
        "the host trace is of process 100 and the device trace of process 55: are they of one run?"
    ]
    assert linked([OUTER], [op(3, "aten::linear", 0, 1)]).report.problems == []


def test_traces_of_two_runs_are_refused() -> None:
    with pytest.raises(TraceError, match="different runs: of 1 record function ids in both, 1"):
        linked([OUTER], [op(3, "aten::relu", 0, 1)])
    with pytest.raises(TraceError, match="they share 0, expected at least 50%"):
        linked([OUTER], [op(77, "aten::relu", 0, 1)])


def test_a_missing_parent_is_reported_and_the_operator_kept() -> None:
    trace = linked([node(4, "aten::addmm", 88)], [op(4, "aten::addmm", 0, 9)])
    assert trace.operators[2].parent is None
    assert trace.report.missing_parents == 1
    said = "operators with a parent that is not in the host trace: 1"
    assert summary.warnings(trace.report)[0] == said


def test_a_cpu_only_trace_links() -> None:
    trace = linked([OUTER, INNER], OPS)
    assert not trace.device_ops and not trace.waits
    assert trace.report.matched == 2
    assert summary.lines(trace) == ["rank 0 of 1: 4 operators, 2 with times; 0 device ops"]


def two_streams(*more: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        *OPS,
        call("cudaLaunchKernel", 12, 2, 10),
        kernel(20, 10, 10, stream=7),
        call("cudaEventRecord", 15, 1, 11),
        call("cudaStreamWaitEvent", 17, 1, 12),
        call("cudaLaunchKernel", 20, 2, 13),
        kernel(31, 5, 13, stream=20),
        *more,
    ]


def after(trace: Linked) -> dict[int, list[int]]:
    names = {o.id: o.correlation for o in trace.device_ops}
    return {o.correlation: [names[i] for i in o.after] for o in trace.device_ops}


@pytest.mark.parametrize("number", [12, 99])
def test_a_stream_wait_event_without_its_stream_or_its_call_is_unexplained(number: int) -> None:
    told = {} if number == 99 else {"wait_on_stream": -1}
    wait = sync("Stream Wait Event", number, stream=20, **{"wait_on_stream": 7, **told})
    trace = linked([OUTER, INNER], two_streams(wait))
    assert after(trace)[13] == []
    assert trace.report.stream_waits_unexplained == 1


def test_the_lines_of_a_report_have_each_number_at_its_place() -> None:
    trace = linked([OUTER, INNER], two_streams())
    for at, name in enumerate(trace.report.__struct_fields__):
        if type(getattr(trace.report, name)) is int:
            setattr(trace.report, name, 100 + at)
    trace.flows = [Flow("fwdbwd", 3, 4)] * 3 + [Flow("thread", 3, 4)] * 2
    trace.groups = [ProcessGroup("tp", "", "nccl", [0, 1])]
    ops = "device ops: 106 attached by launch call, 109 by External id, 110 launched outside "
    ops += "operators, 111 orphans"
    others = [
        "blocking calls: 116, 117 explained, 118 had nothing to wait for, 119 unexplained",
        "waits of streams: 120, 121 explained, 122 had nothing to wait for, 123 unexplained",
        "flows: 3 forward to backward, 2 between threads",
        "process groups: 'tp' of 2 ranks",
    ]
    first = "rank 0 of 1: 100 operators, 101 with times; 105 device ops"
    further = ", 107 by the order of launches, 108 by a flow from the host"
    assert summary.lines(trace) == [first, ops + further, *others]
    trace.report.nested = True
    trace.report.by_order = trace.report.by_flow = 0
    nests = "no host trace: operators nest by their times in the device trace"
    assert summary.lines(trace) == [first, nests, ops, *others]


def test_a_stream_wait_event_names_its_record() -> None:
    wait = sync(
        "Stream Wait Event", 12, stream=20, wait_on_stream=7,
        wait_on_cuda_event_record_corr_id=11,
    )  # fmt: skip
    trace = linked([OUTER, INNER], two_streams(wait))
    assert after(trace) == {10: [], 13: [10]}
    assert trace.report.stream_waits_explained == 1


def test_an_older_stream_wait_event_names_only_the_stream() -> None:
    wait = sync("Stream Wait Event", 12, stream=20, wait_on_stream=7)
    assert after(linked([OUTER, INNER], two_streams(wait))) == {10: [], 13: [10]}


def test_a_wait_that_the_times_contradict_is_left_out_and_counted() -> None:
    wait = sync(
        "Stream Wait Event", 12, stream=20, wait_on_stream=7,
        wait_on_cuda_event_record_corr_id=11,
    )  # fmt: skip
    events = two_streams(wait)
    events[3]["dur"] = 500
    trace = linked([OUTER, INNER], events)
    assert after(trace) == {10: [], 13: []}
    assert trace.report.clock_problems == 1


def test_without_events_the_other_stream_of_the_thread_is_inferred() -> None:
    trace = linked([OUTER, INNER], two_streams())
    assert after(trace) == {10: [], 13: [10]}
    assert trace.report.stream_waits_explained == 1


def waits(trace: Linked) -> list[tuple[str, list[int], str]]:
    names = {o.id: o.correlation for o in trace.device_ops}
    return [(w.name, [names[i] for i in w.after], w.source) for w in trace.waits]


def test_blocking_calls_with_events() -> None:
    events = two_streams(
        call("cudaStreamSynchronize", 40, 5, 14),
        sync("Stream Sync", 14, stream=20),
        call("cudaDeviceSynchronize", 50, 5, 15),
        sync("Context Sync", 15, stream=-1),
        call("cudaEventSynchronize", 60, 5, 16),
        sync("Event Sync", 16, wait_on_stream=7, wait_on_cuda_event_record_corr_id=11),
        call("cudaEventQuery", 66, 1, 17),
        sync("Event Sync", 17, wait_on_stream=-1, wait_on_cuda_event_record_corr_id=-1),
    )
    trace = linked([OUTER, INNER], events)
    assert waits(trace) == [
        ("cudaStreamSynchronize", [13], "event"),
        ("cudaDeviceSynchronize", [10, 13], "event"),
        ("cudaEventSynchronize", [10], "event"),
    ]


def test_blocking_calls_without_events() -> None:
    events = two_streams(
        call("cudaStreamSynchronize", 28, 9, 14),  # ends after 13 on stream 20
        call("cudaEventSynchronize", 40, 5, 15),  # nothing is running
        call("cudaDeviceSynchronize", 50, 5, 16),
    )
    trace = linked([OUTER, INNER], events)
    assert waits(trace) == [
        ("cudaStreamSynchronize", [13], "call"),
        ("cudaEventSynchronize", [], "call"),
        ("cudaDeviceSynchronize", [10, 13], "call"),
    ]
    assert (trace.report.waits_explained, trace.report.waits_idle) == (2, 1)


@pytest.mark.parametrize(
    ("name", "copy", "blocks"),
    [
        ("cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)", True),
        ("cudaMemcpyAsync", "Memcpy DtoH (Device -> Pinned)", False),
        ("cudaMemcpyAsync", "Memcpy HtoD (Pageable -> Device)", False),
        ("cudaMemcpy", "Memcpy HtoD (Pinned -> Device)", True),
        ("cudaMemcpy", "Memcpy DtoD (Device -> Device)", False),
        ("hipMemcpyWithStream", "Memcpy DtoH (Device -> Host)", True),
    ],
)
def test_which_copies_block(name: str, copy: str, blocks: bool) -> None:
    events = [*OPS, call(name, 20, 40, 9), kernel(50, 4, 9, cat="gpu_memcpy", name=copy)]
    trace = linked([OUTER, INNER], events)
    assert [w.after for w in trace.waits] == ([[only(trace).id]] if blocks else [])


def test_a_collective_of_gloo_runs_where_the_device_trace_says() -> None:
    nodes = [
        OUTER,
        node(4, "c10d::allreduce_", 3),
        node(5, "gloo:all_reduce", 3, scope=7),
    ]
    events = [
        op(3, "aten::linear", 0, 100),
        op(4, "c10d::allreduce_", 10, 5),
        event("user_annotation", "gloo:all_reduce", 12, 60, tid=103, Record__function__id=5),
    ]
    trace = linked(nodes, events)
    names = {o.id: o.name for o in trace.operators}
    assert trace.operators[4].tid == 103
    assert [(f.kind, names[f.source], names[f.target]) for f in trace.flows] == [
        ("thread", "c10d::allreduce_", "gloo:all_reduce")
    ]


def test_flows_of_the_device_trace_pair_forward_and_backward() -> None:
    nodes = [OUTER, INNER, node(5, "AddmmBackward0", 1, tid=2)]
    ends = {"cat": "fwdbwd", "name": "fwdbwd", "id": 4, "pid": 100}
    events = [
        *OPS,
        op(5, "AddmmBackward0", 300, 40, tid=101),
        {**ends, "ph": "s", "tid": 100, "ts": 10},
        {**ends, "ph": "f", "tid": 101, "ts": 300, "bp": "e"},
        {**ends, "ph": "s", "tid": 100, "ts": 55, "id": 9},  # begins with no operator
    ]
    trace = linked(nodes, events)
    names = {o.id: o.name for o in trace.operators}
    assert [(f.kind, names[f.source], names[f.target]) for f in trace.flows] == [
        ("fwdbwd", "aten::addmm", "AddmmBackward0")
    ]


def collective(identity: int, number: int, group: str) -> dict[str, Any]:
    values = [[[5, 6, 0, 8, 4, "cuda:0"]], number, [group, "d"], 0, "allreduce", [], [], 0, 1, 2]
    return node(identity, "record_param_comms", 2, values=values)


def test_collectives_of_a_communicator_keep_their_order_across_streams() -> None:
    nodes = [collective(3, 1, "0"), collective(4, 2, "1"), collective(5, 3, "0")]
    events = []
    for i in range(3):
        events += [
            op(3 + i, "record_param_comms", 10 * i, 5),
            call("cudaLaunchKernelExC", 10 * i + 1, 1, 20 + i),
            kernel(100 + 50 * i, 9, 20 + i, stream=30 + i, name="ncclDevKernel_AllReduce_Sum_f32"),
        ]
    groups = [{"pg_name": name, "ranks": [0, 1]} for name in ("0", "1")]
    trace = linked(nodes, events, distributedInfo={"rank": 0, "pg_config": groups})
    assert after(trace) == {20: [], 21: [], 22: [20]}
    assert [o.pg_name for o in trace.device_ops] == ["0", "1", "0"]


def test_groups_come_from_the_device_trace_or_from_the_init_record() -> None:
    groups = [{"pg_name": "0", "pg_desc": "all", "ranks": [], "group_size": 4}]
    record = node(3, "## process_group:init ##", 2, values=[json.dumps(groups)])
    trace = linked([record], [op(3, "## process_group:init ##", 0, 1)])
    assert [g.ranks for g in trace.groups] == [[0, 1, 2, 3]]
    assert trace.world_size == 4


def test_a_linked_file_of_another_tool_or_with_dangling_ids_is_refused() -> None:
    text = linked_file.to_json(linked([OUTER, INNER], two_streams()))
    whole = json.loads(text)
    assert linked_file.parse(text, "l.json").report.device_ops == 2
    with pytest.raises(TraceError, match="no field 'yantra'"):
        linked_file.parse(json.dumps({**whole, "yantra": None}).encode(), "l.json")
    whole["nodes"][-1]["after"] = [12345]
    with pytest.raises(TraceError, match="refers to the device op 12345"):
        linked_file.parse(json.dumps(whole).encode(), "l.json")


def test_the_linked_file_has_the_keys_of_the_form_the_field_reads() -> None:
    trace = linked([OUTER, INNER], two_streams())
    whole = json.loads(linked_file.to_json(trace))
    assert {"schema", "pid", "time", "start_ts", "nodes", "finish_ts"} < set(whole)
    cpu = next(n for n in whole["nodes"] if n["name"] == "aten::addmm")
    assert (cpu["inclusive_dur"], cpu["exclusive_dur"], cpu["ts"]) == (60, 60, 10)
    gpu = next(n for n in whole["nodes"] if n.get("cat"))
    assert (gpu["ph"], gpu["stream"], gpu["ctrl_deps"]) == ("X", 7, cpu["id"])
    assert gpu["attrs"] == cpu["attrs"]


def test_the_rank_given_wins() -> None:
    traces = host.parse(json.dumps(host_trace(OUTER)).encode(), "h")
    events = {"distributedInfo": {"rank": 3}, "traceEvents": [op(3, "aten::linear", 0, 1)]}
    device = kineto.parse(json.dumps(events).encode(), "d")
    assert link(traces, device).rank == 3
    assert link(traces, device, rank=5).rank == 5
