"""`Draft`: a pass of one chunk while things are added to it; `Item`, what comes out.

Unchanged operations come out as stretches, which the core reads; items are made on demand. An
operation's key is its position in the `StageWork`, so gathers, reductions, messages and memory
accesses can be added independently; several in one place keep their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Literal, NamedTuple

from yantra.workloads.operators.operations import Operation

Source = Literal["", "forward", "backward", "neighbour", "reductions"]
"""Where the awaited operation is: in this pass; in the forward or input-gradient pass of the same
chunk and micro-batch; in the device's neighbouring stage's pass; or all gradient collectives so
far."""

LOAD = "mem_load"
STORE = "mem_store"


class Wait(NamedTuple):
    key: int
    is_control: bool = False
    source: Source = ""


class Item(NamedTuple):
    """An operation with what it waits for.

    `starts`: also all that the device computes before. `at_end`: after the pass and the overlapping
    one. `holds` and `releases` are bytes of buffers, such as gathered weights, from this operation
    on and after it.
    """

    key: int
    operation: Operation
    waits: tuple[Wait, ...] = ()
    starts: bool = False
    at_end: bool = False
    holds: int = 0
    releases: int = 0

    @property
    def computes(self) -> bool:
        """Whether it occupies the compute units."""
        return computes(self.operation)


class Stretch(NamedTuple):
    """Unchanged operations of a work: from place `first` on, before `end`.

    Each waits only for its own `after`; its key is its place.
    """

    operations: tuple[Operation, ...]
    first: int
    end: int

    def items(self) -> list[Item]:
        plain = self.operations[self.first : self.end]
        return [_plain_item(key, one) for key, one in enumerate(plain, self.first)]


Part = Item | Stretch


def items_of(parts: Iterable[Part]) -> tuple[Item, ...]:
    each = (one.items() if isinstance(one, Stretch) else (one,) for one in parts)
    return tuple(chain.from_iterable(each))


def computes(operation: Operation) -> bool:
    """Whether an operation occupies the compute units: no communication, no offload."""
    if operation.collective is not None or operation.peer:
        return False
    return operation.kind not in (LOAD, STORE)


class Span(NamedTuple):
    """Where a pass works on one unit of the model: keys.

    `opening` ends with the first computation; `previous` is the pass's computation before it, or
    None.
    """

    opening: tuple[int, ...]
    previous: int | None
    last: int

    @property
    def first(self) -> int:
        """The first operation of the unit."""
        return self.opening[0]


class Draft:
    """A pass under construction: operations of a `StageWork`'s pass, and additions.

    `keys` are the positions of its own operations, in order; what these need of others comes from
    the `rest`.
    """

    def __init__(
        self,
        operations: Sequence[Operation],
        keys: Iterable[int] | None = None,
        rest: Source = "",
    ) -> None:
        self.operations = operations
        self.keys = tuple(range(len(operations)) if keys is None else keys)
        self._next = len(operations)
        self._first: list[Item] = []
        self._last: list[Item] = []
        self._before: dict[int, list[Item]] = {}
        self._after: dict[int, list[Item]] = {}
        self._starts: set[int] = set()
        self._bytes: dict[int, list[int]] = {}
        self._more_waits: dict[int, list[Wait]] = {}
        self._own = None if keys is None else set(self.keys)
        self._rest = rest

    def __contains__(self, key: int | None) -> bool:
        return key in self.keys

    def roots(self) -> Iterator[int]:
        operations, more = self.operations, self._more_waits
        if self._own is None:
            return (key for key in _facts(operations).roots if key not in more)
        return (key for key in self.keys if not operations[key].after and key not in more)

    def spans(self) -> dict[str, Span]:
        """Where each unit is worked on, by their first operations."""
        if self._own is None:
            return _facts(self.operations).spans
        return _spans(self.operations, self.keys)

    def last_compute(self) -> int | None:
        return next((k for k in reversed(self.keys) if computes(self.operations[k])), None)

    def following_compute(self, key: int) -> int | None:
        """The first computation after an operation (-1: of all), if any."""
        behind = self.keys[self.keys.index(key) + 1 if key >= 0 else 0 :]
        return next((k for k in behind if computes(self.operations[k])), None)

    def wait(self, key: int, wait: Wait) -> None:
        self._more_waits.setdefault(key, []).append(wait)

    def start(self, key: int) -> None:
        """Make an operation wait for all that the device computes before this pass."""
        self._starts.add(key)

    def hold(self, key: int, size_bytes: int) -> None:
        self._bytes.setdefault(key, [0, 0])[0] += size_bytes

    def release(self, key: int, size_bytes: int) -> None:
        self._bytes.setdefault(key, [0, 0])[1] += size_bytes

    def put_first(self, operation: Operation, *waits: Wait, starts: bool = False) -> int:
        return self._add(self._first, operation, waits, starts)

    def put_before(self, key: int, operation: Operation, *waits: Wait, starts: bool = False) -> int:
        return self._add(self._before.setdefault(key, []), operation, waits, starts)

    def put_after(self, key: int, operation: Operation, *waits: Wait) -> int:
        return self._add(self._after.setdefault(key, []), operation, waits)

    def put_last(self, operation: Operation, *waits: Wait, at_end: bool = False) -> int:
        return self._add(self._last, operation, waits, at_end=at_end)

    def parts(self) -> tuple[Part, ...]:
        finished = self._finished
        parts: list[Part] = [finished(item) for item in self._first]
        parts += self._own_parts() if self._own is None else self._chosen_items()
        parts += map(finished, self._last)
        return tuple(parts)

    def items(self) -> tuple[Item, ...]:
        return items_of(self.parts())

    def _chosen_items(self) -> Iterator[Item]:
        finished = self._finished
        for key in self.keys:
            yield from map(finished, self._before.get(key, ()))
            yield finished(Item(key, self.operations[key]))
            yield from map(finished, self._after.get(key, ()))

    def _own_parts(self) -> Iterator[Part]:
        finished, operations = self._finished, tuple(self.operations)
        before, after = self._before, self._after
        changed = {*self._more_waits, *self._starts, *self._bytes}
        at, end = 0, len(operations)
        for key in sorted(key for key in {*changed, *before, *after} if key < end):
            here = key if key in changed or key in before else key + 1
            if at < here:
                yield Stretch(operations, at, here)
            at = key + 1
            yield from map(finished, before.get(key, ()))
            if key in changed:
                yield finished(Item(key, operations[key]))
            elif key in before:
                yield Stretch(operations, key, at)
            yield from map(finished, after.get(key, ()))
        if at < end:
            yield Stretch(operations, at, end)

    def _add(
        self,
        place: list[Item],
        operation: Operation,
        waits: Sequence[Wait],
        starts: bool = False,
        at_end: bool = False,
    ) -> int:
        key = self._next
        self._next += 1
        place.append(Item(key, operation, starts=starts, at_end=at_end))
        for wait in waits:
            self.wait(key, wait)
        return key

    def _finished(self, item: Item) -> Item:
        key = item.key
        waits = [*self._own_waits(key), *self._more_waits.get(key, ())]
        unique = tuple(dict.fromkeys(waits)) if len(waits) > 1 else tuple(waits)
        holds, releases = self._bytes.get(key, (0, 0))
        starts = item.starts or key in self._starts
        return Item(key, item.operation, unique, starts, item.at_end, holds, releases)

    def _own_waits(self, key: int) -> Sequence[Wait]:
        if key >= len(self.operations):
            return ()
        after = self.operations[key].after
        if self._own is None:
            return _plain_waits(after)
        own, rest = self._own, self._rest
        return [Wait(needed, False, "" if needed in own else rest) for needed in after]


class _Facts(NamedTuple):
    operations: Sequence[Operation]
    roots: tuple[int, ...]
    spans: dict[str, Span]


_KEPT = 64
_known: dict[int, _Facts] = {}
"""By id of the operations, which are kept with it."""


def _facts(operations: Sequence[Operation]) -> _Facts:
    found = _known.get(id(operations))
    if found is None:
        roots = tuple([key for key, one in enumerate(operations) if not one.after])
        found = _Facts(
            operations,
            roots,
            _spans(operations, range(len(operations))),
        )
        while len(_known) >= _KEPT:
            _known.pop(next(iter(_known)), None)
        _known[id(operations)] = found
    return found


def _spans(operations: Sequence[Operation], keys: Iterable[int]) -> dict[str, Span]:
    opening: dict[str, list[int]] = {}
    previous: dict[str, int | None] = {}
    last: dict[str, int] = {}
    before: int | None = None
    for key in keys:
        operation = operations[key]
        unit = operation.unit
        if unit not in last:
            if unit not in opening:
                opening[unit] = []
                previous[unit] = before
            opening[unit].append(key)
        if computes(operation):
            last[unit] = before = key
    return {
        unit: Span(tuple(opens), previous[unit], last[unit])
        for unit, opens in opening.items()
        if unit in last
    }


_make = tuple.__new__


def _plain_item(key: int, operation: Operation) -> Item:
    waits = _plain_waits(operation.after)
    return _make(Item, (key, operation, waits, False, False, 0, 0))


@lru_cache(maxsize=4096)
def _plain_waits(after: tuple[int, ...]) -> tuple[Wait, ...]:
    return tuple(map(Wait, dict.fromkeys(after)))
