"""Numbers as the text readers of ASTRA-sim take them (yaml-cpp, cxxopts, stoi), and nothing
looser.
"""

from __future__ import annotations

from math import isinf
from sys import float_info

from yantra.base.errors import ConfigError, expected_got

_LONGEST = 4000  # digits; Python's limit
_OF_A_NUMBER = set("0123456789.eE+-")


def read_integer(text: str, where: str, octal: bool = False) -> int:
    """Read a 32-bit integer: decimal or hexadecimal `0x8`, and octal `010` where `octal`."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    is_hexadecimal = digits[:2] in ("0x", "0X")
    base = 16 if is_hexadecimal else 8 if octal and digits[:1] == "0" else 10
    try:
        if not digits.isascii() or not (digits.isalnum() if base == 16 else digits.isdigit()):
            raise ValueError
        value = int(digits, base)
    except ValueError:
        raise ConfigError(where, expected_got("an integer", text)) from None
    if value >= 2**31:
        raise ConfigError(where, expected_got("an integer below 2147483648", text))
    return -value if text[0] == "-" else value


def read_number(text: str, where: str) -> float:
    try:
        if not set(text) <= _OF_A_NUMBER:
            raise ValueError
        value = float(text)
        if isinf(value):
            raise ValueError
    except ValueError:
        raise ConfigError(where, expected_got("a number", text)) from None
    return value


_ENDLESS = (".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF")
LARGEST = float_info.max
"""Replaces an infinite rate: what goes at it takes no time either."""


def read_rate(text: str, where: str) -> float:
    """Read a number as yaml-cpp does, of a quantity that may be infinite (`.inf`)."""
    return LARGEST if text in _ENDLESS else read_number(text, where)


def read_beginning(text: str, where: str) -> tuple[float, str]:
    import re

    found = re.match(r"\s*([+-]?[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]*)?)", text, re.ASCII)
    assert found is not None  # it may be empty
    try:
        return read_number(found[1], where), text[found.end() :]
    except ConfigError:
        raise ConfigError(where, expected_got("a number", text)) from None


def as_stoi(text: str) -> int | None:
    digits = text.lstrip(" \t\n\v\f\r")
    sign = digits[:1] if digits[:1] in ("+", "-") else ""
    end = len(sign)
    while digits[end : end + 1].isdigit() and digits[end : end + 1].isascii():
        end += 1
    if end == len(sign):
        return None
    value = int(digits[len(sign) : end]) if end < _LONGEST else 2**31
    value = -value if sign == "-" else value
    return value if -(2**31) <= value < 2**31 else None
