"""Lists of JSON written as Python writes them: equal to Python's text, or left to Python."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from yantra import _core

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


def written(text: bytes) -> tuple[str, str, str] | None:
    recorder = _core.TraceRecorder()
    if not recorder.io_json(False, text):
        return None
    recorder.node(0, "", 0, 0, 0, [], [])
    return recorder.finish().inputs(0)


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
    assert written(json.dumps(io).encode()) == texts(io)


@given(st.lists(st.floats(-(10**8), 10**8) | st.integers(-999, 999).map(lambda n: n / 10**6)))
@example([1e-05, -1e-06, 0.0, -0.0, 0.1, 1.0, 0.000123, 0.0001, 1e8])
def test_fractions_as_pytorch_writes_them_are_written_without_python(values: list[float]) -> None:
    shown = [f"{value:.6f}" for value in values]
    found = written(('{"values": [' + ", ".join(shown) + "]}").encode())
    assert found == (str([float(text) for text in shown]), "[]", "[]")


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
