"""The best time between checkpoints and number of spare hosts, and what each policy buys.

Times are tried around the closed form (`explore/study/goodput.py`); spares are worth it while the
useful share of all hosts' time rises. Trade-off: both are sought on a part of the lives.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.explore.study.goodput import best_interval
from yantra.lives.draws import DAY_NS, NS, Events
from yantra.lives.play import Lives, play
from yantra.lives.policy import NEVER, Policy
from yantra.lives.ranges import range_of

if TYPE_CHECKING:
    from yantra.lives.question import Question

_TRIED = 250  # lives
_TIMES = (0.5, 0.7, 1.0, 1.4, 2.0)
_SPARES = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0)
_FEW = (0, 1, 2, 4)


class Bought(NamedTuple):
    """Goodput of another policy, and what it has over the answer's, with 90 % of lives."""

    name: str
    goodput: float
    gains: float
    low: float
    high: float


class Found(NamedTuple):
    policy: Policy
    lives: Lives
    closed: int | None
    """The closed form's `tau`."""


def found(question: Question, events: Events) -> Found:
    """Choose what a question leaves open, and play it."""
    few = _first(events, _TRIED)
    closed = closed_tau(question, events)
    tau = _tau(question, closed)
    spares = question.settings.spares
    if spares is None:
        spares = _best_spares(question, few, tau)
    if question.settings.interval is None and question.settings.checkpoint != "none":
        tau = _best_tau(question, few, tau, spares)
    policy = question.policy(tau, spares)
    return Found(policy, play(question.rates, events, policy), closed)


def closed_tau(question: Question, events: Events, **changes: Any) -> int | None:
    """The closed form's time, if anything fails."""
    met = float((events.at < events.horizon).sum(axis=0).mean())
    block = question.policy(0, 0, **changes).block
    if not met or not block:
        return None
    return round(best_interval(events.horizon / met / NS, block / NS) * NS)


def bought(question: Question, events: Events, base: Found) -> list[Bought]:
    """What other policies give, one changed at a time."""
    return [
        _against(name, base.lives, play(question.rates, events, policy), events.horizon)
        for name, policy in _variants(question, events, base)
        if policy != base.policy
    ]


def _variants(question: Question, events: Events, base: Found) -> list[tuple[str, Policy]]:
    now, said = base.policy, question.settings

    def with_(**changes: Any) -> Policy:
        return question.policy(now.tau, now.spares, **changes)

    made = [
        (_NAMES[kind], question.policy(tau or now.tau, now.spares, checkpoint=kind))
        for kind in _NAMES
        if kind != said.checkpoint
        for tau in (closed_tau(question, events, checkpoint=kind),)
    ]
    if said.checkpoint != "none":
        made.append(("checkpoints twice as often", question.policy(now.tau // 2, now.spares)))
    made.append(("no spare hosts", now._replace(spares=0)))
    name = "twice the spare hosts" if now.spares else "one spare host"
    made.append((name, now._replace(spares=max(2 * now.spares, 1))))
    if question.job.groups > 1:
        name = "a failed replica stops all" if said.elastic else "other replicas go on"
        made.append((name, with_(elastic=not said.elastic)))
    name = "no repair in place" if said.in_place else "repair in place"
    made.append((name, with_(in_place=not said.in_place)))
    name = "slow ranks stay" if said.evict else "slow ranks are evicted"
    if any(one.does == "slow" for one in question.rates.components):
        made.append((name, with_(evict=not said.evict)))
    if said.foreseen:
        made.append(("nothing is foreseen", with_(foreseen=0.0)))
    if said.queue is not None:
        made.append(("no host from the queue", with_(queue=None)))
    return made


_NAMES = {
    "async": "checkpoints while training goes on",
    "sync": "training waits for checkpoints",
    "memory": "checkpoints in other hosts' memory",
    "none": "no checkpoints",
}


def _against(name: str, base: Lives, other: Lives, horizon: int) -> Bought:
    gains = (other.useful - base.useful) / horizon
    return Bought(name, float(other.useful.mean() / horizon), *range_of(gains))


def _tau(question: Question, closed: int | None) -> int:
    given = question.settings.interval
    if given is not None:
        return round(given * NS)
    return DAY_NS if closed is None else closed


def _best_tau(question: Question, events: Events, around: int, spares: int) -> int:
    tried = {question.policy(round(around * times), spares).tau for times in _TIMES}
    if not len(events.at):
        return NEVER  # nothing fails
    return _best({tau: question.policy(tau, spares) for tau in sorted(tried)}, question, events)


def _best_spares(question: Question, events: Events, tau: int) -> int:
    """Around the hosts that are away at once, in the mean of lives."""
    at = events.at < events.horizon
    domain = np.array([one.hosts for one in question.rates.components])
    stays = np.where(at, events.repair, 0) * domain[events.component]
    away = float(stays.sum(axis=0).mean() / events.horizon) if len(at) else 0.0
    tried = sorted({*_FEW, *(ceil(away * times) for times in _SPARES)})
    hosts = question.job.hosts
    policies = {spares: question.policy(tau, spares) for spares in tried}
    return _best(policies, question, events, {one: hosts / (hosts + one) for one in tried})


def _best(
    policies: dict[int, Policy],
    question: Question,
    events: Events,
    worth: dict[int, float] | None = None,
) -> int:
    scored = {
        key: float(play(question.rates, events, policy).useful.mean()) * (worth or {}).get(key, 1.0)
        for key, policy in policies.items()
    }
    return max(scored, key=lambda key: scored[key])


def _first(events: Events, lives: int) -> Events:
    rows = int((events.at[:, :lives] < events.horizon).sum(axis=0).max(initial=0))
    kept = {
        name: getattr(events, name)[:rows, :lives]
        for name in ("at", "component", "repair", "mended", "foreseen")
    }
    each = {name: getattr(events, name)[:lives] for name in ("restart", "step")}
    return events._replace(**kept, **each)
