"""A user's own log beside its prediction, and what more replicas, seats, KV and speed would do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.base.text import table
from yantra.serving.fit import MEASURES, Fitted, Terms, fitted, run
from yantra.serving.measures import nearest_rank
from yantra.serving.pools import SEATS, options_of

if TYPE_CHECKING:
    from yantra.serving.fleet import Fleet, Pool, Ran
    from yantra.serving.requests import Requests

_TITLES = dict(zip(MEASURES, ("TTFT", "TPOT", "E2E"), strict=True))
_FEWEST = 20
_KV = ("num_blocks", "kv_tokens")


class Row(NamedTuple):
    name: str
    measured: float
    predicted: float
    with_terms: float


class OwnLog(NamedTuple):
    rows: tuple[Row, ...]
    fit: Fitted | None
    what_ifs: tuple[tuple[str, float, float], ...]
    """What changes, mean TTFT and mean TPOT then, in s; the first is as it is."""


def judged(
    fleet: Fleet, requests: Requests, measured: Mapping[str, np.ndarray], best: Ran
) -> OwnLog:
    """Raises ConfigError for a log without times."""
    fit = fitted(fleet, requests, measured) if len(requests) >= _FEWEST else None
    terms = Terms() if fit is None else fit.terms
    own = run(fleet, requests, terms) or best
    rows = [
        Row(f"{_TITLES[name]} {kind}", *(_of(one, kind) for one in columns))
        for name in MEASURES
        if name in measured
        for columns in [_columns(name, measured[name], best, own)]
        if len(columns[0])
        for kind in ("mean", "p50", "p99")
    ]
    return OwnLog(tuple(rows), fit, tuple(_what_ifs(fleet, requests, terms)))


def lines(log: OwnLog) -> Iterator[str]:
    head = ("your run", "measured", "predicted", "off", "with your terms", "off")
    yield from table(head, [_row(row) for row in log.rows])
    if log.fit is not None:
        terms = log.fit.terms
        yield (
            f"your terms: host x{terms.host:.2f}, products x{terms.products:.2f}, attention "
            f"x{terms.attention:.2f} of the engine's and the tables' times; they bring the mean "
            f"error from {log.fit.before:.1%} to {log.fit.after:.1%}"
        )
    ifs = [(name, _said(ttft), _said(tpot)) for name, ttft, tpot in log.what_ifs]
    yield from table(("what if", "TTFT mean", "TPOT mean"), ifs)


def _row(row: Row) -> tuple[str, ...]:
    off = f"{row.predicted / row.measured - 1:+.1%}"
    own = f"{row.with_terms / row.measured - 1:+.1%}"
    return (row.name, _said(row.measured), _said(row.predicted), off, _said(row.with_terms), own)


def _said(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def _columns(name: str, values: np.ndarray, *runs: Ran) -> tuple[np.ndarray, ...]:
    keep = ~np.isnan(values)
    found = []
    for ran in runs:
        if name == "tpot_s":
            mine = np.full(len(values), np.nan)
            mine[ran.requests.output > 1] = ran.tpot_s
        else:
            mine = ran.ttft_s if name == "ttft_s" else ran.e2e_s
        keep &= ~np.isnan(mine)
        found.append(mine)
    return (values[keep], *(mine[keep] for mine in found))


def _of(values: np.ndarray, kind: str) -> float:
    return float(values.mean()) if kind == "mean" else nearest_rank(values, float(kind[1:]))


def _what_ifs(fleet: Fleet, requests: Requests, terms: Terms) -> Iterator[tuple[str, float, float]]:
    changes: list[tuple[str, Fleet, Terms]] = [("as it is", fleet, terms)]
    more = tuple(replace(pool, replicas=pool.replicas * 2) for pool in fleet.pools)
    changes.append(("twice the replicas", replace(fleet, pools=more), terms))
    for title, names in (("twice the seats", SEATS), ("twice the KV", _KV)):
        pools = tuple(_doubled(pool, names) for pool in fleet.pools)
        if pools != tuple(fleet.pools):
            changes.append((title, replace(fleet, pools=pools), terms))
    changes.append(("half the host time", fleet, terms._replace(host=terms.host / 2)))
    changes.append(("products twice as fast", fleet, terms._replace(products=terms.products / 2)))
    changes.append(
        ("attention twice as fast", fleet, terms._replace(attention=terms.attention / 2))
    )
    for title, changed, of in changes:
        ran = run(changed, requests, of)
        if ran is not None:
            yield title, float(ran.ttft_s.mean()), float(ran.tpot_s.mean())


def _doubled(pool: Pool, names: tuple[str, ...]) -> Pool:
    known = options_of(pool.engine)
    for name in names:
        if name in known:
            value = pool.options.get(name, known[name][0])
            return replace(pool, options={**pool.options, name: value * 2})
    return pool
