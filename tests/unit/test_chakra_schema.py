"""Nodes and attributes built by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from yantra.base.errors import TraceError
from yantra.chakra import Attribute, IOInfo, Kind, Node, NodeType, Trace, read


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("comm_size", 1, Kind.INT64),
        ("comm_type", 0, Kind.INT64),
        ("num_ops", 1, Kind.INT64),
        ("is_cpu_op", True, Kind.BOOL),
        ("tensor_size", 1, Kind.UINT64),
        ("comm_src", 1, Kind.INT32),
        ("comm_dst", 1, Kind.INT32),
        ("comm_tag", 1, Kind.INT32),
        ("involved_dim", [True, False], Kind.BOOL_LIST),
        ("pg_name", "tp", Kind.STRING),
    ],
)
def test_known_attributes_are_written_as_the_converters_write_them(
    name: str, value: Any, kind: Kind
) -> None:
    assert Attribute(name, value).kind is kind


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, Kind.BOOL),
        (1, Kind.INT64),
        (1.5, Kind.DOUBLE),
        ("a", Kind.STRING),
        (b"a", Kind.BYTES),
        ([True], Kind.BOOL_LIST),
        ([1, 2], Kind.INT64_LIST),
        ((1.5,), Kind.DOUBLE_LIST),
        (["a"], Kind.STRING_LIST),
        ([b"a"], Kind.BYTES_LIST),
        (None, Kind.NONE),
    ],
)
def test_other_attributes_take_the_kind_of_their_value(value: Any, kind: Kind) -> None:
    assert Attribute("x", value).kind is kind


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.NONE])
def test_every_kind_can_be_chosen_and_comes_back(kind: Kind) -> None:
    value: Any = {Kind.STRING: "a", Kind.BYTES: b"a", Kind.BOOL: True}.get(kind.element, 1)
    given = Attribute("x", [value, value] if kind.is_list else value, kind, "doc")
    (again,) = read(Trace([Node(1, attributes=[given])]).to_bytes())[0].attributes
    assert again == given
    assert again.kind is kind


def test_a_float_is_rounded_to_the_32_bits_it_is_written_with() -> None:
    assert Attribute("x", 0.1, Kind.FLOAT).value != 0.1
    assert math.isclose(Attribute("x", 0.1, Kind.FLOAT).value, 0.1, rel_tol=1e-7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value", "kind", "problem"),
    [
        (
            "comm_tag",
            1 << 40,
            None,
            "int32 must be from -2147483648 to 2147483647, got 1099511627776",
        ),
        ("tensor_size", -1, None, "uint64 must be from 0 to 18446744073709551615, got -1"),
        ("comm_size", "64", None, "int64 must be a whole number, got '64'"),
        ("comm_size", 1.5, None, "int64 must be a whole number, got 1.5"),
        ("is_cpu_op", 1, None, "expected bool, got 1"),
        ("pg_name", 1, None, "expected string, got 1"),
        ("pg_name", "\ud800", None, "value '\\ud800' cannot be written as UTF-8"),
        ("involved_dim", True, None, "expected a list of bool, got True"),
        ("involved_dim", [1], None, "expected bool, got 1"),
        ("inputs", "x", None, "expected a list of string, got 'x'"),
        ("x", [], None, "an empty list needs a kind, such as Kind.INT64_LIST"),
        ("x", object, None, "a value of type type cannot be stored"),
        ("x", "1", Kind.DOUBLE, "expected double, got '1'"),
        ("x", None, Kind.DOUBLE, "expected double, got None"),
        ("x", 1e39, Kind.FLOAT, "expected float, got 1e+39"),
        ("x", 1, Kind.NONE, "kind NONE holds no value, got 1"),
    ],
)
def test_a_value_that_cannot_be_written_is_refused(
    name: str, value: Any, kind: Kind | None, problem: str
) -> None:
    with pytest.raises(TraceError) as caught:
        Attribute(name, value, kind)
    assert str(caught.value) == f"attribute {name}: {problem}"


def test_attributes_are_reached_by_name_and_the_first_counts() -> None:
    node = Node(1, attributes=[Attribute("x", 1), Attribute("x", 2), Attribute("y", "z")])
    assert node["x"] == 1
    assert node.get("absent", 7) == 7
    assert "y" in node
    assert "absent" not in node
    node["x"] = 3
    assert [item.value for item in node.attributes] == [3, 2, "z"]
    del node["x"]
    assert [item.name for item in node.attributes] == ["y"]


def test_a_misspelt_attribute_is_an_error_with_a_proposal() -> None:
    with pytest.raises(TraceError) as caught:
        Node(3, "gemm", attributes={"comm_size": 1})["comm_sise"]
    assert str(caught.value) == (
        "node 3 'gemm': has no attribute comm_sise; did you mean 'comm_size'?"
    )


def test_a_type_the_schema_does_not_name_is_kept() -> None:
    assert Node(1, type=4).type is NodeType.COMP
    assert read(Trace([Node(1, type=99)]).to_bytes())[0].type == 99


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        (Node(-1, "a"), "node -1 'a': id must be from 0 to 18446744073709551615, got -1"),
        (
            Node(1, "a", duration_micros=-5),
            "node 1 'a': duration_micros must be from 0 to 18446744073709551615, got -5",
        ),
        (
            Node(1, "a", duration_micros=0.5),  # type: ignore[arg-type]
            "node 1 'a': duration_micros must be a whole number, got 0.5",
        ),
        (
            Node(1, "a", data_deps=["b"]),  # type: ignore[list-item]
            "node 1 'a': data_deps must be a whole number, got 'b'",
        ),
        (
            Node(1, "a", type="COMP"),  # type: ignore[arg-type]
            "node 1 'a': type must be a whole number, got 'COMP'",
        ),
        (
            Node(1, "a", inputs=IOInfo(values=5)),  # type: ignore[arg-type]
            "node 1 'a': inputs.values must be text, got 5",
        ),
        (Node(1, 5), "node 1 5: name must be text, got 5"),  # type: ignore[arg-type]
    ],
)
def test_a_node_that_cannot_be_written_is_refused_by_the_trace(node: Node, problem: str) -> None:
    with pytest.raises(TraceError) as caught:
        Trace([node])
    assert str(caught.value) == problem


def test_a_node_shows_what_it_has_and_no_more() -> None:
    assert repr(Node(1, "a")) == "Node(1, 'a', COMP)"
    node = Node(2, "b", NodeType.COMM_COLL, 5, [1], attributes={"comm_size": 64})
    assert repr(node) == "Node(2, 'b', COMM_COLL, duration_micros=5, data_deps=[1], {comm_size=64})"
    assert len(repr(Node(3, "c", data_deps=range(1000)))) < 120
