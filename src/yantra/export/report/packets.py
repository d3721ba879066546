"""Packets: the longest queues and the slowest messages over time, ports and slowdowns as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra.base.units import format_size, format_time
from yantra.export.report.markup import Cell, Head, Html, element, join, table

if TYPE_CHECKING:
    from yantra.export.report.run import Run
    from yantra.result.packets import Packets
    from yantra.result.table import Table

_DRAWN = 6
_PORTS = 100
_NOT_LOOKED = "Queues, rates and messages were not kept: the network has look: nothing."


def section(run: Run) -> Html:
    from yantra.result.packets import lines

    packets = run.result.packets
    summary = run.result.packet_summary
    assert summary is not None  # else there is no section
    parts: list[Html | None] = [
        element("p", f"{line[:1].upper()}{line[1:]}.") for line in lines(summary)
    ]
    if packets.every_ns is None:
        parts.append(element("p", _NOT_LOOKED, class_="note"))
    else:
        parts += [
            element("h3", "Queues over time"),
            element("p", _sampled(packets.every_ns), class_="note"),
            element("div", id="packet-queues", class_="chart"),
            *_rates(packets),
            _slowdown_table(packets),
        ]
    return join([*parts, _port_table(packets)])


def _sampled(every_ns: float) -> str:
    how = f"every {format_time(every_ns)}" if every_ns else "at every change"
    return f"Bytes that wait at the ports with the longest queues, {how}."


def _rates(packets: Packets) -> list[Html]:
    if not len(packets.rates):
        return []
    told = "What the slowest messages of those whose rate or window changed may send."
    return [
        element("h3", "Rates over time"),
        element("p", told, class_="note"),
        element("div", id="packet-rates", class_="chart"),
    ]


def as_data(run: Run) -> dict[str, Any] | None:
    if run.result.packet_summary is None:
        return None
    packets = run.result.packets
    if packets.every_ns is None:
        return {"queues": [], "rates": []}
    ports, messages = packets.ports, packets.messages
    longest = [row for row in _largest(ports, "queue_max_bytes") if ports["queue_max_bytes"][row]]
    changed = set(packets.rates.values("message"))
    slowest = [row for row in _largest(messages, "slowdown", changed) if row in changed]
    for at, row in enumerate(longest):
        _embed(run, f"packet.queue{at}", packets.queues, "link", row, "queue_bytes")
    for at, row in enumerate(slowest):
        _embed(run, f"packet.rate{at}", packets.rates, "message", row, "bytes_per_ns")
    names = packets.names
    ends = [messages.values(name) for name in ("sender", "receiver")]
    return {
        "queues": [names[row].text for row in longest],
        "rates": [f"message {row}: rank {ends[0][row]} to rank {ends[1][row]}" for row in slowest],
    }


def _largest(of: Table, column: str, among: set[int] | None = None) -> list[int]:
    import numpy as np

    values = np.nan_to_num(of[column], nan=-1.0)
    rows = np.arange(len(values)) if among is None else np.array(sorted(among), np.int64)
    chosen: list[int] = rows[np.argsort(-values[rows], kind="stable")][:_DRAWN].tolist()
    return chosen


def _embed(run: Run, name: str, of: Table, key: str, row: int, column: str) -> None:
    import numpy as np

    own = of[key] == row
    at_ns, values = of["at_ns"][own], of[column][own]
    kept = np.flatnonzero(np.diff(values.astype(np.float64), prepend=np.nan))
    run.columns.add_reals(f"{name}.ns", at_ns[kept])
    run.columns.add_reals(f"{name}.value", values[kept])


def _port_table(packets: Packets) -> Html:
    heads = [
        Head("from", False),
        Head("to", False),
        Head("label", False),
        Head("packets"),
        Head("bytes", about="with headers"),
        Head("longest queue"),
        Head("pauses", about="that the port obeyed"),
        Head("paused for"),
        Head("marks"),
        Head("drops", about="of what came over its link"),
    ]
    ports = packets.ports
    order = sorted(range(len(ports)), key=lambda row: -ports.values("queue_max_bytes")[row])
    names = ("packets", "bytes", "queue_max_bytes", "pauses", "paused_ns", "marks", "drops")
    columns = {name: ports.values(name) for name in names}
    rows = []
    for row in order[:_PORTS]:
        of = {name: values[row] for name, values in columns.items()}
        name = packets.names[row]
        rows.append(
            [
                name.source,
                name.destination,
                name.label,
                _count(of["packets"]),
                _size(of["bytes"]),
                _size(of["queue_max_bytes"]),
                _count(of["pauses"]),
                Cell(format_time(of["paused_ns"]), of["paused_ns"]),
                _count(of["marks"]),
                _count(of["drops"]),
            ]
        )
    title = "Ports" if len(order) <= _PORTS else f"The {_PORTS} ports with the longest queues"
    return table(title, heads, rows)


def _slowdown_table(packets: Packets) -> Html:
    heads = [
        Head("size from", False),
        Head("messages"),
        *[Head(f"slowdown p{at}", about="time over that alone") for at in (50, 95, 99)],
        *[Head(f"time p{at}") for at in (50, 95, 99)],
    ]
    rows = []
    for size, count, *values in packets.slowdowns.rows():
        assert isinstance(count, int)
        text = "all" if size is None else format_size(int(size))
        slow, times = values[:3], values[3:]
        rows.append(
            [
                Cell(text, -1.0 if size is None else size),
                _count(count),
                *[Cell(f"{value:.3f}", value) for value in slow],
                *[Cell(format_time(float(value or 0)), value) for value in times],
            ]
        )
    return table("Slowdown of messages by size", heads, rows)


def _count(value: int) -> Cell:
    return Cell(f"{value:,}", value)


def _size(value: int) -> Cell:
    return Cell(format_size(value), value)
