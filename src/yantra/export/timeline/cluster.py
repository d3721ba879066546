"""What belongs to no rank: the critical path, and the network's use over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from yantra import _core
from yantra.base.text import count as counted
from yantra.export.timeline.messages import no_messages
from yantra.export.timeline.sink import Sink
from yantra.export.timeline.tracks import ABSENT, REAL, TEXT, WHOLE, Wholes
from yantra.result import Result, Table
from yantra.result.link_load import link_names

_MOST_LINKS = 32
_BINS, _FEWEST_BINS, _MOST_CELLS = 200, 20, 1_000_000
_ENDS = ("dimension", "source", "destination")
_NOT_RECORDED = (
    "no messages, no network over time and no critical path, because the run was not recorded "
    "(yantra run --record; from Python run(model, record=True))"
)


def write_cluster(result: Result, sink: Sink) -> list[str]:
    if not result.recorded:
        return [_NOT_RECORDED]
    process = sink.process(result.model.ranks, "cluster", first=True)
    _critical_path(result, sink, process)
    table = result.recording.utilisation()
    for use in result.dimension_uses:
        rows = table["dimension"] == use.dimension
        _counter(sink, process, f"network: {use.label}", table, rows)
    return _links(result, sink, process)


def _critical_path(result: Result, sink: Sink, process: int) -> None:
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
    slices = _core.Slices(
        track=np.full(len(steps), track, np.uint64),
        name=words(lambda step: f"{step.kind}: {step.name}" if step.name else step.kind),
        category=kinds,
        start=times(lambda step: step.start_ns),
        end=times(lambda step: step.end_ns),
        arguments=[
            _core.Argument(text("kind"), TEXT, kinds),
            _core.Argument(text("rank"), WHOLE, numbers(lambda step: step.rank)),
            _core.Argument(text("node"), WHOLE, numbers(lambda step: step.node)),
            _core.Argument(text("peer"), WHOLE, numbers(lambda step: step.peer)),
            _core.Argument(text("dimension"), WHOLE, numbers(lambda step: step.dimension)),
            _core.Argument(text("duration_ns"), REAL, lengths.view(np.uint64)),
        ],
    )
    sink.writer.slices(slices, no_messages())


def _links(result: Result, sink: Sink, process: int) -> list[str]:
    count = len(result.links)
    if not count:
        return []
    if count * _FEWEST_BINS > _MOST_CELLS:
        return [f"no link over time, because {count} links are too many to follow"]
    order = np.argsort(-result.links["bytes"], kind="stable")[:_MOST_LINKS].tolist()
    names = _link_names(result)
    exact = int(result.links["messages"].sum()) <= _MOST_CELLS
    bins = min(_BINS, _MOST_CELLS // count)
    recording = result.recording
    table = recording.link_rates if exact else recording.link_utilisation(bins)
    row_of = table["link"] if exact else np.arange(len(table)) // bins
    for link in order:
        _counter(sink, process, f"network: link {names[link]}", table, row_of == link)
    rest = count - len(order)
    return [f"without a counter: {counted(rest, 'link')} that carried less"] if rest else []


def _link_names(result: Result) -> list[str]:
    if result.model.graph is not None:
        return [name.text for name in link_names(result.model, result.outcome.links)]
    ends = list(zip(*(result.links.values(name) for name in _ENDS), strict=True))
    return [
        f"{' to '.join('switch' if end is None else f'{end}' for end in pair)} of dimension {at}"
        for at, *pair in ends
    ]


def _counter(sink: Sink, process: int, name: str, table: Table, rows: Any) -> None:
    begins, ends = table["from_ns"][rows], table["to_ns"][rows]
    values = 100 * table["utilisation"][rows]
    stops = np.append(begins[1:] > ends[:-1], True) if len(ends) else np.zeros(0, bool)
    times = np.append(begins, ends[stops])
    order = np.argsort(times, kind="stable")
    times = np.floor(times[order]).astype(np.uint64)
    values = np.append(values, np.zeros(int(stops.sum())))[order]
    kept = np.append(times[1:] != times[:-1], True) if len(times) else np.zeros(0, bool)
    sink.writer.values(sink.counter(process, name, "%"), times[kept], values[kept])
