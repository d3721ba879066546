"""The highest rate of arrivals at which a fleet keeps its promises.

Bisection over a factor of the same arrivals, to 1 %: equal questions have equal answers.
(DistServe's search, Zhong et al., OSDI 2024.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from yantra.base.errors import ConfigError, DeadlockError
from yantra.serving.measures import is_overloaded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yantra.serving.fleet import Fleet, Ran
    from yantra.serving.measures import Objective
    from yantra.serving.requests import Requests

_WIDTH = 0.01
_FURTHEST = 1 << 20


class Capacity(NamedTuple):
    """`requests_per_s` arrive, `factor` times those asked; `breaks_at`: lower rates that fail."""

    requests_per_s: float
    factor: float
    runs: int
    breaks_at: tuple[float, ...]

    def words(self) -> str:
        said = (
            f"{self.requests_per_s:.4g} requests/s is the most that keeps every promise, to 1 %: "
            f"{self.factor:.4g} x what was asked, found in {self.runs} runs of these "
            "requests alone (a queue that grows slowly shows in a longer trace)"
        )
        if not self.breaks_at:
            return said
        lower = ", ".join(f"{rate:.4g}" for rate in self.breaks_at)
        return f"{said}; lower rates break one, as schedulers are not monotone: {lower}"


def capacity(fleet: Fleet, requests: Requests, objectives: Sequence[Objective]) -> Capacity:
    """Search the factor; 0 where even the first request alone breaks a promise.

    Raises ConfigError without a promise, or for arrivals that have no rate.
    """
    if not objectives:
        raise ConfigError("capacity", "no promise to keep; give --ttft, --tpot or both")
    if requests.span_s <= 0:
        raise ConfigError("requests", "they arrive at once, so they have no rate to search")
    own_rate = (len(requests) - 1) / requests.span_s
    tried: dict[float, bool] = {}

    def holds(factor: float) -> bool:
        if factor not in tried:
            tried[factor] = keeps(_run(fleet, requests.scaled(factor)), objectives)
        return tried[factor]

    best = _searched(holds)
    below = [best * share for share in (0.98, 0.96, 0.94)] if best else []
    breaks = tuple(own_rate * factor for factor in below if not holds(factor))
    return Capacity(own_rate * best, best, len(tried), breaks)


def keeps(ran: Ran | None, objectives: Sequence[Objective]) -> bool:
    if ran is None or is_overloaded(ran):
        return False
    return all(one.value(ran) <= one.seconds for one in objectives)


def _run(fleet: Fleet, requests: Requests) -> Ran | None:
    try:
        return fleet.run(requests)
    except DeadlockError:
        return None


def _searched(holds: Callable[[float], bool]) -> float:
    low, high = 1.0, 1.0
    if holds(1.0):
        while holds(high := 2 * low):
            low = high
            if low > _FURTHEST:
                return low
    else:
        while not holds(low := high / 2):
            high = low
            if low < 1 / _FURTHEST:
                return 0.0
    while high / low > 1 + _WIDTH:
        middle = (low * high) ** 0.5
        if holds(middle):
            low = middle
        else:
            high = middle
    return low
