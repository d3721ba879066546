"""What converting the profile of another profiler did, for people and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec import Struct, field

from yantra.base.text import count
from yantra.base.units import format_time


class ProfileReport(Struct):
    """Nodes by what they are, and what was left out.

    `collectives` by kind; `permutes`: events that send or receive; `unknown`: communication of
    unknown size or members by kind, kept as computations of the recorded duration; `uncounted`:
    library calls without FLOPs. `idle_ns`: of the rank that is idle longest. `ranks_of`: file and
    device of each rank. `left_out`: events that are no work on a device, by line.
    """

    source: str = ""
    ranks: int = 0
    nodes: int = 0
    delays: int = 0
    kernels: int = 0
    copies: int = 0
    fills: int = 0
    collectives: Counter[str] = field(default_factory=Counter)
    permutes: int = 0
    sends: int = 0
    receives: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    uncounted: Counter[str] = field(default_factory=Counter)
    joined: int = 0
    launches: int = 0
    launched: int = 0
    containers: int = 0
    flops: int = 0
    kernel_ps: int = 0
    idle_ns: int = 0
    span_ns: int = 0
    ranks_of: dict[int, str] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__struct_fields__}

    def summary(self) -> str:
        lines = [
            f"{self.source}: {count(self.ranks, 'rank')}, {count(self.nodes, 'node')}, "
            f"{self.delays} of them delays",
            f"{count(self.kernels, 'computation')}, {self.copies} copies, {self.fills} fills; "
            f"{self.joined} joined to their program",
            f"{self.collectives.total()} collectives{_listed(self.collectives)}; "
            f"{self.sends} sends and {self.receives} receives",
        ]
        if self.left_out:
            events = sum(self.left_out.values())
            lines.append(f"{events} events are no work on a device: {_shown(self.left_out)}")
        if self.uncounted:
            lines.append(f"FLOPs not counted of library calls{_listed(self.uncounted)}")
        if self.idle_ns and self.span_ns:
            lines.append(
                f"{self.idle_ns / self.span_ns * 100:.0f} % of the recorded "
                f"{format_time(self.span_ns)} is delays, constant in every what-if (--no-gaps "
                "leaves them out)"
            )
        return "".join(f"{line}\n" for line in lines)


_MOST_SHOWN = 4


def _listed(counts: Counter[str]) -> str:
    said = ", ".join(f"{number} x {name}" for name, number in sorted(counts.items()))
    return f": {said}" if said else ""


def _shown(counts: dict[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    said = ", ".join(f"{number} on {name}" for name, number in ordered[:_MOST_SHOWN])
    return said + (", ..." if len(ordered) > _MOST_SHOWN else "")
