"""A large trace is drawn as a small one is that has too many boxes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.chakra import Node, NodeType, Trace
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.draw import dot_text, drawing, large, summary
from yantra.tracing.inspect.surveyed import Surveyed, seen_in

_NAMES = ("a", "b<float>", "c#1", "c#2", "")


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    nodes: list[Node] = []
    for id in range(draw(st.integers(1, 14))):
        data, control = (
            draw(st.lists(st.integers(0, id - 1), max_size=3)) if id else [] for _ in "ab"
        )
        more: dict[str, Any] = {"is_cpu_op": draw(st.booleans()), "stream": draw(st.integers(0, 2))}
        lasts = draw(st.integers(0, 9))
        nodes.append(
            Node(id, draw(st.sampled_from(_NAMES)), NodeType.COMP, lasts, data, control, more)
        )
    return Trace(nodes)


@settings(max_examples=200, deadline=None)
@given(traces(), st.integers(0, 6), st.integers(1, 12), st.booleans())
def test_both_ways_draw_the_same(trace: Trace, boxes: int, edges: int, plain: bool) -> None:
    surveyed = seen_in([trace.to_bytes()])
    assert isinstance(surveyed, Surveyed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summary, "MOST_BOXES", boxes)
        patch.setattr(summary, "MOST_EDGES", edges)
        patch.setattr(large, "MOST_BOXES", boxes)
        drawn = dot_text(drawing(surveyed, plain=plain))
        assert drawn == dot_text(drawing(trace, plain=plain))


def test_a_large_trace_is_summarised_in_arrays() -> None:
    nodes = [Node(id, "x", NodeType.COMP, 2, ctrl_deps=[0] if id else []) for id in range(300)]
    found = large.summary(Columns(seen_in([Trace(nodes).to_bytes()])))
    assert found is not None
    assert found.members == [(0, 300, 600)]
    assert found.edges == {}
