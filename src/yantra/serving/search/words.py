"""What a search found, in lines and as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra.base.text import count, table
from yantra.serving.measures import nearest_rank

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
    yield f"{model}, {rate:.3g} requests/s with {promises}"
    yield f"{count(found.considered, 'candidate')}, {count(found.simulated, 'fleet')} simulated"
    if not found.kept:
        yield "none keeps the promises"
    else:
        unit = "USD/h" if found.is_priced else "devices"
        best = found.kept[0].usd_per_h
        head = ("", unit, "times the best", "devices", "TTFT p99", "TPOT p99")
        yield from table(head, [_row(one, best) for one in found.kept[:top]])
    for reason, names in _reasons(found.lost):
        yield f"{count(len(names), 'other')} lose: {reason}; such as {names[0]}"


def as_dict(found: Found, top: int) -> dict[str, Any]:
    """Return plain values; times in s."""
    return {
        "considered": found.considered,
        "simulated": found.simulated,
        "best": [_plain(one) for one in found.kept[:top]],
        "lost": [{"name": one.name, "why": one.why_not} for one in found.lost],
    }


def _row(tried: Tried, best: float) -> tuple[str, ...]:
    assert tried.ran is not None
    ttft = nearest_rank(tried.ran.ttft_s, 99.0)
    tpot = nearest_rank(tried.ran.tpot_s, 99.0)
    return (
        tried.name, f"{tried.usd_per_h:.4g}", f"{tried.usd_per_h / best:.2f}", f"{tried.devices}",
        f"{ttft * 1e3:.3g} ms", f"{tpot * 1e3:.3g} ms",
    )  # fmt: skip


def _plain(tried: Tried) -> dict[str, Any]:
    assert tried.ran is not None
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
        "ttft_p99_s": nearest_rank(tried.ran.ttft_s, 99.0),
        "tpot_p99_s": nearest_rank(tried.ran.tpot_s, 99.0),
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
