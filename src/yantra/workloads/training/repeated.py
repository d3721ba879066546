"""The work of many equal layers from the work of four: built once, the third copied.

Only the first and last of equal layers differ. If the second and third are equal, operation by
operation, the third is copied with names, places and tags moved; otherwise, or if a later operation
needs one before the third, there is no pattern. Trade-off: only the longest run is copied;
alternating layers are all built.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from yantra.workloads.operators.operations import Operation, Pass, StageWork, Weight

BUILT = 4
_LAYER = re.compile(r"layers\.(\d+)(.*)", re.DOTALL)
_BEHIND = Operation._fields.index("after") + 1
_make = tuple.__new__


class Run(NamedTuple):
    """Consecutive equal layers: the place of the first in the chunk, and how many."""

    first: int
    length: int


def longest_run(layers: Sequence[Any]) -> Run:
    best = Run(0, 0)
    first = 0
    for at in range(1, len(layers) + 1):
        if at == len(layers) or layers[at] != layers[first]:
            if at - first > best.length:
                best = Run(first, at - first)
            first = at
    return best


class Pattern(NamedTuple):
    """The work of a chunk with four layers of a run, which begins at its layer `first`."""

    first: int
    forward: _PassPattern
    backward: _PassPattern
    weights: tuple[Weight, ...]
    input_bytes: int
    output_bytes: int
    waits: tuple[tuple[str, int], ...] = ()

    def work(self, layer: int, count: int) -> StageWork:
        """The work where the chunk begins with `layer` and the run has `count` layers."""
        extra = count - BUILT
        return StageWork(
            self.forward.expanded(layer, extra),
            self.backward.expanded(layer, extra),
            self._weights(layer, extra),
            self.input_bytes,
            self.output_bytes,
            tuple(self._waits(layer, extra)),
        )

    def _waits(self, layer: int, extra: int) -> Iterator[tuple[str, int]]:
        third = self.first + 2
        for unit, size in self.waits:
            number, _ = _numbered(unit)
            if number is None:
                yield unit, size
                continue
            begins = layer + number + (extra if number > third else 0)
            for more in range(1 + (extra if number == third else 0)):
                yield f"layers.{begins + more}", size

    def _weights(self, layer: int, extra: int) -> tuple[Weight, ...]:
        third = self.first + 2
        made: list[Weight] = []
        copied: list[Weight] = []
        numbers = [_numbered(weight.unit)[0] for weight in self.weights]
        for weight, number in zip(self.weights, numbers, strict=True):
            if copied and number != third:
                made += [
                    _moved(one, layer + more) for more in range(1, extra + 1) for one in copied
                ]
                copied = []
            if number == third:
                copied.append(weight)
            shift = layer + extra if number is not None and number > third else layer
            made.append(weight if number is None else _moved(weight, shift))
        return tuple(made)


def pattern_of(work: StageWork, first: int, longer: StageWork | None = None) -> Pattern | None:
    """The pattern of a chunk whose layers `first` to `first + 3` are equal, if it has one.

    Layers of `work` are numbered from 0. `longer` has one more; it is needed where an operation
    outside the layers may keep bytes of each of them.
    """
    forward, backward = (_pass_pattern(one, first) for one in (work.forward, work.backward))
    second, third = (
        [_moved(weight, -at) for weight in work.weights if weight.unit == f"layers.{at}"]
        for at in (first + 1, first + 2)
    )
    numbers = [_numbered(weight.unit)[0] for weight in work.weights]
    layered = [number for number in numbers if number is not None]
    if forward is None or backward is None or second != third or layered != sorted(layered):
        return None
    waits = dict(work.waits)
    if waits.get(f"layers.{first + 1}") != waits.get(f"layers.{first + 2}"):
        return None
    found = Pattern(
        first, forward, backward, work.weights, work.input_bytes, work.output_bytes, work.waits
    )
    return found if longer is None else _with_growth(found, longer)


def _with_growth(pattern: Pattern, longer: StageWork) -> Pattern | None:
    made = pattern.work(0, BUILT + 1)
    grown = []
    for pattern_pass, one, other in (
        (pattern.forward, made.forward, longer.forward),
        (pattern.backward, made.backward, longer.backward),
    ):
        if len(one.operations) != len(other.operations):
            return None
        growth = tuple(
            (at, b.saves - a.saves, b.frees - a.frees)
            for at, (a, b) in enumerate(zip(one.operations, other.operations, strict=True))
            if a is not b and a != b
        )
        fourth = pattern_pass.starts[3] if pattern_pass.parts else 0
        if any(at >= fourth for at, _, _ in growth):
            return None
        grown.append(pattern_pass._replace(growth=growth))
    pattern = pattern._replace(forward=grown[0], backward=grown[1])
    return pattern if pattern.work(0, BUILT + 1) == longer else None


def _moved(weight: Weight, shift: int) -> Weight:
    number, rest = _numbered(weight.name)
    unit = f"layers.{(number or 0) + shift}"
    return Weight(f"{unit}{rest}", unit, *weight[2:])


@lru_cache(maxsize=4096)
def _numbered(name: str) -> tuple[int | None, str]:
    found = _LAYER.fullmatch(name)
    return (int(found[1]), found[2]) if found else (None, name)


class _Part(NamedTuple):
    """An operation of a pattern: its layer in the chunk and its name's, where it has one.

    `named` counts from the operation's layer, if any. `rest` is the name after the layer, `more`
    the fields after `after`.
    """

    layer: int | None
    named: int | None
    rest: str
    operation: Operation
    more: tuple[Any, ...]

    @classmethod
    def of(cls, operation: Operation) -> _Part:
        layer, _ = _numbered(operation.unit)
        named, rest = _numbered(operation.name)
        if named is not None and layer is not None:
            named -= layer
        return cls(layer, named, rest, operation, operation[_BEHIND:])

    def at(self, layer: int, after: tuple[int, ...], tags: int) -> Operation:
        one = self.operation
        own = self.named if self.layer is None else self.layer
        if (own is None or own == layer) and after is one.after and not tags:
            return one
        name, unit, more = one.name, one.unit, self.more
        if self.layer is not None:
            unit = f"layers.{layer}"
            layer += self.named or 0
        if self.named is not None:
            name = f"layers.{layer}{self.rest}"
        if tags and one.peer:
            more = one._replace(tag=one.tag + tags)[_BEHIND:]
        return _make(Operation, (name, one.kind, one.phase, unit, after, *more))


class _PassPattern(NamedTuple):
    """A pass over a chunk with four layers of a run, from the chunk's `first` on.

    `starts` are where the four begin, and the last ends. `step` is 1 where layers ascend, else -1.
    `tags` is the difference between two layers. `growth` are operations before the copies that save
    and free more for each layer.
    """

    parts: tuple[_Part, ...]
    entries: tuple[int, ...]
    exit: int | None
    first: int
    starts: tuple[int, ...]
    step: int
    tags: int
    growth: tuple[tuple[int, int, int], ...] = ()

    def expanded(self, layer: int, extra: int) -> Pass:
        if not self.parts:
            return Pass(())
        opening, _, third, fourth, _ = self.starts
        length = fourth - third
        shift, tags = extra * length, extra * self.tags
        made: list[Operation] = []
        for part in self.parts[:fourth]:
            made.append(part.at(self._number(part, layer, extra), part.operation.after, 0))
        for at, saves, frees in self.growth:
            one = made[at]
            more_saves, more_frees = one.saves + extra * saves, one.frees + extra * frees
            made[at] = one._replace(saves=more_saves, frees=more_frees)
        begins = layer + self.first + (2 if self.step > 0 else extra + 1)
        for more in range(1, extra + 1):
            number, by = begins + self.step * more, more * length
            for part in self.parts[third:fourth]:
                after = tuple([at + by if at >= opening else at for at in part.operation.after])
                made.append(part.at(number, after, more * self.tags))
        for part in self.parts[fourth:]:
            after = tuple([at + shift if at >= third else at for at in part.operation.after])
            made.append(part.at(self._number(part, layer, extra), after, tags))
        entries = tuple(at + shift if at >= fourth else at for at in self.entries)
        exit = self.exit
        if exit is not None and exit >= third:
            exit += shift
        return Pass(tuple(made), entries, exit)

    def _number(self, part: _Part, layer: int, extra: int) -> int:
        number = part.named if part.layer is None else part.layer
        if number is None:
            return 0
        # A descending pass copies the second layer.
        last = self.first + (2 if self.step > 0 else 0)
        return layer + number + (extra if number > last else 0)


def _pass_pattern(one: Pass, first: int) -> _PassPattern | None:
    if not one.operations:
        return _PassPattern((), (), None, first, (), 1, 0)
    parts = tuple(map(_Part.of, one.operations))
    layers = [part.layer for part in parts]
    run = range(first, first + BUILT)
    if any(number not in layers for number in run):
        return None
    found = {number: layers.index(number) for number in run}
    order = sorted(run, key=found.__getitem__)
    starts = [found[number] for number in order]
    end = len(layers) - layers[::-1].index(order[-1])
    cut = [*starts, end]
    whole = [
        number for number, at, to in zip(order, cut, cut[1:], strict=False) for _ in range(to - at)
    ]
    step = order[1] - order[0]
    inner = {first + 1, first + 2}
    tags = _tags_between(parts, cut)
    if (
        layers[starts[0] : end] != whole
        or order not in (list(run), list(run)[::-1])
        or tags is None
        or not _are_alike(parts, cut)
        or any(part.layer is None and part.named in inner for part in parts)
        or any(starts[1] <= at < starts[3] for at in one.entries)
        or (one.exit is not None and starts[0] <= one.exit < starts[2])
    ):
        return None
    return _PassPattern(parts, one.entries, one.exit, first, tuple(cut), step, tags)


def _are_alike(parts: tuple[_Part, ...], starts: list[int]) -> bool:
    opening, second, third, fourth, _ = starts
    length = fourth - third
    if third - second != length:
        return False
    for one, other in zip(parts[second:third], parts[third:fourth], strict=True):
        a, b = (part.operation._replace(name="", unit="", after=(), tag=0) for part in (one, other))
        afters = one.operation.after, other.operation.after
        if a != b or (one.named, one.rest) != (other.named, other.rest):
            return False
        if [at + length if at >= opening else at for at in afters[0]] != list(afters[1]):
            return False
        if any(at < second for at in afters[1] if at >= opening):
            return False
    return not any(opening <= at < third for part in parts[fourth:] for at in part.operation.after)


def _tags_between(parts: tuple[_Part, ...], starts: list[int]) -> int | None:
    second, third, fourth = starts[1:4]
    pairs = zip(parts[second:third], parts[third:fourth], strict=False)
    by = {b.operation.tag - a.operation.tag for a, b in pairs if a.operation.peer}
    return None if len(by) > 1 else by.pop() if by else 0
