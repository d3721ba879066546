"""The recording of one rank as the template of all: one trace where there would be thousands.

Only for jobs that communicate among all ranks, as data-parallel ones do: a group of some ranks, or
a message, would need a grid that the recording does not tell. The traces of
`yantra chakra convert pytorch --replicate` are the way there.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from yantra.base.errors import UnsupportedError
from yantra.chakra import Trace
from yantra.tracing.pytorch.convert import ConvertOptions, ConvertReport, convert_job
from yantra.tracing.pytorch.sources import load
from yantra.workloads.importers.imported import make_grid, make_workload
from yantra.workloads.templates import Workload

_INSTEAD = "give a prefix in place of a .yw, which writes a trace for each rank"


def one_for_all(path: str, options: ConvertOptions) -> tuple[Workload, ConvertReport]:
    """Return the workload of `options.replicate` ranks, 0 for as many as recorded, and the report.

    `path` is the trace of one rank: linked, host only or device only. Raises TraceError, and
    UnsupportedError where ranks communicate other than all with all.
    """
    told: dict[str, list[str]] = {}
    content: list[bytes] = []

    def take(rank: int, pieces: Iterable[bytes]) -> None:
        if rank == 0:
            content.extend(pieces)

    recorded = structs.replace(options, replicate=0)
    job = convert_job([lambda: load(path, 0, told)], take, recorded)
    if job.communicators.members or job.report.messages:
        raise UnsupportedError(
            f"{path}: the ranks communicate in groups of some ranks or by messages, which a "
            f"template of one rank cannot say; {_INSTEAD}"
        )
    ranks = options.replicate or job.report.ranks
    workload = make_workload(
        make_grid(("rank", ranks)),
        {},
        [_over_all_ranks(Trace.from_bytes(b"".join(content)))],
        None,
        {"recorded": path},
        job.report.remarks,
    )
    job.report.problems[:0] = [text for texts in told.values() for text in texts]
    return workload, job.report


def _over_all_ranks(trace: Trace) -> Trace:
    """Return the trace whose collectives name no group, which means all ranks."""
    nodes = list(trace)
    for node in nodes:
        node.attributes = [one for one in node.attributes if one.name != "pg_name"]
    return Trace(nodes, trace.metadata)
