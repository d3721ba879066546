"""A graph straight from bytes equals the one made from a trace, which asking for tensors gives."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra import _core
from yantra.chakra import Attribute, Kind, Metadata, Node, Trace

INTEGERS = ("is_cpu_op", "comm_type", "comm_size", "comm_priority", "comm_src", "comm_dst")
LISTS = ("id", "type", "duration_micros", "parent_count", "parent_begin", "parent")
MORE_LISTS = ("child_begin", "child", "file_order", "pg_name", "involved_mask", "involved_len")
SIZE = st.integers(0, 2**63 - 1)
LABEL = st.sampled_from(["tp", "dp", "pp", "ü", "", "ncclKernel"])
USUAL = st.one_of(
    st.builds(Attribute, st.sampled_from(INTEGERS), SIZE, st.just(Kind.INT64)),
    st.builds(Attribute, st.sampled_from(INTEGERS), st.booleans(), st.just(Kind.BOOL)),
    st.builds(Attribute, st.just("comm_tag"), st.integers(-9, 9), st.just(Kind.INT32)),
    st.builds(Attribute, st.just("num_ops"), st.integers(-9, 9), st.just(Kind.SINT64)),
    st.builds(Attribute, st.sampled_from(["pg_name", "comm_peer"]), LABEL, st.just(Kind.STRING)),
    st.builds(Attribute, st.just("communication"), LABEL, st.just(Kind.STRING)),
    st.builds(
        Attribute,
        st.just("involved_dim"),
        st.lists(st.booleans(), min_size=1, max_size=4),
        st.just(Kind.BOOL_LIST),
    ),
    st.builds(Attribute, st.sampled_from(["op_type", "größe"]), LABEL, st.just(Kind.STRING)),
)
UNUSUAL = st.one_of(
    st.builds(Attribute, st.sampled_from(INTEGERS), LABEL, st.just(Kind.STRING)),
    st.builds(Attribute, st.just("comm_size"), st.none(), st.just(Kind.NONE)),
    st.builds(Attribute, st.just("communication"), SIZE, st.just(Kind.INT64)),
    st.builds(Attribute, st.just("comm_tag"), SIZE, st.just(Kind.INT64), st.just("a doc")),
    st.builds(Attribute, st.just("involved_dim"), st.just([]), st.just(Kind.BOOL_LIST)),
)


@st.composite
def traces(draw: st.DrawFn, attribute: st.SearchStrategy[Attribute]) -> Trace:
    ids = draw(st.lists(st.integers(0, 40) | st.just(2**64 - 1), unique=True, max_size=9))
    some = st.lists(st.sampled_from(ids), max_size=3) if ids else st.just([])
    nodes = [
        Node(
            id_,
            draw(LABEL),
            draw(st.integers(-1, 9)),
            draw(st.integers(0, 9)),
            draw(some),
            draw(some),
            draw(st.lists(attribute, max_size=4, unique_by=lambda item: item.name)),
        )
        for id_ in ids
    ]
    order = Attribute("complete_order", draw(st.booleans()), Kind.BOOL)
    return Trace(nodes, Metadata("1", (order,)))


def told(graph: _core.Graph) -> dict[str, object]:
    lists: Sequence[str] = (*LISTS, *MORE_LISTS)
    told: dict[str, object] = {name: list(getattr(graph, name)) for name in lists}
    for name in (*INTEGERS, "comm_tag", "num_ops"):
        column: _core.IntColumn = getattr(graph, name)
        told[name] = list(column.value), list(column.kind)
    told["labels"] = graph.pg_names, graph.peer_names
    told["names"] = [graph.name(node) for node in range(len(graph))]
    told["findings"] = [(finding.code, finding.text) for finding in graph.diagnostics]
    told["complete_order"] = graph.complete_order
    told["communicates"] = [graph.communicates(node) for node in range(len(graph))]
    return told


@given(traces(USUAL) | traces(USUAL | UNUSUAL))
def test_both_ways_to_a_graph_give_the_same(trace: Trace) -> None:
    content = trace.to_bytes()
    assert told(_core.decode_graph(content, False, False)) == told(
        _core.decode_graph(content, False, True)
    )


@given(traces(USUAL), st.data())
def test_both_ways_refuse_a_damaged_file_with_the_same_words(
    trace: Trace, data: st.DataObject
) -> None:
    content = bytearray(trace.to_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    try:
        whole = told(_core.decode_graph(bytes(content), False, True))
    except _core.TraceFault as fault:
        with pytest.raises(_core.TraceFault) as refused:
            _core.decode_graph(bytes(content), False, False)
        assert str(refused.value) == str(fault)
    else:
        assert told(_core.decode_graph(bytes(content), False, False)) == whole


def other_value(item: Attribute) -> st.SearchStrategy[Attribute]:
    kinds: dict[Kind, st.SearchStrategy[object]] = {
        Kind.STRING: LABEL,
        Kind.INT64: SIZE,
        Kind.INT32: st.integers(-9, 9),
        Kind.BOOL: st.booleans(),
        Kind.BOOL_LIST: st.lists(st.booleans(), max_size=4),
    }
    same = st.just(item)
    if item.kind not in kinds:
        return same
    other = st.builds(Attribute, st.just(item.name), kinds[item.kind], st.just(item.kind))
    of_other_kind = st.builds(Attribute, st.just(item.name), LABEL, st.just(Kind.STRING))
    return same | other | of_other_kind


@st.composite
def changed(draw: st.DrawFn, trace: Trace) -> Trace:
    nodes = list(trace)
    for at in draw(st.sets(st.integers(0, len(nodes) - 1), max_size=3)) if nodes else ():
        node = nodes[at]
        if draw(st.booleans()):
            items = [draw(other_value(item)) for item in node.attributes]
            same = node.type, node.duration_micros
            nodes[at] = Node(node.id, node.name, *same, node.data_deps, node.ctrl_deps, items)
            continue
        items = draw(st.lists(USUAL | UNUSUAL, max_size=4, unique_by=lambda item: item.name))
        name = node.name if draw(st.booleans()) else draw(LABEL)
        numbers = draw(st.integers(-1, 9)), draw(st.integers(0, 9))
        nodes[at] = Node(node.id, name, *numbers, node.data_deps, node.ctrl_deps, items)
    return Trace(nodes, trace.metadata)


@given(traces(USUAL), st.data())
def test_files_read_one_after_the_other_have_their_own_graphs(
    tmp_path_factory: pytest.TempPathFactory, trace: Trace, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("files")
    files, prefix = _core.KnownFiles(), os.fsencode(folder / "w")
    contents = [
        some.to_bytes()
        for some in (trace, data.draw(changed(trace)), data.draw(changed(trace)), trace)
    ]
    were_usual: dict[bytes, bool] = {}
    for rank, content in enumerate(contents):
        (folder / f"w.{rank}.et").write_bytes(content)
        numbers, graphs, ranks = files.read(prefix, rank, 1, len(content), False)
        is_new = content not in were_usual
        assert were_usual.setdefault(content, bool(numbers)) == bool(numbers)
        assert ranks == ([rank] if numbers and is_new else [])
        for graph in graphs:
            assert told(graph) == told(_core.decode_graph(content, False, True))


@st.composite
def ranks_of_a_job(draw: st.DrawFn) -> list[Trace]:
    nodes = draw(st.integers(1, 6))
    names = st.sampled_from(["g1", "g2", "g10"])
    numbers = st.sampled_from([1, 2, 300])
    same = draw(st.lists(st.booleans(), min_size=nodes, max_size=nodes))
    made = []
    for _ in range(draw(st.integers(2, 8))):
        of_rank = [
            Node(
                at,
                "a",
                7,
                0,
                [at - 1] if at else [],
                [],
                [
                    Attribute("comm_size", 8, Kind.INT64),
                    Attribute("pg_name", "g1" if same[at] else draw(names), Kind.STRING),
                    Attribute("comm_dst", 1 if same[at] else draw(numbers), Kind.INT64),
                    Attribute("comm_type", 0, Kind.INT64),
                ],
            )
            for at in range(nodes)
        ]
        made.append(Trace(of_rank, Metadata("0.0.4", ())))
    return made


@given(ranks_of_a_job())
def test_ranks_that_differ_in_the_same_places_have_their_own_graphs(
    tmp_path_factory: pytest.TempPathFactory, ranks: list[Trace]
) -> None:
    folder = tmp_path_factory.mktemp("files")
    contents = [trace.to_bytes() for trace in ranks]
    for rank, content in enumerate(contents):
        (folder / f"w.{rank}.et").write_bytes(content)
    read = _core.KnownFiles().read(os.fsencode(folder / "w"), 0, len(ranks), 1 << 18, False)
    numbers, graphs, first_ranks = read
    assert numbers == [list(dict.fromkeys(contents)).index(content) for content in contents]
    assert first_ranks == [contents.index(content) for content in dict.fromkeys(contents)]
    for rank, graph in zip(first_ranks, graphs, strict=True):
        assert told(graph) == told(_core.decode_graph(contents[rank], False, True))


@pytest.mark.parametrize("content", [b"\0\x91", b"\0\x91a", b"\0\5\x08", b"\0\0\x91"])
def test_a_file_that_breaks_off_where_a_record_begins_is_refused(content: bytes) -> None:
    with pytest.raises(_core.TraceFault) as usual:
        _core.decode_graph(content, False, False)
    with pytest.raises(_core.TraceFault) as whole:
        _core.decode_graph(content, False, True)
    assert str(usual.value) == str(whole.value)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("long_names", [range(300), range(300, 2000)])
def test_it_is_the_same_where_the_first_nodes_are_larger_or_smaller_than_the_rest(
    long_names: range, descending: bool
) -> None:
    nodes = []
    for at in range(2000):
        number = 2000 - at if descending else at
        size = Attribute(INTEGERS[at // 50 % len(INTEGERS)], at, Kind.INT64)
        group = Attribute("pg_name", f"group {at % 7}", Kind.STRING)
        name = f"node {at % 900}" + 200 * "-" * (at in long_names)
        before = [2000 - at + 1 if descending else at - 1] if at else []
        attributes = [size, group] if at % 3 else [] if at < 1000 else [size]
        nodes.append(Node(number, name, 4, at, before, [], attributes))
    content = Trace(nodes, Metadata("1", ())).to_bytes()
    assert told(_core.decode_graph(content, False, False)) == told(
        _core.decode_graph(content, False, True)
    )
