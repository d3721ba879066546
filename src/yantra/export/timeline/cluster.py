"""What belongs to no rank: the critical path, and how busy the network is over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from yantra.export.timeline.sink import Sink
from yantra.export.timeline.tracks import ABSENT, REAL, TEXT, WHOLE, Wholes
from yantra.result import Result

_NOTHING = np.zeros(0, np.uint64)
_NOT_RECORDED = (
    "no messages, no network over time and no critical path, for the run was not recorded; "
    "from Python: run(model, record=True)"
)


def write_cluster(result: Result, sink: Sink) -> list[str]:
    """Write the process of the cluster; return what is missing and why."""
    if not result.recorded:
        return [_NOT_RECORDED]
    process = sink.process(result.model.ranks, "cluster", first=True)
    _critical_path(result, sink, process)
    _utilisation(result, sink, process)
    return []


def _critical_path(result: Result, sink: Sink, process: int) -> None:
    """Write the steps as slices, each named after its node or what it waited for."""
    text = sink.writer.text
    steps = [step for step in result.critical_path.steps if step.end_ns > step.start_ns]
    track = sink.track(
        process,
        "critical path",
        "What the last rank's end waited for, back to the start of the run, without a gap.",
    )

    def words(of: Any) -> Wholes:
        return np.array([text(of(step)) for step in steps], np.uint64)

    def numbers(of: Any) -> Wholes:
        values = [of(step) for step in steps]
        return np.array([ABSENT if value is None else value for value in values], np.uint64)

    def times(of: Any) -> Wholes:
        return np.floor(np.array([of(step) for step in steps], np.float64)).astype(np.uint64)

    lengths = np.array([step.end_ns - step.start_ns for step in steps], np.float64)
    kinds = words(lambda step: step.kind)
    sink.writer.slices(
        np.full(len(steps), track, np.uint64),
        words(lambda step: f"{step.kind}: {step.name}" if step.name else step.kind),
        kinds,
        times(lambda step: step.start_ns),
        times(lambda step: step.end_ns),
        [
            (text("kind"), TEXT, kinds),
            (text("rank"), WHOLE, numbers(lambda step: step.rank)),
            (text("node"), WHOLE, numbers(lambda step: step.node)),
            (text("peer"), WHOLE, numbers(lambda step: step.peer)),
            (text("dimension"), WHOLE, numbers(lambda step: step.dimension)),
            (text("duration_ns"), REAL, lengths.view(np.uint64)),
        ],
        (_NOTHING,) * 5,
        [],
    )


def _utilisation(result: Result, sink: Sink, process: int) -> None:
    """Write a counter for each dimension, in percent; it is 0 from the end of the run on."""
    table = result.recording.utilisation()
    for use in result.dimension_uses:
        of_use = table["dimension"] == use.dimension
        begins, ends = table["from_ns"][of_use], table["to_ns"][of_use]
        if not len(begins):
            continue
        times = np.floor(np.append(begins, ends[-1])).astype(np.uint64)
        values = np.append(100 * table["utilisation"][of_use], 0.0)
        track = sink.counter(process, f"network: {use.label}", "%")
        kept = np.append(times[1:] != times[:-1], True)
        sink.writer.values(track, times[kept], values[kept])
