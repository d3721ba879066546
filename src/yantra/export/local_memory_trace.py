"""Local memory of a rank -> ASTRA-sim's trace of it, event for event, in the order of ASTRA-sim's
hash maps.

Source: ASTRA-sim 2 (master of 2026-03), observed on its binaries.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from yantra import _core
from yantra.base.grisu import written
from yantra.base.output import write_text
from yantra.export.local_memory import Access, Lifetime, Usage, ended_in_order, usage
from yantra.result import Result

_LIFETIME_PID, _COUNTER_PID, _HEAT_PID = 1_000_000, 2_000_000, 3_000_000
_MIB = 1024.0 * 1024.0
_LONGEST_NAME, _KEPT_OF_NAME = 20, 17  # bytes
_LEGEND = "Longest Lifetime \u2192 Shortest Lifetime"
_UINT64 = 2**64
Event = dict[str, Any]


def write_traces(result: Result) -> list[str]:
    names, ended = [], ended_in_order(result)
    for rank in range(result.model.ranks):
        names.append(f"{result.model.scenario.local_memory_trace}.{rank}.json")
        events = list(_Events(usage(result, rank, ended), rank, result.model.ticks_per_ns).all())
        write_text(names[-1], _text({"traceEvents": events}))
    return names


class _Events:
    def __init__(self, usage: Usage, rank: int, ticks_per_ns: int) -> None:
        self._usage = usage
        self._rank = rank
        self._ticks_per_ns = ticks_per_ns
        self._sizes = {life.tensor: life.size_bytes for life in usage.lifetimes}
        self._by_size = _in_hash_order(life.tensor for life in usage.lifetimes)
        self._thread = {tensor: at for at, tensor in enumerate(self._by_size)}
        self._life = {life.tensor: life for life in usage.lifetimes}

    def all(self) -> Iterator[Event]:
        threads = _in_hash_order(self._by_size)
        for category, accesses in (
            ("tensorRead", self._usage.reads),
            ("tensorWrite", self._usage.writes),
        ):
            yield from self._accesses(category, accesses, threads)
        yield from self._lifetimes()
        for tick, live in self._usage.timeline:
            yield {
                "args": {"Memory_MB": live / _MIB},
                "cat": "GPU Memory",
                "name": "GPU Memory Usage (MB)",
                "ph": "C",
                "pid": self._rank + _COUNTER_PID,
                "ts": self._us(tick),
            }
        yield from self._heat()

    def _us(self, ticks: int) -> float:
        return 1e-3 * (ticks / self._ticks_per_ns)

    def _accesses(
        self, category: str, accesses: Iterable[Access], threads: list[str]
    ) -> Iterator[Event]:
        by_tensor: dict[str, list[Access]] = {}
        for access in accesses:
            by_tensor.setdefault(access.tensor, []).append(access)
        for tensor in threads:
            for access in by_tensor.get(tensor, ()):
                event = {
                    "args": {
                        "node_id": access.node_id,
                        "node_name": access.node_name,
                        "size": self._sizes[tensor],
                    },
                    "cat": category,
                    "name": tensor,
                    "pid": self._rank,
                    "tid": self._thread[tensor],
                }
                yield event | {"ph": "B", "ts": self._us(access.start)}
                yield event | {"ph": "E", "ts": self._us(access.end)}

    def _lifetimes(self) -> Iterator[Event]:
        read_first = dict.fromkeys(access.tensor for access in self._usage.reads)
        for phase, tensors in (("B", self._by_size), ("E", _in_hash_order(read_first))):
            for tensor in tensors:
                life = self._life[tensor]
                tick = life.start if phase == "B" else life.end
                assert tick is not None  # a read one
                yield {
                    "args": {"size": life.size_bytes},
                    "cat": "tensorLifetime",
                    "name": tensor,
                    "ph": phase,
                    "pid": self._rank + _LIFETIME_PID,
                    "tid": self._thread[tensor],
                    "ts": self._us(tick),
                }

    def _heat(self) -> Iterator[Event]:
        pid = self._rank + _HEAT_PID
        yield _named("process_name", "Tensor Lifetime Heap", pid)
        yield _named("thread_name", _LEGEND, pid) | {"tid": 0}
        lives = [self._life[tensor] for tensor in self._by_size]
        lasts = [self._lasts(life) for life in lives]
        shortest, longest = min(lasts, default=0), max(lasts, default=0)
        largest = max(self._sizes.values(), default=0)
        for at in _core.longest_first(lasts):
            row = 0
            if longest != shortest:
                share = float(lasts[at] - shortest) / float(longest - shortest)
                row = int(share * (len(lives) - 1))
            yield self._heat_of(lives[at], lasts[at], row, largest)
        yield {
            "args": {
                "description": "Tensors arranged by lifetime duration (longest at bottom)",
                "displayed_tensors": len(lives),
                "total_tensors": len(lives),
            },
            "cat": "tensorHeatmap",
            "name": "Tensor Lifetime Heatmap",
            "ph": "i",
            "pid": pid,
            "s": "p",
            "ts": 0,
        }

    def _lasts(self, life: Lifetime) -> int:
        # a life without end lasts until the last change
        end = self._usage.timeline[-1][0] if life.end is None else life.end
        return (end - life.start) % _UINT64

    def _heat_of(self, life: Lifetime, lasts: int, row: int, largest: int) -> Event:
        mib = life.size_bytes / _MIB
        red = min(255, int(life.size_bytes / largest * 255))
        return {
            "args": {
                "lifetime_ns": lasts // self._ticks_per_ns,
                "position": row,
                "size_bytes": life.size_bytes,
                "size_mb": mib,
                "tensor_name": life.tensor,
            },
            "cat": "tensorHeatmap",
            "cname": f"#{red:02X}64{255 - red:02X}",
            "dur": self._us(lasts),
            "name": f"{_short(life.tensor)} ({f'{mib:.6f}'[:5]} MB)",
            "ph": "X",
            "pid": self._rank + _HEAT_PID,
            "tid": row,
            "ts": self._us(life.start),
        }


def _text(value: Any, margin: str = "\n") -> str:
    inner = margin + "  "
    if isinstance(value, dict):
        items = (f"{_quoted(key)}: {_text(one, inner)}" for key, one in sorted(value.items()))
        return "{" + inner + f",{inner}".join(items) + margin + "}"
    if isinstance(value, list):
        return "[" + inner + f",{inner}".join(_text(one, inner) for one in value) + margin + "]"
    if isinstance(value, float):
        return written(value)
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _in_hash_order(names: Iterable[str]) -> list[str]:
    listed = list(names)
    return [listed[at] for at in _core.hash_map_order(listed)]


def _named(what: str, name: str, pid: int) -> Event:
    return {"args": {"name": name}, "name": what, "ph": "M", "pid": pid}


def _short(name: str) -> str:
    text = name.encode()
    if len(text) <= _LONGEST_NAME:
        return name
    return text[:_KEPT_OF_NAME].decode(errors="ignore") + "..."
