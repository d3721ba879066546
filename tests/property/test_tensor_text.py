"""The native rewriting of recorded tensors gives what Python's str() gives, or hands back."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra import _core

SCALARS = (
    st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.none()
    | st.text(max_size=8)
    | st.sampled_from(["cuda:0", "Tensor(float)", "GenericList[Int]", "<None>"])
)
VALUES = st.lists(
    st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=6), max_size=4
)
IO = st.fixed_dictionaries(
    {"values": VALUES, "shapes": VALUES, "types": VALUES}, optional={"strides": VALUES}
)


def by_python(text: bytes) -> tuple[str, str, str]:
    io = msgspec.json.decode(text)
    return str(io.get("values", [])), str(io.get("shapes", [])), str(io.get("types", []))


@given(IO, st.sampled_from([None, 1]))
def test_what_is_rewritten_is_what_python_shows(io: dict[str, Any], indent: int | None) -> None:
    text = json.dumps(io, indent=indent).encode()
    assert _core.python_texts(text) in (None, by_python(text))


@given(st.binary(max_size=40) | IO.map(lambda io: json.dumps(io).encode()[:-1]))
def test_what_is_no_json_is_handed_back(text: bytes) -> None:
    try:
        io = msgspec.json.decode(text, type=dict[str, list[Any]])
    except (msgspec.DecodeError, UnicodeDecodeError):
        assert _core.python_texts(text) is None
    else:
        assert _core.python_texts(text) in (None, by_python(msgspec.json.encode(io)))


@pytest.mark.parametrize(
    "values",
    [
        '[[433, 434, 0, 53120, 4, "cuda:0"], -1, [], [[]]]',
        "[1e-05, 0.1, 1E+20, 2.50, 100000000000000000.0, -0.0, 1e16]",
        "[true, false, null]",
        "[]",
        " [ 1 ,2 ]",
    ],
)
def test_usual_tensors_are_not_handed_back(values: str) -> None:
    text = f'{{"values": {values}, "shapes": [[2]], "types": ["Int"], "strides": []}}'.encode()
    assert _core.python_texts(text) == by_python(text)


@pytest.mark.parametrize("values", ['["\\u0041"]', '["don\'t"]', '[{"a": 1}]', "[-0]", "[01]", "3"])
def test_unusual_values_are_handed_back(values: str) -> None:
    assert _core.python_texts(f'{{"values": {values}, "shapes": [], "types": []}}'.encode()) is None
