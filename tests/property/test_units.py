"""Laws of quantities: text to number and back, prefixes and the change of units."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base import units
from yantra.base.errors import ConfigError

finite = st.floats(allow_nan=False, allow_infinity=False)
decimals = st.decimals(
    min_value=0, max_value=10**9, allow_nan=False, allow_infinity=False, places=6
)
prefixes = st.sampled_from([("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)])


@given(finite)
def test_exact_text_of_a_number_reads_back_as_the_same_float(value: float) -> None:
    assert units.parse(units.exact(value, "GB/s"), "bandwidth", "B/ns") == value


@given(decimals, prefixes)
def test_a_decimal_prefix_shifts_the_decimal_point(
    number: Decimal, prefix: tuple[str, int]
) -> None:
    symbol, power = prefix
    assert units.parse(f"{number} {symbol}B", "size", "B") == float(number.scaleb(power))


@given(st.integers(0, 2**20), st.sampled_from(range(1, 7)))
def test_a_binary_prefix_is_a_power_of_1024(number: int, power: int) -> None:
    prefix = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")[power - 1]
    assert units.parse(f"{number} {prefix}B", "size", "B") == float(number * 1024**power)


@given(decimals, prefixes)
def test_eight_bits_are_one_byte(number: Decimal, prefix: tuple[str, int]) -> None:
    symbol, _ = prefix
    in_bits = units.parse(f"{number * 8} {symbol}b/s", "bandwidth", "B/s")
    assert in_bits == units.parse(f"{number} {symbol}B/s", "bandwidth", "B/s")


@given(st.integers(0, 2**40), st.integers(0, 2**40))
def test_reading_is_linear(left: int, right: int) -> None:
    def read(count: int) -> float:
        return units.parse(f"{count} B", "size", "B")

    assert read(left) + read(right) == read(left + right)


@given(st.floats(0, 1e15))
def test_the_printed_time_is_the_time_within_the_printed_digits(value_ns: float) -> None:
    text = units.format_time(value_ns)
    unit = text.split()[1]
    half_a_digit = units.parse(f"0.00051 {unit}", "time", "ns")
    assert abs(units.parse(text, "time", "ns") - value_ns) <= half_a_digit
    assert unit == "s" or not text.startswith("1000.000")


@given(st.integers(0, 2**60))
def test_the_printed_size_is_the_size_within_the_printed_digits(size_bytes: int) -> None:
    text = units.format_size(size_bytes)
    half_a_digit = units.parse(f"0.00051 {text.split()[1]}", "size", "B")
    assert abs(units.parse(text, "size", "B") - size_bytes) <= half_a_digit


@given(st.floats(1, 1e18))
def test_the_printed_bandwidth_is_the_bandwidth_within_the_printed_digits(value: float) -> None:
    text = units.format_bandwidth(value)
    half_a_digit = units.parse(f"0.00051 {text.split()[1]}", "bandwidth", "B/s")
    assert abs(units.parse(text, "bandwidth", "B/s") - value) <= half_a_digit


@given(st.text(max_size=20))
def test_any_text_is_a_quantity_or_a_configuration_error(text: str) -> None:
    try:
        assert isinstance(units.parse(text, "time", "ns"), float)
    except ConfigError as error:
        assert str(error).startswith("quantity: ")


@pytest.mark.parametrize("number", [0, 5, 2.5, "5", "0", True])
def test_a_number_without_a_unit_is_an_error(number: object) -> None:
    with pytest.raises(ConfigError, match='expected a time such as "500 ns"'):
        units.parse(number, "time", "ns")
