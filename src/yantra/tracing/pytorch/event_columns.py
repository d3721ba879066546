"""Events of a device trace in columns, objects when asked for.

The core fills them from usual files; others come as objects, into the same columns.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from yantra import _core
from yantra.base.errors import TraceError
from yantra.tracing.pytorch.events import Args, Event, ShapedArgs
from yantra.tracing.pytorch.linked import CommArgs

Column = np.ndarray[Any, np.dtype[Any]]

NONE = _core.KinetoFile.NO_NUMBER
ODD = -(1 << 62)
"""Numbers up to this one stand for what is no number: equal ones for equal values."""

_ARGS = msgspec.json.Decoder(Args, strict=False)
_DETAILS = {  # columns of arguments
    "external": "external_id",
    "rf_id": "rf_id",
    "seq_id": "seq_id",
    "correlation": "correlation",
    "stream": "stream",
    "device": "device",
    "size": "bytes",
}


class Events(Sequence[Event]):
    """`name` and `cat` are numbers of `texts`, `shapes` of `inputs`; what is not there is NONE.

    Times are in ns; `place`: in the file. `owner`: of calls, an operator's place or -1, once known.
    """

    start: Column
    end: Column
    pid: Column
    tid: Column
    name: Column
    cat: Column
    place: Column
    id: Column
    external: Column
    rf_id: Column
    seq_id: Column
    correlation: Column
    stream: Column
    device: Column
    size: Column
    _always: ClassVar = ("start", "end", "pid", "tid", "name", "cat", "place")
    _numbers: ClassVar = ("id", *_DETAILS)

    def __init__(
        self,
        columns: Mapping[str, Any],
        texts: list[str],
        args: Mapping[int, Any],
        inputs: list[bytes],
        objects: Sequence[Event] | None = None,
    ) -> None:
        self.texts = texts
        self.inputs = inputs
        self.owner: Column | None = None
        self._args = args
        self._objects = objects
        for name in self._always:
            setattr(self, name, np.asarray(columns[name]))
        rows = len(self.start)
        self.shapes = np.asarray(columns.get("shapes", ()))
        for name in self._numbers:
            column = np.asarray(columns.get(name, ()))
            missing = np.broadcast_to(np.int64(NONE), rows)
            setattr(self, name, column if len(column) == rows and rows else missing)

    @classmethod
    def of(cls, events: Sequence[Event], where: str = "link") -> Events:
        """Columns of objects. Raises TraceError for numbers of more than 64 bits."""
        try:
            return events if isinstance(events, Events) else _of_objects(events)
        except OverflowError:
            raise TraceError(
                f"{where}: an event has a number of more than 64 bits; expected what a profiler "
                "writes: record again, or leave that event out"
            ) from None

    def __len__(self) -> int:
        return len(self.start)

    def __iter__(self) -> Iterator[Event]:
        return (self[at] for at in range(len(self)))

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        row = range(len(self))[at]
        made: Event = self._made(row) if self._objects is None else self._objects[row]
        made.owner = -1 if self.owner is None else int(self.owner[row])
        return made

    def _made(self, row: int) -> Event:
        known: dict[str, Any] = {
            field: int(value)
            for name, field in _DETAILS.items()
            if (value := getattr(self, name)[row]) != NONE
        }
        return Event(
            "X",
            self.texts[self.cat[row]],
            self.texts[self.name[row]],
            int(self.pid[row]),
            int(self.tid[row]),
            id=None if self.id[row] == NONE else int(self.id[row]),
            args=self.argument(row) or Args(**known),
            start=int(self.start[row]),
            end=int(self.end[row]),
            index=int(self.place[row]),
        )

    def argument(self, row: int) -> Args | None:
        """All arguments, of events that communicate or synchronise."""
        known = self._args.get(row)
        return _ARGS.decode(known) if isinstance(known, bytes) else known

    def comms(self) -> dict[int, CommArgs]:
        """What collectives say, by row."""
        made = ((row, self.argument(row)) for row in sorted(self._args))
        found = ((row, args.comm()) for row, args in made if args is not None)
        return {row: comm for row, comm in found if comm is not None}

    def named(self, holds: Callable[[str], bool]) -> Column:
        """Whether the name of each is such."""
        return flags(self.texts, holds)[self.name]

    def is_of(self, category: str) -> Column:
        return flags(self.texts, category.__eq__)[self.cat]

    def categories(self) -> dict[str, int]:
        """How many are of each, the first of them first."""
        found, first, counts = np.unique(self.cat, return_index=True, return_counts=True)
        order = np.argsort(first)
        return {self.texts[found[at]]: int(counts[at]) for at in order}

    def rows(self, kept: Column) -> Events:
        """Those rows that are kept, without all that they say."""
        if kept.all():
            return self
        columns = {name: getattr(self, name) for name in (*self._always, *self._numbers)}
        # A column without a number takes no memory, nor will it.
        some = {name: column[kept] for name, column in columns.items() if column.strides[0]}
        objects = self._objects
        own = None if objects is None else [objects[at] for at in np.flatnonzero(kept).tolist()]
        return Events(some, self.texts, {}, [], own)


def flags(texts: Sequence[str], holds: Callable[[str], bool]) -> Column:
    return np.fromiter((holds(text) for text in texts), bool, len(texts))


def is_number(column: Column) -> Column:
    return column > ODD


def distinct(texts: Iterable[Any], column: Any) -> tuple[list[Any], Column]:
    """Texts once each, and the column of their places."""
    known: dict[Any, int] = {}
    places = [known.setdefault(text, len(known)) for text in texts]
    column = np.asarray(column)
    same = len(known) == len(places)
    return list(known), column if same else np.array(places, np.uint32)[column]


def _of_objects(events: Sequence[Event]) -> Events:
    texts: dict[str, int] = {}
    shapes: dict[bytes, int] = {}
    details = [event.detail for event in events]
    columns: dict[str, Any] = {
        "start": _numbers(event.start for event in events),
        "end": _numbers(event.end for event in events),
        "place": _numbers(event.index for event in events),
        "pid": _numbers(_number(event.pid) for event in events),
        "tid": _numbers(_number(event.tid) for event in events),
        "id": _numbers(_identity(event.id) for event in events),
        "name": _places((event.name or "" for event in events), texts),
        "cat": _places((event.cat or "" for event in events), texts),
    }
    for name, field in _DETAILS.items():
        values = (getattr(detail, field) for detail in details)
        columns[name] = _numbers(NONE if value is None else _number(value) for value in values)
    if any(isinstance(one, ShapedArgs) for one in details):
        columns["shapes"] = _places((_shapes(one) for one in details), shapes)
    args = {row: one for row, one in enumerate(details) if isinstance(one, Args)}
    return Events(columns, list(texts) or [""], args, list(shapes), events)


def _numbers(values: Iterable[int]) -> Column:
    return np.fromiter(values, np.int64)


def _number(value: Any) -> int:
    return int(value) if isinstance(value, int) else ODD - zlib.crc32(repr(value).encode())


def _identity(value: Any) -> int:
    return _number(value) if isinstance(value, int | str) else NONE


def _places(values: Iterable[Any], known: dict[Any, int]) -> Column:
    return np.fromiter((known.setdefault(value, len(known)) for value in values), np.uint32)


def _shapes(args: Args) -> bytes:
    """As the core has them."""
    if not isinstance(args, ShapedArgs):
        return b"[]\0" * 4
    texts = (args.dims, args.types, args.concrete, args.strides)
    return b"".join(bytes(text) + b"\0" for text in texts)
