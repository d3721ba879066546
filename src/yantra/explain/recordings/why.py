"""Where a recorded job's time went, who is late and since when, and which transfers are slow.

Trade-off: something is named only where it stands out, by thresholds that planted faults and clean
jobs set (tests/planted.py); small lateness that changes from rank to rank is noise.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from yantra.base.text import count
from yantra.base.units import format_time
from yantra.explain.recordings.transfers import Model, Transfer, transfers
from yantra.tracing.clocks import Clocks, on_one_clock
from yantra.tracing.inspect.one_by_one import Progress
from yantra.tracing.why.late import Blame, Meeting, blames, meetings
from yantra.tracing.why.look import TITLES
from yantra.tracing.why.summary import Summary, summaries

WAITING = "waiting"
_SHARE = 0.01  # of the others' time that a late rank costs
_SHARE_OF_A_BEGIN = 0.05  # the same, once: recorders begin ranks a little apart
_TIMES = 2.5  # as much as the next rank
_LONGER = 1.2  # times the median step


class Row(NamedTuple):
    """A part of the ranks' time: in the mean, and of the rank with most."""

    part: str
    mean_ns: float
    most_ns: float
    rank: int


class OfStep(NamedTuple):
    """A step over all ranks: its longest time, waiting and longest part beyond the median's."""

    number: int
    time_ns: int
    parts_ns: dict[str, float]
    longer_because: str


class Why(NamedTuple):
    """The answer. `named`: what stands out, in sentences, the most costly first.

    `missing`: ranks of the job without a recording, which may be the late ones.
    """

    ranks: int
    world_size: int
    window_ns: float
    clocks: Clocks
    named: list[str]
    parts: list[Row]
    causes: list[dict[str, Any]]
    meetings: list[Meeting]
    late: list[Blame]
    transfers: list[Transfer]
    steps: list[OfStep]
    rank_of: list[int]
    missing: list[int]

    def as_dict(self) -> dict[str, Any]:
        """The answer for JSON."""
        clocks = self.clocks._asdict() | {"text": self.clocks.in_words()}
        return {
            "ranks": self.ranks,
            "world_size": self.world_size,
            "missing": self.missing,
            "window_ns": self.window_ns,
            "clocks": clocks,
            "named": self.named,
            "parts": [row._asdict() for row in self.parts],
            "unexplained": self.causes,
            "late": [row._asdict() for row in self.late],
            "collectives": [self._collective(one) for one in self.meetings],
            "transfers": [row._asdict() for row in self.transfers],
            "steps": [row._asdict() for row in self.steps],
        }

    def _collective(self, one: Meeting) -> dict[str, Any]:
        return {
            "group": one.group,
            "order": one.order,
            "kind": one.kind.lower(),
            "bytes": one.bytes,
            "operator": one.operator,
            "step": one.step,
            "last": self.rank_of[one.ranks[one.last]],
            "waited_ns": one.waited_ns,
            "transfer_ns": one.transfer_ns,
        }


def why(
    arguments: Sequence[str],
    *,
    step: int | None = None,
    model: Model | None = None,
    progress: Progress | None = None,
) -> tuple[Why, list[str]]:
    """Answer for the recordings of a job, or one step of it; also return warnings."""
    found, warnings = summaries(arguments, step, progress)
    return of_summaries(found, model), warnings


def of_summaries(found: Sequence[Summary], model: Model | None = None) -> Why:
    """Answer for ranks that were read."""
    clocks = on_one_clock([one.ends() for one in found])
    made = meetings(found, clocks) if clocks.how != "unknown" else []
    late = blames(found, clocks, made)
    rank_of = [one.rank for one in found]
    moved = transfers(made, rank_of, model)
    begins = [float(clocks.true_ns(at, one.begin_ns)) for at, one in enumerate(found)]
    ends = [float(clocks.true_ns(at, one.end_ns)) for at, one in enumerate(found)]
    window = max(ends) - min(begins)
    if clocks.how == "unknown":
        window = max(float(one.end_ns - one.begin_ns) for one in found)
    world_size = max(one.world_size for one in found)
    return Why(
        len(found),
        world_size,
        window,
        clocks,
        list(_named(found, late, moved, made, window)),
        _parts(found, made),
        _causes(found),
        made,
        late,
        moved,
        _steps(found),
        rank_of,
        sorted({*range(world_size)} - {*rank_of}),
    )


def _named(
    found: Sequence[Summary],
    late: Sequence[Blame],
    moved: Sequence[Transfer],
    made: Sequence[Meeting],
    window: float,
) -> Iterator[str]:
    by_rank: dict[int, float] = defaultdict(float)
    for row in late:
        if row.rank is not None:
            by_rank[row.rank] += row.waited_ns
    order = sorted(by_rank.values(), reverse=True)
    for row in late:
        if row.rank is None or by_rank[row.rank] != order[0] or not row.waited_ns:
            continue
        share = row.waited_ns / (window * max(1, len(found) - 1))
        stands_out = len(order) < 2 or order[0] >= _TIMES * order[1]
        if share < (_SHARE_OF_A_BEGIN if row.what == "begin" else _SHARE) or not stands_out:
            continue
        since = "" if row.since is None else f", since step {row.since}"
        costs = format_time(row.waited_ns)
        yield (
            f"rank {row.rank} is late {_because(row)}{since}: it costs the others {costs} at "
            f"{count(row.times, 'collective')} of {len(made)}, {100 * share:.1f} % of their time"
        )
        break
    for one in moved:
        if one.slow:
            yield _slow(one)


def _because(row: Blame) -> str:
    if row.what == "begin":
        return f"because {row.name}"
    return f"because of {row.name} ({TITLES.get(row.what, row.what)})"


def _slow(one: Transfer) -> str:
    beside = []
    if "model" in one.slow and one.ratio is not None:
        beside.append(f"{one.ratio:.2f} of what the model expects")
    if "peers" in one.slow and one.beside is not None:
        beside.append(f"{one.beside:.2f} of other groups of its kind and size")
    if one.since is not None:
        beside.append(f"slower since step {one.since}")
    ranks = ", ".join(map(str, one.ranks[:8])) + (", ..." if len(one.ranks) > 8 else "")
    return (
        f"{one.kind} of group {one.group} (ranks {ranks}) is slow: "
        f"{one.bus_bytes_per_ns:.3g} GB/s, {'; '.join(beside)}"
    )


def _parts(found: Sequence[Summary], made: Sequence[Meeting]) -> list[Row]:
    waited: dict[int, float] = defaultdict(float)
    for one in made:
        end = max(one.came_ns)
        for place, came in zip(one.ranks, one.came_ns, strict=True):
            waited[place] += end - came if one.gathers else 0.0
    rows: dict[str, list[float]] = {}
    for place, rank in enumerate(found):
        parts: dict[str, float] = dict(rank.parts_ns)
        waits = min(waited[place], parts["communication"])
        parts["communication"] -= waits
        for part, ns in (parts | {WAITING: waits}).items():
            rows.setdefault(part, []).append(ns)
    return [
        Row(part, sum(ns) / len(ns), max(ns), found[ns.index(max(ns))].rank)
        for part, ns in rows.items()
    ]


def _causes(found: Sequence[Summary]) -> list[dict[str, Any]]:
    sums: dict[str, dict[str, Any]] = {}
    for one in found:
        for cause in one.causes:
            row = sums.setdefault(
                cause.name,
                {"name": cause.name, "ns": 0, "ranks": 0, "most_ns": 0, "rank": 0, "evidence": ""},
            )
            row["ns"] += cause.ns
            row["ranks"] += 1
            if cause.ns > row["most_ns"]:
                row |= {"most_ns": cause.ns, "rank": one.rank, "evidence": cause.evidence}
    return sorted(sums.values(), key=lambda row: -row["ns"])


def _steps(found: Sequence[Summary]) -> list[OfStep]:
    by_number: dict[int, list[tuple[Summary, int]]] = defaultdict(list)
    for one in found:
        for at, step in enumerate(one.steps):
            by_number[step.number].append((one, at))
    times = {
        number: max(one.steps[at].end_ns - one.steps[at].start_ns for one, at in some)
        for number, some in by_number.items()
    }
    usual = median(times.values()) if times else 0
    of_ranks = [Usual(one.step_work) for one in found]
    rows = []
    for number in sorted(by_number):
        some = by_number[number]
        parts = {
            part: sum(one.step_parts_ns[at][part] for one, at in some) / len(some)
            for part in some[0][0].step_parts_ns[some[0][1]]
        }
        because = _longer(found, of_ranks, number) if times[number] > _LONGER * usual else ""
        rows.append(OfStep(number, times[number], parts, because))
    return rows


def _longer(found: Sequence[Summary], usual: Sequence[Usual], number: int) -> str:
    """The work, by rank and name, that a step has most beyond the rank's median step."""
    best, excess = "", 0.0
    for one, others in zip(found, usual, strict=True):
        numbers = [step.number for step in one.steps]
        if number not in numbers or len(numbers) < 2:
            continue
        for (part, name), ns in one.step_work[numbers.index(number)].items():
            more = ns - others.median((part, name), ns)
            if more > excess:
                best, excess = f"{name} of rank {one.rank} ({TITLES[part]})", more
    return f"{best}, {format_time(excess)} more" if best else ""


class Usual:
    """What the steps of a rank have of each work."""

    def __init__(self, steps: Sequence[Mapping[tuple[str, str], int]]) -> None:
        self._steps = len(steps)
        self._of: dict[tuple[str, str], list[int]] = defaultdict(list)
        for work in steps:
            for name, ns in work.items():
                self._of[name].append(ns)
        for every in self._of.values():
            every.sort()

    def median(self, name: tuple[str, str], but_ns: int) -> float:
        """The median of all steps but one that has so much; those without have 0."""
        every = self._of[name]
        zeros = self._steps - len(every)
        left_out = zeros + bisect_left(every, but_ns)

        def at(place: int) -> int:
            place += place >= left_out
            return every[place - zeros] if place >= zeros else 0

        others = self._steps - 1
        return (at((others - 1) // 2) + at(others // 2)) / 2
