"""Doubles as nlohmann::json writes them."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.grisu import written

doubles = st.floats(allow_nan=False, allow_infinity=False)


@given(doubles)
def test_what_is_written_reads_back_as_the_same_double(value: float) -> None:
    assert struct.pack("<d", float(written(value))) == struct.pack("<d", value)


@given(st.integers(0, 10**13))
def test_digits_are_as_many_as_python_writes_or_one_more(nanoseconds: int) -> None:
    value = 1e-3 * nanoseconds
    assert 0 <= len(written(value)) - len(repr(value)) <= 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (2.0, "2.0"),
        (-0.5, "-0.5"),
        (0.01, "0.01"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1e14, "100000000000000.0"),
        (1e15, "1e+15"),
        (1.5e20, "1.5e+20"),
        (273.78000000000003, "273.78000000000003"),
        # Two numbers of 17 digits read back as these; the library's is not the nearer.
        (0.0010271072387695312, "0.0010271072387695313"),
        (0.0013208389282226562, "0.0013208389282226563"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (2.2250738585072014e-308, "2.2250738585072014e-308"),
    ],
)
def test_a_number_is_written_as_the_library_does(value: float, text: str) -> None:
    """Recorded from nlohmann::json 3.10."""
    assert written(value) == text
