"""Traces as .et files of every layout: read, check, show, write as JSON."""

from __future__ import annotations

from tests.unit.old_traces import WRITTEN
from yantra import chakra
from yantra.chakra import show
from yantra.chakra.generator import generate

FORM = "text"


def seeds() -> list[bytes]:
    made = [case.traces[0].to_bytes() for case in generate(2)]
    return [*made, *WRITTEN.values()]


def read(data: bytes) -> object:
    trace = chakra.read(data)
    chakra.validate(data)
    list(show.lines(trace, "trace"))
    return chakra.to_json(trace)
