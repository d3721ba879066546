"""What is kept of a rank once it is read: its collectives and the work before each, by name.

Trade-off: of the names before a collective the longest few are kept, so a job of many ranks fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from yantra.chakra.files import Content
from yantra.chakra.trace import Trace
from yantra.tracing.clocks import End
from yantra.tracing.inspect.groups import Groups
from yantra.tracing.inspect.one_by_one import Progress, Reading, kept_of
from yantra.tracing.inspect.rank_traces import RankTrace, TraceFile, find_traces
from yantra.tracing.pytorch.in_memory import are_recordings, kept_of_each
from yantra.tracing.why.accounts import account, accounts
from yantra.tracing.why.causes import Cause, causes
from yantra.tracing.why.kept import Before, Calls, Worked
from yantra.tracing.why.rank import PARTS, Rank, Step, ranks_of

UNEXPLAINED = "time that nothing recorded explains"
_NAMES = 12  # kept of a segment
_COMMUNICATION = PARTS.index("communication")
_UNEXPLAINED = PARTS.index("unexplained_device")


class Summary(NamedTuple):
    """A rank, on its own clock. `before` is by call: the work since the one before.

    `parts_ns` is of all, `step_parts_ns` by step; `step_work` sums names by step.
    """

    rank: int
    path: str
    world_size: int
    begin_ns: int
    end_ns: int
    calls: Calls
    steps: list[Step]
    before: Before
    parts_ns: dict[str, int]
    step_parts_ns: list[dict[str, int]]
    step_work: list[Worked]
    top: Worked
    causes: list[Cause]
    groups: Groups

    def ends(self) -> list[End]:
        return [End(call.group, (call.kind, call.bytes), call.end_ns) for call in self.calls]

    def step_of(self, ns: int) -> int | None:
        """The number of the step in which something began; None outside all."""
        for step in self.steps:
            if step.start_ns <= ns < step.end_ns:
                return step.number
        return None


def summaries(
    arguments: Sequence[str], step: int | None = None, progress: Progress | None = None
) -> tuple[list[Summary], list[str]]:
    """Summaries by rank of recordings or recorded Chakra traces, and warnings.

    One rank is held at a time. Raises ConfigError or TraceError for what is no recording.
    """
    if not are_recordings(arguments):

        def keep(file: TraceFile, content: Content) -> Summary:
            trace = Trace.from_bytes(content.whole(), file.path)
            return summarise(next(ranks_of([RankTrace(*file, trace)])), step)

        def reading() -> Reading[Summary]:
            return Reading(keep, alike=False)

        return [row.kept for row in kept_of(find_traces(arguments), reading, progress)], []
    where = arguments[0]

    def keep_of(rank: int, pieces: Iterable[bytes]) -> Summary:
        trace = Trace.from_bytes(b"".join(pieces))
        one = RankTrace(rank, where if len(arguments) == 1 else f"rank {rank}", trace)
        return summarise(next(ranks_of([one])), step)

    found, made = kept_of_each(arguments, keep_of, progress=progress)
    ordered = [one._replace(path=made.paths.get(rank, "")) for rank, one in found.items()]
    return ordered, made.problems


def summarise(rank: Rank, step: int | None = None) -> Summary:
    """Summarise a rank, or one of its steps; raises ConfigError if it has no such step."""
    if step is not None:
        rank = _only(rank, step)
    came = np.array([call.start_ns for call in rank.calls], dtype=np.int64)
    left = np.array([rank.begin_ns, *(call.end_ns for call in rank.calls)], dtype=np.int64)
    before = np.stack([np.maximum.accumulate(left)[: len(came)], came])
    steps = np.array([one[1:] for one in rank.steps], dtype=np.int64).reshape(-1, 2).T
    whole = np.array([[rank.begin_ns], [rank.end_ns]])
    return Summary(
        rank.rank,
        rank.path,
        rank.world_size,
        rank.begin_ns,
        rank.end_ns,
        Calls(rank.calls),
        rank.steps,
        Before(_worked(rank, before)),
        account(rank),
        accounts(rank, [(one.start_ns, one.end_ns) for one in rank.steps]),
        _worked(rank, steps),
        _worked(rank, whole)[0],
        causes(rank),
        rank.groups,
    )


def _only(rank: Rank, number: int) -> Rank:
    from yantra.base.errors import ConfigError

    found = [one for one in rank.steps if one.number == number]
    if not found:
        has = ", ".join(str(one.number) for one in rank.steps)
        has = has or "none marked, so leave --step out"
        raise ConfigError("--step", f"rank {rank.rank} has no step {number}; it has {has}")
    (one,) = found
    work = rank.work
    here = (work.start_ns >= one.start_ns) & (work.start_ns < one.end_ns)
    kept = [getattr(work, name)[here] for name in work._fields[:-1]]
    return rank._replace(
        begin_ns=one.start_ns,
        end_ns=max(one.end_ns, int(kept[1].max(initial=one.end_ns))),
        calls=[call for call in rank.calls if one.start_ns <= call.start_ns < one.end_ns],
        steps=[one],
        work=work._replace(**dict(zip(work._fields, kept, strict=False))),
    )


def _worked(rank: Rank, spans: Any) -> list[Worked]:
    """Time of names within each span; spans (begins, ends) ascend and do not overlap."""
    work = rank.work
    begins, ends = spans
    found: list[Worked] = [{} for _ in begins]
    first = np.searchsorted(ends, work.start_ns, side="right")
    last = np.searchsorted(begins, work.end_ns, side="left")
    times = np.where(work.kind == _COMMUNICATION, 0, np.maximum(last - first, 0))
    if not times.any():
        return found
    item = np.repeat(np.arange(len(times)), times)
    span = np.arange(len(item)) - np.repeat(np.cumsum(times) - times, times) + first[item]
    within = np.minimum(work.end_ns[item], ends[span])
    within -= np.maximum(work.start_ns[item], begins[span])
    width = len(work.names) * len(PARTS)
    code = span * width + work.kind[item] * len(work.names) + work.name[item]
    keys, inverse = np.unique(code, return_inverse=True)
    sums = np.bincount(inverse, weights=np.maximum(within, 0)).astype(np.int64)
    for key, ns in zip(keys.tolist(), sums.tolist(), strict=True):
        at, rest = divmod(key, width)
        kind, name = divmod(rest, len(work.names))
        named = UNEXPLAINED if kind >= _UNEXPLAINED else work.names[name]
        one = found[at]
        one[PARTS[kind], named] = one.get((PARTS[kind], named), 0) + ns
    return [dict(sorted(one.items(), key=lambda item: -item[1])[:_NAMES]) for one in found]
