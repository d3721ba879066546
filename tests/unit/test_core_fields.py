"""Fields of the core's classes look at their object themselves (native/bind/fields.hpp)."""

from __future__ import annotations

import gc

import pytest

from yantra import _core
from yantra.chakra import TraceBuilder


def test_a_field_that_is_written_reads_as_written() -> None:
    system = _core.SystemParameters()
    system.chunks = 7
    system.group_hand_over = True
    system.bus = _core.SharedBus(latency=1, overhead=2, gap=3, gap_per_byte=0.5)
    assert (system.chunks, system.group_hand_over) == (7, True)
    with pytest.raises(TypeError):
        system.chunks = "seven"  # type: ignore[assignment]


@pytest.mark.parametrize("wrong", [5, _core.Quirks(), object.__new__(object), None])
def test_a_field_refuses_an_object_of_another_class(wrong: object) -> None:
    field = _core.SystemParameters.__dict__["chunks"]
    with pytest.raises(TypeError):
        field.fget(wrong)
    with pytest.raises(TypeError):
        field.fset(wrong, 1)


def test_a_field_refuses_an_object_that_is_not_made_yet() -> None:
    unmade = _core.SystemParameters.__new__(_core.SystemParameters)
    with pytest.raises(TypeError):
        _ = unmade.chunks


def test_a_column_keeps_the_object_it_is_of() -> None:
    builder = TraceBuilder()
    for _ in range(1000):
        builder.compute(duration_micros=5)
    column = _core.decode_trace(builder.build().to_bytes()).graph().duration_micros
    gc.collect()
    assert column.tolist() == [5] * 1000
