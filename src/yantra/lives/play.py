"""Plays many lives of a job at once: where each nanosecond of them goes.

A job runs, is interrupted, waits for hosts, restarts and runs again from what it kept; failures
come while it is down, too, and start the restart over. All is whole ns and adds up exactly.

Trade-offs: slow ranks take their share of the useful time, evenly; a group that is away takes its
share of the job until another host has started. Both are moved out of the useful time at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.lives.policy import NEVER, Policy

if TYPE_CHECKING:
    from yantra.fabric.failures import Rates
    from yantra.lives.draws import Events

    Ints = np.ndarray[Any, np.dtype[np.int64]]
    Bools = np.ndarray[Any, np.dtype[np.bool_]]

PARTS = ("useful", "checkpoints", "redone", "restarts", "waiting", "stragglers", "ragged")


class Lives(NamedTuple):
    """In ns, one of each life; the parts sum to the horizon."""

    useful: Ints
    checkpoints: Ints
    redone: Ints
    """Work that was lost and is done again."""
    restarts: Ints
    waiting: Ints
    """For hosts in place of those that failed."""
    stragglers: Ints
    ragged: Ints
    """Of elastic jobs, for groups that are away."""
    counts: Ints
    """Interruptions by component, a row each."""

    def parts(self) -> tuple[Ints, ...]:
        return self[: len(PARTS)]


class _Happens(NamedTuple):
    """Events as a policy meets them."""

    at: Ints
    hosts: Ints
    """To be replaced."""
    planned: Bools
    """Whether a checkpoint is written first."""
    moved: Bools
    """Whether the job moves away."""
    elastic: Bools
    """Whether other groups may go on."""
    wide: Bools
    """Whether copies in other hosts' memory are lost."""
    repair: Ints


class _State:
    """Jobs of all lives, at `mark`."""

    def __init__(self, policy: Policy, lives: int) -> None:
        zeros = np.zeros(lives, np.int64)
        self.policy = policy
        self.mark, self.ready, self.resume = zeros.copy(), zeros.copy(), zeros.copy()
        self.ran = zeros.copy()  # since the last start, checkpoints included
        self.since_stored = zeros.copy()  # checkpoints since the last one in the storage
        self.useful, self.checkpoints, self.redone = zeros.copy(), zeros.copy(), zeros.copy()
        self.restarts, self.waiting, self.ragged = zeros.copy(), zeros.copy(), zeros.copy()
        self.pauses = np.zeros(lives, np.bool_)  # or last did, where it runs
        self.pool = np.zeros((lives, policy.spares + 1), np.int64)
        self.hole = np.full(lives, policy.spares)

    def settle(self, now: Ints) -> None:
        waits = np.maximum(np.minimum(self.ready, now) - self.mark, 0)
        started = np.maximum(self.ready, self.mark)
        restarts = np.maximum(np.minimum(self.resume, now) - started, 0)
        self.waiting += waits
        self.restarts += restarts
        self.ran += now - self.mark - waits - restarts
        self.mark = now

    def keep_stored(self, rows: Bools, wide: Bools) -> None:
        """Where a job crashed."""
        of = self.policy
        held = np.maximum(self.ran + of.block - of.save, 0) // of.period
        done = held * of.tau
        self.useful += np.where(rows, done, 0)
        self.checkpoints += np.where(rows, held * of.block, 0)
        self.redone += np.where(rows, self.ran - held * of.period, 0)
        self.ran = np.where(rows, 0, self.ran)
        self.since_stored = np.where(rows, self.since_stored + held, self.since_stored)
        self.since_stored %= of.store_every
        lost = np.where(rows & wide, self.since_stored, 0)
        self.useful -= lost * of.tau
        self.redone += lost * of.tau
        self.since_stored -= lost

    def keep_all(self, rows: Bools) -> None:
        """Where a job stops by itself."""
        of = self.policy
        held, rest = np.divmod(self.ran, of.period)
        done = held * of.tau + np.minimum(rest, of.tau)
        self.useful += np.where(rows, done, 0)
        self.checkpoints += np.where(rows, self.ran - done, 0)
        self.ran = np.where(rows, 0, self.ran)

    def replaced(self, now: Ints, hosts: Ints, repair: Ints) -> Ints:
        """When so many hosts have others in their place; now where none failed."""
        ready = now.copy()
        for more in range(int(hosts.max(initial=0))):
            rows = np.nonzero(hosts > more)[0]
            self.pool[rows, self.hole[rows]] = now[rows] + repair[rows]
            first = self.pool[rows].argmin(axis=1)
            self.hole[rows] = first
            given = self.pool[rows, first]
            if self.policy.queue < NEVER:
                given = np.minimum(given, now[rows] + self.policy.queue)
            ready[rows] = np.maximum(ready[rows], given)
        return ready


def play(rates: Rates, events: Events, policy: Policy) -> Lives:
    happens, slow, counts = _met(rates, events, policy)
    lives = len(events.restart)
    state = _State(policy, lives)
    horizon = np.full(lives, events.horizon, np.int64)
    for row in zip(*happens, strict=True):
        _event(state, _Happens(*row), events)
    state.settle(horizon)
    everybody = np.ones(lives, np.bool_)
    state.keep_all(everybody)
    ragged = np.minimum(state.ragged, state.useful)
    useful = state.useful - ragged
    behind = (1.0 - 1.0 / policy.slower) * slow / events.horizon
    stragglers = (useful * behind).astype(np.int64)
    return Lives(
        useful - stragglers, state.checkpoints, state.redone, state.restarts, state.waiting,
        stragglers, ragged, counts,
    )  # fmt: skip


def _event(state: _State, of: _Happens, events: Events) -> None:
    policy, restart = state.policy, events.restart
    real = of.at < events.horizon
    if not real.any():
        return
    state.settle(np.where(real, of.at, state.mark))
    runs = state.resume <= of.at
    there = state.replaced(of.at, np.where(real, of.hosts, 0), of.repair)
    goes_on = real & (runs | state.pauses) & of.elastic
    moves = real & runs & of.moved & ~goes_on
    stops = real & runs & of.planned & ~goes_on & ~moves
    crashes = real & ~goes_on & ~moves & ~stops
    state.keep_all(stops)
    state.keep_stored(crashes, of.wide)
    down = stops | crashes
    ready = np.where(down, np.maximum(state.ready, there), state.ready)
    later = np.where(down, np.maximum(ready, of.at) + restart, state.resume)
    later = np.where(goes_on, of.at + policy.reconfigure, later)
    state.resume = np.where(moves, np.maximum(there, of.at) + policy.move, later)
    state.ready = np.where(moves, there, ready)
    state.pauses = np.where(real, goes_on, state.pauses)
    if policy.groups:
        away = np.minimum(there + restart, events.horizon) - of.at
        state.ragged += np.where(goes_on, of.hosts * away // policy.groups, 0)


def _met(rates: Rates, events: Events, policy: Policy) -> tuple[_Happens, Ints, Ints]:
    """Events for a policy, time with a slow rank, and interruptions by component."""
    parts = rates.components
    of = events.component
    does = np.array([one.does for one in parts], str)
    domain = np.array([one.hosts for one in parts], int)
    is_slow = does[of] == "slow"
    at = events.at
    slow = _slow(np.where(is_slow, at, events.horizon), events.horizon, policy.notice)
    if is_slow.any():
        found = np.where(
            is_slow, np.minimum(at, events.horizon - 1) + min(policy.notice, NEVER), at
        )
        at = np.minimum(np.where(at < events.horizon, found, at), events.horizon)
    crash = does[of] == "crash"
    hosts = domain[of]
    hosts = np.where(crash & (events.mended < policy.in_place), 0, hosts)
    hit = crash & (domain[of] > 0)
    happens = _Happens(
        at,
        hosts,
        ~crash,
        hit & (events.foreseen < policy.foreseen) & (hosts > 0),
        (hit | is_slow) & (policy.groups > 0),
        domain[of] > 1,
        events.repair,
    )
    order = np.argsort(at, axis=0, kind="stable") if is_slow.any() else None
    if order is not None:
        in_order: Any = (np.take_along_axis(part, order, axis=0) for part in happens)
        happens = _Happens(*in_order)
    met = at < events.horizon
    counts = np.array([(met & (of == index)).sum(axis=0) for index in range(len(parts))])
    return happens, slow, counts.reshape(len(parts), len(events.restart))


def _slow(begins: Ints, horizon: int, notice: int) -> Ints:
    """Time with a slow rank: each for `notice`, several once."""
    if not len(begins):
        return np.zeros(begins.shape[1], np.int64)
    begins = np.sort(begins, axis=0)
    last = np.full((1, begins.shape[1]), horizon, np.int64)
    gaps = np.diff(np.concatenate([begins, last]), axis=0)
    return np.asarray(np.minimum(gaps, notice).sum(axis=0))
