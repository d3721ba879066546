"""The answer of a served trace in lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.text import count, table
from yantra.base.units import format_time
from yantra.serving.measures import kept, still_rises

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from yantra.serving.answer import Served
    from yantra.serving.blocks import Room
    from yantra.serving.fleet import Pool
    from yantra.serving.measures import Objective

_SHOWN = (50.0, 90.0, 99.0)
REASONS = {
    "iteration": "the iteration under way",
    "seats": "all seats taken",
    "tokens": "the iteration had its tokens",
    "blocks": "no KV free",
    "order": "others came first",
}
"""Why the first that waits does not start, in words."""
OVERLOADED = (
    "overloaded: requests come faster than they leave, so times below only say how long this trace "
    "was; take more replicas or a lower rate"
)


def warnings(served: Served) -> Iterator[str]:
    """Yield what keeps the times from being those of a service that goes on."""
    if served.is_overloaded:
        yield OVERLOADED
    elif still_rises(served.ran):
        span, each = served.ran.arriving_s * 1e9, float(served.ran.e2e_s.mean()) * 1e9
        yield (
            f"requests come for {format_time(span)} and take {format_time(each)}: the load still "
            "rises at the end, so a longer trace of this rate has longer times; take more requests"
        )


def lines(served: Served, objectives: Sequence[Objective] = ()) -> Iterator[str]:
    yield title(served)
    yield from warnings(served)
    yield from table(("", "mean", *(f"p{p:g}" for p in _SHOWN)), list(_rows(served)))
    if served.ends is not None:
        yield "(in brackets: between which 90 of 100 such machines are)"
    yield from told(served, objectives)


def told(served: Served, objectives: Sequence[Objective] = ()) -> Iterator[str]:
    """Yield what `lines` says beside the times."""
    yield _rates(served)
    for objective in objectives:
        yield f"{objective}: {format_time(objective.value(served.ran) * 1e9)}"
    if objectives:
        good = kept(served.ran, objectives)
        yield f"goodput {served.goodput(objectives):.3g} requests/s, {good.mean():.1%} keep all"
    yield _spent(served)
    if waited := _waited(served):
        yield waited
    yield from _memory(served)
    if money := _money(served):
        yield money
    yield f"rests on: {served.rests_on}"


def title(served: Served) -> str:
    """Return what was served, by what, in how long."""
    question, ran = served.question, served.ran
    cluster = question.cluster
    what = "" if cluster is None else f"{question.model.name} on {cluster.name}, "
    requests = count(len(ran.requests), "request", commas=True)
    return f"{what}{pools_text(served)}: {requests} in {format_time(ran.makespan_s * 1e9)}"


def pools_text(served: Served) -> str:
    """Return how many replicas of which engines serve."""
    return ", ".join(
        f"{pool.replicas} x {pool.engine_name} of {count(pool.devices, 'device')}"
        + ("" if pool.role == "both" else f" for {pool.role}")
        for pool in served.fleet.pools
    )


def _rows(served: Served) -> Iterator[tuple[str, ...]]:
    named = (("TTFT", "ttft"), ("TPOT", "tpot"), ("ITL", "itl"), ("E2E", "e2e"))
    for title, name in named:
        of = getattr(served, name)
        cells = [of.mean, *(of.at(p) for p in _SHOWN)]
        spans = [served.interval(name, p) for p in (None, *_SHOWN)]
        yield (title, *(cell(value, span) for value, span in zip(cells, spans, strict=True)))


def cell(seconds: float, span: tuple[float, ...] | None) -> str:
    """Return a time, with from and to of its interval, if any."""
    if seconds != seconds:
        return "-"
    said = short(seconds)
    return said if not span else f"{said} ({short(span[0])} to {short(span[1])})"


def short(seconds: float) -> str:
    """Return a time in three digits."""
    for least, unit, factor in ((1.0, "s", 1.0), (1e-3, "ms", 1e3), (0.0, "us", 1e6)):
        if seconds >= least:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def _rates(served: Served) -> str:
    tokens = served.output_tokens_per_s
    return (
        f"{served.requests_per_s:.3g} requests/s, {tokens:,.0f} output tokens/s "
        f"({tokens / served.devices:,.0f} a device), "
        f"{count(int(served.ran.column('restarts').sum()), 'preemption', commas=True)}, "
        f"{_hits(served):.1%} of prompt tokens from the cache"
    )


def _hits(served: Served) -> float:
    return float(served.ran.column("cached").sum()) / float(served.ran.requests.prompt.sum())


def _spent(served: Served) -> str:
    whole = sum(served.spent.values())
    parts = [f"{name} {value / whole:.0%}" for name, value in served.spent.items() if value > 0]
    return f"a request's time: {', '.join(parts)}"


def _waited(served: Served) -> str:
    whole = sum(served.behind.values())
    if whole <= 0:
        return ""
    parts = [
        f"{REASONS[name]} {value / whole:.0%}"
        for name, value in sorted(served.behind.items(), key=lambda item: -item[1])
        if value > 0.005 * whole
    ]
    return f"waited to start {short(whole)} in the mean: {', '.join(parts)}"


def _memory(served: Served) -> Iterator[str]:
    for pool, room in zip(served.fleet.pools, served.rooms, strict=True):
        if room is not None:
            name = "" if pool.role == "both" else f" of {pool.role}"
            given = _given(pool, room)
            yield f"KV{name}: {given}{room.words()}"


def _given(pool: Pool, room: Room) -> str:
    options = pool.options
    asked = options.get("kv_tokens", options.get("num_blocks", 0) * options.get("block_size", 1))
    if not asked or asked == room.tokens:
        return ""
    over = ", more than fits" if asked > room.tokens else ""
    return f"{asked:,.0f} tokens, as asked{over}; what fits is "


def _money(served: Served) -> str:
    if served.question.cluster is None:
        return ""
    usd = served.per_million_tokens(served.cost_usd)
    joules = served.per_million_tokens(served.energy_j)
    said = "UNKNOWN USD, as no price is stated" if usd is None else f"{usd:.3g} USD"
    drawn = "UNKNOWN energy" if joules is None else f"{joules / 1e6:.3g} MJ"
    return f"a million output tokens: {said}, {drawn}"
