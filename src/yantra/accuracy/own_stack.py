"""A user's own stack: the shipped stacks ranked on own steps, and the best moved to them.

Ranking takes each shipped stack as `yantra run --stack NAME` does and compares seconds. The best is
moved by `own_fit.moved`, and moved again from where that leads, as other factors make another path
the longest. All machines of the steps are moved alike: a framework is one thing, and what its
machines differ by, the shipped stack says. Steps beside a profile of their machine are moved apart.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from math import exp
from statistics import fmean, median
from typing import NamedTuple

from yantra.accuracy.own_fit import S0, Moved, moved
from yantra.accuracy.rows import Row
from yantra.accuracy.with_stack import Refused, Step, with_stacks
from yantra.base.errors import ConfigError
from yantra.base.text import count
from yantra.fabric.clusters.types import Number
from yantra.fabric.stacks.find import parsed
from yantra.fabric.stacks.types import ANY, EIGHT_BITS, FACTORS, GIVEN, NOTHING, Stack, Terms

UNMOVED = Moved((0.0, 0.0, 0.0), S0, 0.0, S0)
ROUNDS = 3  # in which a stack is moved, each from where the last led

Told = Callable[[int, int], None]


class Rank(NamedTuple):
    """How far a stack is from steps: errors as shares of the measured times.

    `bias` is the mean error with its sign, `covered` the share within the 90 % interval, None where
    the stack has none. `refused` says why a step cannot be run with it; the figures are then 0.
    """

    stack: str
    title: str
    mean: float = 0.0
    median: float = 0.0
    bias: float = 0.0
    covered: float | None = None
    refused: str = ""


def ranked(
    rows: Sequence[Row],
    candidates: Sequence[Stack],
    told: Told = lambda *_: None,
    *,
    intervals: bool = True,
) -> list[Rank]:
    """Return the stacks, that of the least mean error first, and last those that are refused.

    Without `intervals` nothing is said of them, in a third of the time.
    """
    runs = []
    for done, row in enumerate(rows):
        runs.append(with_stacks(row, candidates, intervals=intervals))
        told(done + 1, len(rows))
    found = [_rank(stack, [of_row[at] for of_row in runs]) for at, stack in enumerate(candidates)]
    return sorted(found, key=lambda one: (bool(one.refused), one.mean, one.stack))


def _rank(stack: Stack, runs: Sequence[Step | Refused]) -> Rank:
    steps = [one for one in runs if isinstance(one, Step)]
    for one in runs:
        if isinstance(one, Refused):
            return Rank(stack.name, stack.title, refused=f"{one.row.name}: {one.why}")
    off = [one.error for one in steps]
    size = [abs(one) for one in off]
    held = [one.held for one in steps if one.held is not None]
    covered = fmean(held) if held else None
    return Rank(stack.name, stack.title, fmean(size), median(size), fmean(off), covered)


def best_of(ranking: Sequence[Rank], candidates: Sequence[Stack]) -> Stack:
    """Return the stack that is ranked first. Raises ConfigError where a step of all is refused."""
    if ranking[0].refused:
        name, _, why = ranking[0].refused.partition(": ")
        raise ConfigError(name, why)
    return next(one for one in candidates if one.name == ranking[0].stack)


class Own(NamedTuple):
    """A stack moved to steps: its file, the stack that it is, and the moves.

    `moves` has those of steps without a profile, those beside one, or both.
    """

    text: str
    stack: Stack
    moves: tuple[Moved, ...]


def own_stack(rows: Sequence[Row], start: Stack, title: str, path: str) -> Own:
    """Return a stack moved to steps; `path` is where its file will be, and names it.

    Raises ConfigError for a step that cannot be run.
    """
    groups = [[row for row in rows if not row.profile], [row for row in rows if row.profile]]
    found: list[tuple[list[Row], Moved]] = []
    for group in groups:
        if group:
            found.append((group, _moved_from(group, start, title, path)))
    text = _file(start, title, found)
    return Own(text, parsed(text, path), tuple(one for _, one in found))


def _moved_from(rows: list[Row], start: Stack, title: str, path: str) -> Moved:
    """Return the moves of steps, taken again at the paths that they lead to."""
    is_measured = bool(rows[0].profile)
    stack = parsed(_file(start, title, [(rows, UNMOVED)]), path) if is_measured else start
    moves: tuple[float, ...] = (0.0, 0.0, 0.0)
    for _ in range(ROUNDS):
        steps = [run_of(row, stack) for row in rows]
        off = [
            one.off + sum(h * d for h, d in zip(one.shares, moves, strict=True)) for one in steps
        ]
        found = moved(off, [one.shares for one in steps], is_measured=is_measured)
        moves = found.moves
        stack = parsed(_file(start, title, [(rows, found)]), path)
    return found


def run_of(row: Row, stack: Stack) -> Step:
    """Return a row run with a stack. Raises ConfigError where that is refused."""
    (one,) = with_stacks(row, [stack])
    if isinstance(one, Refused):
        raise ConfigError(row.name, one.why)
    return one


def key_of(row: Row) -> str:
    """Return the machine that the terms of a row stand at."""
    return f"{row.machine} fp8" if row.dtype in EIGHT_BITS else row.machine


def _file(start: Stack, title: str, found: Sequence[tuple[list[Row], Moved]]) -> str:
    """Return the text of a stack: the terms of `start`, moved."""
    rows = f"the user's own steps, from stack {start.name}"
    sources = dict(start.sources) | {"own": rows}
    lines = [f"title: {json.dumps(title)}", "", "sources:"]
    lines += [f"  {key}: {json.dumps(text)}" for key, text in sources.items()]
    if start.copies is not None:
        lines += ["", f"copies: {_number(start.copies)}"]
    lines += ["", *start.lines(), "machines:"]
    machines: dict[str, list[str]] = {}
    for group, moves in found:
        for row in group:
            of_key = [one for one in group if key_of(one) == key_of(row)]
            if key_of(row) not in machines:
                terms = start.terms(row.machine, row.dtype)[1]
                machines[key_of(row)] = _terms(key_of(row), terms, moves, of_key, start.name)
    group, moves = found[0] if not found[0][0][0].profile else ([], UNMOVED)
    machines[ANY] = _terms(ANY, start.terms()[1], moves, group, start.name)
    return "\n".join([*lines, *(line for one in machines.values() for line in one)]) + "\n"


def _terms(key: str, terms: Terms, moves: Moved, rows: Sequence[Row], start: str) -> list[str]:
    """Return the lines of a machine; without rows nothing is moved.

    Beside a profile of the steps' machine products and attention are as measured there.
    """
    own = rows[0].profile if rows else ""
    profile = own or terms.profile if key != ANY else ""
    steps, models = (
        (len(rows), len({row.fold for row in rows})) if rows else (terms.rows, terms.models)
    )
    lines = [f"  {json.dumps(key)}:", f"    rows: {steps}", f"    models: {models}"]
    if profile:
        lines.append(f"    profile: {json.dumps(profile)}")
    why = f"{start}, moved by {count(len(rows), 'step')} [own]" if rows else f"{start} [own]"
    for name, move in zip(FACTORS, moves.moves, strict=True):
        is_known = bool(own) and name != "rest"  # its kernels were measured
        value = 1.0 if is_known else getattr(terms, name).value * exp(move)
        lines.append(
            f"    {name}: {{value: {value:.6g}, basis: derived, source: {json.dumps(why)}}}"
        )
    for name in ("communication", *GIVEN):
        if (number := getattr(terms, name)) != NOTHING:
            lines.append(f"    {name}: {_number(number)}")
    width, why = moves.interval, f"own steps scatter by {moves.scatter:.1%} [own]"
    if key == ANY and terms.interval.value >= width:
        width, why = terms.interval.value, f"that of {start} [own]"
    lines.append(f"    interval: {{value: {width:.3f}, basis: derived, source: {json.dumps(why)}}}")
    return lines


def _number(number: Number) -> str:
    """Return a number as a file states it."""
    basis = "" if number.basis == "published" else f", basis: {number.basis}"
    return f"{{value: {number.written}{basis}, source: {json.dumps(number.source)}}}"
