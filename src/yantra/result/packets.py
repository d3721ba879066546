"""What a run over the packet network leaves to look at: ports, queues, rates, messages, slowdowns,
sampled every `look_every` or at every change (docs/concepts/packet-network.md).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from yantra.base.units import format_size, format_time
from yantra.result.link_load import LinkName
from yantra.result.slowdowns import PERCENTILES, by_size, slowdown
from yantra.result.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from yantra import _core

_COUNTED = ("packets", "bytes", "queue_max_bytes", "pauses")
_TOTALS = ("packets", "data_packets", "acks", "nacks", "marked_acks", "drops", "timeouts")


class Packets:
    """The tables of a run; empty without a packet network."""

    def __init__(self, seen: _core.SeenPackets | None, name_of: Callable[[int], LinkName]) -> None:
        self._seen = seen
        self._name_of = name_of

    @cached_property
    def names(self) -> list[LinkName]:
        return [self._name_of(link) for link in self._numbers.tolist()]

    @property
    def numbers(self) -> list[int]:
        numbers: list[int] = self._numbers.tolist()
        return numbers

    @cached_property
    def ports(self) -> Table:
        """A row for each port that sent anything, by its link.

        `pauses` are those it obeyed, `drops` what came over its link and found no room.
        """
        counts = self._columns("counts")
        rows = np.arange(len(self._numbers))
        columns: dict[str, Column] = self._named(rows)
        columns |= {name: _whole(counts, name) for name in _COUNTED}
        columns["paused_ns"] = _real(counts, "paused_ns")
        columns |= {name: _whole(counts, name) for name in ("marks", "drops")}
        columns["busy_ns"] = _real(counts, "busy_ns")
        return Table("packet_ports", len(rows), columns)

    @cached_property
    def queues(self) -> Table:
        """A row for each port and sample: waiting bytes, and totals since the start.

        `paused` is 1 while it may not send data; `sent_bytes` include headers. A row holds until
        the port's next.
        """
        series = self._columns("ports", "link")
        rows = np.searchsorted(self._numbers, series["link"])
        columns: dict[str, Column] = self._named(rows)
        columns["at_ns"] = _real(series, "at_ns")
        columns["queue_bytes"] = _whole(series, "queue_bytes")
        columns["sent_bytes"] = _whole(series, "sent_bytes")
        columns["paused"] = _whole(series, "is_paused")
        columns["paused_ns"] = _real(series, "paused_ns")
        columns |= {name: _whole(series, name) for name in ("marks", "drops")}
        return Table("packet_queues", len(rows), columns)

    @cached_property
    def sweeps(self) -> Table:
        """A row for each switch queue with 1,000 or more bytes at a sweep.

        Sweeps look at all queues `sweep_every` apart from `sweep_from` on, while anything is under
        way; off without that option.
        """
        series = self._columns("sweeps")
        rows = np.searchsorted(self._numbers, series["link"])
        columns: dict[str, Column] = self._named(rows)
        columns |= {"at_ns": _real(series, "at_ns"), "bytes": _whole(series, "bytes")}
        return Table("packet_sweeps", len(rows), columns)

    @cached_property
    def rates(self) -> Table:
        """A row for each message and sample of its sender's rate and window.

        A message without rows has its link's rate throughout.
        """
        series = self._columns("rates", "message")
        sent = series["message"]
        columns: dict[str, Column] = {
            "message": ("whole", sent.tolist),
            "sender": ("whole", self._of_messages("source", sent)),
            "receiver": ("whole", self._of_messages("destination", sent)),
            "at_ns": _real(series, "at_ns"),
            "bytes_per_ns": _real(series, "bytes_per_ns"),
            "window_bytes": _whole(series, "window_bytes"),
        }
        return Table("packet_rates", len(sent), columns)

    @cached_property
    def messages(self) -> Table:
        """The receiver has the last byte at `arrived_ns`, `fct_ns` after `start_ns`; the sender the
        last ACK at `acknowledged_ns`. Alone it takes the latencies, a packet on each link, and the
        others behind it on the narrowest.
        """
        of = self._messages
        every = np.arange(len(of["bytes"]))
        columns: dict[str, Column] = {
            "message": ("whole", every.tolist),
            "sender": _whole(of, "source"),
            "receiver": _whole(of, "destination"),
            "bytes": _whole(of, "bytes"),
            "start_ns": _real(of, "start_ns"),
            "arrived_ns": _real(of, "arrived_ns"),
            "acknowledged_ns": _real(of, "acknowledged_ns"),
            "fct_ns": ("real", lambda: _or_none(self._fct_ns)),
            "alone_ns": _real(of, "alone_ns"),
            "slowdown": ("real", lambda: _or_none(slowdown(self._fct_ns, of["alone_ns"]))),
            "resent_bytes": _whole(of, "resent_bytes"),
        }
        return Table("packet_messages", len(every), columns)

    @cached_property
    def slowdowns(self) -> Table:
        """Percentiles of slowdown and completion time from each power of ten, and of all."""
        through = np.flatnonzero(~np.isnan(self._fct_ns))
        fct_ns = self._fct_ns[through]
        slowdowns = slowdown(fct_ns, self._messages["alone_ns"][through])
        rows = list(by_size(self._messages["bytes"][through], slowdowns, fct_ns))
        columns: dict[str, Column] = {
            "from_bytes": (
                "whole",
                lambda: [None if row[0] is None else 10 ** row[0] for row in rows],
            ),
            "messages": ("whole", lambda: [row[1] for row in rows]),
        }
        for part, name in ((2, "slowdown_p{}"), (3, "fct_p{}_ns")):
            columns |= {
                name.format(percentile): ("real", _percentile(rows, part, at))
                for at, percentile in enumerate(PERCENTILES)
            }
        return Table("packet_slowdowns", len(rows), columns)

    def summary(self) -> dict[str, Any] | None:
        if self._seen is None:
            return None
        totals, counts = self._seen.totals, self._columns("counts")
        found: dict[str, Any] = {name: getattr(totals, name) for name in _TOTALS}
        found["pauses"] = int(counts["pauses"].sum())
        found["paused_ns"] = float(counts["paused_ns"].sum())
        most = counts["queue_max_bytes"]
        found["queue_max_bytes"] = int(most.max(initial=0))
        if totals.skipped:
            found["skipped"] = totals.skipped
        if totals.trims:
            found["trims"] = totals.trims
        if totals.timeouts_without_loss:
            found["timeouts_without_loss"] = totals.timeouts_without_loss
        if len(most) and most.max():
            found["longest_queue"] = self.names[int(most.argmax())].text
        return found

    @property
    def every_ns(self) -> float | None:
        """Time between samples of queues, 0 for every change; None for none."""
        if self._seen is None or not self._seen.looks:
            return None
        return self._seen.every_ns

    def _columns(self, name: str, *order: str) -> dict[str, NDArray[Any]]:
        if self._seen is None:
            return _EMPTY
        made = getattr(self._seen, name)()
        fields = [field for field in dir(made) if not field.startswith("_")]
        columns = {field: np.asarray(getattr(made, field)) for field in fields}
        if not order:
            return columns
        rows = np.lexsort((columns["at_ns"], columns[order[0]]))
        return {field: values[rows] for field, values in columns.items()}

    @cached_property
    def _numbers(self) -> NDArray[Any]:
        return self._columns("counts")["link"]

    @cached_property
    def _messages(self) -> dict[str, NDArray[Any]]:
        return self._columns("messages")

    @cached_property
    def _fct_ns(self) -> NDArray[np.float64]:
        fct_ns: NDArray[np.float64] = self._messages["arrived_ns"] - self._messages["start_ns"]
        return fct_ns

    def _of_messages(self, name: str, rows: NDArray[Any]) -> Any:
        return lambda: self._messages[name][rows].tolist()

    def _named(self, rows: NDArray[Any]) -> dict[str, Column]:
        def part(at: int) -> Any:
            return lambda: [self.names[row][at] for row in rows.tolist()]

        columns: dict[str, Column] = {"link": ("whole", rows.tolist)}
        return columns | {name: ("text", part(at)) for at, name in enumerate(LinkName._fields)}


class _Nothing(dict[str, "NDArray[Any]"]):
    def __missing__(self, _name: str) -> NDArray[Any]:
        return np.zeros(0, np.int64)


_EMPTY = _Nothing()


def lines(summary: dict[str, Any]) -> list[str]:
    from yantra.base.text import count

    packets = count(summary["packets"], "packet", commas=True)
    acks = count(summary["acks"], "ACK", commas=True)
    dropped = count(summary["drops"], "packet", commas=True)
    was = "was" if summary["drops"] == 1 else "were"
    found = [
        f"{packets} crossed a link; {summary['marked_acks']:,} of {acks} carried a mark, "
        f"{dropped} {was} dropped"
    ]
    found += trimmed(summary)
    if "skipped" in summary:
        share = floored_share(summary["skipped"], summary["packets"])
        found.append(f"skipped {share} of these crossings (repeated steps); exact")
    if summary["pauses"]:
        paused = format_time(summary["paused_ns"])
        found.append(f"{count(summary['pauses'], 'pause', commas=True)}, {paused} over all ports")
    found += needless(summary)
    if "longest_queue" in summary:
        size = format_size(summary["queue_max_bytes"])
        found.append(f"the longest queue had {size}, from {summary['longest_queue']}")
    return found


def floored_share(part: int, whole: int) -> str:
    """In percent, rounded down, as not all are skipped."""
    return f"{part * 1000 // whole / 10:.1f} %"


def trimmed(summary: dict[str, Any]) -> list[str]:
    from yantra.base.text import count

    trims = summary.get("trims", 0)
    return [f"switches trimmed {count(trims, 'packet', commas=True)}"] if trims else []


def needless(summary: dict[str, Any]) -> list[str]:
    if not summary.get("timeouts_without_loss"):
        return []
    return [
        f"{summary['timeouts_without_loss']:,} timeouts without a loss: a silence was a queue; "
        "a longer retransmission avoids them"
    ]


def _whole(columns: dict[str, NDArray[Any]], name: str) -> Column:
    return "whole", lambda: columns[name].astype(np.int64).tolist()


def _real(columns: dict[str, NDArray[Any]], name: str) -> Column:
    return "real", lambda: _or_none(columns[name])


def _or_none(values: NDArray[Any]) -> list[float | None]:
    if not np.isnan(values).any():
        found: list[float | None] = values.tolist()
        return found
    return [None if value != value else value for value in values.tolist()]


def _percentile(rows: list[Any], part: int, at: int) -> Any:
    return lambda: [row[part][at] for row in rows]
