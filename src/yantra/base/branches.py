"""Which branch of a shell script's conditions is taken, if known.

Loops over the script's own arguments, of which there are none, are left out; others are unknown.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from yantra.base.whole_numbers import is_whole

_LOOPS = frozenset(("for", "while", "until", "select"))
_ENDS = frozenset(("fi", "done", "esac"))
_LEADING = frozenset(("then", "do"))
_COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "-gt": operator.gt,
    "-ge": operator.ge,
    "-lt": operator.lt,
    "-le": operator.le,
}
_TESTS = {"[": "]", "[[": "]]"}


class _Branch(NamedTuple):
    """One open condition; None is unknown."""

    taken: bool | None
    """Whether the current branch is."""
    before: bool | None
    """Whether an earlier one was."""
    line: int
    value: str | None = None
    """Of a `case`, where known."""
    awaits: bool | None = None
    """Of a `case`, whether a pattern comes next; None for others."""


class Branches:
    """`around` are those in which a function is called."""

    def __init__(self, around: Branches | None = None) -> None:
        self._open: list[_Branch] = []
        self._around = around

    @property
    def skipped(self) -> bool:
        if self._around is not None and self._around.skipped:
            return True
        return any(branch.taken is False for branch in self._open)

    @property
    def doubt(self) -> str:
        lines = [branch.line for branch in self._open if branch.taken is None]
        if not lines and self._around is not None:
            return self._around.doubt
        return f"line {lines[-1]} makes it depend on a condition" if lines else ""

    def enter(self, words: list[str], line: int, doubt: str) -> int:
        at = 0
        while at < len(words):
            first, rest = words[at], words[at + 1 :]
            if first == "if":
                self._open.append(_Branch(_holds(rest, doubt), False, line))
                return len(words)
            if first in _LOOPS:
                holds = _loops(first, rest, doubt)
                self._open.append(_Branch(holds, None, line))
                return len(words)
            if first == "case" and rest[1:2] == ["in"]:
                value = None if doubt else rest[0]
                self._open.append(_Branch(False, False, line, value, awaits=True))
                at += 3
                continue
            if first == "elif" and self._open:
                self._else(_holds(rest, doubt), line)
                return len(words)
            if first == "else" and self._open:
                self._else(True, line)
            elif first in _ENDS and self._open:
                self._open.pop()
            elif first not in _LEADING:
                return at
            at += 1
        return at

    @property
    def awaits_pattern(self) -> bool:
        """Whether a closing parenthesis ends a pattern of `case`."""
        return bool(self._open) and self._open[-1].awaits is True

    def next_pattern(self) -> None:
        """Two semicolons end a branch of `case`."""
        if self._open and self._open[-1].awaits is False:
            self._open[-1] = self._open[-1]._replace(awaits=True)

    def matches(self, pattern: str) -> None:
        """The branch of a pattern of `case` begins."""
        last = self._open[-1]
        value = last.value
        parts = pattern.split("|")
        hit = None if value is None else any(fnmatchcase(value, one) for one in parts)
        self._else(hit, last.line)
        self._open[-1] = self._open[-1]._replace(value=value, awaits=False)

    def _else(self, holds: bool | None, line: int) -> None:
        last = self._open.pop()
        before = True if True in (last.taken, last.before) else last.before
        if last.taken is None and not before:
            before = None
        taken = False if before or holds is False else (None if before is None else holds)
        self._open.append(_Branch(taken, before, line))


def _loops(kind: str, condition: list[str], doubt: str) -> bool | None:
    """Whether a loop runs: over words it does, while its condition does not hold it does not."""
    if kind == "for" and condition[1:2] == ["in"] and len(condition) > 2:
        return True
    if kind == "while" and condition[:1] == ["getopts"]:
        return False
    holds = _holds(condition, doubt) if kind in ("while", "until") else None
    return False if holds is not None and holds == (kind == "until") else None


def is_ruled_out(before: list[str], doubt: str) -> bool:
    """Whether words such as `[ -n "" ] &&` keep what follows from running."""
    return before[-1:] == ["&&"] and _holds(before[:-1], doubt) is False


def _holds(words: list[str], doubt: str) -> bool | None:
    if doubt:
        return None
    for between, decisive in (("||", True), ("&&", False)):
        if between in words:
            at = words.index(between)
            either = [_holds(words[:at], ""), _holds(words[at + 1 :], "")]
            return decisive if decisive in either else (None if None in either else not decisive)
    return _test(words)


def _test(words: list[str]) -> bool | None:
    if words[:1] == ["!"]:
        holds = _test(words[1:])
        return None if holds is None else not holds
    if words in (["true"], ["false"]):
        return words == ["true"]
    if len(words) < 4 or _TESTS.get(words[0]) != words[-1]:
        return None
    test = words[1:-1]
    if len(test) == 2 and test[0] in ("-z", "-n"):
        return (test[1] == "") == (test[0] == "-z")
    if len(test) == 2 and test[0] in ("-f", "-d", "-e", "-s"):
        return False  # of a first run, which finds nothing
    if len(test) == 3 and test[1] in ("=", "==", "-eq"):
        return test[0] == test[2]
    if len(test) == 3 and test[1] in ("!=", "-ne"):
        return test[0] != test[2]
    if len(test) == 3 and test[1] in _COMPARISONS and is_whole(test[0]) and is_whole(test[2]):
        return _COMPARISONS[test[1]](int(test[0]), int(test[2]))
    return None
