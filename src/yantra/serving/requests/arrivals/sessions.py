"""Sessions of agents: turns whose prompts go on from the conversation so far, with a tool between.

The prompt of turn t is all of turn t - 1, prompt and output, and `isl` tokens more: what the tool
returned, or what the user says next.
"""

from __future__ import annotations

import numpy as np

from yantra.base.errors import ConfigError
from yantra.base.fields import Number, Quantity, Section
from yantra.base.records import Record
from yantra.serving.requests.arrivals.closed import gammas
from yantra.serving.requests.arrivals.lengths import Drawn, Length, Rate
from yantra.serving.requests.arrivals.rule import MOST_REQUESTS, Rule, at_rate
from yantra.serving.requests.types import MOST_TOKENS, OWN, Requests

_MOST_SPANS = 200_000_000


class Options(Record):
    rate: float = 0.0
    turns: Drawn
    delay_ns: float = 0.0
    delay_cv: float = 0.0


class Sessions(Rule):
    options = Section(
        Options,
        {
            "rate": ("rate", Rate(), "sessions that begin in a second; by default all at 0"),
            "turns": ("turns", Length(), "requests of a session"),
            "delay": ("delay_ns", Quantity("time", "ns", at_least=0), "time that a tool takes"),
            "delay_cv": (
                "delay_cv",
                Number(at_least=0, at_most=100),
                "deviation of that time over its mean, of a gamma distribution",
            ),
        },
    )

    def requests(self) -> Requests:
        given, count = self.given, self.common.count
        turns = given.turns.draw(self.others, count)
        size = int(turns.sum())
        if size > MOST_REQUESTS or int((turns * turns).sum()) > 2 * _MOST_SPANS:
            problem = f"{size} requests with all turns before them; take fewer"
            raise ConfigError("sessions.count", problem)
        first = np.cumsum(turns) - turns
        session = np.repeat(np.arange(count), turns)
        turn = np.arange(size) - first[session]
        begin = np.zeros(count, np.int64)
        if given.rate:
            begin = at_rate(self.arrivals.exponential(1 / given.rate, count), "sessions.rate")
        added, output = self.lengths(size)
        so_far = np.cumsum(added + output)
        before = so_far[first] - (added + output)[first]
        prompt = so_far - output - before[session] + self.common.system
        if prompt.max() > MOST_TOKENS:
            raise ConfigError("sessions.turns", f"a prompt of {prompt.max()} tokens; take fewer")
        delay = gammas(self.others, given.delay_ns, given.delay_cv, size)
        return Requests.of(
            begin[session],
            prompt,
            output,
            limit=self.limit(output),
            session=session,
            user=session % 2**31,
            after=np.where(turn == 0, -1, np.arange(size) - 1),
            delay_ns=np.where(turn == 0, 0, delay),
            spans=_conversations(first[session], turn, prompt + output, self.common.system),
        )


def _conversations(
    first: np.ndarray, turn: np.ndarray, whole: np.ndarray, system: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    many = turn + (1 if system else 0)
    start = np.concatenate([[0], np.cumsum(many)])
    owner = np.repeat(np.arange(len(turn)), many)
    place = np.arange(start[-1]) - start[owner] - (1 if system else 0)  # -1: the beginning
    named = first[owner] + np.maximum(place, 0)
    source = np.where(place < 0, 0, OWN + named)
    return start, source, np.where(place < 0, system, whole[named])


PLUGIN = Sessions
