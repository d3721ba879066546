"""Worked cases of the replay graph: where threads are cut, and which node waits for which."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracles import replay_graph
from tests.oracles.small_traces import call, event, kernel, linked, node, op
from yantra.base.errors import TraceError
from yantra.tracing.pytorch.graph import Graph, GraphNode, GraphOptions, build
from yantra.tracing.pytorch.linked import DeviceOp, Linked
from yantra.tracing.pytorch.linked_columns import as_objects

OUTER, INNER = node(3, "aten::linear", 2), node(4, "aten::addmm", 3)
OPS = [op(3, "aten::linear", 0, 100), op(4, "aten::addmm", 10, 60)]


def graph(nodes: list[Any], events: list[Any], options: GraphOptions | None = None) -> Graph:
    made = build(linked(nodes, events), options)
    start = replay_graph.unlimited(made.nodes)
    assert all(start[n.id] == n.start_us for n in made.nodes if options is None)
    return made


def shown(made: Graph) -> list[tuple[str, str, int, int]]:
    rows = [
        (n.kind, n.name, n.start_us, n.end_us)
        for n in made.nodes
        if not n.name.startswith("[pytorch")
    ]
    return sorted(rows, key=lambda row: row[2:])


def named(made: Graph, name: str, kind: str = "") -> GraphNode:
    return next(n for n in made.nodes if n.name == name and kind in ("", n.kind))


def test_an_operator_is_cut_where_one_inside_begins_and_ends() -> None:
    made = graph([OUTER, INNER], OPS)
    assert shown(made) == [
        ("operator", "aten::linear", 0, 10),
        ("operator", "aten::addmm", 10, 70),
        ("slice", "aten::linear", 70, 100),
    ]
    linear, addmm, rest = made.nodes[-3:]
    assert (addmm.deps, addmm.ctrl) == ([linear.id], linear.id)
    assert (rest.deps, rest.ctrl) == ([addmm.id], linear.id)
    assert linear.ctrl == made.nodes[1].id and made.nodes[1].ctrl == 0


def test_a_launch_cuts_its_operator_and_the_rest_of_the_latency_is_a_delay() -> None:
    events = [*OPS, call("cudaLaunchKernel", 20, 5, 9), kernel(40, 30, 9)]
    made = graph([OUTER, INNER], events)
    assert shown(made) == [
        ("operator", "aten::linear", 0, 10),
        ("operator", "aten::addmm", 10, 25),
        ("delay", "delay", 25, 40),
        ("slice", "aten::addmm", 25, 70),
        ("device", "k", 40, 70),
        ("slice", "aten::linear", 70, 100),
    ]
    first, delay, device = named(made, "aten::addmm"), named(made, "delay"), named(made, "k")
    assert delay.deps == [first.id]
    assert device.deps == [first.id, delay.id]
    assert (device.ctrl, device.device, device.lane) == (first.id, 0, 7)


def test_a_kernel_that_starts_while_its_launch_call_runs() -> None:
    made = graph([OUTER, INNER], [*OPS, call("cudaLaunchKernel", 20, 30, 9), kernel(22, 3, 9)])
    assert named(made, "aten::addmm", "operator").end_us == 22
    assert not any(n.kind == "delay" for n in made.nodes)


def test_a_kernel_that_seems_to_start_before_its_launch() -> None:
    made = graph([OUTER, INNER], [*OPS, call("cudaLaunchKernel", 20, 5, 9), kernel(15, 3, 9)])
    assert named(made, "k").start_us == 15
    assert named(made, "k").deps == [named(made, "aten::addmm").id]


def test_a_blocking_call_is_split_into_before_wait_and_after() -> None:
    events = [
        *OPS,
        call("cudaLaunchKernel", 20, 5, 9),
        kernel(26, 20, 9),
        call("cudaDeviceSynchronize", 30, 25, 10),
    ]
    made = graph([OUTER, INNER], events)
    assert shown(made) == [
        ("operator", "aten::linear", 0, 10),
        ("operator", "aten::addmm", 10, 25),
        ("delay", "delay", 25, 26),
        ("slice", "aten::addmm", 25, 30),
        ("device", "k", 26, 46),
        ("wait", "cudaDeviceSynchronize", 46, 55),
        ("slice", "aten::addmm", 55, 70),
        ("slice", "aten::linear", 70, 100),
    ]
    wait = named(made, "cudaDeviceSynchronize")
    assert wait.deps == [named(made, "aten::addmm", "slice").id, named(made, "k").id]


def test_a_faster_kernel_makes_the_wait_come_earlier_but_not_before_the_call() -> None:
    events = [
        *OPS,
        call("cudaLaunchKernel", 20, 5, 9),
        kernel(26, 20, 9),
        call("cudaDeviceSynchronize", 30, 25, 10),
    ]
    made = graph([OUTER, INNER], events)
    nodes = list(made.nodes)
    nodes[named(made, "k").id].dur_us = 1
    start = replay_graph.unlimited(nodes)
    assert start[named(made, "cudaDeviceSynchronize").id] == 30


def test_a_blocking_copy_hands_over_when_it_begins() -> None:
    copy = kernel(90, 4, 9, cat="gpu_memcpy", name="Memcpy DtoH (Device -> Pageable)")
    events = [
        op(3, "aten::linear", 0, 200),
        op(4, "aten::addmm", 10, 150),
        call("cudaLaunchKernel", 20, 5, 8),
        kernel(26, 60, 8),
        call("cudaMemcpyAsync", 40, 60, 9),
        copy,
    ]
    made = graph([OUTER, INNER], events)
    nodes = list(made.nodes)
    nodes[named(made, "k").id].dur_us = 10  # what if the kernel were faster?
    start = replay_graph.unlimited(nodes)
    assert start[named(made, copy["name"]).id] == 40 + 4
    assert start[named(made, "cudaMemcpyAsync").id] == 40 + 4 + 4


def test_a_launch_outside_operators_gets_a_slice_of_its_own() -> None:
    events = [*OPS, call("cudaLaunchKernel", 120, 5, 9), kernel(130, 3, 9)]
    made = graph([OUTER, INNER], events)
    assert [s for s in shown(made) if s[2] >= 100] == [
        ("delay", "delay", 100, 120),
        ("slice", "cudaLaunchKernel", 120, 125),
        ("delay", "delay", 125, 130),
        ("device", "k", 130, 133),
    ]
    assert named(made, "cudaLaunchKernel").source == -1


def backward(*more: Any) -> tuple[list[Any], list[Any]]:
    nodes = [
        node(3, "aten::linear", 2, seq_id=1),
        node(5, "LinearBackward0", 1, seq_id=1, fw_tid=1, tid=2, scope=1),
        node(6, "Optimizer.step", 2, scope=7),
        *more,
    ]
    events = [
        op(3, "aten::linear", 0, 100, Sequence__number=1),
        op(5, "LinearBackward0", 130, 200, tid=101, Sequence__number=1, Fwd__thread__id=1),
        op(6, "Optimizer.step", 350, 50),
    ]
    return nodes, events


def test_the_thread_that_called_backward_waits_for_it() -> None:
    made = graph(*backward())
    forward, back = named(made, "aten::linear"), named(made, "LinearBackward0")
    step = named(made, "Optimizer.step")
    assert forward.id in back.deps and back.id in step.deps
    assert made.handovers == 2
    nodes = list(made.nodes)
    nodes[back.id].dur_us += 1000
    assert replay_graph.unlimited(nodes)[step.id] == 350 + 1000


def test_without_handover_threads_keep_their_distance() -> None:
    nodes, events = backward()
    made = build(linked(nodes, events), GraphOptions(handover=False))
    assert named(made, "LinearBackward0").id not in named(made, "Optimizer.step").deps


def crossing(made: Graph) -> list[tuple[str, str]]:
    return [
        (made.nodes[dep].name, n.name)
        for n in made.nodes
        for dep in n.deps
        if n.kind != "delay" and n.is_cpu and made.nodes[dep].is_cpu
        if made.nodes[dep].lane != n.lane
    ]


def test_a_burst_in_an_idle_time_was_waited_for_but_work_across_its_edges_was_not() -> None:
    nodes = [node(i, f"main{i}", 2) for i in (3, 4)]
    nodes += [node(i, f"side{i}", 1, tid=2) for i in (5, 6)]
    main = [op(3, "main3", 0, 100), op(4, "main4", 300, 100)]

    def made(*spans: tuple[int, int]) -> list[tuple[str, str]]:
        side = [op(5 + i, f"side{5 + i}", *span, tid=101) for i, span in enumerate(spans)]
        return crossing(graph(nodes, [*main, *side]))

    assert made((120, 30), (160, 100)) == [("main3", "side5"), ("side6", "main4")]
    assert made((50, 80), (160, 100)) == []  # was working when the main thread became idle
    assert made((120, 30), (160, 200)) == [("main3", "side5")]  # is still working at its end
    assert made((20, 30), (60, 400)) == []


def test_a_collective_given_to_a_worker_is_waited_for_where_the_thread_stood_still() -> None:
    names = ["c10d::allreduce_", "gloo:all_reduce", "a", "b", "c", "d"]
    nodes = [node(3 + i, name, 2, scope=7 * (i == 1)) for i, name in enumerate(names)]
    spans = [(0, 10), (5, 480), (11, 9), (21, 9), (31, 9), (500, 20)]
    events = [
        op(3 + i, name, *span, tid=103 if i == 1 else 100)
        for i, (name, span) in enumerate(zip(names, spans, strict=True))
    ]
    assert ("gloo:all_reduce", "d") in crossing(graph(nodes, events))
    events[-1]["ts"] = 900  # long after the collective: something else
    assert ("gloo:all_reduce", "d") not in crossing(graph(nodes, events))


def test_noise_below_a_microsecond_shifts_a_start_and_keeps_the_end() -> None:
    events = [
        *OPS,
        call("cudaLaunchKernel", 12, 2, 8),
        kernel(15, 6.1, 8),
        call("cudaLaunchKernel", 15, 2, 9),
        kernel(20.9, 10, 9, name="next"),
    ]
    made = build(linked([OUTER, INNER], events))
    after = named(made, "next")
    assert (after.start_us, after.end_us) == (21, 30)
    assert made.shifted == 0


def test_an_annotation_is_idle_while_the_backward_pass_in_it_runs() -> None:
    nodes, events = backward(node(4, "## backward ##", 2, scope=7))
    events.append(event("user_annotation", "## backward ##", 110, 230, Record__function__id=4))
    made = graph(nodes, events)
    pieces = [s[2:] for s in shown(made) if s[1] == "## backward ##"]
    assert pieces == [(110, 130), (330, 340)]
    back = named(made, "LinearBackward0")
    assert named(made, "## backward ##", "operator").id in back.deps
    assert back.id in named(made, "## backward ##", "slice").deps


def test_operators_without_times_are_points_in_host_order() -> None:
    nodes = [OUTER, INNER, node(6, "aten::t", 3), node(7, "aten::view", 6)]
    made = graph(nodes, OPS)
    timeless, child = named(made, "aten::t"), named(made, "aten::view")
    assert timeless.dur_us == child.dur_us == 0
    assert timeless.ctrl == named(made, "aten::linear").id and child.ctrl == timeless.id
    assert named(made, "aten::addmm").id in timeless.deps and timeless.id in child.deps


def test_a_long_unexplained_start_hangs_on_what_ended_last() -> None:
    events = [
        *OPS,
        call("cudaLaunchKernel", 12, 2, 8),
        kernel(15, 500, 8, stream=20),
        call("cudaLaunchKernel", 20, 5, 9),
        kernel(518, 3, 9, name="late"),
    ]
    made = graph([OUTER, INNER], events)
    assert made.anchored == 1
    assert named(made, "k").id in named(made, "late").deps
    free = build(linked([OUTER, INNER], events), GraphOptions(anchors=False))
    assert named(free, "k").id not in named(free, "late").deps


def test_without_gaps_there_are_no_delays_and_the_order_stays() -> None:
    events = [*OPS, call("cudaLaunchKernel", 20, 5, 9), kernel(40, 30, 9)]
    made = graph([OUTER, INNER], events, GraphOptions(gaps=False))
    assert not any(n.kind == "delay" for n in made.nodes)
    assert replay_graph.unlimited(made.nodes)[named(made, "k").id] == 25
    assert named(made, "k").start_us == 40


def test_a_cycle_at_one_instant_is_broken() -> None:
    events = [
        op(3, "aten::linear", 5, 0),
        call("cudaLaunchKernel", 5, 0, 8),
        call("cudaLaunchKernel", 5, 0, 9),
        kernel(5, 0, 8, stream=1),
        kernel(5, 0, 9, stream=2),
    ]
    trace = as_objects(linked([OUTER], events))
    one, other = trace.device_ops
    one.after, other.after = [other.id], [one.id]
    made = build(trace)
    assert sorted(made.device_node) == [one.id, other.id]
    assert replay_graph.unlimited(made.nodes)


def test_times_that_no_recording_has_are_refused() -> None:
    ops = [
        DeviceOp(at, "k", "kernel", 0, 7, 0, 1 << 59, at, None, after=[at - 1] if at else [])
        for at in range(32)
    ]
    made = Linked("1.0.3", 0, "", 0, 0, 3, 4, 0, device_ops=ops)
    with pytest.raises(TraceError, match="rank 3: its times add up to more than 292 years"):
        build(made)
