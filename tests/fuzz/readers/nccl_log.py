"""Logs of nccl-tests: of old and new versions, and with the prefixes of launchers."""

from __future__ import annotations

from tests.nccl_logs import log, prefixed
from yantra.accuracy import nccl_log

FORM = "text"


def seeds() -> list[bytes]:
    times = [(2**k, 20.0 + 2**k / 1e5) for k in range(10, 16)]
    one, other = log("all_reduce", times), log("alltoall", times, ranks=4, nodes=2)
    return [text.encode() for text in (one, one + other, prefixed(other))]


def read(data: bytes) -> object:
    found = nccl_log.parse(data.decode(errors="replace"), "nccl.log")
    return [(run.collective, run.ranks, run.nodes, len(run.timings)) for run in found.runs]
