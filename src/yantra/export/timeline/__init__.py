"""Result -> a timeline for Perfetto and chrome://tracing.

Decides what both formats show; the core writes the bytes. Times are whole nanoseconds, as in the
formats: picoseconds are rounded down, which keeps every order and nesting.
"""

from __future__ import annotations

from collections.abc import Iterable

from yantra.base.output import Path
from yantra.export.timeline.sink import Writer, open_sink
from yantra.result import Result

MOST_MESSAGES = 100_000
"""Arrows of a timeline by default; with more, today's viewers become slow."""


def write(
    result: Result,
    path: Path,
    writer: Writer,
    *,
    ranks: str | Iterable[int] | None = None,
    messages: int = MOST_MESSAGES,
    where: str = "ranks",
) -> list[str]:
    """Write a timeline; return what it leaves out and why, for the user.

    `ranks` are numbers, or a text such as `0,7-15` or `all`; by default all, of a folded run one of
    each class. At most `messages` arrows are drawn. Raises ConfigError, at `where`, for ranks that
    do not exist and more slices than a viewer holds.
    """
    from yantra.export.timeline.cluster import write_cluster
    from yantra.export.timeline.memory import Memory
    from yantra.export.timeline.messages import Messages
    from yantra.export.timeline.shown import choose
    from yantra.export.timeline.tracks import Tracks

    shown = choose(result, ranks, where)
    arrows = Messages(result, shown, writer, messages)
    with open_sink(path, writer) as sink:
        notes = write_cluster(result, sink)
        tracks, memory = Tracks(result, sink), Memory(result, sink)
        for item in shown:
            process = sink.process(item.rank, item.name)
            tracks.write(item.rank, process, arrows)
            memory.write(item.rank, process)
            sink.flush()
    return notes + arrows.notes
