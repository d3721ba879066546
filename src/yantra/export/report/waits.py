"""What communication waited for: the last steps of each node of a recorded run, up to MOST_NODES
nodes.
"""

from __future__ import annotations

from typing import Any

from yantra.export.report.classes import RankClass
from yantra.export.report.nodes import RECEIVES, STREAMS
from yantra.export.report.run import Run
from yantra.export.report.timeline import chosen
from yantra.result.critical_path import KINDS, Step

MOST_NODES = 8_000
MOST_STEPS = 40
_ASKED = (*map(STREAMS.index, ("collectives", "sends", "memory")), RECEIVES)


def as_data(run: Run) -> dict[str, Any] | None:
    if not run.result.recorded:
        return None
    left = MOST_NODES
    for at in sorted(chosen(run), key=lambda at: -run.classes[at].finish):
        asked = _asked(run, run.classes[at])
        left -= len(asked)
        if left < 0:
            break
        _embed(run, at, asked)
    return {"kinds": list(KINDS)}


def _asked(run: Run, one: RankClass) -> list[int]:
    streams = run.graphs[one.graph].stream
    return [node for node, _, _ in run.ran(one) if streams[node] in _ASKED]


def _embed(run: Run, at: int, asked: list[int]) -> None:
    one, columns = run.classes[at], run.columns
    ids = run.graphs[one.graph].native.id
    counts = [0] * one.nodes
    kept: list[Step] = []
    for node in asked:
        steps = run.result.recording.waited_for(one.rank, int(ids[node]), MOST_STEPS)
        counts[node] = len(steps)
        kept.extend(steps)
    columns.add(f"w{at}.steps", counts, delta=False)
    columns.add(f"w{at}.kind", [KINDS.index(step.kind) for step in kept], delta=False)
    columns.add(f"w{at}.rank", [-1 if step.rank is None else step.rank for step in kept])
    columns.add_texts(f"w{at}.node", [None if s.node is None else str(s.node) for s in kept])
    columns.add_texts(f"w{at}.name", [step.name for step in kept])
    columns.add(f"w{at}.start", [round(step.start_ns * run.ticks_per_ns) for step in kept])
    columns.add(
        f"w{at}.length", [round(step.length_ns * run.ticks_per_ns) for step in kept], delta=False
    )
    columns.add(f"w{at}.peer", [-1 if step.peer is None else step.peer for step in kept])
