"""Doubles as nlohmann::json writes them, by Grisu2.

They read back equal but are not always the shortest: 0.0010271072387695313 for Python's ...312.

Source: Loitsch, "Printing Floating-Point Numbers Quickly and Accurately with Integers", PLDI 2010;
the library's every eighth power of ten, and exponents -60 to -32.
"""

from __future__ import annotations

from functools import lru_cache
from struct import pack, unpack

_LOWEST, _STEP = -300, 8  # powers of ten
_ALPHA = -60
_WORD = 64
_FRACTION_BITS = 52
_BIAS = 1075
_SMALL, _LARGE = -4, 15  # decimal point places without an exponent


def written(value: float) -> str:
    if value == 0:
        return str(value)
    return _written(value) if value > 0 else "-" + _written(-value)


@lru_cache(maxsize=100_000)
def _written(value: float) -> str:
    digits, exponent = _digits(value)
    point = len(digits) + exponent
    if len(digits) <= point <= _LARGE:
        return digits + "0" * exponent + ".0"
    if 0 < point <= _LARGE:
        return f"{digits[:point]}.{digits[point:]}"
    if _SMALL < point <= 0:
        return "0." + "0" * -point + digits
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{tail}e{point - 1:+03d}"


def _digits(value: float) -> tuple[str, int]:
    (bits,) = unpack("<Q", pack("<d", value))
    biased, fraction = divmod(bits, 1 << _FRACTION_BITS)
    mantissa = fraction + (1 << _FRACTION_BITS) if biased else fraction
    exponent = max(biased, 1) - _BIAS
    is_power = fraction == 0 and biased > 1
    high, high_exponent = _normalized(2 * mantissa + 1, exponent - 1)
    low = 4 * mantissa - 1 if is_power else 2 * mantissa - 1
    low <<= (exponent - 2 if is_power else exponent - 1) - high_exponent
    middle, _ = _normalized(mantissa, exponent)
    power, factor, factor_exponent = _power_for(high_exponent)
    top, bottom = _product(high, factor) - 1, _product(low, factor) + 1
    near = _product(middle, factor)
    return _generated(top, bottom, near, high_exponent + factor_exponent + _WORD, -power)


def _normalized(mantissa: int, exponent: int) -> tuple[int, int]:
    shift = _WORD - mantissa.bit_length()
    return mantissa << shift, exponent - shift


def _product(a: int, b: int) -> int:
    return (a * b + (1 << (_WORD - 1))) >> _WORD


@lru_cache
def _power_for(exponent: int) -> tuple[int, int, int]:
    wanted = _ALPHA - exponent - 1
    quotient = abs(wanted) * 78913 >> 18  # times log10(2), towards zero
    least = quotient + 1 if wanted > 0 else -quotient
    power = _LOWEST + (least - _LOWEST + _STEP - 1) // _STEP * _STEP
    top, bottom = (10**power, 1) if power >= 0 else (1, 10**-power)
    shift = _WORD - (top.bit_length() - bottom.bit_length())
    for tried in (shift - 1, shift):
        scaled = top << tried if tried >= 0 else top
        under = bottom if tried >= 0 else bottom << -tried
        word = (2 * scaled + under) // (2 * under)
        if word.bit_length() == _WORD:
            return power, word, -tried
    raise AssertionError("a power of ten is a word of 64 bits and a power of two")


def _generated(top: int, bottom: int, near: int, exponent: int, power: int) -> tuple[str, int]:
    """Return the fewest digits between two bounds, then as near as they allow."""
    delta, distance = top - bottom, top - near
    one = 1 << -exponent
    whole, rest = top >> -exponent, top & (one - 1)
    digits = ""
    left = len(str(whole))
    for digit in str(whole):
        digits += digit
        left -= 1
        behind = (whole % 10**left << -exponent) + rest
        if behind <= delta:
            return _nearer(digits, distance, delta, behind, one * 10**left), power + left
    taken = 0
    while True:
        rest *= 10
        digits += str(rest >> -exponent)
        rest &= one - 1
        taken += 1
        delta *= 10
        distance *= 10
        if rest <= delta:
            return _nearer(digits, distance, delta, rest, one), power - taken


def _nearer(digits: str, distance: int, delta: int, rest: int, unit: int) -> str:
    last = int(digits[-1])
    while (
        rest < distance
        and delta - rest >= unit
        and (rest + unit < distance or distance - rest > rest + unit - distance)
    ):
        last -= 1
        rest += unit
    return digits[:-1] + str(last)
