"""Random small jobs: kernels, messages, collectives of groups and of all ranks, loads of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

from yantra.chakra import CollectiveType, TraceBuilder
from yantra.scenario import Traces

SYMMETRIC = ("ALL_REDUCE", "ALL_GATHER", "REDUCE_SCATTER", "ALL_TO_ALL")
KINDS = (*SYMMETRIC, *SYMMETRIC, "BROADCAST", "REDUCE", "GATHER", "SCATTER")
"""The kinds of collectives, as often as they are drawn; the last four have a root."""
SIZES = (1, 777, 4096, 65_536, 100_003, 262_144)


class Step(NamedTuple):
    """`size` is in bytes, of a kernel in picoseconds. `kind` is that of a collective. `after` has
    for each of `ranks` the numbers of the steps that it waits for. A `bare` collective names no
    group.
    """

    number: int
    what: str
    ranks: tuple[int, ...]
    size: int
    after: tuple[tuple[int, ...], ...]
    kind: str = ""
    bare: bool = False

    def __str__(self) -> str:
        unit = "ps" if self.what == "kernel" else "B"
        who = "all" if self.bare else " ".join(map(str, self.ranks))
        waits = "; ".join(
            f"{rank} after {','.join(map(str, after))}"
            for rank, after in zip(self.ranks, self.after, strict=True)
            if after
        )
        text = f"{self.number}: {self.kind or self.what} of {self.size} {unit} on {who}"
        return f"{text}  ({waits})" if waits else text


class Job(NamedTuple):
    ranks: int
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return "\n".join([f"{self.ranks} ranks", *(f"  {step}" for step in self.steps)])

    @property
    def has_collectives(self) -> bool:
        return any(step.what == "collective" for step in self.steps)

    @property
    def is_in_turn(self) -> bool:
        follow = all(
            all(one.number in each for each in other.after) for one, other in pairwise(self.steps)
        )
        of_all = (step.bare or step.what == "kernel" for step in self.steps)
        return follow and all(of_all) and all(len(s.ranks) == self.ranks for s in self.steps)

    def in_turn(self) -> Job:
        everyone = tuple(range(self.ranks))
        steps: list[Step] = []
        for step in self.steps:
            before = (steps[-1].number,) if steps else ()
            if step.what == "collective":
                step = step._replace(ranks=everyone, bare=True)
            elif step.what != "message":
                step = step._replace(ranks=everyone)
            else:
                continue
            steps.append(step._replace(after=(before,) * self.ranks))
        return self._replace(steps=tuple(steps))

    def staggered(self, draw: Random) -> Job:
        first = max((step.number for step in self.steps), default=0) + 1
        kernels = [
            Step(first + rank, "kernel", (rank,), draw.randrange(1, 1_000_000), ((),))
            for rank in range(self.ranks)
        ]
        steps = (
            step._replace(
                after=tuple(
                    after or (first + rank,)
                    for rank, after in zip(step.ranks, step.after, strict=True)
                )
            )
            for step in self.steps
        )
        return self._replace(steps=(*kernels, *steps))

    def followed(self, ps: int) -> Job:
        first = max((step.number for step in self.steps), default=0) + 1
        everyone = tuple(range(self.ranks))
        done: list[tuple[int, ...]] = [
            tuple(step.number for step in self.steps if rank in step.ranks) for rank in everyone
        ]
        more = [Step(first, "kernel", everyone, ps, tuple(done))]
        more += [
            Step(
                first + 1 + rank, "message", (rank, (rank + 1) % self.ranks), 1000, ((first,),) * 2
            )
            for rank in everyone
        ]
        waits = tuple((first + 1 + rank, first + 1 + (rank - 1) % self.ranks) for rank in everyone)
        last = first + 1 + self.ranks
        more.append(Step(last, "collective", everyone, 1000, waits, "ALL_REDUCE", True))
        return self._replace(steps=(*self.steps, *more))

    def changed(self, number: int, size: int) -> Job:
        steps = (step._replace(size=size) if step.number == number else step for step in self.steps)
        return self._replace(steps=tuple(steps))

    def shaken(self, draw: Random) -> Job:
        kernels = (step for step in self.steps if step.what == "kernel")
        longer = {step.number: step.size + draw.randrange(3) for step in kernels}
        steps = (step._replace(size=longer.get(step.number, step.size)) for step in self.steps)
        return self._replace(steps=tuple(steps))

    def without(self, number: int) -> Job:
        gone = next(step for step in self.steps if step.number == number)
        instead = dict(zip(gone.ranks, gone.after, strict=True))
        kept = []
        for step in self.steps:
            after = tuple(
                tuple(
                    dict.fromkeys(part for one in each for part in _or(one, number, instead, rank))
                )
                for rank, each in zip(step.ranks, step.after, strict=True)
            )
            if step.number != number:
                kept.append(step._replace(after=after))
        return self._replace(steps=tuple(kept))

    def alike(self) -> Job:
        everyone = tuple(range(self.ranks))
        made: list[Step] = []
        new: dict[int, list[tuple[int, ...]]] = {}  # for each step, what it becomes for each rank

        def after(step: Step, rank: int) -> tuple[int, ...]:
            return tuple(dict.fromkeys(one for old in step.after[0] for one in new[old][rank]))

        for step in self.steps:
            first = len(made)
            if step.what != "message":
                waits = tuple(after(step, rank) for rank in everyone)
                bare = step.what == "collective"
                made.append(step._replace(number=first, ranks=everyone, after=waits, bare=bare))
                new[step.number] = [(first,) for _ in everyone]
                continue
            by = (step.ranks[1] - step.ranks[0]) % self.ranks
            for rank in everyone:
                ends = rank, (rank + by) % self.ranks
                waits = after(step, ends[0]), after(step, ends[1])
                made.append(Step(first + rank, "message", ends, step.size, waits))
            new[step.number] = [
                (first + rank, first + (rank - by) % self.ranks) for rank in everyone
            ]
        return Job(self.ranks, tuple(made))

    def on(self, place: Callable[[int], int], ranks: int) -> Job:
        """All ranks stay all ranks, if there are no more."""
        return Job(
            ranks,
            tuple(
                step._replace(
                    ranks=tuple(map(place, step.ranks)), bare=step.bare and ranks == self.ranks
                )
                for step in self.steps
            ),
        )

    def of_all(self) -> Job:
        everyone = tuple(range(self.ranks))
        return self._replace(
            steps=tuple(
                step._replace(bare=step.what == "collective" and step.ranks == everyone)
                for step in self.steps
            )
        )

    def in_groups(self) -> Job:
        return self._replace(steps=tuple(step._replace(bare=False) for step in self.steps))

    def beside(self, other: Job) -> Job:
        last = max((step.number for step in self.steps), default=0) + 1
        moved = [
            step._replace(
                number=step.number + last,
                after=tuple(tuple(one + last for one in each) for each in step.after),
            )
            for step in other.steps
        ]
        return Job(max(self.ranks, other.ranks), (*self.steps, *moved))

    def workload(self) -> Traces:
        groups: dict[tuple[int, ...], int] = {}
        traces = [TraceBuilder(rank=rank) for rank in range(self.ranks)]
        nodes: list[dict[int, Any]] = [{} for _ in traces]
        for step in self.steps:
            group = None
            if step.what == "collective" and not step.bare:
                group = str(groups.setdefault(step.ranks, len(groups) + 1))
            for rank, after in zip(step.ranks, step.after, strict=True):
                trace = traces[rank]
                trace._next_id = step.number
                before = [nodes[rank][number] for number in after]
                nodes[rank][step.number] = _node(trace, step, rank, group, before)
        named = tuple((number, members) for members, number in groups.items())
        return Traces(traces=tuple(trace.build() for trace in traces), groups=named)


def _or(one: int, number: int, instead: dict[int, tuple[int, ...]], rank: int) -> Iterable[int]:
    return instead.get(rank, ()) if one == number else (one,)


def _node(trace: TraceBuilder, step: Step, rank: int, group: str | None, after: list[Any]) -> Any:
    if step.what == "kernel":
        return trace.compute(num_ops=step.size, tensor_size=1, after=after)
    if step.what == "memory":
        return trace.memory_load(step.size, after=after)
    if step.what == "collective":
        return trace.collective(CollectiveType[step.kind], step.size, group=group, after=after)
    if rank == step.ranks[0]:
        return trace.send(step.ranks[1], step.size, tag=step.number, after=after)
    return trace.recv(step.ranks[0], step.size, tag=step.number, after=after)


class Drawn:
    def __init__(
        self, draw: Random, ranks: int, powers: bool, chained: bool, kinds: tuple[str, ...]
    ) -> None:
        self.draw, self.ranks, self.kinds = draw, ranks, kinds
        self.counts = [n for n in range(2, ranks + 1) if not (powers and n & (n - 1))]
        self.steps: list[Step] = []
        self._done: list[list[int]] = [[] for _ in range(ranks)]
        self._talked: list[list[int]] = [[] for _ in range(ranks)]  # since the last collective
        self._met: list[int | None] = [None] * ranks
        self.chained = chained or draw.random() < 0.4  # what a rank communicates
        self._groups = [self._members() for _ in range(3)]

    def _members(self) -> tuple[int, ...]:
        count = self.draw.choice(self.counts)
        return tuple(sorted(self.draw.sample(range(self.ranks), count)))

    def add(
        self, what: str, ranks: tuple[int, ...], size: int, kind: str = "", bare: bool = False
    ) -> None:
        after = tuple(self._after(rank, what) for rank in ranks)
        number = len(self.steps)
        self.steps.append(Step(number, what, ranks, size, after, kind, bare))
        for rank in ranks:
            self._done[rank].append(number)
            if what == "message":
                self._talked[rank].append(number)
            elif what == "collective":
                self._met[rank], self._talked[rank] = number, []

    def _after(self, rank: int, what: str) -> tuple[int, ...]:
        draw, done = self.draw, self._done[rank][-4:]
        after = set(draw.sample(done, min(len(done), draw.choice((0, 1, 1, 2)))))
        if what in ("message", "collective"):
            met, talked = self._met[rank], self._talked[rank]
            after |= {met} if met is not None else set()
            after |= set(talked if what == "collective" else talked[-1:] if self.chained else ())
        return tuple(sorted(after))

    def some(self, what: str) -> None:
        draw = self.draw
        if what == "collective":
            bare = draw.random() < 0.4
            members = tuple(range(self.ranks)) if bare else draw.choice(self._groups)
            self.add(what, members, draw.choice(SIZES), draw.choice(self.kinds), bare)
        elif what == "message":
            ends = tuple(draw.sample(range(self.ranks), 2))
            self.add(what, ends, draw.choice((*SIZES, draw.randrange(1, 300_000))))
        elif what == "memory":
            self.add(what, (draw.randrange(self.ranks),), draw.choice(SIZES))
        else:
            self.add(what, (draw.randrange(self.ranks),), draw.randrange(1, 40_000_000))

    def job(self) -> Job:
        return Job(self.ranks, tuple(self.steps))


MIXED = ("kernel", "kernel", "message", "message", "message", "collective", "memory")
MESSAGES = ("kernel", "message", "message")


def drawn(
    draw: Random,
    ranks: int,
    powers: bool = False,
    chained: bool = False,
    kinds: tuple[str, ...] = KINDS,
) -> Job:
    """With `powers` groups have powers of two of members; `chained`, a rank communicates one after
    the other, without which senders that wait for receivers could wait for each other.
    """
    made = Drawn(draw, ranks, powers, chained, kinds)
    chosen = draw.choice((MIXED, MIXED, MESSAGES))
    for _ in range(draw.choice((1, 2, 3, 4, 6, 8, 12, 20))):
        made.some(draw.choice(chosen))
    return made.job()


def iterated(job: Job, times: int) -> Job:
    steps: list[Step] = []
    last: int | None = None
    stride = max(step.number for step in job.steps) + 2
    everyone = tuple(range(job.ranks))
    for turn in range(times):
        at = stride * turn
        seen: list[list[int]] = [[] for _ in everyone]
        for step in job.steps:
            after = [tuple(one + at for one in each) for each in step.after]
            if last is not None:
                after = [each or (last,) for each in after]
            steps.append(step._replace(number=step.number + at, after=tuple(after)))
            for rank in step.ranks:
                seen[rank].append(step.number + at)
        meets = tuple(tuple(each) or (() if last is None else (last,)) for each in seen)
        last = at + stride - 1
        steps.append(Step(last, "collective", everyone, 1000, meets, "ALL_REDUCE", True))
    return Job(job.ranks, tuple(steps))
