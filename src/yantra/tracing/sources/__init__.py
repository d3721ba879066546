"""Profiles of other profilers than PyTorch's, as Chakra traces."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import ConfigError, TraceError
from yantra.base.output import write_text
from yantra.base.units import format_time
from yantra.chakra.files import save_pieces
from yantra.chakra.other_formats import Recording, found_in
from yantra.chakra.trace import Trace
from yantra.tracing.inspect.rank_traces import RankTrace
from yantra.tracing.pytorch.ranks import given
from yantra.tracing.sources.work import Writing

if TYPE_CHECKING:
    from yantra.tracing.sources.linked_job import LinkedJob

_LINKED = frozenset({"nsys", "rocpd", "rocprof"})
_INSTEAD = {  # of options that a kind does not have
    "xplane": {
        "--step": "its operations name no step; record one alone, with jax.profiler.trace",
        "--replicate": "its programs name all devices; give the profiles of all hosts, in order",
        "--sizes": "its programs say sizes; put a missing one's *.hlo_proto.pb beside the profile",
    },
    "mpi": {
        "--step": "its calls name no step; record one alone",
        "--replicate": "one rank's calls name others; give the files of all ranks",
        "--sizes": "its calls say their bytes; leave it out",
    },
    "goal": {
        "--step": "it marks no steps; write one step as a schedule",
        "--replicate": "it holds every rank; leave it out",
        "--sizes": "its messages say their bytes; leave it out",
    },
}
Progress = Callable[[int, int], None]


class Converted(NamedTuple):
    """What `convert` did: lines for people, the same as a dict, and what may be wrong."""

    summary: str
    form: dict[str, Any]
    problems: list[str]


def are_profiles(arguments: Sequence[str]) -> bool:
    """Whether all files are of profilers that `convert` reads."""
    if any(argument.endswith((".et", ".et.gz")) for argument in arguments):
        return False
    kinds = [found_in(one.path) for one in given(arguments)]
    return bool(kinds) and all(kind is not None and kind.is_read for kind in kinds)


def have_launches(arguments: Sequence[str]) -> bool:
    """Whether all files are profiles that record who launched what, and on which stream."""
    kinds = [found_in(one.path) for one in given(arguments)]
    return bool(kinds) and all(kind is not None and kind.key in _LINKED for kind in kinds)


def source_of(path: str) -> str:
    """The subcommand of `yantra chakra convert` that reads a file: profile or pytorch."""
    paths = [path] if "{rank}" not in path else [one.path for one in given([path])][:1]
    return "profile" if any(found_in(one) is not None for one in paths) else "pytorch"


def convert(
    arguments: Sequence[str],
    output: str,
    *,
    gaps: bool = True,
    step: int | None = None,
    replicate: int | None = None,
    sizes: Mapping[str, int] | None = None,
    progress: Progress | None = None,
) -> Converted:
    """Convert the profiles of one job to `output` (a prefix, a pattern with {rank}, or one .et).

    `step`, `replicate` (ranks that one stands for) and `sizes` (bytes by kind of collectives of
    unrecorded size) are of profilers that record launches and NCCL's calls.

    Raises TraceError or ConfigError, also for a file of an unknown kind.
    """
    from yantra.tracing.pytorch.files import groups_name, trace_name

    paths, kind = _of_one_kind(arguments)
    if kind.key in _LINKED:
        from yantra.tracing.pytorch.convert import ConvertOptions
        from yantra.tracing.sources.linked_job import LinkedJob

        job = LinkedJob(paths, sizes)
        options = ConvertOptions(gaps=gaps, step=step, replicate=replicate)
        return _linked(job, kind, output, options, progress)
    _refuse(paths, kind, {"--step": step, "--replicate": replicate, "--sizes": sizes or None})
    job = _job(paths, kind)
    if output.endswith((".et", ".et.gz")) and "{rank}" not in output and job.world_size > 1:
        problem = f"{job.world_size} traces are written; give a prefix, or a name with {{rank}}"
        raise ConfigError("-o", f"{problem}, not {output}")
    done = 0

    def take(rank: int, made: Writing) -> None:
        nonlocal done
        save_pieces(made.pieces(), trace_name(output, rank))
        done += 1
        if progress is not None:
            progress(done, job.world_size)

    report = job.convert(take, gaps=gaps)
    if groups := job.groups():
        write_text(groups_name(output), groups)
    return Converted(report.summary(), report.as_dict(), [*report.problems, *report.remarks])


def each(
    arguments: Sequence[str], take: Callable[[int, Iterable[bytes]], None], step: int | None = None
) -> tuple[str, dict[int, str], dict[str, tuple[int, ...]], str, int, list[int], list[str]]:
    """Convert; `take(rank, pieces)` gets each file's content. Returns the fields of `Made`."""
    paths, kind = _of_one_kind(arguments)
    if kind.key in _LINKED:
        return _each_linked(paths, kind, take, step)
    _refuse(paths, kind, {"--step": step})
    job = _job(paths, kind)
    found: list[int] = []

    def taken(rank: int, written: Writing) -> None:
        found.append(rank)
        take(rank, written.pieces())

    report = job.convert(taken)
    files = dict.fromkeys(sorted(found), paths[0])
    problems = [*report.problems, *report.remarks]
    groups = job.groups()
    members = {name: tuple(ranks) for name, ranks in json.loads(groups or "{}").items()}
    return kind.name, files, members, groups, job.world_size, [], problems


def launching(
    arguments: Sequence[str],
    *,
    step: int | None = None,
    replicate: int | None = None,
    sizes: Mapping[str, int] | None = None,
) -> LinkedJob:
    """The one rank of a profile with launches, which can stand for others.

    Raises ConfigError for other profiles, with what to do, and TraceError.
    """
    from yantra.tracing.sources.linked_job import LinkedJob

    paths, kind = _of_one_kind(arguments)
    if kind.key not in _LINKED:
        _refuse(paths, kind, {"--step": step, "--replicate": replicate, "--sizes": sizes or None})
    job = LinkedJob(paths, sizes)
    job.check_one()
    return job


def _refuse(paths: Sequence[str], kind: Recording, options: Mapping[str, object]) -> None:
    for option, value in options.items():
        if value is not None:
            problem = f"{kind.name} goes without {option}: {_INSTEAD[kind.key][option]}"
            raise ConfigError(paths[0], problem)


def in_memory(arguments: Sequence[str]) -> tuple[list[RankTrace], list[str]]:
    """The traces that `convert` would write, and its problems."""
    made: dict[int, Trace] = {}

    def take(rank: int, pieces: Iterable[bytes]) -> None:
        made[rank] = Trace.from_bytes(b"".join(pieces))

    _, files, _, _, _, _, problems = each(arguments, take)
    return [RankTrace(rank, files[rank], trace) for rank, trace in sorted(made.items())], problems


def _job(paths: Sequence[str], kind: Recording) -> Any:
    if kind.key == "goal":
        from yantra.tracing.sources import goal

        if len(paths) > 1:
            raise ConfigError(paths[1], "a schedule (GOAL) holds all ranks; give one file")
        return goal.read(paths[0])
    if kind.key == "mpi":
        from yantra.tracing.sources import mpi

        return mpi.read(paths)
    from yantra.tracing.sources.xla_job import XlaJob

    return XlaJob(paths)


def _of_one_kind(arguments: Sequence[str]) -> tuple[list[str], Recording]:
    from yantra.chakra import files

    paths = [one.path for one in given(arguments)]
    kinds: dict[str, Recording] = {}
    for path in paths:
        kind = found_in(path)
        if kind is None:
            what = files.what_it_is(files.load(path)[:4096]).partition("; expected")[0]
            raise TraceError(
                f"{path}: {what or 'of a kind that is not known'}; expected a profile of XLA "
                "(.xplane.pb), Nsight Systems (SQLite), rocprofv3 (rocpd, JSON), calls of MPI or "
                "GOAL; for traces of PyTorch: yantra chakra convert pytorch"
            )
        if not kind.is_read:
            raise TraceError(f"{path}: {kind.sentence(path)}")
        kinds.setdefault(kind.key if kind.key not in _LINKED else "linked", kind)
    if len(kinds) > 1:
        names = " and ".join(kind.name for kind in kinds.values())
        raise ConfigError(paths[-1], f"expected files of one profiler, got {names}")
    return paths, next(iter(kinds.values()))


def _linked(
    job: LinkedJob, kind: Recording, output: str, options: Any, progress: Progress | None
) -> Converted:
    from yantra.tracing.pytorch.files import convert_sources

    if options.replicate is not None:
        job.check_one()
    if output.endswith((".et", ".et.gz")) and "{rank}" not in output and job.size > 1:
        problem = f"{job.size} traces are written; give a prefix, or a name with {{rank}}"
        raise ConfigError("-o", f"{problem}, not {output}")
    report = convert_sources(job.sources(), output, options, progress)
    about = {"source": kind.name, "ranks_of": job.names, "waited_ns": dict(job.waited_ns)}
    form = about | report.as_dict()
    problems = [*job.problems(), *report.remarks, *report.problems]
    waits = [f"{name}: {format_time(ns)} of the host\n" for name, ns in job.waited_ns.items()]
    summary = "".join([f"{kind.name}\n", report.summary(), *waits])
    return Converted(summary, form, problems)


def _each_linked(
    paths: Sequence[str],
    kind: Recording,
    take: Callable[[int, Iterable[bytes]], None],
    step: int | None,
) -> tuple[str, dict[int, str], dict[str, tuple[int, ...]], str, int, list[int], list[str]]:
    from yantra.tracing.pytorch.convert import ConvertOptions, convert_job
    from yantra.tracing.sources.linked_job import LinkedJob

    job = LinkedJob(paths)
    done = convert_job(job.sources(), take, ConvertOptions(step=step))
    members = done.communicators.members
    groups = done.communicators.json() if members else ""
    named = {str(id): ranks for id, ranks in members.items()}
    problems = [*job.problems(), *done.report.problems]
    return kind.name, dict(job.files), named, groups, job.size, done.steps, problems
