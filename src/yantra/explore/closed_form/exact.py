"""Simulates a plan unless that takes too long, counted in events so that every machine answers the
same.

A run that cannot be folded is refused if it is long (`yantra.run.work`) or has more nodes than
events are left; a folded one also stops at the limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from yantra.compile import Model, compile
from yantra.run.simulate import EVENTS_PER_SLICE, run

if TYPE_CHECKING:
    from yantra.result import Result
    from yantra.scenario import Scenario

MOST_EVENTS = 90_000_000
MOST_OF_ONE = 8_000_000  # events of one run, about ten seconds
_FOLLOWED = 96  # events worth of following one rank's messages


class _GivenUp(Exception):  # noqa: N818 - no error: it is caught here
    """The compiled scenario, and its result or the reason there is none."""


class Exact(NamedTuple):
    model: Model
    result: Result | None
    reason: str


class Budget:
    """The events that a search, and each of its simulations, may take."""

    def __init__(self, events: int = MOST_EVENTS, each: int = MOST_OF_ONE) -> None:
        self._all = self._left = events
        self._each = each

    @property
    def is_spent(self) -> bool:
        return self._left <= 0

    def simulate(self, scenario: Scenario) -> Exact:
        """Simulate a scenario; no result if it takes too many events."""
        model = compile(scenario)
        if self._left <= 0:
            return Exact(model, None, self._spent())
        slices = 0

        def count(done: int, nodes: int) -> None:
            nonlocal slices
            slices += done > 0
            events = max(slices * EVENTS_PER_SLICE, nodes)
            if events >= self._left:
                raise _GivenUp(self._spent())
            if events >= self._each:
                raise _GivenUp(f"the simulation of a plan may take {self._each:,} events")

        def refuse(text: str) -> None:
            raise _GivenUp(text)

        try:
            return Exact(model, run(model, progress=count, tell=refuse), "")
        except _GivenUp as reason:
            return Exact(model, None, str(reason))
        finally:
            self._left -= slices * EVENTS_PER_SLICE + _following(model)

    def _spent(self) -> str:
        return f"the simulations of a cluster may take {self._all:,} events"


def _following(model: Model) -> int:
    return 0 if model.scenario.collectives.selection is not None else _FOLLOWED * model.ranks
