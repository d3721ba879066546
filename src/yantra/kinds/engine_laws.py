"""The laws every engine keeps, and a command that checks one against them.

    python -m yantra.kinds.engine_laws vllm
    python -m yantra.kinds.engine_laws path/to/my_engine.py

A law looks at what an engine did with random requests: by request, and iteration by iteration. An
iteration takes 5 ms, 20 us a token and 100 ns a token of context.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from random import Random
from typing import Any, NamedTuple

import numpy as np

from yantra.base import contract
from yantra.base.contract import Contract, first_broken
from yantra.base.errors import ConfigError, DeadlockError
from yantra.base.plugin_files import Named
from yantra.serving import batching
from yantra.serving.fleet import Fleet, Linear, Pool
from yantra.serving.requests import Requests

_MS = 10**6  # in ns
COST = Linear(5e-3, 20e-6, 1e-7)

# Names of an engine's options -> the size of the case that they are.
SIZES = {
    "num_blocks": "blocks",
    "kv_tokens": "kv_tokens",
    "block_size": "block_size",
    "page_size": "block_size",
    "max_num_seqs": "seats",
    "max_batch_size": "seats",
    "max_running_requests": "seats",
    "max_num_batched_tokens": "tokens",
    "max_num_tokens": "tokens",
    "max_prefill_tokens": "tokens",
    "chunked_prefill_size": "tokens",
    "chunk_size": "tokens",
    "max_tokens": "longest",
}
BOUNDED_TOKENS = ("max_num_batched_tokens", "max_num_tokens")
"""Options that no iteration exceeds, whatever runs."""

REORDERING = ("scheduling_policy", "schedule_policy", "enable_chunked_context")
"""Options of the core's engines by which requests start out of order, unless they are 0: pieces of
whole blocks let a short prompt in where a long one has no room."""


class Case(NamedTuple):
    """Requests (arrival in ns, prompt, output, priority, user), and what an engine has for them."""

    name: str
    requests: tuple[tuple[int, int, int, int, int], ...]
    blocks: int
    block_size: int
    seats: int
    tokens: int

    def __str__(self) -> str:
        return self.name

    @property
    def kv_tokens(self) -> int:
        return self.blocks * self.block_size

    @property
    def longest(self) -> int:
        return max(prompt + output for _, prompt, output, *_ in self.requests)

    @property
    def is_roomy(self) -> bool:
        whole = sum(-(-(row[1] + row[2]) // self.block_size) + 1 for row in self.requests)
        return whole * 2 < self.blocks


def random_case(seed: int) -> Case:
    """Return a case of 1 to 40 requests; of three, memory is tight in two."""
    draw = Random(seed)
    gap = draw.choice((0, 5, 40)) * _MS
    rows, at = [], 0
    for _ in range(draw.choice((1, 8, 25))):
        at += round(draw.expovariate(1 / gap)) if gap else 0
        rows.append(
            (at, draw.randint(1, 300), draw.randint(1, 80), draw.randint(0, 2), draw.randint(0, 2))
        )
    size = draw.choice((1, 16, 32))
    longest = max(prompt + output for _, prompt, output, *_ in rows)
    room = longest * draw.choice((1.3, 3.0, 200.0))
    return Case(
        name=f"seed {seed}",
        requests=tuple(rows),
        blocks=int(room / size) + 3,
        block_size=size,
        seats=draw.choice((1, 4, 64)),
        tokens=max(longest, draw.choice((64, 512, 4096))),
    )


@dataclass(frozen=True)
class Served:
    """What an engine did with a case."""

    case: Case
    core: Any
    options: Mapping[str, float]
    _columns: dict[str, np.ndarray] = field(default_factory=dict)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._columns:
            self._columns[name] = np.asarray(getattr(self.core, name), np.int64)
        return self._columns[name]

    @cached_property
    def iterations(self) -> list[tuple[int, int, np.ndarray]]:
        """Begin, end, and rows (request, tokens, context)."""
        first = self["log_first"]
        items = np.stack([self["item_request"], self["item_tokens"], self["item_context"]], axis=1)
        spans = zip(self["log_begin"], self["log_end"], first, first[1:], strict=False)
        return [(int(begin), int(end), items[at:to]) for begin, end, at, to in spans]


def serve(
    engine: Named, case: Case, given: Mapping[str, Any] | None = None, most_logged: int = 1 << 30
) -> Served:
    kind = batching.kind_of(engine)
    sizes = {
        option.name: getattr(case, SIZES[option.name])
        for option in kind.options
        if option.name in SIZES
    }
    options = batching.options_of(kind, {**sizes, **(given or {})})
    arrival_ns, prompt, output, priority, user = np.array(case.requests, np.int64).T
    asked = Requests.of(
        arrival_ns=arrival_ns, prompt=prompt, output=output, priority=priority, user=user
    )
    ran = Fleet((Pool(engine, options, COST),)).run(asked, most_logged=most_logged)
    return Served(case, ran.core, options)


Law = Callable[[Named, Served], str | None]


def tokens_are_conserved(kind: Named, ran: Served) -> str | None:
    """Those worked on are those of prompts and outputs but the last, and those worked on anew."""
    need = sum(prompt + output - 1 for _, prompt, output, *_ in ran.case.requests)
    need += int(ran["recomputed"].sum()) - int(ran["cached"].sum())
    if ran.core.tokens != need:
        return f"it works on {ran.core.tokens} tokens; expected {need}"
    emitted = sum(output for _, _, output, *_ in ran.case.requests)
    return None if ran.core.emitted == emitted else f"it emits {ran.core.emitted} of {emitted}"


def nothing_is_exceeded(kind: Named, ran: Served) -> str | None:
    """No iteration has more tokens, sequences or blocks than there are, or a sequence twice."""
    case = ran.case
    budget = next((ran.options[name] for name in BOUNDED_TOKENS if name in ran.options), None)
    for begin, _, rows in ran.iterations:
        at = f"at {begin // 1000} ns an iteration has"
        blocks = int((-(-(rows[:, 1] + rows[:, 2]) // case.block_size)).sum())
        if len(set(rows[:, 0].tolist())) < len(rows):
            return f"{at} a request twice"
        if len(rows) > case.seats:
            return f"{at} {len(rows)} requests; at most {case.seats}"
        if budget is not None and rows[:, 1].sum() > budget:
            return f"{at} {rows[:, 1].sum()} tokens; at most {budget:g}"
        if blocks > case.blocks:
            return f"{at} {blocks} blocks; at most {case.blocks}"
    return None


def a_sequence_gets_its_tokens_in_order(kind: Named, ran: Served) -> str | None:
    """Each goes on where it was, or from the start; a decode is one token."""
    computed = [0] * len(ran.case.requests)
    for begin, _, rows in ran.iterations:
        for request, tokens, context in rows.tolist():
            at = f"at {begin // 1000} ns request {request}"
            if context not in (computed[request], 0) and not ran["cached"][request]:
                return f"{at} goes on behind {context} tokens; expected {computed[request]}"
            is_decode = context > ran.case.requests[request][1] and context == computed[request]
            if is_decode and tokens > 1 and not ran["restarts"][request]:
                return f"{at} gets {tokens} tokens in one iteration"
            computed[request] = context + tokens
    return None


def none_is_idle_while_something_fits(kind: Named, ran: Served) -> str | None:
    """Requests fit a case alone, so an engine without work has none that has not ended."""
    ends, begins = [0], []
    for begin, end, _ in ran.iterations:
        begins.append(begin)
        ends.append(end)
    for end, begin in zip(ends, begins, strict=False):
        waiting = (ran["arrival"] < begin) & (ran["finish"] > end)
        if begin > end and waiting.any():
            request = int(np.flatnonzero(waiting)[0])
            return f"from {end // 1000} to {begin // 1000} ns it is idle; request {request} waits"
    return None


def requests_start_by_arrival(kind: Named, ran: Served) -> str | None:
    plugin = batching.kind_of(kind).plugin
    is_free = not plugin.in_order if plugin else any(map(ran.options.get, REORDERING))
    if is_free:
        return None
    late = np.flatnonzero(np.diff(ran["start"]) < 0)
    if not len(late):
        return None
    return f"request {late[0] + 1} starts before request {late[0]}, which came first"


def phases_add_up(kind: Named, ran: Served) -> str | None:
    spent = ran["spent"].reshape(len(ran.case.requests), -1)[:, 1:].sum(axis=1)
    wrong = np.flatnonzero(spent != ran["finish"] - ran["arrival"])
    return f"request {wrong[0]}: phases are not its whole time" if len(wrong) else None


def a_prompt_takes_its_time(kind: Named, ran: Served) -> str | None:
    """Of one that never began anew: no less than an iteration with it alone."""
    for request, (_, prompt, *_) in enumerate(ran.case.requests):
        alone = COST.per_iteration + (COST.per_token + COST.per_context_token) * prompt
        took = (ran["first_token"][request] - ran["start"][request]) / 1e12
        if took < alone * (1 - 1e-9) and not ran["restarts"][request]:
            return f"request {request} has its first token after {took:g} s; alone {alone:g}"
    return None


def with_room_for_all_none_begins_anew(kind: Named, ran: Served) -> str | None:
    again = np.flatnonzero(ran["restarts"])
    if not ran.case.is_roomy or not len(again):
        return None
    return f"request {again[0]} begins anew, though all fit at once"


LAWS: tuple[Law, ...] = (
    tokens_are_conserved,
    nothing_is_exceeded,
    a_sequence_gets_its_tokens_in_order,
    none_is_idle_while_something_fits,
    requests_start_by_arrival,
    phases_add_up,
    a_prompt_takes_its_time,
    with_room_for_all_none_begins_anew,
)

CASES = tuple(map(random_case, range(12)))


def the_same_is_done_twice(kind: Named, case: Case) -> str | None:
    first, again = serve(kind, case), serve(kind, case)
    same = all(
        np.array_equal(first[name], again[name]) for name in ("finish", "item_request", "log_end")
    )
    return None if same else "asked again, it answers differently"


def violations(kind: Named) -> Iterator[str]:
    for case in CASES:
        try:
            ran = serve(kind, case)
        except (ConfigError, DeadlockError) as error:
            yield f"{case}: {error}"
            continue
        wrong = first_broken(LAWS, str(case), kind, ran)
        wrong = wrong or first_broken((the_same_is_done_twice,), str(case), kind, case)
        if wrong:
            yield wrong


def summary(kind: Named) -> str:
    case = max(CASES, key=lambda case: len(case.requests))
    took, others = (int(serve(of, case)["finish"].max()) / 1e9 for of in (kind, "vllm"))
    held = f"every law holds for {len(CASES)} sets of random requests"
    return f"{held}\n{len(case.requests)} requests: {took:.1f} ms, with vllm {others:.1f} ms"


def known(name: str) -> Named:
    batching.kind_of(name, name)
    return name


CONTRACT = Contract(
    kind="engine",
    module="yantra.kinds.engine_laws",
    about="Check an engine: that it serves all requests, and takes no more than it has.",
    argument="a name (vllm), or a file with a line PLUGIN =",
    find=known,
    violations=violations,
    summary=summary,
)


main = partial(contract.main, CONTRACT)


if __name__ == "__main__":
    sys.exit(main())
