"""Frozen records: what dataclasses promise, without generated code."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from yantra.base.records import Record
from yantra.workloads.plan.plan import Plan


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
    [
        ({}, "Point needs the field 'x'"),
        ({"x": 1, "z": 2}, "Point has no field 'z'"),
        ({"z": 2}, "Point has no field 'z'; expected one of x, y"),
    ],
)
def test_a_missing_or_unknown_field_is_an_error(fields: dict[str, int], problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        Point(**fields)


def test_a_field_that_is_nearly_right_is_suggested() -> None:
    with pytest.raises(TypeError, match="Plan has no field 'tpp'; did you mean 'tp'"):
        Plan(tpp=8)


def test_a_record_prints_the_fields_that_are_not_as_by_default() -> None:
    assert repr(Point(x=1)) == "Point(x=1)"
    assert repr(Point(x=1, y=2)) == "Point(x=1, y=2)"


def test_a_record_is_copied_and_sent_to_other_processes() -> None:
    point = Point(x=1, y=2)
    assert pickle.loads(pickle.dumps(point)) == copy.deepcopy(point) == point


def test_a_number_with_a_unit_in_its_name_may_be_given_as_text() -> None:
    from yantra.scenario import Device, Dimension, RemoteMemory

    plain = Dimension(kind="ring", size=4, bytes_per_ns=50.0, latency_ns=500.0)
    assert Dimension(kind="ring", size=4, bytes_per_ns="400 Gb/s", latency_ns="0.5 us") == plain
    assert plain.replace(latency_ns="500 ns") == plain
    assert Device(peak_flops="989 TFLOP/s", memory_bytes_per_s="3.35 TB/s") == Device(
        peak_flops=989e12, memory_bytes_per_s=3.35e12
    )
    latency = RemoteMemory(latency_ns="1 us").latency_ns
    assert latency == 1000 and type(latency) is int


@pytest.mark.parametrize("text", ["400", "fast", "400 ns", ""])
def test_a_text_that_is_no_such_quantity_names_the_field(text: str) -> None:
    from yantra.base.errors import ConfigError
    from yantra.scenario import Dimension

    with pytest.raises(ConfigError, match=r"^Dimension\.bytes_per_ns: "):
        Dimension(kind="ring", size=4, bytes_per_ns=text, latency_ns=500.0)
