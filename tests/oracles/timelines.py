"""Reads timelines back: Perfetto's with its own protobuf classes, Chrome's with the json module."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple


@dataclass
class Slice:
    """`end` is None while it is open; `inner` are the instants within it."""

    process: int
    track: int
    name: str
    category: str
    start: int
    args: dict[str, Any]
    end: int | None = None
    inner: list[Instant] = field(default_factory=list)


@dataclass
class Instant:
    """A moment in a slice; `flow` joins two of them."""

    slice: Slice | None
    time: int
    name: str
    flow: int | None
    leaves: bool
    args: dict[str, Any]


@dataclass
class Timeline:
    """What a viewer shows."""

    processes: dict[int, str] = field(default_factory=dict)
    tracks: dict[int, str] = field(default_factory=dict)
    slices: list[Slice] = field(default_factory=list)
    instants: list[Instant] = field(default_factory=list)
    counters: dict[tuple[int, str], list[tuple[int, float]]] = field(default_factory=dict)

    def of_process(self, process: int) -> list[Slice]:
        return [slice for slice in self.slices if slice.process == process]

    def arrows(self) -> dict[int, tuple[Instant, Instant]]:
        """Flows by id, each with its two ends, the one that comes first in front."""
        ends: dict[int, list[Instant]] = defaultdict(list)
        for instant in self.instants:
            if instant.flow is not None:
                ends[instant.flow].append(instant)
        assert all(len(both) == 2 for both in ends.values())
        return {flow: (both[0], both[1]) for flow, both in ends.items()}


class Event(NamedTuple):
    """An event of either form: kind is B, E, i or C."""

    time: int
    kind: str
    process: int
    track: int
    name: str
    category: str
    args: dict[str, Any]
    flow: int | None
    leaves: bool
    value: float


def read(path: Path) -> Timeline:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data, path = gzip.decompress(data), path.with_suffix("")
    return read_chrome(data) if path.suffix == ".json" else read_perfetto(data)


def read_chrome(data: bytes) -> Timeline:
    form = json.loads(data)
    timeline = Timeline()
    events = []
    for event in form["traceEvents"]:
        if event["ph"] == "M":
            if event["name"] == "process_name":
                timeline.processes[event["pid"]] = event["args"]["name"]
            elif event["name"] == "thread_name":
                timeline.tracks[event["tid"]] = event["args"]["name"]
            continue
        kind = {"s": "i", "f": "i"}.get(event["ph"], event["ph"])
        events.append(
            Event(
                round(event["ts"] * 1000),
                kind,
                event["pid"],
                event["tid"],
                event.get("name", ""),
                event.get("cat", ""),
                event.get("args", {}),
                event.get("id"),
                event["ph"] == "s",
                event.get("args", {}).get("value", 0.0) if kind == "C" else 0.0,
            )
        )
    _replay(timeline, events)
    return timeline


def read_perfetto(data: bytes) -> Timeline:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

    trace = Trace()
    trace.ParseFromString(data)
    timeline = Timeline()
    process_of: dict[int, int] = {}
    counted: dict[int, str] = {}
    for packet in trace.packet:
        if not packet.HasField("track_descriptor") or packet.track_descriptor.uuid == 0:
            continue
        about = packet.track_descriptor
        if about.HasField("process"):
            process_of[about.uuid] = about.process.pid
            timeline.processes[about.process.pid] = about.process.process_name
            continue
        process_of[about.uuid] = process_of[about.parent_uuid]
        if about.HasField("counter"):
            counted[about.uuid] = f"{about.name} ({about.counter.unit_name})"
        else:
            timeline.tracks[about.uuid] = about.name
    _replay(timeline, list(_track_events(trace, process_of, counted)))
    return timeline


def _track_events(
    trace: Any, process_of: dict[int, int], counted: dict[int, str]
) -> Iterator[Event]:
    texts: dict[str, dict[int, str]] = defaultdict(dict)
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        known = packet.interned_data
        for space in ("event_categories", "event_names", "debug_annotation_names"):
            for entry in getattr(known, space):
                assert entry.iid not in texts[space]
                texts[space][entry.iid] = entry.name
        for entry in known.debug_annotation_string_values:
            texts["values"][entry.iid] = entry.str.decode()
        if not packet.HasField("track_event"):
            continue
        assert packet.sequence_flags == packet.SEQ_NEEDS_INCREMENTAL_STATE
        event = packet.track_event
        kinds = {
            event.TYPE_SLICE_BEGIN: "B",
            event.TYPE_SLICE_END: "E",
            event.TYPE_INSTANT: "i",
            event.TYPE_COUNTER: "C",
        }
        flows = [*event.flow_ids, *event.terminating_flow_ids]
        assert len(flows) <= 1
        yield Event(
            packet.timestamp,
            kinds[event.type],
            process_of[event.track_uuid],
            event.track_uuid,
            texts["event_names"][event.name_iid]
            if event.name_iid
            else counted.get(event.track_uuid, ""),
            "".join(texts["event_categories"][iid] for iid in event.category_iids),
            {
                texts["debug_annotation_names"][item.name_iid]: _value(item, texts["values"])
                for item in event.debug_annotations
            },
            flows[0] if flows else None,
            bool(event.flow_ids),
            event.double_counter_value,
        )


def _value(annotation: Any, texts: dict[int, str]) -> Any:
    which = annotation.WhichOneof("value")
    value = getattr(annotation, which)
    return texts[value] if which == "string_value_iid" else value


def _replay(timeline: Timeline, events: list[Event]) -> None:
    open_slices: dict[int, list[Slice]] = defaultdict(list)
    for event in sorted(events, key=lambda event: event.time):
        stack = open_slices[event.track]
        if event.kind == "B":
            slice = Slice(
                event.process, event.track, event.name, event.category, event.time, event.args
            )
            stack.append(slice)
            timeline.slices.append(slice)
        elif event.kind == "E":
            stack.pop().end = event.time
        elif event.kind == "i":
            within = stack[-1] if stack else None
            instant = Instant(within, event.time, event.name, event.flow, event.leaves, event.args)
            timeline.instants.append(instant)
            if within is not None:
                within.inner.append(instant)
        else:
            place = (event.process, event.name)
            timeline.counters.setdefault(place, []).append((event.time, event.value))
    assert not any(open_slices.values())
