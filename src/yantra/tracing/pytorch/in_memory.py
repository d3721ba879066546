"""Recordings as the traces `convert` would write, without files."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Sequence

from yantra.base.regular import open_regular
from yantra.chakra import files
from yantra.chakra.trace import Trace
from yantra.tracing.inspect.rank_traces import RankTrace
from yantra.tracing.pytorch import kineto, ranks
from yantra.tracing.pytorch.convert import convert_job
from yantra.tracing.pytorch.sources import Recordings, naming_files

_BEGIN = 1 << 16
_SCHEMA = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{\s*"schema"\s*:\s*"')


def are_recordings(arguments: Sequence[str]) -> bool:
    if any(argument.endswith((".et", ".et.gz")) for argument in arguments):
        return False
    return all(kineto.is_one(one.path) or _has_nodes(one.path) for one in ranks.given(arguments))


def converted(arguments: Sequence[str]) -> tuple[list[RankTrace], list[str]]:
    """The recordings' traces, and what to say of them.

    Raises TraceError for other files.
    """
    recordings = Recordings(arguments)
    content: dict[int, bytes] = {}

    def take(rank: int, pieces: Iterable[bytes]) -> None:
        content[rank] = b"".join(pieces)

    with naming_files(recordings.by_rank):
        job = convert_job(recordings.sources(), take)
    traces = [
        RankTrace(rank, recordings.by_rank[rank], Trace.from_bytes(data))
        for rank, data in sorted(content.items())
    ]
    return traces, [*recordings.problems(), *job.report.problems]


def _has_nodes(path: str) -> bool:
    try:
        with open_regular(path) as raw:
            packed = raw.read(2) == files.GZIP
            raw.seek(0)
            begin = (gzip.GzipFile(fileobj=raw) if packed else raw).read(_BEGIN)
    except (OSError, EOFError):
        return False
    return _SCHEMA.match(begin) is not None
