"""A served trace as a timeline for Perfetto and chrome://tracing: replicas, their load, requests.

A process for each replica has its iterations and counters; one for all requests has their time by
phase, if they are few. Trade-off: a request that was preempted is one slice that says for how long.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from yantra import _core
from yantra.base.errors import ConfigError, expected_got
from yantra.export.timeline.sink import Sink, open_sink
from yantra.serving.curves import LOAD, replica_names
from yantra.serving.fleet import PHASES, PS

if TYPE_CHECKING:
    from collections.abc import Callable

    from yantra.base.documents import Path
    from yantra.export.timeline.sink import Writer
    from yantra.serving.answer import Served
    from yantra.serving.fleet import Fleet, Ran

MOST_ITERATIONS = 200_000
MOST_REQUESTS = 5_000
_WRITERS: dict[str, Callable[[], Writer]] = {
    "pftrace": _core.PerfettoWriter,
    "perfetto-trace": _core.PerfettoWriter,
    "json": _core.ChromeWriter,
}
_WHOLE, _REAL = _core.ArgumentKind.WHOLE, _core.ArgumentKind.REAL
_PS_PER_NS = 1000


def write_trace(served: Served, path: Path) -> list[str]:
    """Raises ConfigError for the name of no form."""
    name = os.fspath(path)
    kind = _WRITERS.get(name.removesuffix(".gz").rpartition(".")[2])
    if kind is None:
        expected = "a name that ends in .pftrace or .json (and .gz)"
        raise ConfigError("trace", expected_got(expected, name))
    ran = served.fleet.run(served.question.requests, most_logged=MOST_ITERATIONS, samples=True)
    with open_sink(path, kind()) as sink:
        _write_replicas(ran, served.fleet, sink)
        if len(ran.requests) < MOST_REQUESTS:
            _write_requests(ran, len(replica_names(served.fleet)), sink)
    return _left_out(ran)


def _left_out(ran: Ran) -> list[str]:
    notes = []
    if len(ran.column("log_begin")) == MOST_ITERATIONS:
        last = (int(ran.column("log_end")[-1]) - int(ran.column("arrival").min())) / PS
        notes.append(f"iterations after the first {MOST_ITERATIONS:,}, which end at {last:.6g} s")
    if len(ran.requests) >= MOST_REQUESTS:
        notes.append(f"lanes of requests, as {MOST_REQUESTS:,} or more are too many to look at")
    return notes


def _write_replicas(ran: Ran, fleet: Fleet, sink: Sink) -> None:
    engines = [pool.engine_name for pool in fleet.pools for _ in range(pool.replicas)]
    lanes = [pool.lanes for pool in fleet.pools for _ in range(pool.replicas)]
    first = np.cumsum([0, *lanes]).tolist()
    names = _names(ran)
    for at, (name, engine) in enumerate(zip(replica_names(fleet), engines, strict=True)):
        process = sink.process(at, f"{name}: {engine}")
        for lane in range(lanes[at]):
            mine = np.flatnonzero(ran.column("log_target") == first[at] + lane)
            title = "iterations" if lanes[at] == 1 else f"iterations, lane {lane}"
            _write_iterations(ran, mine, names, process, title, sink)
        _write_load(ran, at, process, sink)
        sink.flush()


def _write_iterations(
    ran: Ran, mine: np.ndarray, names: list[str], process: int, title: str, sink: Sink
) -> None:
    text = sink.writer.text
    begin, end = ran.column("log_begin")[mine], ran.column("log_end")[mine]
    counts = dict(zip(("prompts", "decoding", "tokens"), _contents(ran), strict=True))
    rows = _rows(begin, end)
    for row in range(int(rows.max(initial=0)) + 1):
        at = np.flatnonzero(rows == row)
        at = at[np.argsort(begin[at], kind="stable")]
        shown = mine[at]
        _slices(
            sink,
            sink.track(process, title),
            np.array([text(names[one]) for one in shown.tolist()], np.uint64),
            text("iteration"),
            _ns(ran, begin[at]),
            _ns(ran, end[at]),
            [_core.Argument(text(name), _WHOLE, _whole(of[shown])) for name, of in counts.items()],
        )


def _rows(begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    found = _core.rows_of(np.zeros(len(begin), np.uint64), _whole(begin), _whole(end))
    return np.asarray(found.row).astype(np.int64)


def _contents(ran: Ran) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first, decodes = ran.column("log_first"), ran.column("item_decodes")
    decoding = np.diff(np.append(0, np.cumsum(decodes))[first])
    tokens = np.diff(np.append(0, np.cumsum(ran.column("item_tokens")))[first])
    return np.diff(first) - decoding, decoding, tokens


def _names(ran: Ran) -> list[str]:
    return [
        f"decode {decoding}" if not prompts and tokens == decoding
        else f"prefill {prompts} ({tokens:,} tokens)" if not decoding
        else f"decode {decoding} ({tokens:,} tokens)" if not prompts
        else f"prefill {prompts} + decode {decoding} ({tokens:,} tokens)"
        for prompts, decoding, tokens in zip(*(of.tolist() for of in _contents(ran)), strict=True)
    ]  # fmt: skip


def _write_load(ran: Ran, replica: int, process: int, sink: Sink) -> None:
    mine = ran.column("sample_replica") == replica
    times = _ns(ran, ran.column("sample_time")[mine])
    last = np.append(times[1:] != times[:-1], True) if len(times) else np.zeros(0, bool)
    for name, title in LOAD.items():
        if name == "batch_tokens":  # iterations say it
            continue
        track = sink.counter(process, title, "tokens" if "tokens" in name else "requests")
        values = ran.column(f"sample_{name}")[mine]
        sink.writer.values(track, times[last], values[last].astype(np.float64))


def _write_requests(ran: Ran, number: int, sink: Sink) -> None:
    text = sink.writer.text
    request, phase, start, end = _stretches(ran)
    lane_of = _rows(ran.column("arrival"), ran.column("finish"))
    process = sink.process(number, "requests")
    spent = (ran.spent_s * 1e9)[:, [PHASES.index("preempted"), PHASES.index("recompute")]].sum(
        axis=1
    )
    about = {
        "request": np.arange(len(ran.requests)), "prompt": ran.requests.prompt,
        "output": ran.requests.output, "from_the_cache": ran.column("cached"),
        "preemptions": ran.column("restarts"),
    }  # fmt: skip
    for lane in range(int(lane_of.max()) + 1):
        mine = np.flatnonzero(lane_of[request] == lane)
        mine = mine[np.argsort(start[mine], kind="stable")]
        of = request[mine]
        arguments = [
            _core.Argument(text(name), _WHOLE, _whole(values[of])) for name, values in about.items()
        ]
        lost = text("preempted_and_recompute_ns")
        arguments.append(_core.Argument(lost, _REAL, spent[of].view(np.uint64)))
        names = np.array([text(_STRETCHES[at]) for at in phase[mine].tolist()], np.uint64)
        track = sink.track(process, "requests")
        _slices(
            sink,
            track,
            names,
            text("request"),
            _ns(ran, start[mine]),
            _ns(ran, end[mine]),
            arguments,
        )
    sink.flush()


_STRETCHES = ("queued", "prefill", "KV moves", "decode")


def _stretches(ran: Ran) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    names = ("arrival", "start", "first_token", "moved", "finish")
    arrival, start, first, moved, finish = (ran.column(name) for name in names)
    moved = np.where(moved < 0, first, moved)
    ends = [arrival, start, first, moved, finish]
    request = np.tile(np.arange(len(arrival)), len(_STRETCHES))
    phase = np.repeat(np.arange(len(_STRETCHES)), len(arrival))
    begins, stops = np.concatenate(ends[:-1]), np.concatenate(ends[1:])
    lasts = stops > begins
    return request[lasts], phase[lasts], begins[lasts], stops[lasts]


def _slices(
    sink: Sink, track: int, names: np.ndarray, category: int, start: np.ndarray, end: np.ndarray,
    arguments: list[Any],
) -> None:  # fmt: skip
    none = np.zeros(0, np.uint64)
    size = len(names)
    sink.writer.slices(
        _core.Slices(
            track=np.full(size, track, np.uint64),
            name=names,
            category=np.full(size, category, np.uint64),
            start=start,
            end=end,
            arguments=arguments,
        ),
        _core.MessageEnds(slice=none, time=none, name=none, flow=none, arrives=none, arguments=[]),
    )


def _ns(ran: Ran, ps: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray((ps - int(ran.column("arrival").min())) // _PS_PER_NS, np.uint64)


def _whole(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, np.uint64)
