"""The recording of one rank as the template of all: groups repeat over the ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from yantra.tracing.host_time import scaled
from yantra.tracing.pytorch.communicators import ALL, Communicators
from yantra.tracing.pytorch.convert import ConvertOptions, ConvertReport, convert_job
from yantra.tracing.pytorch.sources import Recordings, naming_files
from yantra.tracing.sources import are_profiles, launching
from yantra.tracing.sources.linked_job import LinkedJob
from yantra.workloads.importers.imported import VIEW
from yantra.workloads.templates import RankClass, Workload
from yantra.workloads.templates.grid import Grid, Group
from yantra.workloads.templates.spool import Spool


def one_for_all(
    paths: Sequence[str],
    options: ConvertOptions,
    host_time: float = 1.0,
    sizes: Mapping[str, int] | None = None,
) -> tuple[Workload, ConvertReport]:
    """`paths` are one rank's: a trace, a pair, or the profile of another profiler with one device.

    Host work takes `host_time` times what was recorded; `sizes` as in `LinkedJob`. Raises
    TraceError, and UnsupportedError for messages that other ranks cannot have alike.
    """
    recordings = _sources(paths, options, sizes)
    templates: list[Spool] = []
    with naming_files({} if isinstance(recordings, LinkedJob) else recordings.by_rank):
        job = convert_job(
            recordings.sources(),
            lambda rank, pieces: templates.append(Spool(scaled(pieces, host_time))),
            structs.replace(options, template=True),
        )
    grid, groups = _groups(job.communicators)
    workload = Workload(
        grids=[grid],
        groups=groups,
        classes=[RankClass(grid.name, {}, "rank")],
        templates={"rank": templates[0]},
        sections={"about": {"recorded": paths[-1]}, "notes": list(job.report.remarks)},
    )
    job.report.problems[:0] = recordings.problems()
    return workload, job.report


def _sources(
    paths: Sequence[str], options: ConvertOptions, sizes: Mapping[str, int] | None
) -> LinkedJob | Recordings:
    if not are_profiles(paths):
        return Recordings(paths)
    return launching(paths, step=options.step, replicate=options.replicate, sizes=sizes)


def _groups(communicators: Communicators) -> tuple[Grid, dict[str, Group]]:
    world = len(communicators.world)
    views: dict[str, tuple[tuple[str, int], ...]] = {VIEW: ((ALL, world),)}
    groups = {}
    for id, ranks in communicators.members.items():
        if len(ranks) < 2:
            continue
        name, stride = f"group{id}", ranks[1] - ranks[0]
        beyond = world // (stride * len(ranks))
        views[name] = ((f"{name}.in", stride), (name, len(ranks)), (f"{name}.out", beyond))
        groups[name] = Group(name, (name,))
    return Grid("train", 0, views), groups
