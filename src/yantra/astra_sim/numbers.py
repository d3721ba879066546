"""Numbers as the text readers of ASTRA-sim take them (yaml-cpp, cxxopts), and nothing looser.

Python's own conversions also take underscores, spaces, `nan` and digits of other scripts.
"""

from __future__ import annotations

from math import isinf

from yantra.base.errors import ConfigError, expected_got

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
    """Read a finite decimal number."""
    try:
        if not set(text) <= _OF_A_NUMBER:
            raise ValueError
        value = float(text)
        if isinf(value):
            raise ValueError
    except ValueError:
        raise ConfigError(where, expected_got("a number", text)) from None
    return value
