"""A fleet: pools of replicas, what an iteration takes on each, and who takes a request.

Trade-off: times are whole ps, so equal runs are equal to the bit, and a run ends after 106 days.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import exp, inf
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from yantra import _core
from yantra.base.errors import (
    ConfigError,
    DeadlockError,
    UnsupportedError,
    did_you_mean,
    expected_got,
)
from yantra.base.text import count
from yantra.serving import batching
from yantra.serving.groups import Groups
from yantra.serving.requests.types import Requests

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from yantra.base.plugin_files import Named
    from yantra.serving.links import Line, Links
    from yantra.serving.scaling import Scaling

Role = Literal["both", "prefill", "decode"]
PHASES = ("queued", "prefill", "transfer", "admission", "decode", "preempted", "recompute")
"""What a request spends its time in; the sum is its whole time, exactly."""
OBSTACLES = ("iteration", "seats", "tokens", "blocks", "order")
"""Why the first that waits does not start."""

PS = 1e12
_LAST_NS = 2**63 // 1000 - 1
_KV = ("num_blocks", "block_size", "kv_tokens")


class Linear(NamedTuple):
    """An iteration takes so long, in s, and so much a token and a token of context."""

    per_iteration: float
    """s, whatever is in it."""
    per_token: float = 0.0
    """s for each token that it works on."""
    per_context_token: float = 0.0
    """s for each token whose KV it reads."""

    def core(self, factor: float = 1.0) -> Any:
        """It as the core has it, `factor` times as long."""
        return _core.linear_cost(*(round(value * factor * PS) for value in self))


@dataclass(frozen=True)
class Pool:
    engine: Named
    options: Mapping[str, float]
    cost: Any
    replicas: int = 1
    role: Role = "both"
    lanes: int = 1
    stages: int = 1
    """Of a replica's pipeline, which keeps as many batches under way."""
    devices: int = 1
    """Of a replica."""
    starts_s: tuple[float, ...] = ()
    """When replicas are there, from 0; the rest at once. Infinite: when scaling asks for them."""
    ends_s: tuple[float, ...] = ()
    """When they fail; those without one never do."""
    scaling: Scaling | None = None
    """When replicas come and go."""

    @property
    def engine_name(self) -> str:
        """Of its scheduler."""
        return self.engine if isinstance(self.engine, str) else self.engine.__name__


@dataclass(frozen=True)
class Fleet:
    """Pools of replicas behind a router; with pools of prefill and decode, KV moves over `line`."""

    pools: Sequence[Pool]
    routing: str = "least_outstanding"
    seed: int = 1
    line: Line | Links | None = None
    pool_blocks: int = 0
    """Of KV, in a pool that all engines read and write."""
    acceptance: float | Sequence[Sequence[int]] | None = None
    """The chance that a draft is right, or by request how many are, iteration by iteration."""
    most_under_way: int = 0
    """Requests that have not ended; others wait at their senders. 0: no bound."""

    @property
    def width(self) -> float:
        """Half of the widest 90 % interval of its iterations, as a logarithm; 0: none has one."""
        return max((getattr(pool.cost, "interval", 0.0) for pool in self.pools), default=0.0)

    @property
    def extremes(self) -> tuple[float, ...]:
        """Factors of the shortest and the longest iterations; none without an interval."""
        return (exp(-self.width), exp(self.width)) if self.width > 0 else ()

    def run(
        self,
        requests: Requests,
        *,
        factor: float = 1.0,
        most_logged: int = 0,
        samples: bool = False,
    ) -> Ran:
        """Serve all requests, each iteration `factor` times as long.

        `most_logged` iterations are kept with what they worked on. Raises ConfigError for requests
        that never fit, and DeadlockError if one cannot end.
        """
        _check_routing(self.routing)
        _check_times(requests)
        for pool in self.pools:
            _check_sizes(requests, pool)
        core = self._made(
            core_requests(requests, self._accepted(requests)),
            factor,
            most_logged=most_logged,
            samples=samples,
        )
        ran = Ran(core.run(), requests)
        if ran.core.finished < len(requests):
            raise DeadlockError(_stuck(ran, requests))
        return ran

    def stream(
        self, pieces: Iterable[Requests], places: int, *, factor: float = 1.0
    ) -> Iterator[Any]:
        """Serve requests piece by piece; yield what ended since the last time.

        At most `places` are under way or still in caches. Raises FullError beyond.
        """
        _check_routing(self.routing)
        if any(batching.kind_of(pool.engine).plugin for pool in self.pools):
            raise UnsupportedError("stream: engines in Python see requests by number; leave it out")
        if any(pool.options.get("num_speculative_tokens") for pool in self.pools):
            raise UnsupportedError("num_speculative_tokens: drafts do not stream; leave either out")
        source = _core.ServingStream(places)
        empty = core_requests(Requests.of([], [], []))
        core = self._made(empty, factor, stream=source)
        for one in pieces:
            _check_times(one)
            for pool in self.pools:
                _check_sizes(one, pool)
            source.feed(core_requests(one))
            yield _drained(core, source, places)
        source.close()
        yield _drained(core, source, places)

    def _made(
        self,
        asked: Any,
        factor: float,
        *,
        stream: Any = None,
        most_logged: int = 0,
        samples: bool = False,
    ) -> Any:
        core = _core.Fleet(
            asked,
            bytes_per_token=0 if self.line is None else self.line.bytes_per_token,
            layers=1 if self.line is None else self.line.layers,
            most_under_way=self.most_under_way,
            most_logged=most_logged,
            samples=samples,
            pool_blocks=self.pool_blocks,
            stream=stream,
        )
        for pool in self.pools:
            cost = pool.cost.core(factor)
            kind = batching.kind_of(pool.engine)
            for number in range(pool.replicas):
                begin = pool.starts_s[number] if number < len(pool.starts_s) else 0.0
                end = pool.ends_s[number] if number < len(pool.ends_s) else None
                batching.add(
                    core,
                    kind,
                    pool.options,
                    cost,
                    role=pool.role,
                    lanes=pool.lanes,
                    stages=pool.stages,
                    from_ps=-1 if begin == inf else round(begin * PS),
                    until_ps=-1 if end is None else round(end * PS),
                )
        for pool in self.pools:
            core.route(pool.role, self.routing, self.seed)
            if pool.scaling is not None:
                pool.scaling.give(core, pool.role)
        if self.line is not None:
            self.line.give(core, self.pools)
        return core

    def _accepted(self, requests: Requests) -> Sequence[Sequence[int]]:
        drafts = int(max(pool.options.get("num_speculative_tokens", 0) for pool in self.pools))
        if not drafts:
            return ()
        if self.acceptance is None:
            raise ConfigError("acceptance", "drafts need it, such as --set acceptance=0.7")
        if not isinstance(self.acceptance, int | float):
            if len(self.acceptance) != len(requests):
                expected = f"a list for each of {len(requests)} requests"
                raise ConfigError("acceptance", expected_got(expected, len(self.acceptance)))
            return self.acceptance
        from yantra.serving.drafts import accepted

        found: list[list[int]] = accepted(
            len(requests), drafts, self.acceptance, self.seed
        ).tolist()
        return found


class FullError(Exception):
    """More requests are under way than there are places."""


def _drained(core: Any, source: Any, places: int) -> Any:
    ran = core.run()
    if source.is_full:
        raise FullError(places)
    return ran


@dataclass(frozen=True)
class Ran:
    """What a fleet did: columns by request, in ps, -1 for never."""

    core: Any
    requests: Requests
    _columns: dict[str, Any] = field(default_factory=dict)

    def column(self, name: str) -> np.ndarray:
        """Return a column of the core, made once."""
        if name not in self._columns:
            self._columns[name] = np.asarray(getattr(self.core, name))
        found: np.ndarray = self._columns[name]
        return found

    @cached_property
    def ttft_s(self) -> np.ndarray:
        """Time to the first token, from arrival."""
        return self._between("first_token", "arrival")

    @cached_property
    def e2e_s(self) -> np.ndarray:
        """Time from arrival to the last token."""
        return self._between("finish", "arrival")

    @cached_property
    def tpot_s(self) -> np.ndarray:
        many = self.requests.output > 1
        took = self._between("finish", "first_token")[many]
        return np.asarray(took / (self.requests.output[many] - 1))

    @cached_property
    def queue_s(self) -> np.ndarray:
        return self._between("start", "arrival")

    @cached_property
    def gaps_s(self) -> tuple[np.ndarray, np.ndarray]:
        names = ("gap_first", "gap_growth", "gap_count", "gap_sequences")
        first, growth, many, sequences = (self.column(name) for name in names)
        begin = np.cumsum(many) - many
        step = np.arange(int(many.sum())) - np.repeat(begin, many)
        value = np.repeat(first, many) + np.repeat(growth, many) * step
        return value / PS, np.repeat(sequences, many)

    @property
    def spent_s(self) -> np.ndarray:
        """By request and phase of `PHASES`."""
        return self.column("spent").reshape(len(self.requests), -1)[:, 1:] / PS

    @property
    def behind_s(self) -> np.ndarray:
        return self.column("behind").reshape(len(self.requests), -1) / PS

    @property
    def arriving_s(self) -> float:
        """From the first arrival to the last."""
        arrival = self.column("arrival")
        return float(arrival.max() - arrival.min()) / PS

    @property
    def makespan_s(self) -> float:
        """From the first arrival to the last token."""
        return float(self.column("finish").max() - self.column("arrival").min()) / PS

    def _between(self, last: str, first: str) -> np.ndarray:
        return np.asarray((self.column(last) - self.column(first)) / PS)


def core_requests(requests: Requests, accepted: Sequence[Sequence[int]] = ()) -> Any:
    begin = np.cumsum([0, *map(len, accepted)]) if accepted else np.zeros(0, np.int64)
    flat = np.array([one for row in accepted for one in row], np.int64)
    return _core.serving_requests(
        arrival_ps=_whole(requests.arrival_ns * 1000),
        prompt=_whole(requests.prompt),
        output=_whole(requests.output),
        limit=_whole(requests.limit),
        priority=_whole(requests.priority),
        user=_whole(requests.user),
        adapter=_whole(requests.adapter),
        session=_whole(requests.session),
        after=_whole(requests.after),
        delay_ps=_whole(requests.delay_ns * 1000),
        span_begin=_whole(requests.span_start),
        span_source=_whole(requests.span_source),
        span_end=_whole(requests.span_end),
        accepted_begin=_whole(begin),
        accepted=flat,
    )


def _whole(column: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(column, np.int64)


def _check_routing(name: str) -> None:
    known = [kind for kind, _ in _core.serving_routings()]
    if name not in known:
        problem = f"nothing is named '{name}'; expected one of {', '.join(known)}"
        raise ConfigError("routing", problem + did_you_mean(name, known))


def _check_times(requests: Requests) -> None:
    if not len(requests):
        raise ConfigError("requests", "there are none; expected at least one")
    latest = int(max(requests.arrival_ns.max(), requests.delay_ns.max()))
    if latest > _LAST_NS:
        at = int(np.argmax(requests.arrival_ns))
        raise ConfigError(
            f"requests[{at}]", f"arrives after {latest / 8.64e13:.0f} days; at most 106"
        )


def _check_sizes(requests: Requests, pool: Pool) -> None:
    from yantra.serving.pools import options_of

    known = options_of(pool.engine)
    size = {name: pool.options.get(name, known[name][0]) for name in _KV if name in known}
    if not size:
        return
    room = size.get("kv_tokens", size.get("num_blocks", 0) * size.get("block_size", 1))
    whole = requests.prompt + (1 if pool.role == "prefill" else requests.output) - 1
    if "full_groups" in pool.options:
        groups = Groups.of(pool.options, int(size["block_size"]))
        whole = groups.blocks(whole) * groups.block_size
    if whole.max() > room:
        at = int(np.argmax(whole > room))
        prompt, output = int(requests.prompt[at]), int(requests.output[at])
        raise ConfigError(
            f"requests[{at}]",
            f"{prompt:,} tokens of prompt and {output:,} of output need more KV than an engine "
            f"has, {room:,.0f} tokens; leave it out, or give more memory (tp, num_blocks)",
        )


def _stuck(ran: Ran, requests: Requests) -> str:
    left = np.flatnonzero(ran.column("finish") < 0)
    first = int(left[0])
    size = f"prompt {requests.prompt[first]}, output {requests.output[first]} tokens"
    return (
        f"{count(len(left), 'request')} can never end, first number {first} ({size}): "
        "it needs more KV, or more tokens in an iteration, than an engine has; "
        "give more memory (tp, num_blocks), a larger max_num_batched_tokens, or shorter prompts"
    )
