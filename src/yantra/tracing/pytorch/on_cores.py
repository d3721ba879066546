"""Converts the ranks of a job on all cores, a process each.

A process reads its ranks one by one and says what communicates; once all ranks agree on sizes and
partners, it writes them. It is forked, so sources may be closures; where there is no fork, or one
process fails, all is done in this one, which then tells the error.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from yantra.base.children import end_with
from yantra.base.cores import cores
from yantra.base.errors import TraceError, UnsupportedError
from yantra.base.notes import note, notes_to
from yantra.tracing.pytorch.collector import without_collector
from yantra.tracing.pytorch.communicators import Communicators
from yantra.tracing.pytorch.convert import (
    KEPT,
    ConvertOptions,
    ConvertReport,
    Job,
    Ranks,
    Scan,
    Source,
    Take,
    convert_job,
    write_ranks,
)
from yantra.tracing.pytorch.sources import Recordings

_ENDS = (signal.SIGINT, signal.SIGTERM)
_LEAST_BYTES = 4 << 20  # of files; less is done before processes have begun


def can_fork() -> bool:
    return "fork" in get_all_start_methods()


def pays(sizes: Sequence[int]) -> bool:
    """Whether files of these bytes are worth several processes."""
    return can_fork() and len(sizes) > 1 and sum(sizes) >= _LEAST_BYTES


def on_all_cores(
    recordings: Recordings,
    take: Take,
    options: ConvertOptions,
    made: Callable[[int], Any],
    take_made: Callable[[int, Any], None],
) -> Job | None:
    """Convert recordings, each rank in one of several processes; see `Forked`.

    None if that does not pay or does not go: then convert other `Recordings` of the same in one.
    """
    workers = cores()
    if workers < 2 or options.replicate is not None or not pays(recordings.file_sizes()):
        return None
    sources = recordings.sources()
    pool = Forked(
        sources,
        take,
        options,
        workers,
        told=recordings.told_of,
        take_told=recordings.take_told,
        made=made,
        take_made=take_made,
    )
    try:
        return convert_job(sources, take, options, pool)
    except (FailedError, TraceError, UnsupportedError):
        return None
    finally:
        pool.close()


class FailedError(Exception):
    """A process failed; what happened shows where all is done in one."""


class Forked:
    """The pool of `convert_job`.

    `told()` returns what reading left in a process beside the traces, and `take_told` gets it here,
    in the order of the sources. So do `made(rank)` and `take_made` with what `take` left there,
    as ranks are ready.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        take: Take,
        options: ConvertOptions,
        workers: int,
        *,
        told: Callable[[int], Any] = lambda place: None,
        take_told: Callable[[Any], None] = lambda told: None,
        made: Callable[[int], Any] = lambda rank: None,
        take_made: Callable[[int, Any], None] = lambda rank, made: None,
    ) -> None:
        self._take_told, self._take_made = take_told, take_made
        self._processes: list[BaseProcess] = []
        self._pipes: list[Connection] = []
        self._given: dict[Connection, int] = {}  # sources of each process
        context = get_context("fork")
        workers = min(workers, len(sources))
        for at in range(workers):
            here, there = context.Pipe()
            mine = range(at, len(sources), workers)
            process = context.Process(
                target=_serve,
                args=(
                    *(there, os.getpid(), sources, mine, take, options),
                    *(told, made, KEPT // workers),
                ),
                daemon=True,
            )
            begin(process)
            there.close()
            self._processes.append(process)
            self._pipes.append(here)
            self._given[here] = len(mine)
        self._owner: dict[int, Connection] = {}

    def close(self) -> None:
        for process, pipe in zip(self._processes, self._pipes, strict=True):
            pipe.close()
            process.terminate()
            process.join()

    def scans(self) -> Iterator[Scan]:
        found: dict[int, tuple[Scan, Any]] = {}
        for pipe, (place, scan, told) in answers(self._given):
            found[place] = scan, told
            self._owner[scan.rank] = pipe
        for place in sorted(found):
            scan, told = found[place]
            self._take_told(told)
            yield scan

    def write(self, ranks: Ranks, communicators: Communicators, report: ConvertReport) -> None:
        given: dict[Connection, int] = {}
        for pipe in self._pipes:
            own = [rank for rank in ranks.found if self._owner[rank] is pipe]
            given[pipe] = len(own)
            pipe.send(({rank: ranks.found[rank] for rank in own}, communicators))
        made: dict[int, ConvertReport] = {}
        for _, (rank, part, left) in answers(given):
            made[rank] = part
            self._take_made(rank, left)
        for rank in sorted(made):
            part = made[rank]
            report.ranks += part.ranks
            report.nodes += part.nodes
            report.delays += part.delays
            report.recorded |= part.recorded
            report.balance |= part.balance
            report.work.add(part.work)


def answers(given: Mapping[Connection, int]) -> Iterator[tuple[Connection, Any]]:
    """What processes send as ("done", answer), so many each; notes among it are told here.

    Raises FailedError where one ends before or says ("failed", None).
    """
    left = {pipe: count for pipe, count in given.items() if count}
    while left:
        for pipe in wait(list(left)):
            assert isinstance(pipe, Connection)
            try:
                kind, answer = pipe.recv()
            except (EOFError, OSError):
                raise FailedError from None
            if kind == "note":
                note(answer)
            elif kind == "failed":
                raise FailedError
            else:
                left[pipe] -= 1
                if not left[pipe]:
                    del left[pipe]  # it may end
                yield pipe, answer


def begin(process: BaseProcess) -> None:
    """Start it; no signal ends it before `be_child_of`, by what the parent does then."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def be_child_of(parent: int) -> None:
    """Leave Ctrl-C to the parent, with which this process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
    end_with(parent)


@without_collector
def _serve(
    pipe: Connection,
    parent: int,
    sources: Sequence[Source],
    mine: Sequence[int],
    take: Take,
    options: ConvertOptions,
    told: Callable[[int], Any],
    made: Callable[[int], Any],
    most: int,
) -> None:
    be_child_of(parent)
    try:
        with notes_to(lambda text: pipe.send(("note", text))):
            ranks = Ranks(options.names, options.step, most)
            for place in mine:
                scan = ranks.scan(sources[place])
                ranks.add(scan)
                pipe.send(("done", (place, scan, told(place))))
            found, communicators = pipe.recv()
            ranks.found = found
            for rank, one in found.items():
                report = ConvertReport()
                write_ranks({rank: one.items}, ranks, communicators, options, report, take)
                pipe.send(("done", (rank, report, made(rank))))
    except EOFError:
        return
    except BaseException:
        pipe.send(("failed", None))
