"""Text of sizes to expressions: numbers, symbols, `+ - * / **` and brackets."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache

from yantra.base.whole_numbers import whole
from yantra.workloads.importers.stg.expressions import Expression, Shape, number, symbol

_TOKEN = re.compile(
    r"\s*(?:([0-9]+(?:\.[0-9]*)?|\.[0-9]+)|([A-Za-z_][A-Za-z0-9_]*)|(\*\*|[-+*/()]))"
)
_DEEPEST = 50
_LARGEST_POWER = 9


@cache
def parse(text: str) -> Expression:
    reader = _Reader(text)
    expression = reader.sum(0)
    if reader.token:
        raise ValueError(f"expected an operator before '{reader.token}'")
    return expression


@cache
def parse_shape(text: str) -> Shape:
    return tuple(parse(part) for part in text.split(","))


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text.rstrip()
        self._at = 0
        self.token = ""
        self._advance()

    def _advance(self) -> str:
        taken = self.token
        if self._at == len(self._text):
            self.token = ""
            return taken
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            rest = self._text[self._at :].lstrip()
            raise ValueError(f"'{rest[0]}' is not part of an expression")
        self.token, self._at = match[0].strip(), match.end()
        return taken

    def sum(self, depth: int) -> Expression:
        total = self._product(depth)
        while self.token in ("+", "-"):
            sign = 1 if self._advance() == "+" else -1
            total = total + self._product(depth) * sign
        return total

    def _product(self, depth: int) -> Expression:
        value = self._signed(depth)
        while self.token in ("*", "/"):
            divide = self._advance() == "/"
            operand = self._signed(depth)
            try:
                value = value / operand if divide else value * operand
            except ArithmeticError as error:
                raise ValueError(str(error)) from None
        return value

    def _signed(self, depth: int) -> Expression:
        if depth > _DEEPEST:
            raise ValueError("nested too deeply")
        if self.token == "-":
            self._advance()
            return self._signed(depth + 1) * -1
        base = self._atom(depth)
        if self.token != "**":
            return base
        self._advance()
        power = self._advance()
        times = whole(power)
        if times is None or times > _LARGEST_POWER:
            raise ValueError(f"expected a power of 0 to {_LARGEST_POWER}, got '{power}'")
        result = number(1)
        for _ in range(times):
            result = result * base
        return result

    def _atom(self, depth: int) -> Expression:
        token = self._advance()
        if token == "(":
            inner = self.sum(depth + 1)
            if self._advance() != ")":
                raise ValueError("a bracket is not closed")
            return inner
        if token[:1].isdigit() or token[:1] == ".":
            return number(Fraction(token))
        if token[:1].isalpha() or token[:1] == "_":
            return symbol(token)
        raise ValueError(f"expected a number, a symbol or '(', got {token!r}")
