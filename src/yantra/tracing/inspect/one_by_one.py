"""Reads a job's ranks one after the other and keeps little of each, on all cores.

A process holds one trace at a time; the ranks are dealt out to forked processes. Where there is no
fork, or one process fails, all is done in this one, which then tells the error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Generic, NamedTuple, TypeVar

from yantra.base.cores import cores
from yantra.base.errors import TraceError
from yantra.base.notes import note, notes_to
from yantra.chakra import files
from yantra.tracing.inspect.rank_traces import TraceFile
from yantra.tracing.inspect.surveyed import digest_of
from yantra.tracing.pytorch.on_cores import FailedError, answers, be_child_of, begin, pays

Kept = TypeVar("Kept")
Progress = Callable[[int, int], None]  # read, to read


class OfRank(NamedTuple, Generic[Kept]):
    """What is kept of a rank; equal files share it and the `key`."""

    rank: int
    path: str
    key: object
    kept: Kept


class _Answer(NamedTuple, Generic[Kept]):
    """`kept` is None where this process has told it of an equal file."""

    key: object
    kept: Kept | None
    notes: list[str]


class Reading(Generic[Kept]):
    """How to read a file: `keep` what of its content, or of the error that it cannot be read.

    `alike`: whether the same is kept of equal files.
    """

    def __init__(
        self,
        keep: Callable[[TraceFile, files.Content], Kept],
        unreadable: Callable[[TraceFile, TraceError], Kept] | None = None,
        *,
        alike: bool = True,
    ) -> None:
        self._keep, self._unreadable, self._alike = keep, unreadable, alike
        self._told: set[object] = set()

    def answer(self, file: TraceFile) -> _Answer[Kept]:
        notes: list[str] = []
        with notes_to(notes.append):
            key, kept = self._read(file)
        return _Answer(key, kept, notes)

    def _read(self, file: TraceFile) -> tuple[object, Kept | None]:
        try:
            content = files.Content(file.path)
            key = digest_of(content) if self._alike else None
        except TraceError as error:
            if self._unreadable is None:
                raise
            return file, self._unreadable(file, error)
        if key is None:
            return file, self._keep(file, content)
        if key in self._told:
            return key, None
        self._told.add(key)
        return key, self._keep(file, content)


def kept_of(
    given: Sequence[TraceFile],
    reading: Callable[[], Reading[Kept]],
    progress: Progress | None = None,
) -> list[OfRank[Kept]]:
    """What is kept of files in ascending order of ranks; raises TraceError as reading does."""
    workers = min(cores(), len(given))
    if workers > 1 and pays([_size(file.path) for file in given]):
        try:
            return _joined(given, _forked(given, reading, workers, progress))
        except FailedError:
            pass
    return _joined(given, _alone(given, reading(), progress))


def _alone(
    given: Sequence[TraceFile], reading: Reading[Kept], progress: Progress | None
) -> Iterator[_Answer[Kept]]:
    for done, file in enumerate(given, 1):
        yield reading.answer(file)
        if progress is not None:
            progress(done, len(given))


def _joined(given: Sequence[TraceFile], answers: Iterable[_Answer[Kept]]) -> list[OfRank[Kept]]:
    known: dict[object, Kept] = {}
    rows = []
    for file, answer in zip(given, answers, strict=True):
        if answer.key not in known:
            assert answer.kept is not None
            known[answer.key] = answer.kept
            for text in answer.notes:
                note(text)
        rows.append(OfRank(file.rank, file.path, answer.key, known[answer.key]))
    return rows


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _forked(
    given: Sequence[TraceFile],
    reading: Callable[[], Reading[Kept]],
    workers: int,
    progress: Progress | None,
) -> list[_Answer[Kept]]:
    context = get_context("fork")
    processes: list[BaseProcess] = []
    left: dict[Connection, int] = {}
    try:
        for at in range(workers):
            here, there = context.Pipe()
            mine = range(at, len(given), workers)
            process: BaseProcess = context.Process(
                target=_serve, args=(there, os.getpid(), given, mine, reading), daemon=True
            )
            begin(process)
            there.close()
            processes.append(process)
            left[here] = len(mine)
        pipes = list(left)
        found: dict[int, _Answer[Kept]] = {}
        for _, (place, answer) in answers(left):
            found[place] = answer
            if progress is not None:
                progress(len(found), len(given))
    finally:
        for process in processes:
            process.terminate()
            process.join()
    for pipe in pipes:
        pipe.close()
    return [found[place] for place in range(len(given))]


def _serve(
    pipe: Connection,
    parent: int,
    given: Sequence[TraceFile],
    mine: Sequence[int],
    reading: Callable[[], Reading[Kept]],
) -> None:
    be_child_of(parent)
    try:
        own = reading()
        for place in mine:
            pipe.send(("done", (place, own.answer(given[place]))))
    except BaseException:
        pipe.send(("failed", None))
