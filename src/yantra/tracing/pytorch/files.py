"""Converts the files of a job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from yantra.base.output import write_text
from yantra.chakra.files import save_pieces
from yantra.tracing.pytorch.convert import ConvertOptions, ConvertReport, Source, convert_job
from yantra.tracing.pytorch.link.pairs import RANK
from yantra.tracing.pytorch.sources import Recordings, naming_files

Progress = Callable[[int, int], None]  # written, to write


def trace_name(output: str, rank: int) -> str:
    if RANK in output:
        return output.replace(RANK, str(rank))
    return output if output.endswith((".et", ".et.gz")) else f"{output}.{rank}.et"


def groups_name(output: str) -> str:
    stem = output.removesuffix(".gz").removesuffix(".et")
    if RANK in stem:
        stem = stem.replace(RANK, "").rstrip("._-")
    return f"{stem}.groups.json"


def convert_files(
    paths: Sequence[str],
    output: str,
    options: ConvertOptions | None = None,
    progress: Progress | None = None,
) -> ConvertReport:
    """Convert traces (linked, host only, device only) to `output`; see `trace_name`.

    Paths may contain `{rank}`. Ranks not stated come from names (`ranks.py`). Raises TraceError.
    """
    report = _on_cores(paths, output, options or ConvertOptions(), progress)
    if report is not None:
        return report
    recordings = Recordings(paths)
    with naming_files(recordings.by_rank):
        report = convert_sources(recordings.sources(), output, options, progress)
    report.problems[:0] = recordings.problems()
    return report


def _on_cores(
    paths: Sequence[str], output: str, options: ConvertOptions, progress: Progress | None
) -> ConvertReport | None:
    """Convert on all cores; None if that does not pay or does not go."""
    from yantra.tracing.pytorch.on_cores import on_all_cores

    recordings = Recordings(paths)
    done, total = 0, len(recordings.given)

    def take(rank: int, pieces: Iterable[bytes]) -> None:
        save_pieces(pieces, trace_name(output, rank))

    def written(rank: int, made: None) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    job = on_all_cores(recordings, take, options, lambda rank: None, written)
    if job is None:
        return None
    if job.communicators.members or job.report.ranks > 1:
        write_text(groups_name(output), job.communicators.json())
    job.report.problems[:0] = recordings.problems()
    return job.report


def convert_sources(
    sources: Sequence[Source],
    output: str,
    options: ConvertOptions | None = None,
    progress: Progress | None = None,
) -> ConvertReport:
    """As `convert_files`, for linked traces, one source each."""
    total = options.replicate if options and options.replicate else len(sources)
    done = 0

    def take(rank: int, pieces: Iterable[bytes]) -> None:
        nonlocal done
        save_pieces(pieces, trace_name(output, rank))
        done += 1
        if progress is not None:
            progress(done, max(done, total))

    job = convert_job(sources, take, options)
    if job.communicators.members or job.report.ranks > 1:
        write_text(groups_name(output), job.communicators.json())
    return job.report
