"""MSCCL programs in XML: parsed, proven and turned into traces."""

from __future__ import annotations

from tests.oracles.msccl_writer import random_program, ring_allreduce
from yantra.base.errors import UnsupportedError
from yantra.collectives.msccl import Sizes, parse_program, prove, traces, upstream_traces

FORM = "xml"


def seeds() -> list[bytes]:
    return [ring_allreduce(3).encode(), *(random_program(seed).encode() for seed in range(6))]


def read(data: bytes) -> object:
    program = parse_program(data)
    try:
        upstream_traces(program, "upstream-head")
        upstream_traces(program, "upstream-sized", 1 << 20)
    except UnsupportedError:
        pass
    return traces(prove(program), Sizes(1 << 20))
