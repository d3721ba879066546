"""What a result is asked for that takes further runs, each from the part that knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yantra.compile import Model
    from yantra.result.bound import Gain
    from yantra.result.disturbed import Disturbed
    from yantra.result.figures import Interval
    from yantra.result.result import Result


class FurtherRuns:
    """See `yantra.result.result.Further`."""

    def gains(self, result: Result, thorough: bool) -> list[Gain] | None:
        from yantra.run import verdict

        most = verdict.MOST_EVENTS_OF_A_REPORT if thorough else verdict.MOST_EVENTS
        return verdict.gains(result, most)

    def interval(self, result: Result) -> Interval | None:
        from yantra.result.carried import is_carried

        if result.model.scenario.stack is None and not is_carried(result.model):
            return None
        from yantra.run.interval import interval

        return interval(result)

    def basis(self, model: Model) -> str:
        from yantra.run.interval import without_interval

        return without_interval(model)

    def steady_ns(self, result: Result) -> float | None:
        from yantra.run.steady import steady_ns

        return steady_ns(result)

    def disturbed(self, result: Result) -> Disturbed | None:
        if not result.model.scenario.is_disturbed:
            return None
        from yantra.run.disturbed import disturbed

        return disturbed(result)
