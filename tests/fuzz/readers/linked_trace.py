"""Linked traces: read, written again, and replayed."""

from __future__ import annotations

from tests.oracles.linked_pair import linked
from yantra.tracing.pytorch import linked_file
from yantra.tracing.pytorch.graph import build

FORM = "json"


def seeds() -> list[bytes]:
    options = ((), (("sync_events", False), ("whole_us", True)))
    return [linked_file.to_json(linked(seed, 8, form).linked) for seed, form in enumerate(options)]


def read(data: bytes) -> object:
    trace = linked_file.parse(data, "linked.json")
    linked_file.to_json(trace)
    return build(trace)
