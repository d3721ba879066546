"""Frozen records: what dataclasses promise, without generated code."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from yantra.base.records import Record


class Point(Record):
    x: int
    y: int = 0


class Pixel(Record):
    x: int
    y: int = 0


def test_a_field_left_out_takes_its_default() -> None:
    assert (Point(x=1).x, Point(x=1).y) == (1, 0)


def test_records_are_equal_if_class_and_fields_are() -> None:
    assert Point(x=1) == Point(x=1, y=0)
    assert hash(Point(x=1)) == hash(Point(x=1, y=0))
    assert Point(x=1) != Point(x=2)
    assert Point(x=1) != Pixel(x=1)


def test_a_record_never_changes() -> None:
    point: Any = Point(x=1)
    with pytest.raises(AttributeError, match=r"Point is frozen; use replace\(x=...\)"):
        point.x = 2
    with pytest.raises(AttributeError, match="Point is frozen"):
        del point.x
    assert point.replace(x=2) == Point(x=2)
    assert point == Point(x=1)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [({}, "Point needs the field 'x'"), ({"x": 1, "z": 2}, "Point has no field 'z'")],
)
def test_a_missing_or_unknown_field_is_an_error(fields: dict[str, int], problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        Point(**fields)


def test_a_record_prints_its_fields() -> None:
    assert repr(Point(x=1)) == "Point(x=1, y=0)"


def test_a_record_is_copied_and_sent_to_other_processes() -> None:
    point = Point(x=1, y=2)
    assert pickle.loads(pickle.dumps(point)) == copy.deepcopy(point) == point
