"""Serving as a stream: requests are read, served and written piece by piece.

A request's row is written when it ends; of all that ended only times are kept, so percentiles are
exact, 40 bytes a request. Gaps between tokens count in bins a thousandth wide: their percentiles
and mean are off by less than 0.05 %. Rows come in the order in which requests end.
"""

from __future__ import annotations

import csv
from collections import Counter
from contextlib import ExitStack
from functools import partial
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.errors import DeadlockError, UnsupportedError
from yantra.base.output import whole_file
from yantra.base.text import count
from yantra.serving.answer import Served
from yantra.serving.fleet import PS, FullError
from yantra.serving.rows import listed, named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yantra.base.documents import Path
    from yantra.serving.fleet import Fleet
    from yantra.serving.requests.pieces import Pieces
    from yantra.serving.serve import Question

PLACES = (1 << 16, 1 << 18, 1 << 20, 1 << 22)
"""Requests that may be under way, tried in turn."""
_BIN = log(1.001)
_SUMS = ("restarts", "cached", "recomputed")
_OF_ONE = ("arrival", "ttft", "tpot", "e2e", "queue")


class Lengths(NamedTuple):
    """What measures ask of requests."""

    output: np.ndarray

    def __len__(self) -> int:
        return len(self.output)


class StreamedRan:
    """As `Ran`, of what is left of each request: its times, in the order in which they ended."""

    def __init__(self) -> None:
        self.core: Any = None
        self._parts: dict[str, list[np.ndarray]] = {name: [] for name in (*_OF_ONE, "output")}
        self._sums: Counter[str] = Counter()
        self._spent: list[int] = []
        self._behind: list[int] = []
        self._gaps: Counter[int] = Counter()
        self._finish = 0

    def takes(self, core: Any) -> None:
        """Count what ended."""
        self.core = core
        columns = {name: np.asarray(getattr(core, name)) for name in ("arrival", "finish")}
        if not len(columns["finish"]):
            return
        arrival, finish = columns["arrival"], columns["finish"]
        first, start, output = (
            np.asarray(getattr(core, name)) for name in ("first_token", "start", "output")
        )
        many = output > 1
        added = {
            "arrival": arrival,
            "ttft": (first - arrival) / PS,
            "tpot": (finish - first)[many] / PS / (output[many] - 1),
            "e2e": (finish - arrival) / PS,
            "queue": (start - arrival) / PS,
            "output": output.astype(np.int32),
        }
        for name, column in added.items():
            self._parts[name].append(column)
        self._finish = max(self._finish, int(finish.max()))
        for name in _SUMS:
            self._sums[name] += int(np.asarray(getattr(core, name)).sum())
        self._spent = _more(self._spent, core.spent, len(finish))
        self._behind = _more(self._behind, core.behind, len(finish))
        self._count_gaps(core)

    def _count_gaps(self, core: Any) -> None:
        first, growth, many, sequences = (
            np.asarray(getattr(core, f"gap_{name}"))
            for name in ("first", "growth", "count", "sequences")
        )
        step = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        value = np.repeat(first, many) + np.repeat(growth, many) * step
        places = np.floor(np.log(np.maximum(value, 1)) / _BIN).astype(np.int64)
        found = np.bincount(places, weights=np.repeat(sequences, many))
        self._gaps.update({int(at): int(found[at]) for at in np.flatnonzero(found)})

    def column(self, name: str) -> np.ndarray:
        """Of all requests their arrivals, of counts their sum, else what the core has."""
        if name == "arrival":
            return self._all(name)
        if name in _SUMS:
            return np.array([self._sums[name]])
        return np.asarray(getattr(self.core, name))

    @property
    def requests(self) -> Lengths:
        return Lengths(self._all("output"))

    @property
    def ttft_s(self) -> np.ndarray:
        return self._all("ttft")

    @property
    def tpot_s(self) -> np.ndarray:
        return self._all("tpot")

    @property
    def e2e_s(self) -> np.ndarray:
        return self._all("e2e")

    @property
    def queue_s(self) -> np.ndarray:
        return self._all("queue")

    @property
    def gaps_s(self) -> tuple[np.ndarray, np.ndarray]:
        places = np.array(sorted(self._gaps), np.float64)
        return np.exp((places + 0.5) * _BIN) / PS, np.array([self._gaps[int(at)] for at in places])

    @property
    def spent_s(self) -> np.ndarray:
        """One row, the mean of all."""
        return np.array([self._spent[1:]]) / PS / len(self.requests)

    @property
    def behind_s(self) -> np.ndarray:
        """One row, the mean of all."""
        return np.array([self._behind]) / PS / len(self.requests)

    @property
    def makespan_s(self) -> float:
        return (self._finish - int(self._all("arrival").min())) / PS

    def _all(self, name: str) -> np.ndarray:
        parts = self._parts[name]
        if len(parts) > 1:
            self._parts[name] = parts = [np.concatenate(parts)]
        return parts[0]


def streamed(
    pieces: Pieces,
    ask: Callable[[Any], Question],
    path: Path | None = None,
    *,
    intervals: bool = True,
) -> Served:
    """Serve what `ask` makes of the longest requests, piece by piece; rows go to `path`.

    Raises UnsupportedError for what needs all requests at once, and DeadlockError for requests
    that can never end.
    """
    from yantra.serving.serve import fleet_of

    extremes = pieces.extremes()
    question = ask(extremes.longest)
    fleet, rooms = fleet_of(question)
    best = _ran(fleet, pieces, extremes.number, path)
    ends: Any = None
    if intervals and (factors := fleet.extremes):
        ends = tuple(_ran(fleet, pieces, extremes.number, None, factor) for factor in factors)
    return Served(question, fleet, rooms, best, ends)  # type: ignore[arg-type]


def _ran(
    fleet: Fleet, pieces: Pieces, number: int, path: Path | None, factor: float = 1.0
) -> StreamedRan:
    for places in PLACES:
        try:
            return _once(fleet.stream(pieces, places, factor=factor), number, path)
        except FullError:
            continue
    raise UnsupportedError(
        f"stream: more than {PLACES[-1]:,} requests are under way at once; "
        "the fleet is overloaded, give it more replicas"
    )


def _once(drained: Iterator[Any], number: int, path: Path | None) -> StreamedRan:
    ran = StreamedRan()
    with ExitStack() as stack:
        writer: Any = None
        if path is not None:
            name = stack.enter_context(whole_file(path))
            file = stack.enter_context(open(name, "w", newline="", encoding="utf-8"))
            writer = csv.writer(file, lineterminator="\n")
        for at, core in enumerate(drained):
            ran.takes(core)
            if writer is not None:
                rows = named(core.row, core.prompt, core.output, partial(getattr, core))
                if at == 0:
                    writer.writerow(rows)
                writer.writerows(zip(*listed(rows), strict=True))
    if ran.core.finished < number:
        left = count(number - ran.core.finished, "request")
        raise DeadlockError(
            f"{left} can never end: they need more KV, or more tokens in an iteration, than an "
            "engine has; give more memory (tp, num_blocks) or a larger max_num_batched_tokens"
        )
    return ran


def _more(sums: list[int], column: Any, size: int) -> list[int]:
    of = np.asarray(column).reshape(size, -1)
    added = [int(one) for one in of.sum(axis=0)]
    return [a + b for a, b in zip(sums, added, strict=True)] if sums else added
