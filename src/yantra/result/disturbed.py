"""What disturbed a run and what it cost: failures, slow ranks, background traffic."""

from __future__ import annotations

from typing import Any, NamedTuple

from yantra.base.text import count
from yantra.base.units import format_size, format_time

_SHOWN = 4


class Disturbed(NamedTuple):
    """What disturbed a run; times in ns.

    `failures` began before the run's end; a file states `changes` of links. `rerouted` messages
    took another way, `waited` ones waited `waiting_ns` for links that were down; `lost_packets` of
    `lost_bytes` were sent again. `without_failures_ns` and `without_background_ns` are makespans,
    None if there was none or not asked for.
    """

    makespan_ns: float
    failures: tuple[str, ...] = ()
    changes: int = 0
    rerouted: int = 0
    waited: int = 0
    waiting_ns: float = 0.0
    lost_packets: int = 0
    lost_bytes: int = 0
    background_flows: int = 0
    background_bytes: int = 0
    without_failures_ns: float | None = None
    without_background_ns: float | None = None

    @property
    def slowdown_by_failures(self) -> float | None:
        """Times as long as without failures; None if unknown."""
        return _over(self.makespan_ns, self.without_failures_ns)

    @property
    def slowdown_by_background(self) -> float | None:
        return _over(self.makespan_ns, self.without_background_ns)

    def sentences(self) -> list[str]:
        return [*self._of_failures(), *self._of_background()]

    def _of_failures(self) -> list[str]:
        if not self.failures and not self.changes:
            return []
        named = "; ".join(self.failures[:_SHOWN])
        more = f"; and {len(self.failures) - _SHOWN} more" if len(self.failures) > _SHOWN else ""
        parts = [f"{count(len(self.failures), 'failure')}: {named}{more}"] if named else []
        if self.changes:
            parts.append(f"{count(self.changes, 'stated change')} of links")
        went = f"{count(self.rerouted, 'message')} rerouted"
        waited = f"{self.waited} waited"
        if self.waited:
            waited += f", {format_time(self.waiting_ns)} in all"
        if self.lost_packets:
            waited += f", {count(self.lost_packets, 'packet')} lost"
            waited += f" ({format_size(self.lost_bytes)})"
        cost = _longer(self.makespan_ns, self.without_failures_ns)
        return [". ".join([*parts, f"{went}, {waited}{cost}"])]

    def _of_background(self) -> list[str]:
        if not self.background_flows:
            return []
        size = format_size(self.background_bytes)
        cost = _longer(self.makespan_ns, self.without_background_ns)
        return [f"{count(self.background_flows, 'flow')} of {size} in the background{cost}"]

    def as_dict(self) -> dict[str, Any]:
        found = self._asdict() | {
            "failures": list(self.failures),
            "slowdown_by_failures": self.slowdown_by_failures,
            "slowdown_by_background": self.slowdown_by_background,
        }
        del found["makespan_ns"]
        return {name: value for name, value in found.items() if value is not None}

    @classmethod
    def of_dict(cls, form: dict[str, Any], makespan_ns: float) -> Disturbed:
        known = {name: form[name] for name in cls._fields if name in form}
        known["failures"] = tuple(known.get("failures", ()))
        return cls(**(known | {"makespan_ns": makespan_ns}))


def _over(whole: float, part: float | None) -> float | None:
    return whole / part if part else None


def _longer(whole: float, without_ns: float | None) -> str:
    if without_ns is None:
        return ""
    alone = f"without ({format_time(without_ns)})"
    if not without_ns or whole == without_ns:
        return f"; the run takes as long as {alone}"
    share = 100 * (whole / without_ns - 1)
    return f"; the run takes {abs(share):.1f} % {'longer' if share > 0 else 'less'} than {alone}"
