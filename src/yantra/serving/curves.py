"""What the pictures of a served trace show: shares of requests within a time, and load
over time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.base.text import count
from yantra.serving import batching
from yantra.serving.fleet import PS

if TYPE_CHECKING:
    from yantra.serving.fleet import Fleet, Pool, Ran

_MOST_POINTS = 500
_MOST_REPLICAS = 8  # with a curve of their own
LOAD = {
    "waiting": "requests that wait",
    "running": "requests that run",
    "kv_tokens": "tokens of KV in use",
    "batch_tokens": "tokens in an iteration",
}
"""What is sampled over time."""


class Curve(NamedTuple):
    """A name, and values from times on, in ns."""

    name: str
    at_ns: np.ndarray
    values: np.ndarray


def within(values_s: np.ndarray, name: str = "requests", whole: int = 0) -> Curve:
    ranked = np.sort(values_s)
    size = len(ranked)
    at = np.unique(np.linspace(0, size - 1, min(size, _MOST_POINTS)).astype(np.int64))
    last = np.searchsorted(ranked, ranked[at], side="right")  # equal values are one step
    first_of = np.append(True, last[1:] != last[:-1])
    shares = last / (whole or size)
    return Curve(name, np.rint(ranked[at][first_of] * 1e9).astype(np.int64), shares[first_of])


def load(ran: Ran, fleet: Fleet, measure: str) -> list[Curve]:
    begin = ran.column("arrival").min()
    times = np.rint((ran.column("sample_time") - begin) / (PS / 1e9)).astype(np.int64)
    values, replicas = ran.column(f"sample_{measure}"), ran.column("sample_replica")
    pool_of = np.repeat(np.arange(len(fleet.pools)), [pool.replicas for pool in fleet.pools])
    if len(pool_of) <= _MOST_REPLICAS:
        names = replica_names(fleet)
        return [
            _changes(name, times[replicas == at], values[replicas == at])
            for at, name in enumerate(names)
        ]
    added = values - _before(values, replicas)
    return [
        _changes(_pool_name(pool), times[mine], np.cumsum(added[mine]))
        for at, pool in enumerate(fleet.pools)
        for mine in [pool_of[replicas] == at]
    ]


def replica_names(fleet: Fleet) -> list[str]:
    roles = [pool.role for pool in fleet.pools for _ in range(pool.replicas)]
    return [
        f"replica {at}" + ("" if role == "both" else f", {role}") for at, role in enumerate(roles)
    ]


def kv_room(fleet: Fleet) -> int | None:
    rooms = [_room_of(pool) for pool in fleet.pools]
    return max(rooms) if rooms and all(rooms) else None


def _room_of(pool: Pool) -> int:
    known = {option.name: option.default for option in batching.kind_of(pool.engine).options}
    given = known | dict(pool.options)
    if "num_blocks" in given:
        return int(given["num_blocks"] * given.get("block_size", 1)) * pool.lanes
    return int(given.get("kv_tokens", 0)) * pool.lanes


def _pool_name(pool: Pool) -> str:
    role = "" if pool.role == "both" else f", {pool.role}"
    return f"{count(pool.replicas, 'replica')} in all{role}"


def _before(values: np.ndarray, replicas: np.ndarray) -> np.ndarray:
    order = np.argsort(replicas, kind="stable")
    same = np.append(False, replicas[order][1:] == replicas[order][:-1])
    before = np.zeros_like(values)
    before[order] = np.where(same, np.roll(values[order], 1), 0)
    return before


def _changes(name: str, times: np.ndarray, values: np.ndarray) -> Curve:
    if not len(times):
        return Curve(name, np.zeros(1, np.int64), np.zeros(1, np.int64))
    last = np.append(times[1:] != times[:-1], True)
    times, values = times[last], values[last]
    new = np.append(True, values[1:] != values[:-1])
    return Curve(name, times[new], values[new])
