"""What tools see of a file through a survey is what they see of the whole trace, and a broken file
is refused in the same words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.zoo import drawn
from yantra.base.errors import TraceError
from yantra.chakra import Attribute, IOInfo, Kind, Node, NodeType, Trace
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.stats.rank import rank_stats
from yantra.tracing.inspect.surveyed import Seen, Surveyed, seen_in
from yantra.tracing.inspect.validate import _ALONE
from yantra.tracing.inspect.validate.facts import facts_of

_TYPES = [NodeType.COMP, NodeType.METADATA, NodeType.COMM_COLL, NodeType.COMM_SEND]
_INTEGERS = ("stream", "thread", "tid", "start_time_ns", "duration_ns", "num_ops", "comm_size")
_TEXTS = ("part", "communication", "pg_name", "op_schema")
_COLUMNS = ("id", "type", "duration", "start", "kind", "lane", "group", "is_cpu", "comm_size")
_NAMES = ("a", "b<float>", "ProfilerStep#1", "é", "")


@st.composite
def files(draw: st.DrawFn) -> bytes:
    nodes: list[Node] = []
    for id in sorted(draw(st.sets(st.integers(0, 40), max_size=9))):
        earlier = [node.id for node in nodes]
        data, control = (
            draw(st.lists(st.sampled_from(earlier), max_size=3)) if earlier else [] for _ in "ab"
        )
        numbers = draw(st.dictionaries(st.sampled_from(_INTEGERS), st.integers(-2, 5000)))
        texts: dict[str, Any] = draw(
            st.dictionaries(st.sampled_from(_TEXTS), st.sampled_from(["", "wait", "delay"]))
        )
        node = Node(
            id, draw(st.sampled_from(_NAMES)), draw(st.sampled_from(_TYPES)),
            draw(st.sampled_from([0, 3, 1 << 62, (1 << 64) - 1])), data, control,
            {"is_cpu_op": draw(st.booleans()), "comm_type": 0, **numbers, **texts},
            start_micros=draw(st.integers(0, 9)),
        )  # fmt: skip
        if draw(st.booleans()):
            node.inputs = IOInfo(draw(st.sampled_from(["[]", "['é']"])), "[]", "[]")
        nodes.append(node)
    return Trace(nodes).to_bytes()


def _pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def _told(trace: Seen) -> list[Any]:
    columns = Columns(trace)
    told: list[Any] = [list(getattr(columns, name)) for name in _COLUMNS]
    native = columns.native
    for node, record in enumerate(columns.record):
        told.append((columns.name(node), columns.extra[node], columns.parents(node)))
        told.append((native.data_deps(record), native.ctrl_deps(record)))
        if columns.type[node] == NodeType.METADATA:
            told.append(native.inputs(record))
    facts = facts_of(0, trace, _ALONE)
    told.append((facts.findings, facts.nodes, facts.used, facts.origin_us, facts.has_starts))
    return [*told, rank_stats(columns), trace.metadata, len(trace)]


def _lane(columns: Columns, node: int) -> str:
    kind, extra = columns.kind[node], columns.extra[node]
    if kind == "communication" and extra.communication is None:
        return f"group {columns.group[node]}"
    if columns.is_cpu[node] or kind == "other":
        return f"cpu thread {extra.thread or 0}"
    return f"gpu stream {extra.stream or 0}"


def _kind(columns: Columns, node: int) -> str:
    extra, type = columns.extra[node], columns.type[node]
    if extra.part == "delay":
        return "delay"
    if type == NodeType.COMP:
        if extra.communication is not None:
            return "communication"
        return "cpu" if columns.is_cpu[node] else "gpu_compute"
    return "communication" if type in (NodeType.COMM_COLL, NodeType.COMM_SEND) else "other"


@settings(max_examples=100, deadline=None)
@given(files(), st.booleans())
def test_kinds_and_lanes_are_those_of_each_node(data: bytes, large: bool) -> None:
    trace = Trace.from_bytes(data)
    if large:
        more = [Attribute("thread", (1 << 63) + 5, Kind.UINT64), Attribute("is_cpu_op", True)]
        trace = Trace([*trace, Node(99, "a", NodeType.COMP, attributes=more)])
    columns = Columns(trace)
    nodes = range(columns.count)
    assert list(columns.kind) == [_kind(columns, node) for node in nodes]
    assert list(columns.lane) == [_lane(columns, node) for node in nodes]


def _outcome(make: Any, *of: Any) -> Any:
    try:
        return _told(make(*of))
    except TraceError as error:
        return str(error)


@drawn(60)
@given(files(), st.integers(1, 200))
def test_a_survey_says_what_the_trace_says(data: bytes, size: int) -> None:
    assert _told(seen_in(_pieces(data, size))) == _told(Trace.from_bytes(data))


@settings(max_examples=150, deadline=None)
@given(files(), st.data())
def test_a_damaged_file_says_the_same(data: bytes, draw: st.DataObject) -> None:
    broken = bytearray(data)
    for _ in range(draw.draw(st.integers(1, 3))):
        if broken:
            broken[draw.draw(st.integers(0, len(broken) - 1))] = draw.draw(st.integers(0, 255))
    broken = (
        broken[: draw.draw(st.integers(0, len(broken)))] if draw.draw(st.booleans()) else broken
    )
    given = bytes(broken)
    pieces = _pieces(given, 64)
    assert _outcome(seen_in, pieces) == _outcome(Trace.from_bytes, given)


def test_usual_files_are_surveyed() -> None:
    sizes: dict[str, Any] = {"comm_type": 0, "comm_size": 8}
    nodes = [
        Node(0, "step", NodeType.COMP, 4, attributes={"part": "slice"}),
        Node(1, "all", NodeType.COMM_COLL, 3, [0], attributes=sizes),
    ]
    assert isinstance(seen_in([Trace(nodes).to_bytes()]), Surveyed)
    unusual: Any
    for unusual in (
        [nodes[1], nodes[0]],  # descending
        [nodes[0], nodes[0]],
        [nodes[1]],  # depends on what is missing
        [Node(0, "all", NodeType.COMM_COLL)],  # without a size
        [Node(0, "a", NodeType.COMP, attributes=[Attribute("stream", 1 << 63, Kind.UINT64)])],
        [Node(0, "a", NodeType.COMP, attributes={"stream": True})],
    ):
        assert isinstance(seen_in([Trace(unusual).to_bytes()]), Trace)
