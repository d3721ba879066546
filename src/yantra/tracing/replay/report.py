"""A replay's results: operators' recorded and measured times, or why not run.

Measured: median over iterations.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct, to_builtins


class Replayed(Struct, frozen=True):
    """An operator of the trace."""

    id: int
    """Node id."""
    name: str
    """Operator name."""
    recorded_ns: int
    """Recorded time in ns."""
    measured_ns: int = 0
    """Replayed time in ns: the median."""
    skipped: str = ""
    """Why it was not replayed, or ""."""
    different: str = ""
    """How its result's shape differs from the recorded one, or ""."""


class Row(Struct, frozen=True):
    """All operators of a name; times of replayed ones only."""

    name: str
    count: int
    replayed: int
    recorded_ns: int
    measured_ns: int

    @property
    def ratio(self) -> float | None:
        return _ratio(self.measured_ns, self.recorded_ns)


class Report(Struct, frozen=True):
    """A replay, with operators in trace order."""

    trace: str
    """Path of the trace."""
    device: str
    """Device it ran on."""
    iterations: int
    """Runs of each operator."""
    storage_bytes: int
    """Bytes of its tensors."""
    communication: int
    """Operators left out: they need other ranks."""
    operators: list[Replayed]
    """Operators in trace order."""

    @property
    def replayed(self) -> list[Replayed]:
        """Operators run."""
        return [operator for operator in self.operators if not operator.skipped]

    @property
    def recorded_ns(self) -> int:
        """Recorded time of operators run."""
        return sum(operator.recorded_ns for operator in self.replayed)

    @property
    def measured_ns(self) -> int:
        """Measured time of operators run."""
        return sum(operator.measured_ns for operator in self.replayed)

    @property
    def ratio(self) -> float | None:
        """Measured over recorded; None without times."""
        return _ratio(self.measured_ns, self.recorded_ns)

    @property
    def coverage(self) -> float:
        """Replayed share of operators' recorded time, or of their number without times.

        1 when there is nothing to replay.
        """
        total = sum(operator.recorded_ns for operator in self.operators)
        if total:
            return self.recorded_ns / total
        return len(self.replayed) / len(self.operators) if self.operators else 1.0

    def rows(self) -> list[Row]:
        """By name, longest recorded first."""
        by_name: dict[str, list[Replayed]] = {}
        for operator in self.operators:
            by_name.setdefault(operator.name, []).append(operator)
        rows = [_row(name, found) for name, found in by_name.items()]
        return sorted(rows, key=lambda row: (-row.recorded_ns, -row.measured_ns, row.name))

    def reasons(self) -> dict[str, list[str]]:
        """Names by reason for not running, most frequent first."""
        found: dict[str, list[str]] = {}
        for operator in self.operators:
            if operator.skipped:
                found.setdefault(operator.skipped, []).append(operator.name)
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "trace": self.trace,
            "device": self.device,
            "iterations": self.iterations,
            "storage_bytes": self.storage_bytes,
            "operators": len(self.operators),
            "replayed": len(self.replayed),
            "communication": self.communication,
            "coverage": self.coverage,
            "recorded_ns": self.recorded_ns,
            "measured_ns": self.measured_ns,
            "ratio": self.ratio,
            "skipped": {reason: len(names) for reason, names in self.reasons().items()},
            "by_name": [to_builtins(row) | {"ratio": row.ratio} for row in self.rows()],
            "calls": to_builtins(self.operators),
        }


def _row(name: str, found: Iterable[Replayed]) -> Row:
    everything = list(found)
    run = [operator for operator in everything if not operator.skipped]
    return Row(
        name=name,
        count=len(everything),
        replayed=len(run),
        recorded_ns=sum(operator.recorded_ns for operator in run),
        measured_ns=sum(operator.measured_ns for operator in run),
    )


def _ratio(measured: int, recorded: int) -> float | None:
    return measured / recorded if recorded else None
