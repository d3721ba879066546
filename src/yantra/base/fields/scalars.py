"""Fields of one value: ranged numbers, quantities with units, flags, texts, names.

`read` makes a value of a plain tree, `check` refuses a wrong value, `write` makes a tree that reads
back equal. Relative paths start from `folder`.
"""

from __future__ import annotations

import sys
from math import inf
from os import path as paths
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from yantra.base import units
from yantra.base.errors import ConfigError, did_you_mean, expected_got

if TYPE_CHECKING:
    from fractions import Fraction

Schema = dict[str, Any]

RELATIVE = r"x([0-9]{1,18}(?:\.[0-9]{1,18})?)|([+-][0-9]{1,18}(?:\.[0-9]{1,18})?)%"
"""How a value that counts from the present one is spelled."""

_LARGEST = sys.float_info.max


class Field:
    """A kind of value; `expected` is for errors, `unit` its numbers'."""

    expected: str
    unit = ""

    def read(self, tree: Any, where: str, folder: str) -> Any:
        """Return a tree's value, or raise ConfigError naming `where`."""
        raise NotImplementedError

    def check(self, value: Any, where: str) -> None:
        """Raise ConfigError naming `where` for a wrong value."""
        raise NotImplementedError

    def write(self, value: Any, folder: str) -> Any:
        raise NotImplementedError

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        """Return `tree` with the part at `path` replaced; None is absent.

        Relative values (`x2`, `+10%`) start from what `tree` holds. Reading checks the new tree.
        Raises ConfigError for a path that leads nowhere.
        """
        if path:
            raise ConfigError(f"{where}.{path[0]}", f"unknown key; {where} has no parts")
        return value

    def files(self, value: Any) -> tuple[str, ...]:
        """Return the paths of files whose contents count."""
        return ()

    def schema(self) -> Schema:
        raise NotImplementedError

    def describe(self) -> str:
        """Return what a file may hold, in words."""
        return self.expected


class _Scalar(Field):
    """A value that the tree holds as is."""

    json_type: ClassVar[str]

    def read(self, tree: Any, where: str, folder: str) -> Any:
        self.check(tree, where)
        return tree

    def write(self, value: Any, folder: str) -> Any:
        return value

    def schema(self) -> Schema:
        return {"type": self.json_type}


def factor_of(value: object) -> Fraction | None:
    """Return the factor of a relative value (`x2`, `x0.5`, `+10%`, `-5%`), or None.

    Spelled as `RELATIVE`.
    """
    import re

    match = re.fullmatch(RELATIVE, value) if isinstance(value, str) else None
    if match is None:
        return None
    from fractions import Fraction

    times, percent = match.groups()
    return Fraction(times) if times else 1 + Fraction(percent) / 100


class Ranged(Field):
    """A number in a range, ends in `unit`; `above` is an excluded end."""

    _is_whole = False

    def __init__(
        self,
        at_least: float | None = None,
        above: float | None = None,
        at_most: float | None = None,
    ) -> None:
        lowest = at_least if above is None else above
        self._lowest: float = -inf if lowest is None else lowest
        self._above = above
        self._highest: float = inf if at_most is None else at_most
        self._given = (at_least, above, at_most)

    @property
    def _bounds(self) -> dict[str, float]:
        words = ("at least", "above", "at most")
        given = zip(words, self._given, strict=True)
        return {word: bound for word, bound in given if bound is not None}

    def _whole(self, value: Any, where: str) -> None:
        if type(value) is not int and (isinstance(value, bool) or not isinstance(value, int)):
            raise ConfigError(where, expected_got("a whole number", value))
        if not self._lowest <= value <= self._highest:
            raise self._outside(value, str(value), where)

    def _real(self, value: Any, where: str) -> None:
        if type(value) is not float and (
            isinstance(value, bool) or not isinstance(value, int | float)
        ):
            raise ConfigError(where, expected_got("a finite number", value))
        if not -_LARGEST <= value <= _LARGEST:
            raise ConfigError(where, expected_got("a finite number", value))
        if not self._lowest <= value <= self._highest or value == self._above:
            raise self._outside(value, f"{value:g}", where)

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        """Return the new value; a relative one multiplies exactly."""
        factor = None if path else factor_of(value)
        if factor is None or (factor == 1 and tree is not None):
            return super().put(tree, path, tree if factor == 1 else value, where, folder)
        if tree is None:
            raise ConfigError(where, f"has no value that {value} could change; give a whole one")
        from fractions import Fraction

        try:
            product = factor * Fraction(self.read(tree, where, folder))
            exact = self._is_whole and product.denominator == 1
            return self.write(int(product) if exact else float(product), folder)
        except OverflowError:
            raise ConfigError(where, f"out of range; got {value} of {tree}") from None

    def _outside(self, value: float, shown: str, where: str) -> ConfigError:
        words = ("at most",) if value > self._highest else ("at least", "above")
        word = next(word for word in words if word in self._bounds)
        bound = self._bounds[word]
        unit = f" {self.unit}" if self.unit else ""
        return ConfigError(where, f"must be {word} {bound}{unit}; got {shown}{unit}")

    def describe(self) -> str:
        bounds = (f"{word} {bound}" for word, bound in self._bounds.items())
        return ", ".join([self.expected, *bounds])

    def _range(self) -> Schema:
        words = {"at least": "minimum", "above": "exclusiveMinimum", "at most": "maximum"}
        return {words[word]: bound for word, bound in self._bounds.items()}


class Whole(Ranged):
    """A dimensionless integer."""

    expected = "a whole number"
    _is_whole = True

    def __init__(self, at_least: int | None = None, at_most: int | None = None) -> None:
        super().__init__(at_least=at_least, at_most=at_most)

    def read(self, tree: Any, where: str, folder: str) -> int:
        self._whole(tree, where)
        whole: int = tree
        return whole

    check = Ranged._whole

    def write(self, value: int, folder: str) -> int:
        return value

    def schema(self) -> Schema:
        return {"type": "integer"} | self._range()


class Number(Ranged):
    expected = "a number"

    def read(self, tree: Any, where: str, folder: str) -> float:
        self._real(tree, where)
        return float(tree)

    check = Ranged._real

    def write(self, value: float, folder: str) -> float:
        return value

    def schema(self) -> Schema:
        return {"type": "number"} | self._range()


class Quantity(Ranged):
    """A number with a unit, held in `unit`, whole if `whole`."""

    def __init__(
        self,
        kind: units.Kind,
        unit: str,
        whole: bool = False,
        *,
        at_least: float | None = None,
        above: float | None = None,
        at_most: float | None = None,
    ) -> None:
        super().__init__(at_least, above, at_most)
        self._kind: units.Kind = kind
        self.unit = unit
        self._is_whole = whole
        self.expected = units.expected(kind)

    def read(self, tree: Any, where: str, folder: str) -> float:
        value = units.parse(tree, self._kind, self.unit, where)
        if self._is_whole:
            if not value.is_integer():
                raise ConfigError(where, expected_got(f"a whole number of {self.unit}", tree))
            value = int(value)
        self.check(value, where)
        return value

    def check(self, value: Any, where: str) -> None:
        if self._is_whole:
            self._whole(value, where)
        else:
            self._real(value, where)

    def write(self, value: float, folder: str) -> str:
        return units.exact(value, self.unit)

    def schema(self) -> Schema:
        """Return the spelling, and of the range only whether it may be negative or 0."""
        pattern = units.pattern(
            self._kind, not_negative=self._lowest >= 0, not_zero=self._above == 0
        )
        return {"type": "string", "pattern": pattern}

    def describe(self) -> str:
        whole = f", whole {self.unit}" if self._is_whole else ""
        bounds = (
            f", {word} {bound}{f' {self.unit}' if bound else ''}"
            for word, bound in self._bounds.items()
        )
        return self.expected + whole + "".join(bounds)


class Flag(_Scalar):
    """True or false."""

    json_type, expected = "boolean", "true or false"

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, bool):
            raise ConfigError(where, expected_got(self.expected, value))


class Text(_Scalar):
    """A non-empty text."""

    json_type, expected = "string", "a text"

    def read(self, tree: Any, where: str, folder: str) -> str:
        if not isinstance(tree, str):
            raise ConfigError(where, expected_got(self.expected, tree))
        self.check(tree, where)
        return tree

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, str) or not value:
            raise ConfigError(where, expected_got("a text", value))

    def schema(self) -> Schema:
        return {"type": "string", "minLength": 1}


class Choice(_Scalar):
    """A name of a closed set, a Literal type or a tuple."""

    def __init__(self, names: Any) -> None:
        self._names: tuple[str, ...] = names if isinstance(names, tuple) else get_args(names)
        self.expected = f"one of {', '.join(self._names)}"

    def check(self, value: Any, where: str) -> None:
        if value not in self._names:
            hint = did_you_mean(value, self._names) if isinstance(value, str) else ""
            raise ConfigError(where, expected_got(self.expected, value) + hint)

    def schema(self) -> Schema:
        return {"enum": list(self._names)}


class NameOrCount(Choice):
    """A name, or a whole number from 1 on; all are text in memory."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(names)
        self.expected = f"{names[0]}, or 1 to {names[-1]}"

    def read(self, tree: Any, where: str, folder: str) -> Any:
        text = str(tree) if type(tree) is int else tree
        if text not in self._names:
            raise ConfigError(where, expected_got(self.expected, tree))
        return text

    def schema(self) -> Schema:
        count = {"type": "integer", "minimum": 1, "maximum": int(self._names[-1])}
        return {"anyOf": [super().schema(), count]}


class File(Text):
    """A path, or the common part of several; `ending` is what the file adds."""

    def __init__(self, ending: str = "") -> None:
        self._ending = ending
        self.expected = f'a path that ends in "{ending}"' if ending else "a path"

    def read(self, tree: Any, where: str, folder: str) -> str:
        text = tree if isinstance(tree, str) else ""
        if not text.endswith(self._ending) or len(text) <= len(self._ending):
            raise ConfigError(where, expected_got(self.expected, tree))
        path = text.removesuffix(self._ending)
        return paths.normpath(paths.join(folder, path)) if folder else path

    def write(self, value: str, folder: str) -> str:
        relative = folder and not paths.isabs(value)
        return (paths.relpath(value, folder) if relative else value) + self._ending

    def schema(self) -> Schema:
        if not self._ending:
            return super().schema()
        import re

        return {
            "type": "string",
            "pattern": f"{re.escape(self._ending)}$",
            "minLength": len(self._ending) + 1,
        }
