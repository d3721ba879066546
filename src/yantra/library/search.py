"""Search: terms with `and` between them; a word is a tag, a comparison is over a number.

moe, pp > 4, fsdp
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.library.manifest import NUMBERS, Row

_COMPARED = re.compile(r"(\w+)\s*(<=|>=|!=|==|=|<|>)\s*(.+)")
_SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "=": operator.eq, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_SCALES = {"k": 10**3, "M": 10**6, "G": 10**9, "B": 10**9, "T": 10**12, "P": 10**15}
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]*)?(?:e[0-9]+)?)\s*([kMGBTP]?)")


def search(text: str, rows: Iterable[Row]) -> list[Row]:
    """The rows that meet every term, in their order. Raises ConfigError for a term that none could
    mean."""
    found = list(rows)
    words = {word for row in found for word in row.tags}
    for term in text.split(","):
        holds = _holds(term.strip(), words)
        found = [row for row in found if holds(row)]
    return found


def _holds(term: str, words: set[str]) -> Callable[[Row], bool]:
    if compared := _COMPARED.fullmatch(term):
        name, sign, number = compared.groups()
        if name not in NUMBERS:
            known = did_you_mean(name, NUMBERS) or f"; expected one of {', '.join(NUMBERS)}"
            raise ConfigError(f"'{term}'", f"no number has this name{known}")
        compare, value = _SIGNS[sign], _value(number, term)
        return lambda row: compare(row.numbers[name], value)
    if term not in words:
        known = did_you_mean(term, [*words, *NUMBERS])
        expected = "; expected a tag such as moe, or a comparison such as pp > 4"
        raise ConfigError(f"'{term}'", f"no recipe has this tag{known or expected}")
    return lambda row: term in row.tags


def _value(text: str, term: str) -> float:
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise ConfigError(f"'{term}'", expected_got("a number such as 4, 8k or 70B", text))
    return float(match[1]) * _SCALES.get(match[2], 1)
