"""Sizes as exact arithmetic over symbols: `(Head + 2*KVHead)/tp`."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache, reduce
from itertools import product
from operator import mul

Powers = tuple[tuple[str, int], ...]
Terms = tuple[tuple[Powers, Fraction], ...]
Shape = tuple["Expression", ...]


class Expression:
    __slots__ = ("symbols", "terms")

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.symbols = frozenset(name for powers, _ in terms for name, _ in powers)

    def __add__(self, other: Expression | int) -> Expression:
        return _sum((*self.terms, *_expression(other).terms))

    def __radd__(self, other: int) -> Expression:
        return self + other

    def __sub__(self, other: Expression | int) -> Expression:
        return self + _expression(other) * -1

    def __mul__(self, other: Expression | int) -> Expression:
        return _product(self, _expression(other))

    def __rmul__(self, other: int) -> Expression:
        return self * other

    def __truediv__(self, other: Expression | int) -> Expression:
        return self * _expression(other).inverse()

    def inverse(self) -> Expression:
        """1 / self; raises ZeroDivisionError or, for a sum, ArithmeticError."""
        if not self.terms:
            raise ZeroDivisionError("division by 0")
        if len(self.terms) > 1:
            raise ArithmeticError(f"cannot divide by the sum {self}")
        powers, factor = self.terms[0]
        return _interned((tuple((name, -power) for name, power in powers), 1 / factor))

    def substitute(self, replacements: Mapping[str, Expression]) -> Expression:
        if self.symbols.isdisjoint(replacements):
            return self
        result = number(0)
        for powers, factor in self.terms:
            term = number(factor)
            for name, power in powers:
                replaced = replacements.get(name) or symbol(name)
                base = replaced if power > 0 else replaced.inverse()
                term = reduce(mul, [base] * abs(power), term)
            result = result + term
        return result

    def evaluate(self, values: Mapping[str, int]) -> Fraction:
        total = Fraction(0)
        for powers, factor in self.terms:
            for name, power in powers:
                factor *= Fraction(values[name]) ** power
            total += factor
        return total

    def __str__(self) -> str:
        return " + ".join(_term_text(*term) for term in self.terms) or "0"

    __repr__ = __str__


@cache
def number(value: int | Fraction) -> Expression:
    return _interned(((), Fraction(value))) if value else _interned()


@cache
def symbol(name: str) -> Expression:
    return _interned((((name, 1),), Fraction(1)))


def volume(shape: Shape) -> Expression:
    return reduce(mul, shape, number(1))


@cache
def _interned(*terms: tuple[Powers, Fraction]) -> Expression:
    return Expression(terms)


def _expression(value: Expression | int) -> Expression:
    return value if isinstance(value, Expression) else number(value)


def _sum(terms: Terms) -> Expression:
    collected: dict[Powers, Fraction] = {}
    for powers, factor in terms:
        collected[powers] = collected.get(powers, Fraction(0)) + factor
    return _interned(*sorted((powers, factor) for powers, factor in collected.items() if factor))


@cache
def _product(one: Expression, other: Expression) -> Expression:
    terms = []
    for (left, factor), (right, factor2) in product(one.terms, other.terms):
        powers = dict(left)
        for name, power in right:
            powers[name] = powers.get(name, 0) + power
        terms.append((tuple(sorted((n, p) for n, p in powers.items() if p)), factor * factor2))
    return _sum(tuple(terms))


def _term_text(powers: Powers, factor: Fraction) -> str:
    above = [n if p == 1 else f"{n}**{p}" for n, p in powers if p > 0]
    below = [n if p == -1 else f"{n}**{-p}" for n, p in powers if p < 0]
    if factor.numerator != 1 or not above:
        above.insert(0, str(factor.numerator))
    if factor.denominator != 1:
        below.insert(0, str(factor.denominator))
    bottom = "*".join(below)
    return "*".join(above) + (f"/({bottom})" if len(below) > 1 else f"/{bottom}" if below else "")
