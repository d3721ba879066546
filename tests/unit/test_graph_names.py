"""A graph keeps a repeated name only a few times, and every node has its own."""

from __future__ import annotations

import random

from yantra.chakra import TraceBuilder
from yantra.chakra.graphs import read_graph


def test_every_node_has_its_name_however_they_repeat() -> None:
    drawn = random.Random(1)
    names = [
        "y",
        "x",
        "\u00fc" * 40,
        *(f"layers.{i}.attention.proj.all_gather" for i in range(9000)),
    ]
    trace = TraceBuilder()
    given = [drawn.choice(names[: drawn.choice([4, 100, len(names)])]) for _ in range(20_000)]
    for name in given:
        trace.compute(duration_micros=1, name=name)
    graph = read_graph(trace.build().to_bytes(), "names.et")
    assert [graph.name(node) for node in range(len(given))] == given
