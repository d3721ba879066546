"""Tensors over time, against cases worked by hand."""

from __future__ import annotations

import pytest

from tests.clusters import dimension, scenario
from yantra.chakra import TraceBuilder
from yantra.export.local_memory import Lifetime, Usage, human_size, usage
from yantra.run.simulate import simulate


def _usage(*nodes: tuple[dict[str, int], dict[str, int]]) -> Usage:
    """One node after the other, 1 us each; (tensors read, tensors written)."""
    trace = TraceBuilder()
    for inputs, outputs in nodes:
        node = trace.compute(duration_micros=1, after=trace.nodes[-1:])
        node["inputs"] = [str(part) for tensor in inputs.items() for part in tensor]
        node["outputs"] = [str(part) for tensor in outputs.items() for part in tensor]
    question = scenario(
        [trace] * 2, dimension(size=2), track_local_memory=True, semantics="astra-sim"
    )
    return usage(simulate(question), 0)


def test_a_tensor_lives_from_its_write_to_its_last_read() -> None:
    found = _usage(({}, {"a": 8}), ({"a": 8}, {}), ({"a": 8}, {}), ({}, {}))
    assert found.lifetimes == [Lifetime("a", 8, 0, 3000)]
    assert found.timeline == [(0, 8), (3000, 0)]


def test_a_tensor_nobody_reads_lives_for_ever() -> None:
    found = _usage(({}, {}), ({}, {"a": 8}))
    assert found.lifetimes == [Lifetime("a", 8, 1000, None)]
    assert found.timeline == [(1000, 8)]


def test_a_tensor_nobody_wrote_is_there_from_the_start() -> None:
    found = _usage(({}, {}), ({"w": 8}, {}))
    assert found.lifetimes == [Lifetime("w", 8, 0, 2000)]
    assert [(write.node_name, write.end) for write in found.writes] == [("UNDEFINED", 10)]


def test_a_second_write_does_not_change_a_tensors_life() -> None:
    found = _usage(({}, {"a": 8}), ({}, {"a": 8}), ({"a": 8}, {}))
    assert found.lifetimes == [Lifetime("a", 8, 0, 3000)]
    assert len(found.writes) == 2


def test_a_tensor_that_ends_when_another_begins_makes_room_for_it() -> None:
    """ASTRA-sim's binary reports the same peak and timeline for this case."""
    found = _usage(({}, {"a": 8}), ({"a": 8}, {"b": 4}), ({"b": 4}, {"c": 100}), ({"c": 100}, {}))
    assert found.timeline == [(0, 8), (1000, 12), (2000, 104), (3000, 100), (4000, 0)]
    assert found.peak_bytes == 104


def test_tensors_of_no_bytes_do_not_count() -> None:
    assert _usage(({"a": 0}, {"b": 0})).lifetimes == []


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0.00 B"), (1023, "1023.00 B"), (1536, "1.50 KB"), (2**60, "1048576.00 TB")],
)
def test_sizes_are_written_in_powers_of_1024(size_bytes: int, text: str) -> None:
    assert human_size(size_bytes) == text
