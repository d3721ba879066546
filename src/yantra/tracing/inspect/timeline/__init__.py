"""Timelines for Perfetto and Chrome: from traces with times, or from a simulator's node log."""

from __future__ import annotations

import os

from yantra.tracing.inspect.timeline.chrome import Arrow, Span, Timeline, write_timeline
from yantra.tracing.inspect.timeline.node_log import (
    Execution,
    is_log,
    log_timeline,
    parse_log,
    read_log,
)
from yantra.tracing.inspect.timeline.recorded import recorded_timeline

__all__ = [
    "Arrow",
    "Execution",
    "Span",
    "Timeline",
    "is_log",
    "log_timeline",
    "parse_log",
    "read_log",
    "recorded_timeline",
    "timeline",
    "write_timeline",
]


def timeline(
    inputs: tuple[str | os.PathLike[str], ...],
    *,
    ticks_per_us: float = 1000.0,
    arrows: bool = False,
) -> Timeline:
    """The timeline of a node log or a job's trace files.

    `ticks_per_us` is for logs, `arrows` (dependencies) for traces.
    """
    from yantra.chakra import files
    from yantra.tracing.pytorch.in_memory import seen_job

    if len(inputs) == 1 and "{rank}" not in os.fspath(inputs[0]):
        content = files.Content(inputs[0])
        if is_log(content.pieces()):
            executions = parse_log(content.whole(), content.path)
            return log_timeline(executions, ticks_per_us=ticks_per_us)
    job, problems = seen_job([os.fspath(one) for one in inputs])
    made = recorded_timeline(job, arrows=arrows)
    made.warnings[:0] = problems
    return made
