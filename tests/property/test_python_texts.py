"""Lists of JSON written as Python writes them: equal to Python's own text, or left to Python."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from yantra import _core
from yantra.chakra import Trace

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.decimals(-1000, 1000, places=3).map(float)
    | st.text()
    | st.sampled_from(["Tensor(float)", "it's", 'say "x"', "a,b", "[", "cuda:0", "\u00e9", "\x7f"])
)
LISTS = st.lists(st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4), max_leaves=20))


def written(data: bytes) -> tuple[str, ...] | None:
    """Return the texts of a node whose inputs are `data`; None where that is left to Python."""
    recorder = _core.TraceRecorder()
    recorder.end_metadata("")
    if not recorder.io_json(False, data):
        return None
    recorder.node(0, "node", 4, 0, 0, [], [])
    (node,) = Trace.from_native(recorder.finish())
    assert node.inputs is not None
    return node.inputs.values, node.inputs.shapes, node.inputs.types


def texts(io: dict[str, Any]) -> tuple[str, str, str]:
    return str(io["values"]), str(io["shapes"]), str(io["types"])


@given(values=LISTS, shapes=LISTS, types=LISTS, indent=st.sampled_from((None, 1)))
@example([1e-05, 0.0001, 1e15, 1e16, 123456789012345.0, -0.0], [-0], [1.5], None)
def test_the_text_is_pythons_or_left_to_python(
    values: Any, shapes: Any, types: Any, indent: int | None
) -> None:
    io = {"values": values, "shapes": shapes, "types": types, "strides": [[1]]}
    found = written(json.dumps(io, indent=indent).encode())
    assert found in (None, texts(io))


@given(
    values=st.lists(
        st.lists(st.integers() | st.sampled_from(["cuda:0", "GenericList[Int,Int]", "", True]))
        | st.integers(-(10**6), 10**6).map(lambda number: number / 1000)
    )
)
def test_what_traces_hold_is_written_without_python(values: Any) -> None:
    io = {"values": values, "shapes": [[2, 3], []], "types": ["Tensor(float)", "Int"]}
    small = any(isinstance(value, float) and 0 < abs(value) < 1e-4 for value in values)
    found = written(json.dumps(io).encode())
    assert found == (None if small else texts(io))


def test_missing_lists_are_empty() -> None:
    assert written(b'{"types": [ ]}') == ("[]", "[]", "[]")


@pytest.mark.parametrize(
    "text",
    [b"", b"{}", b"[]", b'{"values": [1,]}', b'{"values": [1 2]}', b'{"values": [01]}',
     b'{"values": [1.]}', b'{"values": [1}', b'{"values": []} x', b'{"values": 1}',
     b'{"values": [nul]}', b'{"values": [{}]}', b'{"values": ["a]}', b'{"values": []',
     b'{"values" []}',
     b'{values: []}'],
)  # fmt: skip
def test_what_is_no_such_object_is_left_to_python(text: bytes) -> None:
    assert written(text) is None


@given(st.text("[]{},:\"'\\ 0123456789.eE+-truefalsn\n", max_size=30))
def test_what_it_takes_python_takes_alike(inner: str) -> None:
    text = '{"values": [' + inner + "]}"
    found = written(text.encode())
    assert found is None or found == (str(json.loads(text)["values"]), "[]", "[]")
