"""Files of every older layout, written by protobuf, are read with the meaning they have today."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import chakra_layouts as old
from tests.property.chakra_traces import KNOWN_NODES, TEXT, UINT64
from yantra import chakra
from yantra.base.errors import TraceError
from yantra.chakra.graphs import read_graph

LAYOUTS = list(old.NODE_TYPES)
WITH_ATTRIBUTES = list(old.MEMBERS)
NAMES = TEXT | st.sampled_from(
    ["runtime", "comm_type", "comm_size", "involved_dim", "is_cpu_op", "tensor_size", "comm_tag"]
)
SMALL = st.integers(0, 3)
VALUES = {
    "b": st.booleans(),
    "f": st.floats(width=32, allow_nan=False),
    "i": SMALL | st.integers(-(2**63), 2**63 - 1),
    "u": SMALL | UINT64,
    "s": TEXT,
    "strings": TEXT.map(str.encode) | st.binary(max_size=4),
}


@st.composite
def attributes(draw: st.DrawFn, layout: str, node_type: int) -> dict[str, Any]:
    members = old.MEMBERS[layout]
    type = draw(st.integers(0, len(members) - 1))
    member = draw(st.sampled_from([members[type]] * 9 + members))  # some writers wrote another
    item = {"name": draw(NAMES), "type": type}
    is_collective = node_type == (6 if layout == "0.0.2" else 7)
    if item["name"] == "comm_type" and member in ("i", "u") and is_collective:
        item[member] = draw(st.sampled_from(list(old.COLLECTIVES[layout])))
    elif len(member) == 1 and draw(st.integers(0, 9)):
        item[member] = draw(VALUES[member])
    elif len(member) > 1:
        one = VALUES["strings" if member == "strings" else member[0]]
        item[member] = draw(st.lists(one, min_size=member != members[type], max_size=3))
    if draw(st.booleans()):
        item["doc_string"] = draw(TEXT)
    return item


@st.composite
def nodes(draw: st.DrawFn, layout: str) -> dict[str, Any]:
    type = draw(st.integers(0, old.NODE_TYPES[layout] - 1))
    node = {"id": draw(UINT64), "name": draw(TEXT)}
    node["parent"] = draw(st.lists(UINT64, max_size=3))
    if layout != "0.0.1":
        sides = {name: draw(TEXT) for name in old.IO if draw(st.booleans())}
        items = draw(st.lists(attributes(layout, type), max_size=4))
        return node | {"type": type, "attribute": items} | sides
    limits = {"MemoryType": 2, "CollectiveCommType": 4, old.U32: 2**32 - 1, old.U64: 2**64 - 1}
    for name, kind in old.PROPERTIES.items():
        if not draw(st.booleans()):
            continue
        limit = limits.get(kind, 0)
        values = st.booleans() if kind == old.BOOL else SMALL | st.integers(0, limit)
        if limit in (2, 4):
            values = st.integers(0, limit)
        node[name] = draw(st.lists(values, max_size=4) if kind == old.BOOL else values)
    return node | ({"node_type": type} if type or draw(st.booleans()) else {})


# What no other layout has, in a node of its own.
TELLING: dict[str, dict[str, Any]] = {
    "0.0.1": {"num_ops": 5},
    "0.0.2": {"type": 0, "attribute": [{"name": "a", "type": 1, "i": 5}]},
    "0.0.3a": {"type": 0, "attribute": [{"name": "a", "type": 3, "s": "x"}]},
    "0.0.3": {"type": 0, "attribute": [{"name": "a", "type": 3, "i": 5}]},
}


@st.composite
def files(draw: st.DrawFn) -> tuple[str, list[dict[str, Any]], list[dict[str, Any]] | None]:
    layout = draw(st.sampled_from(LAYOUTS))
    made = draw(st.lists(nodes(layout), max_size=4))
    made.insert(draw(st.integers(0, len(made))), {"id": 1, "name": "n"} | TELLING[layout])
    metadata = None
    if layout.startswith("0.0.3") and draw(st.booleans()):
        metadata = draw(st.lists(attributes(layout, 0), max_size=2))
    return layout, made, metadata


def said(node: chakra.Node) -> dict[str, Any]:
    attributes = [
        (item.name, item.kind.name, list(item.value) if item.kind.is_list else item.value, item.doc)  # type: ignore[arg-type]
        for item in node.attributes
    ]
    fields = ("id", "name", "type", "data_deps", "duration_micros", "inputs", "outputs")
    return {name: getattr(node, name) for name in fields} | {"attributes": attributes}


@given(files())
def test_a_file_is_read_with_todays_meaning(
    case: tuple[str, list[dict[str, Any]], list[dict[str, Any]] | None],
) -> None:
    layout, made, metadata = case
    trace = chakra.read(old.write(layout, made, metadata))
    assert trace.layout == layout
    assert [said(node) for node in trace] == [old.meaning(layout, node) for node in made]
    assert not any(node.ctrl_deps or node.start_micros for node in trace)
    about = said(chakra.Node(0, attributes=trace.metadata.attributes))["attributes"]
    assert about == [old.plain(layout, item) for item in metadata or []]
    assert trace.metadata.version == ""


@given(files())
def test_an_upgraded_file_is_todays_and_says_the_same(
    case: tuple[str, list[dict[str, Any]], list[dict[str, Any]] | None],
) -> None:
    trace = chakra.read(old.write(*case))
    again = chakra.read(trace.to_bytes())
    assert again.layout == "0.0.4"
    assert again == trace


@given(files(), st.booleans())
def test_a_run_reads_the_same_graph(
    case: tuple[str, list[dict[str, Any]], list[dict[str, Any]] | None], tensors: bool
) -> None:
    data = old.write(*case)
    graph = read_graph(data, "trace", merge_duplicates=True, tensors=tensors)
    whole = chakra.read(data).graph(merge_duplicates=True)
    assert list(graph.id) == list(whole.id)
    assert list(graph.type) == list(whole.type)
    assert list(graph.duration_micros) == list(whole.duration_micros)
    assert graph.comm_size.kind.tolist() == whole.comm_size.kind.tolist()
    assert graph.comm_size.value.tolist() == whole.comm_size.value.tolist()


@given(st.sampled_from(LAYOUTS), st.data())
def test_any_file_is_read_as_told_or_refused_for_its_ambiguity(
    layout: str, draw: st.DataObject
) -> None:
    made = draw.draw(st.lists(nodes(layout), min_size=1, max_size=2))
    data = old.write(layout, made)
    told = chakra.read(data, layout=layout)
    assert [said(node) for node in told] == [old.meaning(layout, node) for node in made]
    try:
        found = chakra.read(data)
    except TraceError as error:
        assert "in which it means different things" in str(error)
        return
    assert LAYOUTS.index(found.layout) >= LAYOUTS.index(layout)
    assert list(found.native.type) == list(told.native.type)


def bare(layout: str, type: int) -> bytes:
    key = "node_type" if layout == "0.0.1" else "type"
    return old.write(layout, [{"id": 3, "name": "n", key: type, "parent": [3]}])


def test_a_file_without_a_telling_field_is_refused() -> None:
    with pytest.raises(TraceError) as error:
        chakra.read(bare("0.0.1", 3))
    assert str(error.value) == (
        "trace: byte 0: the file fits layout 0.0.2 as well as 0.0.3, in which it means different "
        "things, and holds nothing that tells them apart; say which one it is: yantra chakra "
        "rewrite --layout"
    )
    assert chakra.read(bare("0.0.2", 3), layout="0.0.2")[0].type is chakra.NodeType.COMP
    assert chakra.read(bare("0.0.3", 4), layout="0.0.3")[0].type is chakra.NodeType.COMP


def test_the_newest_that_fits_is_taken_where_all_say_the_same() -> None:
    assert chakra.read(bare("0.0.1", 0)).layout == "0.0.3"
    assert chakra.read(bare("0.0.3a", 7)).layout == "0.0.3"


def test_layouts_that_tell_types_alike_but_not_times_are_refused() -> None:
    """A negative integer of the first 0.0.3 is a large one of the second: no run time, or one."""
    told = [{"name": "runtime", "type": 2, "i": -5}]
    data = old.write("0.0.3a", [{"id": 3, "name": "n", "type": 0, "attribute": told}])
    with pytest.raises(TraceError, match=r"fits layout 0.0.3a as well as 0.0.3, in which it means"):
        chakra.read(data)
    assert chakra.read(data, layout="0.0.3a")[0].duration_micros == 0
    assert chakra.read(data, layout="0.0.3")[0].duration_micros == 2**64 - 5


def test_only_texts_and_lists_of_numbers_are_left_out_where_they_are_empty() -> None:
    nothing = chakra.IOInfo("", "", "")
    node = chakra.Node(3, name="n", type=chakra.NodeType.COMP, inputs=nothing, outputs=nothing)
    node.duration_micros = 5
    data = chakra.Trace([node]).to_bytes()
    found = chakra.read(data[1:])
    assert found.layout == "0.0.4a"
    assert found[0].inputs == found[0].outputs == nothing


@given(st.lists(KNOWN_NODES, min_size=1, max_size=4))
def test_a_file_of_today_without_metadata_is_read(made: list[chakra.Node]) -> None:
    made[0].id = made[0].id or 1
    data = chakra.Trace(made).to_bytes()
    assert data[0] == 0  # the length of the metadata
    told = chakra.read(data[1:], layout="0.0.4a")
    assert list(told) == made
    try:
        found = chakra.read(data[1:])
    except TraceError as error:
        usual = all(node.name and node.type for node in made)
        assert not usual or "in which it means different things" in str(error)
        return
    assert found.layout == "0.0.4a" or not any(node.type for node in made)
    assert found == told


@pytest.mark.parametrize("layout", WITH_ATTRIBUTES)
def test_a_collective_the_layout_does_not_have_is_refused(layout: str) -> None:
    type = 6 if layout == "0.0.2" else 7
    item = {"name": "comm_type", "type": old.MEMBERS[layout].index("i"), "i": 5}
    node = {"id": 3, "name": "n", "type": type, "attribute": [item]}
    with pytest.raises(TraceError) as error:
        chakra.read(old.write(layout, [{"id": 1, "name": "n"} | TELLING[layout], node]))
    assert f"node record 2 (id 3): collective 5 is not in layout {layout}" in str(error.value)
    assert f"layout {layout} explains the file up to here" in str(error.value)


def test_damage_is_named_as_the_layout_that_explains_most_sees_it() -> None:
    good = old.write("0.0.1", [{"id": i, "name": "n", "tensor_size": 1} for i in range(3)])
    bad = good + bytes([4, 8, 9, 0x2A, 0])  # field 5 as text, and no name
    with pytest.raises(TraceError) as error:
        chakra.read(bad)
    assert str(error.value) == (
        f"trace: byte {len(good) + 3}: node record 4 (id 9): field 5 (tensor_loc) holds "
        "length-delimited bytes, expected a varint; no layout of Chakra's history fits the file "
        "(layout 0.0.1 explains the file up to here)"
    )


def test_a_layout_that_is_told_is_the_only_one_tried() -> None:
    data = old.write("0.0.2", [{"id": 1, "name": "n"} | TELLING["0.0.2"]])
    with pytest.raises(TraceError, match=r"field 1 \(version\) holds a varint"):
        chakra.read(data, layout="0.0.4")
    with pytest.raises(TraceError, match=r"no layout is named 0.0.5; did you mean '0.0.\d"):
        chakra.read(data, layout="0.0.5")
