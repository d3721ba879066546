"""Simulates a plan, unless that would take too long: a search has to end while somebody waits.

What is too long is counted in events and not in seconds, so a search gives the same answer on every
machine. A run that cannot be folded is given up before it begins if it is long work
(`yantra.run.work`) or has more nodes than events are left, as each takes one or more; a folded one
then, too, or after so many events. Classes of ranks are found by following the messages of all,
which takes longer than many a folded run; it counts as events, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from yantra.compile import Model, compile
from yantra.run.simulate import EVENTS_PER_SLICE, run

if TYPE_CHECKING:
    from yantra.result import Result
    from yantra.scenario import Scenario

MOST_EVENTS = 90_000_000
MOST_OF_ONE = 8_000_000  # events of one run: ten seconds or so
_FOLLOWED = 96  # events that take as long as following the messages of one rank


class _GivenUp(Exception):  # noqa: N818 - no error: it is caught here
    """Leaves a run; never leaves this file."""


class Exact(NamedTuple):
    """The compiled scenario, and its result or why there is none."""

    model: Model
    result: Result | None
    reason: str


class Budget:
    """The events that the simulations of one search may take together, and each of them."""

    def __init__(self, events: int = MOST_EVENTS, each: int = MOST_OF_ONE) -> None:
        self._all = self._left = events
        self._each = each

    @property
    def is_spent(self) -> bool:
        """Whether no events are left."""
        return self._left <= 0

    def simulate(self, scenario: Scenario) -> Exact:
        """Simulate a scenario; without a result if no events are left, or all of many ranks run."""
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
    """Return the events that finding classes is worth; collectives by tables have no messages."""
    return 0 if model.scenario.collectives.selection is not None else _FOLLOWED * model.ranks
