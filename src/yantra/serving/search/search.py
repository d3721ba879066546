"""The search: candidates by their bound on cost, simulated until no bound is below the best found.

Each is simulated as the whole fleet at the whole rate, with as few replicas as keep the promises.
The best is then sized once more for iterations as long as their interval allows.
Trade-off: one draw of arrivals judges all, so an answer is as sure as its p99 of them.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, exp, inf
from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import CapacityError, ConfigError, DeadlockError, YantraError
from yantra.base.units import format_time
from yantra.fabric.clusters.ownership import usd_per_h
from yantra.serving.capacity import keeps
from yantra.serving.fleet import Fleet, Pool
from yantra.serving.pools import SEATS
from yantra.serving.search.bounds import Bounds, Load, bounds
from yantra.serving.search.candidates import Candidate, candidates
from yantra.serving.serve import Question, fleet_of, line_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yantra.fabric.clusters.types import Cluster
    from yantra.serving.fleet import Ran
    from yantra.serving.measures import Objective
    from yantra.serving.requests import Requests

NO_ROOM = "no KV fits"
"""Why a candidate loses whose weights leave no memory."""

_MOST_MORE = 8
"""Replicas tried beyond the bound, as a factor."""
_PAIRS = 12
"""Pairs of prefill and decode replicas that are simulated, those with the lowest bound on cost."""


class Tried(NamedTuple):
    """A deployment and what came of it; `ran` None where a bound said enough."""

    name: str
    pools: tuple[tuple[int, str, Candidate], ...]
    usd_per_h: float
    devices: int
    ran: Ran | None
    why_not: str
    """Empty where it keeps all promises."""
    fleet: Fleet | None = None
    """As it ran."""

    @property
    def width(self) -> float:
        """That of its fleet; 0 where a bound said enough."""
        return 0.0 if self.fleet is None else self.fleet.width

    def ends(self) -> tuple[Ran, ...]:
        """It run with the shortest and the longest iterations."""
        if self.ran is None or self.fleet is None:
            return ()
        requests = self.ran.requests
        return tuple(self.fleet.run(requests, factor=factor) for factor in self.fleet.extremes)


class Found(NamedTuple):
    """What keeps the promises, the cheapest first, and what does not with the reason."""

    kept: tuple[Tried, ...]
    lost: tuple[Tried, ...]
    considered: int
    simulated: int
    is_priced: bool
    sure: Tried | None = None
    """The first with as many replicas as the longest iterations take; None: no few do."""


class _Shape(NamedTuple):
    """A candidate with its pool for the core, and its bounds."""

    candidate: Candidate
    pool: Pool
    bounds: Bounds


class _Search:
    def __init__(
        self, model: Any, requests: Requests, objectives: Sequence[Objective], stack: str | None
    ) -> None:
        self.model, self.requests, self.objectives, self.stack = model, requests, objectives, stack
        span = requests.span_s
        if span <= 0:
            raise ConfigError("requests", "they arrive at once; a plan needs a rate")
        self.load = Load(
            float(requests.prompt.mean()), float(requests.output.mean()), (len(requests) - 1) / span
        )
        self.simulated = 0
        self._costs: dict[Any, Any] = {}

    def shape(self, candidate: Candidate) -> _Shape:
        question = Question(
            self.requests, (("both", candidate.pool),), self.model, candidate.cluster, self.stack
        )
        (pool,), (room,) = self._fleet(question, candidate)
        tpot = [one.seconds for one in self.objectives if one.measure == "tpot"]
        assert room is not None
        seats = max((pool.options[name] for name in SEATS if name in pool.options), default=1e9)
        context = max(self.load.context, 1)
        most = int(max(min(seats, room.tokens // room.sequence_tokens(context)), 1))
        found = bounds(pool.cost.tables, self.load, most, min(tpot, default=None), pool.lanes)
        return _Shape(candidate, pool, found)

    def run(self, fleet: Fleet, factor: float = 1.0) -> Ran | None:
        self.simulated += 1
        try:
            return fleet.run(self.requests, factor=factor)
        except DeadlockError:
            return None

    def broken(self, ran: Ran | None) -> str:
        if ran is None:
            return "some requests never fit"
        for one in self.objectives:
            if (value := one.value(ran)) > one.seconds:
                return f"{one.measure.upper()} is {format_time(value * 1e9)}, not {one}"
        return "" if keeps(ran, self.objectives) else "the queue grows"

    def tightest(self, ran: Ran | None) -> float:
        """The largest share of a promise that is used up: of two as dear, less is better."""
        assert ran is not None
        return max(one.value(ran) / one.seconds for one in self.objectives)

    def too_slow(self, of: Bounds) -> str:
        for one in self.objectives:
            least = {"ttft": of.ttft_s, "tpot": of.tpot_s}.get(one.measure, 0.0)
            if least > one.seconds:
                return f"{one.measure.upper()} of one request alone is {format_time(least * 1e9)}"
        return "" if of.decode_rate > 0 else "no batch keeps the promise"

    def _fleet(self, question: Question, candidate: Candidate) -> Any:
        plan = candidate.pool.plan
        key = (candidate.cluster.name, plan, candidate.pool.engine)
        if key not in self._costs:
            wide = candidate.pool._replace(options={})
            try:
                fleet, rooms = fleet_of(question._replace(pools=(("both", wide),)))
            except YantraError as error:
                self._costs[key] = error
            else:
                self._costs[key] = fleet.pools[0], rooms[0]
        if isinstance(found := self._costs[key], YantraError):
            raise found
        made, room = found
        return (replace(made, options={**made.options, **candidate.pool.options}),), (room,)


def search(
    model: Any,
    clusters: Sequence[Cluster],
    requests: Requests,
    objectives: Sequence[Objective],
    *,
    engines: Sequence[str],
    dtypes: Sequence[str],
    stack: str | None = None,
    most_devices: int | None = None,
    domains: Sequence[int] = (1,),
    tell: Callable[[int, int], None] | None = None,
) -> Found:
    """Return the deployments that keep all promises at the rate of the requests.

    A replica has one of so many `domains` of the innermost network.

    Raises ConfigError without a promise.
    """
    if not objectives:
        raise ConfigError("serve plan", "no promise to keep; give --ttft, --tpot or both")
    of = _Search(model, requests, objectives, stack)
    shapes, lost = _shapes(of, list(candidates(model, clusters, engines, dtypes, domains)))
    limit = inf if most_devices is None else most_devices
    kept: list[Tried] = []
    ordered = sorted(shapes, key=lambda one: _least_usd(of, one))
    for at, shape in enumerate(ordered):
        cheapest = min((one.usd_per_h for one in kept), default=inf)
        if tell is not None:
            tell(at, len(ordered))
        if _least_usd(of, shape) >= cheapest * 2:
            lost.append(_bounded(of, shape, cheapest))
            continue
        tried = _replicated(of, shape, limit)
        (kept if not tried.why_not else lost).append(tried)
    for tried in _pairs(of, ordered, limit):
        (kept if not tried.why_not else lost).append(tried)
    kept.sort(key=lambda one: (one.usd_per_h, of.tightest(one.ran), one.name))
    is_priced = all(usd_per_h(cluster) is not None for cluster in clusters)
    sure = _sized_for_the_slow_end(of, kept[0], limit) if kept else None
    considered = len(shapes) + len(lost)
    return Found(tuple(kept), tuple(lost), considered, of.simulated, is_priced, sure)


def _shapes(of: _Search, all_of: Sequence[Candidate]) -> tuple[list[_Shape], list[Tried]]:
    shapes: list[_Shape] = []
    lost: list[Tried] = []
    for candidate in all_of:
        alone = ((1, "both", candidate),)
        try:
            shape = of.shape(candidate)
        except CapacityError:
            lost.append(_tried(alone, None, NO_ROOM))
            continue
        except YantraError as error:
            lost.append(_tried(alone, None, str(error)))
            continue
        if why := of.too_slow(shape.bounds):
            lost.append(_tried(alone, None, why))
        else:
            shapes.append(shape)
    return shapes, lost


def _least(of: _Search, rate: float) -> int:
    return max(ceil(of.load.rate / rate * (1 - 1e-9)), 1)


def _least_usd(of: _Search, shape: _Shape) -> float:
    return _least(of, shape.bounds.rate) * shape.candidate.usd_per_h


def _bounded(of: _Search, shape: _Shape, cheapest: float) -> Tried:
    pools = ((_least(of, shape.bounds.rate), "both", shape.candidate),)
    times = _least_usd(of, shape) / cheapest
    return _tried(pools, None, f"costs at least {times:.2g} times the best")


def _replicated(of: _Search, shape: _Shape, limit: float) -> Tried:
    first = _least(of, shape.bounds.rate)
    last, why, ran = first, "", None
    most = min(
        first * _MOST_MORE, int(limit // shape.candidate.devices) if limit < inf else 1 << 20
    )
    if first > most:
        return _tried(((first, "both", shape.candidate),), None, "takes more devices than allowed")

    def fleet(count: int) -> Fleet:
        return Fleet((replace(shape.pool, replicas=count),))

    def tried(count: int) -> tuple[str, Ran | None]:
        ran = of.run(fleet(count))
        return of.broken(ran), ran

    low, count = first - 1, first
    while True:
        why, ran = tried(count)
        if not why or count >= most:
            break
        low, count = count, min(max(count + 1, int(count * 1.5)), most)
    last = count
    while not why and last - low > 1:
        middle = (low + last) // 2
        said, other = tried(middle)
        if said:
            low = middle
        else:
            last, ran = middle, other
    return _tried(((last, "both", shape.candidate),), ran, why, fleet(last))


def _pairs(of: _Search, shapes: Sequence[_Shape], limit: float) -> list[Tried]:
    found = []
    for one in shapes:
        for other in shapes:
            if one.candidate.cluster is not other.candidate.cluster:
                continue
            if one.candidate.pool.engine != other.candidate.pool.engine:
                continue
            counts = (_least(of, one.bounds.prefill_rate), _least(of, other.bounds.decode_rate))
            usd = counts[0] * one.candidate.usd_per_h + counts[1] * other.candidate.usd_per_h
            found.append((usd, counts, one, other))
    found.sort(key=lambda item: item[0])
    made, seen = [], set()
    for _, counts, one, other in found:
        key = (one.candidate.pool.plan, other.candidate.pool.plan, one.candidate.cluster.name)
        if key in seen:
            continue
        seen.add(key)
        made.append(_paired(of, one, other, counts, limit))
        if len(made) == _PAIRS:
            break
    return made


def _paired(
    of: _Search, one: _Shape, other: _Shape, counts: tuple[int, int], limit: float
) -> Tried:
    question = Question(
        of.requests,
        (("prefill", one.candidate.pool), ("decode", other.candidate.pool)),
        of.model,
        one.candidate.cluster,
    )

    line = line_of(question)
    first, second = counts
    for _ in range(_MOST_MORE):
        pools = ((first, "prefill", one.candidate), (second, "decode", other.candidate))
        if first * one.candidate.devices + second * other.candidate.devices > limit:
            return _tried(pools, None, "takes more devices than allowed")
        roles = (
            replace(one.pool, replicas=first, role="prefill"),
            replace(other.pool, replicas=second, role="decode"),
        )
        ran = of.run(fleet := Fleet(roles, line=line))
        if not (why := of.broken(ran)):
            return _tried(pools, ran, "", fleet)
        if ran is None or why.startswith("TTFT"):
            first += 1
        else:
            second += 1
    return _tried(pools, ran, why)


def _sized_for_the_slow_end(of: _Search, best: Tried, limit: float) -> Tried | None:
    """The best with a tenth more replicas, of the pool that lacks them, until all is kept."""
    assert best.fleet is not None
    fleet, pools = best.fleet, best.pools
    for _ in range(_MOST_MORE + 1):
        ran = of.run(fleet, exp(best.width))
        if not (why := of.broken(ran)):
            return _tried(pools, ran, "", fleet)
        short = 0 if ran is None or why.startswith("TTFT") else len(pools) - 1
        counts = [count + (at == short) * ceil(count / 10) for at, (count, *_) in enumerate(pools)]
        pools = tuple((n, role, one) for n, (_, role, one) in zip(counts, pools, strict=True))
        made = zip(fleet.pools, counts, strict=True)
        fleet = replace(fleet, pools=tuple(replace(pool, replicas=n) for pool, n in made))
        if sum(count * one.devices for count, _, one in pools) > limit:
            return None
    return None


def _tried(
    pools: tuple[tuple[int, str, Candidate], ...],
    ran: Ran | None,
    why: str,
    fleet: Fleet | None = None,
) -> Tried:
    names = [
        f"{count} x {candidate.words()}" + ("" if role == "both" else f" for {role}")
        for count, role, candidate in pools
    ]
    first = pools[0][2]
    devices = sum(count * candidate.devices for count, _, candidate in pools)
    usd_per_h = devices * first.usd_per_device_h  # so that as many devices cost the same
    name = f"{' and '.join(names)} on {first.cluster.name}"
    return Tried(name, pools, usd_per_h, devices, ran, why, fleet)
