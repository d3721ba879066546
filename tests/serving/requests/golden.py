"""Requests of recorded schedules: `[arrival ns, prompt, output, (prefix, tokens, (limit))]`.

A prefix with its tokens may be one list. Sets outside the repository have the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from yantra.serving.requests import Requests, of_rows


def requests_of(rows: Sequence[Sequence[Any]]) -> Requests:
    """Return the requests of a recorded case."""
    return of_rows([_named(*row) for row in rows])


def _named(
    arrival: int,
    prompt: int,
    output: int,
    prefix: Any = None,
    tokens: Any = None,
    limit: Any = None,
) -> dict[str, Any]:
    if isinstance(prefix, list):
        prefix, tokens = prefix
    seconds = f"{arrival // 10**9}.{arrival % 10**9:09d}"
    row = {"arrival_s": seconds, "prompt": prompt, "output": output, "limit": limit}
    return row if prefix is None else row | {"prefix": prefix, "prefix_tokens": tokens}
