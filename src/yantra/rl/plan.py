"""Which mode, split and plans train the most samples a second, or for a USD; the runner-up, and why
it loses. For a USD, halves, quarters ... of the GPUs are searched too.

Both sides are searched alone, as a step needs of them only their seconds: replicas by the loop,
trainers by the closed form. At the best split both take as long, which halving finds where there
are many. The best few of all are then answered as `yantra rl` does.

Trade-off: a split is a multiple of a node, or of a 16th of a small job; replicas of one width fill
their side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import CapacityError, ConfigError
from yantra.base.notebook import progress_line
from yantra.fabric.clusters.ownership import usd_per_h
from yantra.rl.answer import Answer, answered, phases_of, plans
from yantra.rl.choice import Replicas, Trainer, node_of, replicas, trainers
from yantra.rl.rollouts import made_s

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yantra.rl.phases.generation import Generator
    from yantra.rl.question import Question

_PARTS = 16  # of the GPUs that a small job is split into; a large one is split by nodes
_NEAR = 2  # plans of a side that are tried with those of the other
_COMPUTED = 4  # splits and plans that are computed in the end


class Found(NamedTuple):
    """Answers, the best first, and what was looked at."""

    answers: tuple[Answer, ...]
    judged: int
    synchronous: Answer | None
    """The best of those whose samples are never stale."""
    objective: str = "samples"


OBJECTIVES = ("samples", "usd")


def _score(one: Answer, objective: str) -> float:
    """Samples a second, or for a USD."""
    per_usd = one.samples_per_usd
    return one.samples_per_s if objective == "samples" or per_usd is None else per_usd


class _Search:
    def __init__(self, question: Question, staleness: int) -> None:
        self.question, self.staleness = question, staleness
        drawn = question.lengths.drawn(question.prompts, question.generations, question.seed)
        self.drawn = max(drawn, key=lambda one: int(one.output.max()))
        self.free = list(replicas(question._replace(mode="one-off"), self.drawn))
        self.wide = [
            one._replace(generator=one.generator.within(question.framework)) for one in self.free
        ]
        self.judged = 0
        self.mode = "async" if staleness > 1 else "one-off"
        self._generation: dict[tuple[int, int], list[tuple[float, Replicas]]] = {}
        self._trainers: dict[int, list[Trainer]] = {}

    def trainers(self, gpus: int) -> list[Trainer]:
        if gpus not in self._trainers:
            try:
                self._trainers[gpus] = trainers(self.question, self.drawn, gpus)
            except (CapacityError, ConfigError):
                self._trainers[gpus] = []
            self.judged += len(self._trainers[gpus])
        return self._trainers[gpus]

    def generation(self, some: list[Replicas], gpus: int) -> list[tuple[float, Replicas]]:
        """Seconds of generation with each width that fills so many GPUs, least first."""
        if (key := (id(some), gpus)) in self._generation:
            return self._generation[key]
        found = []
        for one in some:
            many, rest = divmod(gpus, one.generator.devices)
            if rest or not many:
                continue
            placed = one.generator._replace(replicas=many)
            found.append((self._seconds(placed, some, gpus), one))
            self.judged += 1
        self._generation[key] = sorted(found, key=lambda pair: pair[0])
        return self._generation[key]

    def _seconds(self, placed: Generator, some: list[Replicas], gpus: int) -> float:
        """Of a step's samples: to the last one's end, or one by one where no batch is awaited."""
        question = self.question
        if some is self.free and self.mode == "async":
            asked = question.in_mode(self.mode, self.staleness, generating=gpus)
            return made_s(asked, placed)
        return placed.run(self.drawn, question.generations, question.prompt_tokens).seconds

    def colocated(self) -> Iterator[Question]:
        gpus = self.question.shared
        made = self.trainers(gpus)
        for _, one in self.generation(self.wide, gpus)[:_NEAR]:
            for trainer in made[:1]:
                yield self._made("sync", gpus, one, trainer)

    def split(self) -> Iterator[Question]:
        """The best splits by the longer side of each, with the best plans of both sides."""
        gpus = self.question.shared
        unit = max(min(node_of(self.question), gpus // _PARTS), 1)
        sides = {count * unit: self._sides(count * unit) for count in self._counts(gpus, unit)}
        step = self.question.framework.step.value / 1e9
        pairs = [
            (max(seconds, trainer.seconds + step), generating, one, trainer)
            for generating, found in sides.items()
            if found is not None
            for seconds, one in self.generation(self.free, generating)[:_NEAR]
            for trainer in self.trainers(gpus - generating)[:_NEAR]
        ]
        best: dict[int, Any] = {}
        for pair in sorted(pairs, key=lambda of: of[0]):
            best.setdefault(pair[1], pair)
        for _, generating, one, trainer in list(best.values())[:_COMPUTED]:
            yield self._made(self.mode, generating, one, trainer)

    def _counts(self, gpus: int, unit: int) -> set[int]:
        """Splits to look at, in units: all of few, else by halving and the ones beside."""
        low, high = 1, gpus // unit - 1
        if high <= _PARTS:
            return set(range(low, high + 1))
        near: set[int] = set()
        while low <= high:
            middle = (low + high) // 2
            near.add(middle)
            found = self._sides(middle * unit)
            if found is not None and found[0] <= found[1]:
                high = middle - 1
            else:
                low = middle + 1
        return near | {max(low - 1, 1), min(low, gpus // unit - 1)}

    def _sides(self, generating: int) -> tuple[float, float] | None:
        """Seconds of both sides, or None where one has no plan."""
        found = self.generation(self.free, generating)
        made = self.trainers(self.question.shared - generating)
        if not found or not made:
            return None
        return found[0][0], made[0].seconds + self.question.framework.step.value / 1e9

    def _made(self, mode: str, generating: int, one: Replicas, trainer: Trainer) -> Question:
        ahead = self.staleness if mode == "async" else None
        plans = {"generate": one.plan, "train": trainer.plan}
        return self.question.in_mode(mode, ahead, generating=generating, **plans)


@progress_line("plans of post-training")
def planned(question: Question, staleness: int, objective: str = "samples") -> Found:
    """Search modes, splits and plans; samples may be `staleness` mini-batches stale.

    Raises ConfigError where no plan is legal or no price known, CapacityError where none fits.
    """
    if objective == "samples":
        return _on_all(_Search(question, staleness))
    if usd_per_h(question.cluster) is None:
        problem = f"{question.cluster.name} has no price of a device; give its file one"
        raise ConfigError("--objective", problem)
    search = _Search(question, staleness)
    found = [_on_all(search)]
    size = question.gpus // 2
    while size > question.reward.gpus:
        try:
            search.question = question._replace(gpus=size)
            found.append(_on_all(search))
        except (CapacityError, ConfigError):
            break
        size //= 2
    answers = sorted(
        (one for some in found for one in some.answers), key=lambda one: -_score(one, objective)
    )
    fresh = next((one for one in answers if one.question.waits), None)
    return Found(tuple(answers), search.judged, fresh, objective)


def _on_all(search: _Search) -> Found:
    question = search.question
    candidates = list(search.colocated())
    if search.staleness and question.shared > 1:
        candidates += search.split()
    if not candidates:
        raise CapacityError(
            "--gpus",
            f"no plan of {question.model.name} fits {question.gpus} GPUs of "
            f"{question.cluster.name}; use more, or a smaller micro_tokens",
        )
    answers = sorted(_that_fit(candidates), key=lambda one: one.seconds)
    fresh = next((one for one in answers if one.question.waits), None)
    return Found(tuple(answers), search.judged, fresh)


def _that_fit(candidates: list[Question]) -> list[Answer]:
    found, refused = [], None
    for one in candidates:
        try:
            found.append(answered(one))
        except CapacityError as error:
            refused = error
    if refused and not found:
        raise refused
    return found


def lines(found: Found, top: int) -> Iterator[str]:
    """Yield the plans for people."""
    best = found.answers[0]
    question, is_of_usd = best.question, found.objective == "usd"
    where = f"at most {_most(found)}" if is_of_usd else f"{question.gpus}"
    yield (
        f"{question.model.name} on {where} GPUs of {question.cluster.name}: "
        f"{found.judged} plans of both sides judged, {len(found.answers)} steps computed"
    )
    for number, one in enumerate(found.answers[:top], start=1):
        yield f"{number}. {_told(one, found.objective)}"
    if len(found.answers) > 1:
        yield f"number 2 {why(best, found.answers[1], found.objective)}"
    fresh = found.synchronous
    if fresh is best:
        yield "staleness buys nothing: the best step is synchronous"
    elif fresh is not None:
        gain = _score(best, found.objective) / _score(fresh, found.objective) - 1
        yield f"staleness buys {gain:.0%}; without it {_told(fresh, found.objective)}"


def _most(found: Found) -> int:
    return max(one.question.gpus for one in found.answers)


def _told(one: Answer, objective: str) -> str:
    question = one.question
    split = "" if question.is_colocated else f" ({question.generating} generate)"
    rate = f"{one.samples_per_s:.3g} samples/s"
    if objective == "usd":
        split += f" on {question.gpus} GPUs"
        rate = f"{one.samples_per_usd:,.4g} samples/USD, {rate}"
    span = f"step {one.seconds:.3g} s ({one.low:.3g} to {one.high:.3g})"
    return f"{question.mode}{split}: {rate}, {span}; {plans(question)}"


def why(best: Answer, other: Answer, objective: str = "samples") -> str:
    """Say what is worse, and in which part of a step."""
    if objective == "usd":
        less = 1 - _score(other, objective) / _score(best, objective)
        return f"trains {less:.1%} fewer samples for a USD, on {other.question.gpus} GPUs"
    more = other.seconds - best.seconds
    if more < 0.0005 * best.seconds:
        return "is as fast"
    said = f"takes {more:.2g} s longer a step"
    if best.question.waits != other.question.waits:
        idle = sum(best.steps[0].idle.values()), sum(other.steps[0].idle.values())
        return f"{said}: its GPUs wait {idle[1]:.0%} of the time, those of number 1 {idle[0]:.0%}"
    ours, theirs = phases_of(best.steps[0]), phases_of(other.steps[0])
    longer = {name: theirs.get(name, 0.0) - ours.get(name, 0.0) for name in {*ours, *theirs}}
    name = max(longer, key=lambda one: longer[one])
    return f"{said}, {name} {longer[name]:.2g} s" if longer[name] > 0 else said


def as_dict(found: Found, top: int) -> dict[str, Any]:
    """The plans for programs."""
    from yantra.rl.answer import as_dict as one_as_dict

    return {
        "objective": found.objective,
        "judged": found.judged,
        "best": [one_as_dict(one) for one in found.answers[:top]],
        "synchronous_s": None if found.synchronous is None else found.synchronous.seconds,
    }
