"""Launches found by order, where kernels have no correlation number.

ROCm up to 6.1 gives RCCL's kernels correlation 0. On a stream the k-th such kernel goes with the
k-th communication launch call without device op, if counts and times fit; several streams must each
fit exactly one process group. Kernels begun before the first call were launched before the
recording.

Source: ROCm/roctracer issue 100, pytorch/kineto issue 1416.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from yantra.tracing.pytorch.calls import sort_of
from yantra.tracing.pytorch.event_columns import NONE, Events
from yantra.tracing.pytorch.events import Event
from yantra.tracing.pytorch.link.operators import Operators

_COLLECTIVES = ("nccl", "rccl", "oneccl", "msccl")
_HIGHEST = 8  # operators above a launch that may be the communicator's call


def unnumbered(events: Events) -> list[Event]:
    """Kernels of collectives without a correlation number, or with 0."""
    without = (events.correlation == NONE) | (events.correlation == 0)
    named = events.named(lambda name: name.startswith(_COLLECTIVES))
    return [events[row] for row in np.flatnonzero(events.is_of("kernel") & named & without)]


def paired(
    kernels: Sequence[Event], calls: Sequence[Event], operators: Operators
) -> dict[int, Event]:
    """The launch call of each kernel, by the kernel's index in the file.

    `calls`: launch calls without device op, by start, owners set.
    """
    groups: defaultdict[str, list[Event]] = defaultdict(list)
    for call in calls:
        group = _communicator(call, operators)
        if group is not None:
            groups[group].append(call)
    streams: defaultdict[Any, list[Event]] = defaultdict(list)
    for kernel in sorted(kernels, key=_start):
        streams[_device(kernel), kernel.detail.stream, str(kernel.tid)].append(kernel)
    if len(streams) == 1:
        (queue,) = streams.values()
        every = sorted((call for made in groups.values() for call in made), key=_start)
        return {kernel.index: call for kernel, call in _fit(queue, every)}
    return _one_to_one(list(streams.values()), list(groups.values()))


def _one_to_one(streams: list[list[Event]], groups: list[list[Event]]) -> dict[int, Event]:
    fits = [[at for at, made in enumerate(groups) if _fit(queue, made)] for queue in streams]
    taken = [at for fit in fits for at in fit]
    if any(len(fit) > 1 for fit in fits) or len(set(taken)) < len(taken):
        return {}
    return {
        kernel.index: call
        for queue, fit in zip(streams, fits, strict=True)
        for at in fit
        for kernel, call in _fit(queue, groups[at])
    }


def _fit(kernels: list[Event], calls: list[Event]) -> list[tuple[Event, Event]]:
    if not calls:
        return []
    known = [kernel for kernel in kernels if kernel.start >= calls[0].start]
    if len(known) != len(calls):
        return []
    pairs = list(zip(known, calls, strict=True))
    return pairs if all(kernel.start >= call.start for kernel, call in pairs) else []


def _communicator(call: Event, operators: Operators) -> str | None:
    at: int | None = call.owner if call.owner >= 0 else None
    communicates = False
    for _ in range(_HIGHEST):
        if at is None:
            break
        communicates |= bool(sort_of(operators.name(at)))
        comm = operators.comm.get(at)
        if comm is not None and comm.group_name:
            return comm.group_name
        at = operators.above(at)
    return "" if communicates else None


def _device(event: Event) -> Any:
    return event.pid if event.detail.device is None else event.detail.device


def _start(event: Event) -> int:
    return event.start
