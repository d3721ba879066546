"""What a replay found: of each operator the recorded and the measured time, or why it was not run.

Measured is the median over the iterations. Times are nanoseconds; a recorded time of 0 says that
the trace has none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct, to_builtins


class Replayed(Struct, frozen=True):
    """One operator of the trace; `skipped` is the reason why it was not replayed, or empty.

    `different` says how its result differs in shape from the recorded one.
    """

    id: int
    """The id of the node."""
    name: str
    """The name of the operator."""
    recorded_ns: int
    """Its recorded time, in ns."""
    measured_ns: int = 0
    """Its time when replayed, in ns: the median over the iterations."""
    skipped: str = ""
    """Why it was not replayed; empty if it was."""
    different: str = ""
    """How its result differs in shape from the recorded one; empty if it does not."""


class Row(Struct, frozen=True):
    """All operators of one name; of the times, those replayed only."""

    name: str
    count: int
    replayed: int
    recorded_ns: int
    measured_ns: int

    @property
    def ratio(self) -> float | None:
        """Measured over recorded time; None without a recorded one."""
        return _ratio(self.measured_ns, self.recorded_ns)


class Report(Struct, frozen=True):
    """A replay: what it ran on, and every operator in the order of the trace.

    `communication` counts operators left out because they need other ranks.
    """

    trace: str
    """The path of the trace."""
    device: str
    """The device that it ran on."""
    iterations: int
    """How often each operator ran."""
    storage_bytes: int
    """The memory that its tensors take, in bytes."""
    communication: int
    """Operators left out because they need other ranks."""
    operators: list[Replayed]
    """Every operator in the order of the trace."""

    @property
    def replayed(self) -> list[Replayed]:
        """The operators that were run."""
        return [operator for operator in self.operators if not operator.skipped]

    @property
    def recorded_ns(self) -> int:
        """Recorded time of the operators that were run."""
        return sum(operator.recorded_ns for operator in self.replayed)

    @property
    def measured_ns(self) -> int:
        """Measured time of the operators that were run."""
        return sum(operator.measured_ns for operator in self.replayed)

    @property
    def ratio(self) -> float | None:
        """Measured over recorded time; None where the trace has no times."""
        return _ratio(self.measured_ns, self.recorded_ns)

    @property
    def coverage(self) -> float:
        """Share of the operators' recorded time that was replayed; of their number without times.

        1 when there is nothing to replay.
        """
        total = sum(operator.recorded_ns for operator in self.operators)
        if total:
            return self.recorded_ns / total
        return len(self.replayed) / len(self.operators) if self.operators else 1.0

    def rows(self) -> list[Row]:
        """Return the operators by name, those that took longest when recorded first."""
        by_name: dict[str, list[Replayed]] = {}
        for operator in self.operators:
            by_name.setdefault(operator.name, []).append(operator)
        rows = [_row(name, found) for name, found in by_name.items()]
        return sorted(rows, key=lambda row: (-row.recorded_ns, -row.measured_ns, row.name))

    def reasons(self) -> dict[str, list[str]]:
        """Return why operators were not run: of each reason their names, most frequent first."""
        found: dict[str, list[str]] = {}
        for operator in self.operators:
            if operator.skipped:
                found.setdefault(operator.skipped, []).append(operator.name)
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))

    def as_dict(self) -> dict[str, Any]:
        """Return the report as it stands in JSON."""
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
