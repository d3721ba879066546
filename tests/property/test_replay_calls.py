"""Laws of choosing what to replay, and of reading recorded arguments, for any trace."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from yantra.tracing.replay.calls import Call, Io, topmost
from yantra.tracing.replay.tensors import CannotReplayError, Recorded, parsed

SCHEMAS = st.sampled_from(["", "", "aten::add(Tensor self) -> Tensor", "c10d::send() -> ()"])


@st.composite
def traces(draw: st.DrawFn) -> list[Call]:
    n = draw(st.integers(0, 12))
    parent = st.none() | st.integers(-1, n)
    return [
        Call(
            id=id,
            name="call",
            schema=draw(SCHEMAS),
            parent=draw(parent),
            recorded_ns=1,
            inputs=Io(),
            outputs=Io(),
            is_range=draw(st.booleans()),
        )
        for id in range(n)
    ]


def above(call: Call, calls: list[Call]) -> list[Call]:
    found: list[Call] = []
    at = call.parent
    while at is not None and 0 <= at < len(calls) and calls[at] not in found:
        found.append(calls[at])
        at = calls[at].parent
    return found


@given(traces())
def test_a_call_is_made_where_no_call_above_makes_it(calls: list[Call]) -> None:
    made = {call.id for call in topmost(calls)}
    with_children = {call.parent for call in calls}
    for call in calls:
        enclosed = any(outer.schema for outer in above(call, calls))
        leaf = call.id not in with_children and not call.is_range
        assert (call.id in made) == (not enclosed and bool(call.schema or leaf))


NUMBERS = st.integers(-(1 << 70), 1 << 70) | st.floats() | st.booleans() | st.none()
JSON = st.recursive(
    NUMBERS | st.text(max_size=5), lambda part: st.lists(part, max_size=7), max_leaves=20
)
TENSORS = st.tuples(*[st.integers(0, 100)] * 5, st.just("cpu")).map(list)
TYPES = st.recursive(
    st.sampled_from(
        ["Tensor(float)", "Tensor(odd)", "Tensor(nullptr (x))", "Int", "None", "Object"]
    )
    | st.text(alphabet="Tensor(,)[]GcLi", max_size=9),
    lambda part: st.lists(part, max_size=3).map(lambda of: f"GenericList[{','.join(of)}]"),
    max_leaves=4,
)


@given(JSON | TENSORS | st.lists(TENSORS), JSON | st.lists(st.integers(0, 9)), TYPES, JSON)
def test_any_recorded_value_is_read_or_refused(
    value: Any, shape: Any, kind: str, strides: Any
) -> None:
    try:
        found = parsed(value, shape, kind, strides)
    except CannotReplayError as error:
        assert str(error)
        return
    if isinstance(found, Recorded):
        assert found.end >= 0
        assert len(found.shape) == len(found.strides)


@given(st.lists(st.integers(1, 5), max_size=4), st.integers(0, 50))
def test_without_strides_a_tensor_is_contiguous(shape: list[int], offset: int) -> None:
    count = 1
    for n in shape:
        count *= n
    found = parsed([1, 2, offset, count, 4, "cpu"], shape, "Tensor(float)")
    assert isinstance(found, Recorded)
    assert found.end == (offset + count) * 4
