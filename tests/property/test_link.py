"""Laws of linking, on random GPU programs whose truth is known."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.linked_pair import Pair, linked
from yantra.tracing.pytorch import linked_file
from yantra.tracing.pytorch.linked import Linked
from yantra.tracing.pytorch.linked_columns import as_objects

flags = st.fixed_dictionaries(
    {},
    optional={
        name: st.booleans()
        for name in ("whole_us", "flows", "backward", "collectives", "side_thread", "blocking")
    },
)
SIZES = st.integers(5, 120)
SEEDS = st.integers(0, 1 << 20)


@st.composite
def pairs(draw: st.DrawFn, **fixed: bool) -> Pair:
    options = {**draw(flags), **fixed}
    return linked(draw(SEEDS), draw(SIZES), tuple(sorted(options.items())))


@given(pair=pairs())
@settings(max_examples=60)
def test_a_device_op_hangs_on_the_operator_that_launched_it(pair: Pair) -> None:
    host_ids = {op.id: op.host_id for op in pair.linked.operators}
    found = {
        op.correlation: None if op.parent is None else host_ids[op.parent]
        for op in pair.linked.device_ops
    }
    assert found == {key: pair.truth.parent.get(key) for key in pair.truth.work}


@given(pair=pairs())
@settings(max_examples=60)
def test_a_device_op_waits_first_for_its_predecessor_on_the_stream(pair: Pair) -> None:
    correlation = pair.correlations()
    for op in pair.linked.device_ops:
        before = pair.truth.before[op.correlation]
        first = correlation[op.after[0]] if op.after else None
        assert before is None or first == before


@given(pair=pairs(sync_events=True))
@settings(max_examples=60)
def test_every_wait_for_an_event_is_there_and_no_other(pair: Pair) -> None:
    correlation = pair.correlations()
    edges = {
        (correlation[other], op.correlation) for op in pair.linked.device_ops for other in op.after
    }
    streams = {(before, op) for op, before in pair.truth.before.items()}
    issued = pair.truth.collectives
    order = set(pairwise(issued))
    assert pair.truth.event_waits <= edges
    assert edges <= pair.truth.event_waits | streams | order


@given(pair=pairs(sync_events=True, blocking=True))
@settings(max_examples=60)
def test_a_blocking_call_waits_for_what_it_waited_for(pair: Pair) -> None:
    correlation = pair.correlations()
    found = sorted(sorted(correlation[op] for op in wait.after) for wait in pair.linked.waits)
    assert found == sorted(sorted(ops) for ops in pair.truth.host_waits.values())


@given(pair=pairs(sync_events=False))
@settings(max_examples=60)
def test_what_is_inferred_agrees_with_the_times(pair: Pair) -> None:
    ops = {op.id: op for op in pair.linked.device_ops}
    for op in pair.linked.device_ops:
        for other in op.after:
            assert ops[other].end_ns <= op.start_ns + 1000
    for wait in pair.linked.waits:
        for awaited in wait.after:
            assert ops[awaited].end_ns <= wait.start_ns + wait.dur_ns + 1000
            assert (ops[awaited].launch_start_ns or 0) <= wait.start_ns


@given(pair=pairs(sync_events=False, blocking=True, side_thread=False))
@settings(max_examples=40)
def test_without_events_a_device_synchronisation_is_still_known(pair: Pair) -> None:
    truth = {frozenset(ops) for ops in pair.truth.host_waits.values() if len(ops) > 1}
    correlation = pair.correlations()
    found = {
        frozenset(correlation[op] for op in wait.after)
        for wait in pair.linked.waits
        if wait.name == "cudaDeviceSynchronize"
    }
    assert truth <= found


@given(pair=pairs(whole_us=False))
@settings(max_examples=60)
def test_times_are_exact_to_the_nanosecond(pair: Pair) -> None:
    origin = min(start for start, _ in pair.truth.spans.values())
    for op in pair.linked.operators:
        if op.start_ns is not None:
            start, end = pair.truth.spans[op.host_id]
            assert (op.start_ns, op.dur_ns) == (start - origin, end - start)
            assert op.exclusive_ns == pair.truth.exclusive[op.host_id]
            assert op.tid == pair.truth.threads[op.host_id]
    for device_op in pair.linked.device_ops:
        work = pair.truth.work[device_op.correlation]
        assert (device_op.start_ns, device_op.end_ns) == (work.start - origin, work.end - origin)


@given(pair=pairs())
@settings(max_examples=40)
def test_forward_and_backward_are_paired_with_and_without_flows(pair: Pair) -> None:
    host_ids = {op.id: op.host_id for op in pair.linked.operators}
    found = {
        (host_ids[flow.source], host_ids[flow.target])
        for flow in pair.linked.flows
        if flow.kind == "fwdbwd"
    }
    assert found == pair.truth.backward


@given(pair=pairs())
@settings(max_examples=40)
def test_the_report_counts_what_there_is(pair: Pair) -> None:
    report = pair.linked.report
    assert report.operators == len(pair.linked.operators)
    assert report.matched == len(pair.truth.spans)
    assert report.unmatched == report.orphans == report.clock_problems == 0
    attached = report.by_correlation + report.by_external_id + report.outside
    assert attached == report.device_ops == len(pair.truth.work)


@given(pair=pairs())
@settings(max_examples=40)
def test_a_linked_trace_written_and_read_is_the_same(pair: Pair) -> None:
    text = linked_file.to_json(pair.linked)
    assert linked_file.parse(text, "linked.json") == as_objects(pair.linked)
    assert linked_file.to_json(linked_file.parse(text, "linked.json")) == text


@given(pair=pairs(sync_events=True, whole_us=False))
@settings(max_examples=60)
def test_the_device_trace_alone_tells_the_same_as_the_pair(pair: Pair) -> None:
    assert told(pair.alone) == told(pair.linked)


def told(linked: Linked) -> tuple[object, ...]:
    names = {op.id: op.name for op in linked.operators}
    correlation = {op.id: op.correlation for op in linked.device_ops}
    ops = {
        op.correlation: (
            None if op.parent is None else names[op.parent],
            [correlation[other] for other in op.after],
        )
        for op in linked.device_ops
    }
    waits = sorted(
        (wait.start_ns, wait.name, sorted(correlation[other] for other in wait.after))
        for wait in linked.waits
    )
    operators = sorted(
        (op.start_ns, op.dur_ns, op.exclusive_ns, op.name)
        for op in linked.operators
        if op.start_ns is not None
    )
    return ops, waits, operators
