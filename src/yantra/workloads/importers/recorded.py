"""The recording of one rank as the template of all; only for jobs that communicate among
all ranks.
"""

from __future__ import annotations

from msgspec import structs

from yantra.chakra import Trace
from yantra.tracing.pytorch.convert import ConvertOptions, ConvertReport, convert_job
from yantra.tracing.pytorch.sources import Recordings, naming_files
from yantra.workloads.importers.imported import make_grid, make_workload
from yantra.workloads.templates import Workload


def one_for_all(path: str, options: ConvertOptions) -> tuple[Workload, ConvertReport]:
    """The workload of `options.replicate` ranks, 0 for as many as recorded, and the report.

    `path` is one rank's trace: linked, host only or device only. Raises TraceError, and
    UnsupportedError unless all ranks communicate with all.
    """
    recordings = Recordings([path])
    content: list[bytes] = []
    with naming_files(recordings.by_rank):
        job = convert_job(
            recordings.sources(),
            lambda rank, pieces: content.extend(pieces),
            structs.replace(options, template=True),
        )
    workload = make_workload(
        make_grid(("rank", len(job.communicators.world))),
        {},
        [_over_all_ranks(Trace.from_bytes(b"".join(content)))],
        None,
        {"recorded": path},
        job.report.remarks,
    )
    job.report.problems[:0] = recordings.problems()
    return workload, job.report


def _over_all_ranks(trace: Trace) -> Trace:
    nodes = list(trace)
    for node in nodes:
        node.attributes = [one for one in node.attributes if one.name != "pg_name"]
    return Trace(nodes, trace.metadata)
