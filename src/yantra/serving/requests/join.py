"""Several lists of requests as one, and one several times over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from yantra.base.errors import ConfigError
from yantra.serving.requests.types import LEFT_OUT, OWN, Requests, reordered_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def concatenated(parts: Sequence[Requests], *, shares: bool = False) -> Requests:
    """With `shares` a session or a span's source is the same in all parts; else each part has its
    own, renumbered behind those of the parts before it. Raises ConfigError for no parts.
    """
    if not parts:
        raise ConfigError("requests.concatenated", "expected at least one part, got none")
    renamed: list[dict[str, NDArray[Any]]] = []
    size, spans, seen = 0, 0, [0, 0, 0]
    for part in parts:
        columns = dict(part.columns())
        columns["after"] = np.where(part.after < 0, -1, part.after + size)
        columns["span_start"] = (part.span_start + spans)[1 if renamed else 0 :]
        columns |= _names(part, size, seen, shares=shares)
        renamed.append(columns)
        size, spans = size + len(part), spans + len(part.span_end)
    whole = {name: np.concatenate([one[name] for one in renamed]) for name in renamed[0]}
    return Requests(**reordered_columns(whole, np.argsort(whole["arrival_ns"], kind="stable")))


def _names(part: Requests, size: int, seen: list[int], *, shares: bool) -> dict[str, NDArray[Any]]:
    session, source = part.session, part.span_source
    is_own = source >= OWN
    is_out = ~is_own & (source >= LEFT_OUT)
    is_shared = source < LEFT_OUT
    first = [0, 0, seen[2]] if shares else list(seen)
    seen[0] = max(seen[0], first[0] + int(session.max(initial=-1)) + 1)
    seen[1] = max(seen[1], first[1] + int(source[is_shared].max(initial=-1)) + 1)
    seen[2] = first[2] + int(source[is_out].max(initial=LEFT_OUT - 1)) + 1 - LEFT_OUT
    if seen[1] > LEFT_OUT:
        problem = "the sources of spans end beyond 2^61; use smaller ones, or shares=True"
        raise ConfigError("requests.concatenated", problem)
    moved = np.select([is_own, is_out], [size, first[2]], first[1])
    return {
        "session": np.where(session < 0, -1, session + first[0]),
        "span_source": source + moved,
    }


def repeated(
    once: Requests, times: int, period_ns: int | None = None, *, shares: bool = False
) -> Requests:
    if times < 1:
        raise ConfigError("requests.repeated", f"expected at least 1 time, got {times}")
    if period_ns is None:
        gaps = max(len(once) - 1, 1)
        span = int(once.arrival_ns[-1] - once.arrival_ns[0]) if len(once) else 0
        period_ns = -(-span * (gaps + 1) // gaps)
    copies = [once.replaced(arrival_ns=once.arrival_ns + copy * period_ns) for copy in range(times)]
    return concatenated(copies, shares=shares)
