"""What a search found, in lines and as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra.base.text import count, table
from yantra.serving.measures import nearest_rank
from yantra.serving.words import cell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from yantra.serving.measures import Objective
    from yantra.serving.requests import Requests
    from yantra.serving.search.search import Found, Tried

_REASONS = 6


def lines(
    found: Found, model: str, requests: Requests, objectives: Sequence[Objective], top: int
) -> Iterator[str]:
    rate = (len(requests) - 1) / requests.span_s
    promises = " and ".join(map(str, objectives))
    yield f"{model}, {count(len(requests), 'request')} that come at {rate:.3g}/s, with {promises}"
    yield f"{count(found.considered, 'candidate')}, {count(found.simulated, 'fleet')} simulated"
    if not found.kept:
        yield "none keeps the promises"
    else:
        unit = "USD/h" if found.is_priced else "devices"
        best = found.kept[0].usd_per_h
        head = ("", unit, "times the best", "devices", "TTFT p99 (90 %)", "TPOT p99 (90 %)")
        yield from table(head, [_row(one, best) for one in distinct(found.kept)[:top]])
        yield from _sure(found, unit)
    for reason, names in _reasons(found.lost):
        yield f"{count(len(names), 'other')} lose: {reason}; such as {names[0]}"


def as_dict(found: Found, top: int) -> dict[str, Any]:
    """Return plain values; times in s."""
    return {
        "considered": found.considered,
        "simulated": found.simulated,
        "best": [_plain(one) for one in distinct(found.kept)[:top]],
        "at_the_slow_end": None if found.sure is None else _plain(found.sure),
        "lost": [{"name": one.name, "why": one.why_not} for one in found.lost],
    }


def distinct(kept: Sequence[Tried]) -> list[Tried]:
    """The first of those with one plan and the same times: more seats change nothing."""
    found: dict[Any, Tried] = {}
    for one in kept:
        assert one.ran is not None
        plans = tuple((count, role, of.pool.engine, of.pool.plan) for count, role, of in one.pools)
        times = one.ran.ttft_s.tobytes(), one.ran.tpot_s.tobytes()
        found.setdefault((one.pools[0][2].cluster.name, plans, times), one)
    return list(found.values())


def _sure(found: Found, unit: str) -> Iterator[str]:
    """What the first takes if its iterations are as long as their interval allows."""
    best, sure = found.kept[0], found.sure
    if not best.width:
        return
    start = "with iterations at the slow end of their 90 % interval "
    if sure is None:
        yield f"{start}the first breaks a promise, and a few more replicas do not help"
    elif sure.devices == best.devices:
        yield f"{start}the first keeps the promises, too"
    else:
        yield f"{start}the first keeps them as {sure.name}: {sure.usd_per_h:.4g} {unit}"


def _row(tried: Tried, best: float) -> tuple[str, ...]:
    ttft, tpot = _p99(tried)
    return (
        tried.name, f"{tried.usd_per_h:.4g}", f"{tried.usd_per_h / best:.2f}", f"{tried.devices}",
        cell(ttft[0], ttft[1:]), cell(tpot[0], tpot[1:]),
    )  # fmt: skip


def _p99(tried: Tried) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """TTFT and TPOT, s: as found, and where they have intervals, from and to."""
    assert tried.ran is not None
    runs = (tried.ran, *tried.ends())

    def of(times: Sequence[Any]) -> tuple[float, ...]:
        found = [nearest_rank(one, 99.0) for one in times]
        # Shorter iterations can make some wait longer, as batches form otherwise.
        return (found[0], min(found), max(found)) if len(found) > 1 else (found[0],)

    return of([one.ttft_s for one in runs]), of([one.tpot_s for one in runs])


def _plain(tried: Tried) -> dict[str, Any]:
    ttft, tpot = _p99(tried)
    return {
        "name": tried.name,
        "usd_per_h": tried.usd_per_h,
        "devices": tried.devices,
        "pools": [
            {
                "replicas": replicas,
                "role": role,
                "engine": one.pool.engine,
                "cluster": one.cluster.name,
                "plan": {
                    name: getattr(one.pool.plan, name) for name in ("tp", "dp", "ep", "dtype")
                },
                "options": one.pool.options,
            }
            for replicas, role, one in tried.pools
        ],
        "ttft_p99_s": ttft[0],
        "tpot_p99_s": tpot[0],
        "interval_90": {"ttft_p99_s": ttft[1:] or None, "tpot_p99_s": tpot[1:] or None},
    }


def _reasons(lost: Sequence[Tried]) -> list[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    first: dict[str, str] = {}
    for one in lost:
        kind = one.why_not.split(" is ")[0].split(" at least ")[0]
        found.setdefault(kind, []).append(one.name)
        first.setdefault(kind, one.why_not)
    ranked = sorted(found.items(), key=lambda item: -len(item[1]))
    return [(first[kind], names) for kind, names in ranked[:_REASONS]]
