"""Quantities with units: text to number and back.

Inside, a number's name ends in its unit (`latency_ns`). Decimal prefixes are powers of 1000, binary
(`Ki`, `Mi`) of 1024; `b` is a bit, `B` a byte. Values are exact ratios until one rounded division.
Symbols: SI brochure (9th edition), IEC 80000-13.
"""

from __future__ import annotations

from typing import Final, Literal

from yantra.base.errors import ConfigError, did_you_mean, expected_got

Kind = Literal[
    "bandwidth",
    "time",
    "size",
    "flops",
    "time_per_byte",
    "power",
    "price",
    "frequency",
    "money",
    "energy_price",
    "carbon",
]

_DECIMAL: Final = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_SECONDS: Final = {
    "h": (3600, 1),
    "min": (60, 1),
    "s": (1, 1),
    "ms": (1, 10**3),
    "us": (1, 10**6),
    "ns": (1, 10**9),
    "ps": (1, 10**12),
    "fs": (1, 10**15),
}
_ALIASES: Final = {"µs": "us", "μs": "us", "sec": "s", "hour": "h", "byte": "B", "bytes": "B"}


def _scaled(symbols: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    return {
        prefix + symbol: (factor * num, den)
        for symbol, (num, den) in symbols.items()
        for prefix, factor in (_DECIMAL | _BINARY).items()
    }


_PER_SECOND: Final = {"B/s": (1, 1), "Bps": (1, 1), "b/s": (1, 8), "bps": (1, 8), "bit/s": (1, 8)}
_PER_NS: Final = {"B/ns": (10**9, 1)}
_OPERATIONS: Final = {"FLOP/s": (1, 1), "FLOPS": (1, 1), "flop/s": (1, 1)}

# kind -> unit -> (numerator, denominator) of that unit in s, B, B/s, FLOP/s, s/B, W, USD/h, Hz,
# USD, USD/kWh or g/kWh
_UNITS: Final[dict[Kind, dict[str, tuple[int, int]]]] = {
    "time": _SECONDS,
    "size": _scaled({"B": (1, 1), "b": (1, 8), "bit": (1, 8)}),
    "bandwidth": _scaled(_PER_SECOND) | _PER_NS,
    "flops": _scaled(_OPERATIONS),
    "time_per_byte": {f"{unit}/B": ratio for unit, ratio in _SECONDS.items()},
    "power": {"W": (1, 1), "kW": (1000, 1), "MW": (10**6, 1)},
    "price": {"USD/h": (1, 1)},
    "money": {"USD": (1, 1)},
    "energy_price": {"USD/kWh": (1, 1)},
    "carbon": {"g/kWh": (1, 1), "kg/kWh": (1000, 1)},
    "frequency": _scaled({"Hz": (1, 1)}),
}
_EXAMPLE: Final[dict[Kind, str]] = {
    "time": "500 ns",
    "size": "80 GiB",
    "bandwidth": "400 Gb/s",
    "flops": "234 TFLOP/s",
    "time_per_byte": "0.01 ns/B",
    "power": "700 W",
    "price": "2.50 USD/h",
    "money": "30000 USD",
    "energy_price": "0.08 USD/kWh",
    "carbon": "350 g/kWh",
    "frequency": "1.41 GHz",
}
_SPOKEN: Final[dict[Kind, str]] = {
    "flops": "rate of operations",
    "time_per_byte": "time per byte",
    "money": "sum of money",
    "energy_price": "price of energy",
    "carbon": "carbon of energy",
}
_ENDINGS: Final[tuple[tuple[str, Kind, str], ...]] = (
    ("ns_per_byte", "time_per_byte", "ns/B"),
    ("bytes_per_ns", "bandwidth", "B/ns"),
    ("bytes_per_s", "bandwidth", "B/s"),
    ("bytes", "size", "B"),
    ("flops", "flops", "FLOP/s"),
    ("ns", "time", "ns"),
)
_QUANTITY: Final = r"([+-]?)([0-9]+)?(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,4}))?\s*(.*)"
_LARGEST_EXPONENT: Final = 400
_LONGEST_PLAIN: Final = 16  # digits before an exponent is used
_PREFIXED: Final = ("B", "B/s", "FLOP/s", "Hz")
_FIVE_DIGITS = 10_000
_ROUNDS_UP: Final = 0.9999995  # above this share of a unit the smaller one would print 1000.000


def read_seconds(text: str, where: str) -> float:
    """Return the seconds of a limit such as `60 s`. Raises ConfigError at `where`."""
    seconds = parse(text, "time", "s", where)
    if not 0 < seconds < float("inf"):
        raise ConfigError(where, f"must be above 0; got {text}")
    return seconds


def parse(text: object, kind: Kind, to: str, where: str = "quantity") -> float:
    """Return a quantity such as `"400 Gb/s"` in unit `to`, as the nearest float.

    `where` is for errors. A missing unit or another dimension is an error.
    """
    if not isinstance(text, str):
        raise ConfigError(where, _no_unit(text, kind))
    import re

    match = re.fullmatch(_QUANTITY, text.strip())
    if match is None or not (match[2] or match[3]):
        raise ConfigError(where, f"not a quantity; {_expectation(kind, text)}")
    sign, whole, fraction, exponent, unit = match.groups()
    if not unit:
        raise ConfigError(where, _no_unit(text, kind))
    unit_num, unit_den = _ratio(unit, kind, where)
    to_num, to_den = _ratio(to, kind, where)
    power = int(exponent or 0) - len(fraction or "")
    digits = (whole or "") + (fraction or "")
    if abs(power) > _LARGEST_EXPONENT or len(digits) > _LARGEST_EXPONENT:
        raise ConfigError(where, f"out of range; {_expectation(kind, text)}")
    num = int(digits) * unit_num * to_den * 10 ** max(power, 0)
    den = unit_den * to_num * 10 ** max(-power, 0)
    try:
        value: float = num / den
    except OverflowError:
        raise ConfigError(where, f"out of range; {_expectation(kind, text)}") from None
    return -value if sign == "-" else value


def of_name(name: str) -> tuple[Kind, str]:
    """Return a name's kind and unit: `latency_ns`."""
    for ending, kind, unit in _ENDINGS:
        if name.endswith(ending):
            return kind, unit
    raise KeyError(name)


def expected(kind: Kind) -> str:
    """Return a quantity's name in errors: `a time such as "500 ns"`."""
    return f'a {_spoken(kind)} such as "{_EXAMPLE[kind]}"'


def pattern(kind: Kind, *, not_negative: bool = False, not_zero: bool = False) -> str:
    """Return the regular expression (ECMA 262) of a kind's quantities."""
    names = "|".join(sorted({*_UNITS[kind], *_aliases(kind)}))
    sign = r"\+?" if not_negative else "[+-]?"
    number = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?"
    has_digit = "(?=[0-9.]*[1-9])" if not_zero else ""
    return rf"^\s*{sign}{has_digit}{number}\s*({names})\s*$"


def exact(value: float, unit: str) -> str:
    """Write a number that `parse` reads back as the same float."""
    from decimal import Decimal

    prefix, factor = "", 1
    if unit in _PREFIXED:
        fitting = [(name, size) for name, size in _DECIMAL.items() if abs(value) >= size]
        prefix, factor = fitting[-1] if fitting else ("", 1)
    number = (Decimal(repr(value + 0.0)) / factor).normalize()
    written = f"{number:f}" if abs(number.adjusted()) < _LONGEST_PLAIN else str(number)
    return f"{written} {prefix}{unit}"


def format_time(value_ns: float) -> str:
    """Write a time: `500 ns`, `117.780 us`, `2.500 s`; three decimals above 1 us."""
    for unit, ns in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(value_ns) >= ns * _ROUNDS_UP:
            return f"{value_ns / ns:.3f} {unit}"
    return _whole_or_three_decimals(value_ns, "ns")


def format_size(size_bytes: int) -> str:
    """Write a size: `1 MiB`, `1 GB`, `1.500 KiB`; whole decimal units stay decimal."""
    magnitude = abs(size_bytes)
    for names in (_BINARY, _DECIMAL):
        for prefix, factor in reversed(names.items()):
            whole = prefix and size_bytes % factor == 0
            if whole and factor <= magnitude < _FIVE_DIGITS * factor:
                return f"{size_bytes // factor} {prefix}B"
    for prefix, factor in reversed(_BINARY.items()):
        if magnitude >= factor:
            return f"{size_bytes / factor:.3f} {prefix}B"
    return f"{size_bytes} B"


def format_bandwidth(value_bytes_per_s: float) -> str:
    """Write a bandwidth: `50 GB/s`, `53.687 GB/s`."""
    return _decimal(value_bytes_per_s, "B/s")


def format_flops(value_flops: float) -> str:
    """Write a compute rate: `234 TFLOP/s`."""
    return _decimal(value_flops, "FLOP/s")


def _decimal(value: float, symbol: str) -> str:
    for prefix, factor in reversed(_DECIMAL.items()):
        if abs(value) >= factor * _ROUNDS_UP:
            return _whole_or_three_decimals(value / factor, prefix + symbol)
    return _whole_or_three_decimals(value, symbol)


def _whole_or_three_decimals(value: float, unit: str) -> str:
    return f"{int(value)} {unit}" if float(value).is_integer() else f"{value:.3f} {unit}"


def _aliases(kind: Kind) -> list[str]:
    return [alias for alias, unit in _ALIASES.items() if unit in _UNITS[kind]]


def _ratio(unit: str, kind: Kind, where: str) -> tuple[int, int]:
    units = _UNITS[kind]
    ratio = units.get(_ALIASES.get(unit, unit))
    if ratio is not None:
        return ratio
    for other, its_units in _UNITS.items():
        if unit in its_units:
            problem = f"'{unit}' is a unit of {_spoken(other)}, not of {_spoken(kind)}"
            raise ConfigError(where, f'{problem}; expected for example "{_EXAMPLE[kind]}"')
    raise ConfigError(where, f"unknown unit '{unit}'{_unit_hint(unit, kind)}")


def _unit_hint(unit: str, kind: Kind) -> str:
    """Name units that differ in case alone: `gbps` may be bits or bytes."""
    same_letters = [known for known in _UNITS[kind] if known.lower() == unit.lower()]
    if len(same_letters) > 1:
        choice = " or ".join(f"'{known}'" for known in same_letters)
        return f"; did you mean {choice}? (b is a bit, B a byte)"
    hint = did_you_mean(unit, _UNITS[kind])
    return hint or f"; expected {expected(kind)}"


def _expectation(kind: Kind, got: object) -> str:
    return expected_got(expected(kind), got)


def _no_unit(got: object, kind: Kind) -> str:
    reason = "a number needs its unit" if _is_number(got) else "not a quantity"
    return f"{reason}; {_expectation(kind, got)}"


def _is_number(got: object) -> bool:
    return isinstance(got, (int, float, str)) and not isinstance(got, bool)


def _spoken(kind: Kind) -> str:
    return _SPOKEN.get(kind, kind)
