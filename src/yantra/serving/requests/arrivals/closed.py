"""A closed loop: each of `users` sends its next request when the last has finished, and it has
thought.
"""

from __future__ import annotations

import numpy as np

from yantra.base.fields import Number, Quantity, Section, Whole
from yantra.base.records import Record
from yantra.serving.requests.arrivals.rule import Rule
from yantra.serving.requests.types import Requests


class Options(Record):
    users: int
    think_ns: float = 0.0
    think_cv: float = 0.0


class Closed(Rule):
    """Request i is of user i modulo users; the first of each comes at 0."""

    options = Section(
        Options,
        {
            "users": ("users", Whole(at_least=1, at_most=2**31 - 1), "how many send requests"),
            "think": ("think_ns", Quantity("time", "ns", at_least=0), "from an answer to the next"),
            "think_cv": (
                "think_cv",
                Number(at_least=0, at_most=100),
                "deviation of that time over its mean, of a gamma distribution",
            ),
        },
    )

    def requests(self) -> Requests:
        count, users = self.common.count, self.given.users
        number = np.arange(count)
        after = np.maximum(number - users, -1)
        think = gammas(self.others, self.given.think_ns, self.given.think_cv, count)
        return self.made(
            np.zeros(count, np.int64),
            user=number % users,
            after=after,
            delay_ns=np.where(after < 0, 0, think),
        )


def gammas(generator: np.random.Generator, mean: float, cv: float, count: int) -> np.ndarray:
    if not cv or not mean:
        return np.full(count, round(mean), np.int64)
    return np.rint(generator.gamma(cv**-2, mean * cv**2, count)).astype(np.int64)


PLUGIN = Closed
