"""Keeps the script's own profilers from starting during a collection: PyTorch has one per process,
and a second start would crash it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from yantra.base.errors import ConfigError
from yantra.base.output import write_text
from yantra.tracing.collect.patching import patch

_EMPTY_TRACE = '{"traceEvents": []}\n'


def refuse_running(torch: Any, where: str) -> None:
    if torch.autograd._profiler_enabled():
        raise ConfigError(
            where,
            "a profiler of PyTorch is running already, and there can be one at a time; collect "
            "outside of it",
        )


def hold_off(torch: Any, undo: ExitStack, foreign: Callable[[Any], bool]) -> None:
    """Let what is `foreign` when it starts record nothing, until `undo`."""
    told = _told_once()

    def silence(profiler: Any) -> None:
        told("a profiler")
        profiler.enabled = False  # its end does nothing
        profiler._function_events = None  # made later, on request
        profiler.kineto_results = _Nothing()

    def start(original: Any, profiler: Any) -> None:
        if foreign(profiler):
            profiler.record_steps = False  # its ranges would cross our steps
        original(profiler)

    def prepare(original: Any, profiler: Any) -> None:
        if foreign(profiler):
            silence(profiler)
            return
        if isinstance(profiler.kineto_results, _Nothing):
            profiler.enabled = True
        original(profiler)

    def begin(original: Any, profiler: Any) -> None:
        if profiler.enabled and foreign(profiler):
            silence(profiler)
        if profiler.enabled:
            original(profiler)

    def toggle(original: Any, profiler: Any, *rest: Any, **named: Any) -> None:
        if not foreign(profiler):
            original(profiler, *rest, **named)

    def register(original: Any, observer: Any, *rest: Any, **named: Any) -> Any:
        if foreign(observer):
            told("an execution trace observer")
            return observer
        return original(observer, *rest, **named)

    low, high = torch.autograd.profiler.profile, torch.profiler.profile
    patch(undo, high, "start", start)
    patch(undo, high, "toggle_collection_dynamic", toggle)
    patch(undo, low, "_prepare_trace", prepare)
    patch(undo, low, "_start_trace", begin)
    patch(undo, torch.profiler.ExecutionTraceObserver, "register_callback", register)


def _told_once() -> Callable[[str], None]:
    told: set[str] = set()

    def tell(what: str) -> None:
        if what not in told:
            told.add(what)
            sys.stderr.write(
                f"warning: yantra.collect: the script starts {what} of its own; it records "
                "nothing while steps are collected\n"
            )

    return tell


class _Nothing:
    def save(self, path: str) -> None:
        write_text(path, _EMPTY_TRACE)

    def events(self) -> list[Any]:
        return []

    def experimental_event_tree(self) -> list[Any]:
        return []

    def trace_start_ns(self) -> int:
        return 0
