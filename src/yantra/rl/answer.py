"""The answer of a step of post-training: seconds with their interval, shares, cost, energy.

The interval is that of the middle draw of lengths, widened to hold those of the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.notebook import progress_line
from yantra.base.text import count, table
from yantra.fabric.clusters.ownership import power_of, usd_per_h
from yantra.rl.modes import mode_of, modes
from yantra.rl.step import Step, step_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from yantra.rl.question import Question
    from yantra.rl.rollouts import Rolled

_HOUR = 3600.0
_KILO = 1000.0
_WAITS = 0.1
_EQUAL = 1.01
_HELD_UP = ("tail", "tool", "reward", "wait-trainer")
_SHOWN = 0.0005  # of a step


class Answer(NamedTuple):
    """Steps of all draws of lengths; the first is the middle."""

    question: Question
    steps: tuple[Step, ...]
    rests_on: str

    @property
    def seconds(self) -> float:
        """Of a step."""
        return self.steps[0].seconds

    @property
    def low(self) -> float:
        """The end of the 90 % interval, in s."""
        return min(one.low for one in self.steps)

    @property
    def high(self) -> float:
        """The other end."""
        return max(one.high for one in self.steps)

    @property
    def samples_per_s(self) -> float:
        """Samples trained a second."""
        return self.question.samples / self.seconds

    @property
    def tokens_per_s(self) -> float:
        """Tokens of trained samples a second and GPU."""
        step = self.steps[0]
        return self.samples_per_s * step.mean_length / self.question.gpus

    @property
    def usd(self) -> float | None:
        """Cost of a step."""
        hourly = usd_per_h(self.question.cluster)
        return None if hourly is None else hourly * self.question.gpus * self.seconds / _HOUR

    @property
    def samples_per_usd(self) -> float | None:
        """Samples trained for a USD."""
        return self.question.samples / self.usd if self.usd else None

    @property
    def kwh(self) -> float | None:
        """Energy of a step: the most that devices draw, or what they draw idle where they wait."""
        law, step = power_of(self.question.cluster), self.steps[0]
        if law is None:
            return None
        waits = sum(step.idle.values())
        power = law.most_w * (1 - waits) + law.idle_w * waits
        return power * self.question.gpus * self.seconds / _HOUR / _KILO


@progress_line("post-training")
def answered(question: Question) -> Answer:
    """Answer a question. Raises ConfigError for plans that cannot be, CapacityError for memory."""
    from yantra.rl.choice import completed
    from yantra.rl.parts import machines_of

    drawn = question.lengths.drawn(question.prompts, question.generations, question.seed)
    longest = max(drawn, key=lambda one: int(one.output.max()))
    question = completed(question, longest)
    machines = machines_of(question, longest)
    steps = tuple(step_of(question, one, machines, way) for way, one in enumerate(drawn))
    speeds = f"training at the speeds of {question.stack}"
    if question.stack == "unknown":
        speeds = "training at the speeds of all measured frameworks together"
    generates = machines.generator.cost.rests_on
    if question.generate.get("dtype") == "mxfp8":
        generates += ", mxfp8 at the speeds of fp8"
    said = (generates, speeds, question.framework.title)
    return Answer(question, steps, "; ".join(said))


def binding(step: Step) -> str | None:
    """Return the side, `generation` or `training`, that hardly waits for anything, if one does.

    Training if neither waits: generation then fills a buffer.
    """
    if step.rolled is None or not step.rolled.training:
        return None
    waits = {"generating": 0.0, "training": 0.0}
    for one in step.spans:
        if one.phase.startswith("wait-") or one.phase in _HELD_UP:
            waits[one.gpus] += (one.end - one.begin) / step.seconds
    if waits["training"] <= min(waits["generating"] + _EQUAL - 1, _WAITS):
        return "training"
    return "generation" if waits["generating"] <= _WAITS else None


def lines(answer: Answer) -> Iterator[str]:
    """Yield the answer for people."""
    question, step = answer.question, answer.steps[0]
    yield title(question)
    yield plans(question)
    span = f"({answer.low:.3g} to {answer.high:.3g}, 90 %)"
    yield f"step {answer.seconds:.3g} s {span}: {_phases(answer)}"
    waits = sorted(step.idle.items(), key=lambda one: -one[1])
    causes = ", ".join(f"{name} {share:.0%}" for name, share in waits if share >= 0.005)
    yield f"idle {sum(step.idle.values()):.0%} of the GPUs' time ({causes})"
    if step.parts.rounds > 1 or question.rounds.over > 1:
        groups = question.rounds.groups(question.prompts)
        yield f"rounds of sampling: {step.parts.rounds:.3g} in the mean, of {groups} groups"
    if step.rolled is not None:
        side = binding(step)
        because = f"; {side} binds, not staleness" if side else ""
        yield f"{_staleness(question, step.rolled)}{because}"
    yield _rates(answer)
    yield f"lengths: {question.lengths.text}; mean {step.mean_length:,.0f} tokens"
    if question.prompt_tokens == 1:
        yield "prompts count as one token; --set prompt_tokens=100 says how long they are"
    yield f"rests on: {answer.rests_on}"


def title(question: Question) -> str:
    """Say what is asked."""
    where = f"{question.model.name} on {question.gpus} GPUs of {question.cluster.name}"
    samples = f"{question.prompts} prompts x {question.generations} samples"
    sides = [] if question.is_colocated else [
        f"{question.generating} generate", f"{question.training} train",
    ]  # fmt: skip
    if question.reward.gpus:
        sides.append(f"{question.reward.gpus} reward")
    split = f": {', '.join(sides)}" if sides else ""
    mode = modes.shown(question.mode)
    return f"{where}, {question.algorithm.title}, {samples}, {mode}{split}"


def plans(question: Question) -> str:
    """Say how both sides are spread."""
    said = [
        " ".join(
            name if value is True else f"{name} {value}"
            for name, value in plan.items()
            if value is True or value != 1
        )
        or "one device"
        for plan in (question.generate, question.train)
    ]
    return f"generates with {said[0]}; trains with {said[1]}"


def phases_of(step: Step) -> dict[str, float]:
    """Seconds of the phases, of the group that takes longest; in turn, they add up to the step."""
    found: dict[str, float] = {}
    for lane in step.lanes.values():
        for name, value in lane.items():
            if not name.startswith("wait-"):
                found[name] = max(found.get(name, 0.0), value)
    return found


def _phases(answer: Answer) -> str:
    """Those of a step, by group of GPUs where groups work beside each other."""
    step = answer.steps[0]
    if answer.question.waits or len(step.lanes) == 1:
        return _listed(phases_of(step), 0.0)
    least = _SHOWN * step.seconds
    return "; ".join(f"{gpus}: {_listed(lane, least)}" for gpus, lane in step.lanes.items())


def _listed(lane: dict[str, float], least: float) -> str:
    return ", ".join(
        f"{name.replace('wait-', 'waits for ')} {value:.3g}"
        for name, value in sorted(lane.items(), key=lambda one: one[0].startswith("wait-"))
        if value > least
    )


def overtaken(question: Question, of: Rolled) -> float:
    """Share of samples staler than `--staleness`, as groups submitted later ended first."""
    if mode_of(question.mode).counts != "mini-batches":
        return 0.0
    return sum(share for age, share in of.stale_shares.items() if age > question.staleness)


def _staleness(question: Question, of: Rolled) -> str:
    said = f"staleness in mini-batches: {of.stale_mean:.2g} in the mean, {of.stale_most} at most"
    if share := overtaken(question, of):
        said += f" ({share:.1%} above {question.staleness}: others ended before them)"
    if of.discarded:
        said += f"; {of.discarded:.2g} groups thrown away for each that is trained"
    if of.recomputed >= 0.005:
        said += f"; {of.recomputed:.0%} of tokens computed again"
    return said


def _rates(answer: Answer) -> str:
    said = f"{answer.samples_per_s:.3g} samples/s, {answer.tokens_per_s:,.0f} tokens/s a GPU"
    usd = "UNKNOWN" if answer.usd is None else f"{answer.usd:,.3g}"
    kwh = "UNKNOWN" if answer.kwh is None else f"{answer.kwh:,.3g}"
    return f"{said}, {usd} USD a step, {kwh} kWh"


def as_dict(answer: Answer) -> dict[str, Any]:
    """The answer for programs: times in s, shares of the GPUs' time."""
    question, step = answer.question, answer.steps[0]
    return {
        "model": question.model.name,
        "cluster": question.cluster.name,
        "gpus": question.gpus,
        "generating": question.generating,
        "training": question.training,
        "rewarding": question.reward.gpus,
        "mode": modes.shown(question.mode),
        "generate": dict(question.generate),
        "train": dict(question.train),
        "algorithm": question.algorithm.title,
        "framework": question.framework.name,
        "samples": question.samples,
        "mean_length": step.mean_length,
        "step_s": answer.seconds,
        "low_s": answer.low,
        "high_s": answer.high,
        "phases_s": step.lanes,
        "idle": step.idle,
        "rounds": step.parts.rounds,
        "staleness": None if step.rolled is None else step.rolled.stale_mean,
        "most_stale": None if step.rolled is None else step.rolled.stale_most,
        "overtaken": None if step.rolled is None else overtaken(question, step.rolled),
        "discarded": None if step.rolled is None else step.rolled.discarded,
        "samples_per_s": answer.samples_per_s,
        "tokens_per_s_per_gpu": answer.tokens_per_s,
        "usd": answer.usd,
        "samples_per_usd": answer.samples_per_usd,
        "kwh": answer.kwh,
        "timeline": [one._asdict() for one in step.spans],
        "lengths": question.lengths.text,
        "rests_on": answer.rests_on,
    }


def compared(answers: Sequence[Answer]) -> list[str]:
    """Return modes side by side, the most samples a second first."""
    ordered = sorted(answers, key=lambda one: -one.samples_per_s)
    said = count(answers[0].question.samples, "sample", commas=True)
    heads = ("mode", "step", "samples/s", "idle", "stale", "thrown", "USD", "kWh")
    return [
        f"{said} a step; idle by its largest causes, stale: mean and most mini-batches",
        *table(heads, list(map(_row, ordered))),
        *_equals(ordered),
        f"{modes.shown(ordered[0].question.mode)} {plans(ordered[0].question)}",
    ]


def _equals(ordered: Sequence[Answer]) -> Iterator[str]:
    """Say of modes that are as fast as each other why, where one side is always busy."""
    left = list(ordered)
    while left:
        first = left[0]
        some = [one for one in left if one.seconds <= first.seconds * _EQUAL]
        left = left[len(some) :]
        sides = {binding(one.steps[0]) for one in some}
        if len(some) > 1 and len(sides) == 1 and None not in sides:
            *most, last = (modes.shown(one.question.mode) for one in some)
            yield (
                f"{', '.join(most)} and {last} are as fast: {sides.pop()} is always busy, and "
                "staleness does not hold it up"
            )


def _row(one: Answer) -> tuple[str, ...]:
    step = one.steps[0]
    waits = sorted(step.idle.items(), key=lambda cause: -cause[1])[:2]
    causes = ", ".join(f"{name} {share:.0%}" for name, share in waits if share >= 0.005)
    idle = f"{sum(step.idle.values()):.0%}" + (f" ({causes})" if causes else "")
    of = step.rolled
    return (
        modes.shown(one.question.mode),
        f"{one.seconds:.3g} s ({one.low:.3g} to {one.high:.3g})",
        f"{one.samples_per_s:.3g}",
        idle,
        "-" if of is None else f"{of.stale_mean:.2g}, {of.stale_most}",
        "-" if of is None else f"{of.discarded:.2g}",
        "-" if one.usd is None else f"{one.usd:.3g}",
        "-" if one.kwh is None else f"{one.kwh:.3g}",
    )
