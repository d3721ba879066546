"""Plays a day: who waits, who runs where, at which pace, to the end of the last job.

Policies: `fifo` starts jobs in order; `backfill` lets later ones pass that end before the first
could start (EASY: Lifka, JSSPP 1995), or do not need its GPUs; `shortest` takes the least work
first. With quotas an owner's jobs beyond them give way to those within, and lose what they did
since their last checkpoint. Jobs that cross pods share their uplinks, and slow each other.

Trade-off: durations are known to `backfill` and `shortest`, as they are to no scheduler.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Literal, NamedTuple

from yantra.lives.days.hosts import Hosts, Placed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from yantra.lives.days.traces import Asked

Scheduling = Literal["fifo", "backfill", "shortest"]
_ENDS, _COMES = 0, 1


class Rules(NamedTuple):
    """How a day is run; seconds."""

    policy: Scheduling = "backfill"
    quotas: Mapping[str, int] = {}
    """GPUs of owners; those without one have none, unless nobody has."""
    checkpoint: float = 1800.0
    restart: float = 600.0
    uplinks: float = 1.0
    """Oversubscription: a pod's hosts over the uplinks' worth of hosts."""


class Ran(NamedTuple):
    """A job's day: seconds."""

    job: Asked
    started: float
    ended: float
    held: float
    """For which it had its GPUs."""
    redone: float
    """Work lost to preemption, and restarts after it."""
    slowed: float
    """What others' traffic cost it."""
    preempted: int
    crosses: bool

    @property
    def waited(self) -> float:
        """Until the first start."""
        return self.started - self.job.submitted


class Day(NamedTuple):
    """Rows of jobs, and integrals over time in GPU-seconds."""

    ran: tuple[Ran, ...]
    gpus: int
    window: float
    """Seconds over which the next two are."""
    busy: float
    fragmented: float
    """Free, while the first in the queue wanted no more than were free."""
    queue: int
    """The longest."""
    most: int
    """GPUs held at once."""


class _Running:
    def __init__(self, index: int, job: Asked) -> None:
        self.index, self.job = index, job
        self.left = job.work
        self.placed: Placed | None = None
        self.pace = 1.0
        self.since = 0.0
        self.start: float | None = None
        self.began = self.ended = 0.0
        self.held = self.redone = self.slowed = 0.0
        self.done = 0.0  # since the last start
        self.preempted = 0
        self.version = 0
        self.crossed = False

    def settle(self, now: float) -> None:
        spent = now - self.since
        self.left -= spent * self.pace
        self.done += spent * self.pace
        self.slowed += spent * (1.0 - self.pace)
        self.held += spent
        self.since = now


class _Cluster:
    def __init__(self, hosts: Hosts, rules: Rules, slowdown: Callable[[int, float], float]) -> None:
        self.hosts, self.rules, self.slowdown = hosts, rules, slowdown
        self.events: list[tuple[float, int, int, int]] = []
        self.queue: list[_Running] = []
        self.running: dict[int, _Running] = {}
        self.used: dict[str, int] = {}
        self.all: list[_Running] = []

    def start(self, one: _Running, now: float) -> bool:
        placed = self.hosts.place(one.job.gpus)
        if placed is None:
            return False
        one.placed, one.since, one.began, one.done = placed, now, now, 0.0
        one.start = now if one.start is None else one.start
        one.crossed = one.crossed or bool(placed.pods)
        self.running[id(one)] = one
        self.used[one.job.owner] = self.used.get(one.job.owner, 0) + one.job.gpus
        self.queue.remove(one)
        if placed.pods:
            self.paced(now)
        one.pace = self.pace_of(one)
        self.ends(one, now)
        return True

    def stop(self, one: _Running, now: float) -> None:
        one.settle(now)
        assert one.placed is not None
        self.hosts.give_back(one.placed)
        crossed, one.placed = bool(one.placed.pods), None
        one.version += 1
        del self.running[id(one)]
        self.used[one.job.owner] -= one.job.gpus
        if crossed:
            self.paced(now)

    def preempt(self, one: _Running, now: float) -> None:
        self.stop(one, now)
        lost = one.done % self.rules.checkpoint + self.rules.restart
        one.left += lost
        one.redone += lost
        one.preempted += 1
        self.queue.append(one)
        self.queue.sort(key=lambda other: other.job.submitted)

    def ends(self, one: _Running, now: float) -> None:
        one.version += 1
        at = now + max(one.left, 0.0) / one.pace
        heappush(self.events, (at, _ENDS, one.index, one.version))

    def paced(self, now: float) -> None:
        """Give all that cross pods their pace anew."""
        for one in self.running.values():
            if one.placed is not None and one.placed.pods:
                pace = self.pace_of(one)
                if pace != one.pace:
                    one.settle(now)
                    one.pace = pace
                    self.ends(one, now)

    def pace_of(self, one: _Running) -> float:
        if one.placed is None or not one.placed.pods or self.rules.uplinks == 1.0:
            return 1.0
        crossing = self.crossing()
        size = {pod: int((self.hosts.pod == pod).sum()) for pod in one.placed.pods}
        share = min(
            1.0, *(size[pod] / self.rules.uplinks / crossing[pod] for pod in one.placed.pods)
        )
        return 1.0 / self.slowdown(one.job.gpus, share)

    def crossing(self) -> dict[int, int]:
        """By pod, hosts of jobs that cross pods."""
        found: dict[int, int] = {}
        for one in self.running.values():
            if one.placed is not None:
                for pod, hosts in one.placed.pods.items():
                    found[pod] = found.get(pod, 0) + hosts
        return found


def play(
    jobs: Sequence[Asked],
    hosts: Hosts,
    rules: Rules,
    window: float,
    slowdown: Callable[[int, float], float] = lambda _gpus, _share: 1.0,
) -> Day:
    """Run all jobs; `slowdown` is of so many GPUs with a share of their bandwidth across pods."""
    of = _Cluster(hosts, rules, slowdown)
    gpus = hosts.free_gpus
    of.all = [_Running(index, job) for index, job in enumerate(jobs)]
    for index, job in enumerate(jobs):
        heappush(of.events, (job.submitted, _COMES, index, 0))
    now = fragmented = busy = 0.0
    longest = most = 0
    while of.events:
        at, what, index, version = heappop(of.events)
        one = of.all[index]
        if what == _ENDS and (version != one.version or one.placed is None):
            continue
        spent = min(at, window) - min(now, window)
        if spent:
            free = hosts.free_gpus
            busy += (gpus - free) * spent
            if of.queue and _first(of).job.gpus <= free:
                fragmented += free * spent
        now = at
        if what == _COMES:
            of.queue.append(one)
        else:
            of.stop(one, now)
            one.left, one.ended = 0.0, now
        _schedule(of, now)
        longest = max(longest, len(of.queue))
        if now < window:
            most = max(most, gpus - hosts.free_gpus)
    ran = tuple(
        Ran(
            one.job, one.start or 0.0, one.ended, one.held, one.redone, one.slowed, one.preempted,
            one.crossed,
        )
        for one in of.all
    )  # fmt: skip
    return Day(ran, gpus, window, busy, fragmented, longest, most)


def _schedule(of: _Cluster, now: float) -> None:
    while of.queue:
        first = _first(of)
        if of.start(first, now):
            continue
        if _within_quota(of, first) and _made_room(of, first, now):
            continue
        break
    if of.rules.policy != "fifo" and len(of.queue) > 1:
        _behind(of, now)


def _first(of: _Cluster) -> _Running:
    if of.rules.policy == "shortest":
        return min(of.queue, key=lambda one: (one.left * one.job.gpus, one.job.submitted))
    within = [one for one in of.queue if _within_quota(of, one)] if of.rules.quotas else []
    return (within or of.queue)[0]


def _behind(of: _Cluster, now: float) -> None:
    first = _first(of)
    shadow, extra = _reserved(of, first, now)
    rest = [one for one in of.queue if one is not first]
    if of.rules.policy == "shortest":
        rest.sort(key=lambda one: one.left * one.job.gpus)
    none: set[int] = set()  # sizes for which there is no place
    for one in rest:
        gpus, ends = one.job.gpus, now + one.left <= shadow
        if gpus in none or not (ends or gpus <= extra):
            continue
        if not of.start(one, now):
            none.add(gpus)
        elif not ends:
            extra -= gpus


def _reserved(of: _Cluster, first: _Running, now: float) -> tuple[float, int]:
    """When the first of the queue may start, and GPUs that it leaves free then."""
    free = of.hosts.free_gpus
    ends = sorted((one.since + one.left / one.pace, one.job.gpus) for one in of.running.values())
    for at, gpus in ends:
        free += gpus
        if free >= first.job.gpus:
            return at, free - first.job.gpus
    return now, 0


def _within_quota(of: _Cluster, one: _Running) -> bool:
    quota = of.rules.quotas.get(one.job.owner, 0)
    return of.used.get(one.job.owner, 0) + one.job.gpus <= quota


def _made_room(of: _Cluster, one: _Running, now: float) -> bool:
    """Preempt jobs of owners beyond their quota, the last to start first, if that suffices."""
    beyond = [
        other
        for other in of.running.values()
        if of.used[other.job.owner] > of.rules.quotas.get(other.job.owner, 0)
    ]
    beyond.sort(key=lambda other: -other.began)
    used, trial, chosen = dict(of.used), of.hosts.copy(), []
    for other in beyond:
        owner = other.job.owner
        if used[owner] <= of.rules.quotas.get(owner, 0) or other.placed is None:
            continue
        trial.give_back(other.placed)
        used[owner] -= other.job.gpus
        chosen.append(other)
        if trial.copy().place(one.job.gpus) is not None:
            for victim in chosen:
                of.preempt(victim, now)
            return of.start(one, now)
    return False
