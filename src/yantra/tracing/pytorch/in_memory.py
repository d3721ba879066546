"""Recordings of any profiler as the traces `convert` would write, without files.

Trade-off: `each` and `kept_of_each` hold one rank at a time, a process; `converted` holds all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from yantra.base.errors import ConfigError
from yantra.base.notes import note
from yantra.chakra.files import Content
from yantra.chakra.trace import Trace, read
from yantra.tracing import sources
from yantra.tracing.inspect.rank_traces import RankTrace, load_job
from yantra.tracing.inspect.surveyed import RankSeen, Seen, see_job, seen, seen_in
from yantra.tracing.pytorch import ranks
from yantra.tracing.pytorch.convert import ConvertOptions, Job, convert_job
from yantra.tracing.pytorch.kinds import is_recording
from yantra.tracing.pytorch.sources import Recordings, naming_files

Take = Callable[[int, Iterable[bytes]], None]
Kept = TypeVar("Kept")
Progress = Callable[[int, int], None]  # done, to do
PYTORCH = "recording of PyTorch"


def are_recordings(arguments: Sequence[str]) -> bool:
    """Whether all files are recordings that `each` reads; Chakra traces are none."""
    if any(argument.endswith((".et", ".et.gz")) for argument in arguments):
        return False
    if sources.are_profiles(arguments):
        return True
    return all(is_recording(one.path) for one in ranks.given(arguments))


class Made(NamedTuple):
    """What was converted.

    `paths`: files by rank. `groups`: JSON of the groups, "" without. `steps`: numbers of the steps
    that are taken together. `problems`: what may be wrong.
    """

    kind: str
    paths: dict[int, str]
    members: dict[str, tuple[int, ...]]
    groups: str
    world_size: int
    steps: list[int]
    problems: list[str]


def each(arguments: Sequence[str], take: Take, *, step: int | None = None) -> Made:
    """Convert the recordings of one job; `take(rank, pieces)` gets each .et file's content.

    Raises TraceError or ConfigError for what is none, or has no such step.
    """
    if sources.are_profiles(arguments):
        return Made(*sources.each(arguments, take, step))
    recordings = Recordings(arguments)
    with naming_files(recordings.by_rank):
        job = convert_job(recordings.sources(), take, ConvertOptions(step=step))
    return _made(recordings, job)


def kept_of_each(
    arguments: Sequence[str],
    keep: Callable[[int, Iterable[bytes]], Kept],
    *,
    step: int | None = None,
    progress: Progress | None = None,
) -> tuple[dict[int, Kept], Made]:
    """As `each`, PyTorch's recordings on all cores: what `keep` returns, by ascending rank.

    `progress` is told how many ranks are done, of how many.
    """
    found: dict[int, Kept] = {}

    def take_kept(rank: int, kept: Kept) -> None:
        found[rank] = kept
        if progress is not None:
            progress(len(found), max(total, len(found)))

    def take(rank: int, pieces: Iterable[bytes]) -> None:
        take_kept(rank, keep(rank, pieces))

    total, made = 0, None
    if not sources.are_profiles(arguments):
        from yantra.tracing.pytorch.on_cores import on_all_cores

        recordings, kept = Recordings(arguments), dict[int, Kept]()
        total = len(recordings.given)
        job = on_all_cores(
            recordings,
            lambda rank, pieces: kept.update({rank: keep(rank, pieces)}),
            ConvertOptions(step=step),
            kept.pop,
            take_kept,
        )
        made = None if job is None else _made(recordings, job)
    if made is None:
        found.clear()
        made = each(arguments, take, step=step)
    return dict(sorted(found.items())), made


def _made(recordings: Recordings, job: Job) -> Made:
    communicators = job.communicators
    return Made(
        PYTORCH,
        dict(recordings.by_rank),
        {str(id): ranks for id, ranks in communicators.members.items()},
        communicators.json() if communicators.members else "",
        len(communicators.world),
        job.steps,
        [*recordings.problems(), *job.report.problems],
    )


class Converted(NamedTuple):
    """The traces of a job, members of its groups by `pg_name`, its ranks, and what to say.

    `steps`: numbers of the steps that are taken together.
    """

    traces: list[RankTrace]
    groups: dict[str, tuple[int, ...]]
    world_size: int
    steps: list[int]
    problems: list[str]


def converted(arguments: Sequence[str]) -> tuple[list[RankTrace], list[str]]:
    """The traces of recordings, and what may be wrong with them."""
    made = converted_job(arguments)
    return made.traces, made.problems


def job_of(arguments: Sequence[str]) -> tuple[list[RankTrace], list[str]]:
    """The traces of a job, whether they are Chakra's or recordings, and what to say."""
    return converted(arguments) if are_recordings(arguments) else (load_job(arguments), [])


def seen_job(arguments: Sequence[str]) -> tuple[list[RankSeen], list[str]]:
    """As `job_of`, for tools that only look."""
    if not are_recordings(arguments):
        return see_job(arguments), []
    found: dict[int, Seen] = {}

    def take(rank: int, pieces: Iterable[bytes]) -> None:
        found[rank] = seen_in(pieces)

    made = each(arguments, take)
    job = [RankSeen(rank, made.paths[rank], trace) for rank, trace in sorted(found.items())]
    return job, made.problems


def trace_of(path: str) -> Trace:
    """The trace in a file of one rank: Chakra's, or of a recording, whose problems are noted."""
    if not are_recordings([path]):
        return read(path)
    job, problems = converted([path])
    _check_one(path, job, problems)
    return job[0].trace


def seen_of(path: str) -> Seen:
    """As `trace_of`, for tools that only look."""
    if not are_recordings([path]):
        return seen(Content(path))
    job, problems = seen_job([path])
    _check_one(path, job, problems)
    return job[0].trace


def _check_one(path: str, job: Sequence[object], problems: Sequence[str]) -> None:
    if len(job) > 1:
        raise ConfigError(
            path,
            f"holds {len(job)} ranks, expected one; convert it, then name one of its traces: "
            f"yantra chakra convert {path} -o job",
        )
    for text in problems:
        note(text)


def converted_job(
    arguments: Sequence[str],
    step: int | None = None,
    check: Callable[[int, Trace], None] = lambda rank, trace: None,
) -> Converted:
    """As `converted`, with groups. `check` sees the first trace before others are read."""
    found: dict[int, Trace] = {}

    def take(rank: int, pieces: Iterable[bytes]) -> None:
        found[rank] = Trace.from_bytes(b"".join(pieces))
        if len(found) == 1:
            check(rank, found[rank])

    made = each(arguments, take, step=step)
    traces = [RankTrace(rank, made.paths[rank], trace) for rank, trace in sorted(found.items())]
    return Converted(traces, made.members, made.world_size, made.steps, made.problems)
