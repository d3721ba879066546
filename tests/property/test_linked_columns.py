"""A linked file read into columns is the trace that objects hold."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import linked_pair
from tests.oracles.linked_pair import Pair
from tests.property.test_link import pairs
from yantra.tracing.pytorch import linked_columns, linked_file
from yantra.tracing.pytorch.convert import ConvertOptions, convert_linked
from yantra.tracing.pytorch.linked import Annotation, Attr, CommArgs, Linked
from yantra.tracing.pytorch.linked_columns import as_objects


def read(text: bytes) -> Linked:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "linked.json"
        path.write_bytes(text)
        return linked_file.read(str(path))


def same(one: Linked, other: Linked) -> bool:
    return linked_file.to_json(as_objects(one)) == linked_file.to_json(other)


@given(pair=pairs(whole_us=False), reduce=st.booleans(), memory=st.booleans())
@settings(max_examples=60)
def test_columns_hold_and_convert_to_what_objects_do(
    pair: Pair, reduce: bool, memory: bool
) -> None:
    text = linked_file.to_json(pair.linked)
    columns = read(text)
    assert isinstance(columns.operators, linked_columns.Operators)
    assert same(columns, pair.linked)
    options = ConvertOptions(reduce=reduce, memory_nodes=memory)
    made = convert_linked(columns, options).to_bytes()
    assert made == convert_linked(linked_file.parse(text, "-"), options).to_bytes()


def odd(pair: Pair) -> Linked:
    linked = linked_file.parse(linked_file.to_json(pair.linked), "-")
    one, other, *_ = linked.operators
    one.name, other.name = 'a "quoted" \\ n\u00e4me', "\u0001"
    one.attrs = [
        Attr("rf_id", "uint64", 1 << 80),
        Attr("scope", "uint64", 7),
        Attr("scope", "double", 1.5),
        Attr("op_schema", "string", 'f(str a="}, {\\"id\\":")'),
        Attr("kept", "list", [1, {"a": None}]),
        Attr("rf_id", "uint64", 12),
    ]
    other.attrs = [Attr("op_schema", "int", 3), Attr("scope", "uint64", 7.0)]
    other.comm = CommArgs(collective="all_reduce", group_name="0", in_nelems=4)
    linked.annotations = [Annotation("x", 1, 2, 3)]
    linked.device_ops[0].bytes = 0
    return linked


@given(pair=pairs())
@settings(max_examples=15)
def test_odd_attributes_and_names_stay(pair: Pair) -> None:
    linked = odd(pair)
    text = linked_file.to_json(linked)
    columns = read(text)
    assert isinstance(columns.operators, linked_columns.Operators)
    assert same(columns, linked)
    made = convert_linked(columns).to_bytes()
    assert made == convert_linked(linked_file.parse(text, "-")).to_bytes()
    first = columns.operators[0]
    assert first.attr("scope") == 7 and first.attr("nothing", "-") == "-"


def test_a_file_of_another_form_is_read_by_objects() -> None:
    pair = linked_pair.linked(3, 60)
    found = read(json.dumps(json.loads(linked_file.to_json(pair.linked))).encode())
    assert isinstance(found.operators, list)
    assert same(found, pair.linked)
