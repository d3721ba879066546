"""What bounds a run: one word, and the sentence that proves it.

The cause whose removal gains most (`yantra.run.verdict`). Where runs would cost too much, gains are
estimated from the time of the rank that finishes last (the lowest of several), and the text says
so:

    kernels      their time beyond bytes, or beyond operations, under the roofline; else all of it
    dimensions   the share of the run that their links are busy (fabric: the busiest for all);
                 the rest of exposed communication is latency
    bubble       of a pipeline: removals above shrink it in proportion
    memory, host, unexplained their exposed parts
    waiting      exact without a run (`yantra.result.waits`)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from yantra import _core
from yantra.compile import Model
from yantra.compile.kernels import roofline_of
from yantra.result.network import DimensionUse
from yantra.result.parts import NAMES as PARTS
from yantra.result.tables import breakdown
from yantra.result.waits import Waits, is_pipeline, waits

NOTHING = "bound by nothing: the run takes no time"
_SECOND_FROM = 0.01
_REMEDY = "more micro-batches or virtual stages shorten it (yantra explain --advice runs them)"


class Bound(NamedTuple):
    """What bounds a run.

    `kind` is compute, memory_bandwidth, network, latency, reductions, memory (remote), host,
    unexplained (time of a recording), bubble (of a pipeline), waiting (for other ranks), uneven
    (work) or none.
    """

    kind: str
    """A word for the cause."""
    text: str
    """The sentence."""
    gain: float = 0.0
    """The share of the makespan that goes without the cause, 0 to 1."""
    estimate: bool = False
    """Whether the gain is estimated, not the answer of a run."""

    def sentence(self) -> str:
        """The text, and what helps where a command can say by how much."""
        return f"{self.text}; {_REMEDY}" if self.kind == "bubble" else self.text


class Gain(NamedTuple):
    """What removing a cause gains: kind, name in texts, what is removed, ticks.

    `holds_others`: it contains all others of its kind, and competes unless one of them alone gains
    as much.
    """

    kind: str
    label: str
    text: str
    ticks: int
    holds_others: bool = False


def of_waits(model: Model, found: Waits) -> tuple[Gain, Gain]:
    if is_pipeline(model):
        kind, label = "bubble", "the pipeline bubble"
        text = "every stage busy to the end"
    else:
        kind, label = "waiting", "waiting for other ranks"
        text = "every rank busy to the end"
    even = Gain("uneven", "uneven work", "the work spread evenly over the ranks", found.uneven)
    return Gain(kind, label, text, found.bubble), even


def largest(gains: Iterable[Gain], makespan: int, *, estimate: bool = False) -> Bound:
    known = [gain for gain in gains if gain.kind]
    ordered = sorted(_competing(known), key=lambda gain: -gain.ticks)
    if makespan == 0:
        return Bound("none", NOTHING)
    if not ordered or ordered[0].ticks <= 0:
        return Bound("none", "bound by no cause alone: removing any one of them gains nothing")
    first, *others = ordered
    share = first.ticks / makespan
    text = f"bound by {first.label}: with {first.text} it would be {_percent(share)} shorter"
    if first.holds_others:
        part = max(_parts_of(first, known), key=lambda gain: gain.ticks)
        if part.ticks >= _SECOND_FROM * makespan:
            text += f" ({_percent(part.ticks / makespan)} with {part.text} alone)"
    if others and others[0].ticks >= _SECOND_FROM * makespan:
        text += f"; next is {others[0].label}, {_percent(others[0].ticks / makespan)}"
    if estimate:
        text += " (estimate)"
    return Bound(first.kind, text, share, estimate)


def _competing(gains: list[Gain]) -> list[Gain]:
    for whole in [gain for gain in gains if gain.holds_others]:
        parts = _parts_of(whole, gains)
        is_of_one = max(part.ticks for part in parts) >= whole.ticks
        gains = [gain for gain in gains if gain not in ([whole] if is_of_one else parts)]
    return gains


def _parts_of(whole: Gain, gains: list[Gain]) -> list[Gain]:
    return [gain for gain in gains if gain.kind == whole.kind and not gain.holds_others]


def estimated(model: Model, outcome: _core.Outcome, uses: list[DimensionUse]) -> Bound:
    makespan = max(outcome.finish)
    if makespan == 0:
        return Bound("none", NOTHING)
    last = next(rank for rank, at in enumerate(outcome.finish) if at == makespan)
    parts = dict(zip(PARTS, breakdown(model, outcome, last), strict=True))
    gains = [*_of_kernels(model, outcome, last, parts["compute"])]
    left = parts["exposed_communication"]
    named = [(use.busy, use.label) for use in sorted(uses, key=lambda use: -use.busy)]
    if model.fabric is not None and len(named) > 1:  # a message crosses several links at once
        named = [(named[0][0], "all links")]
    for busy, links in named:
        ticks = min(left, int(busy * makespan))
        left -= ticks
        label = f"bandwidth of {links}"
        gains.append(Gain("network", f"the network, {label}", f"infinite {label}", ticks))
    gains += [
        Gain(
            "latency",
            "latency and hand-overs of messages",
            "no latency and no delays at endpoints",
            left,
        ),
        Gain("memory", "remote memory", "free remote memory", parts["exposed_memory"]),
        Gain("host", "host work", "host work that takes no time", parts["exposed_host"]),
        Gain(
            "unexplained",
            "time that the recording does not explain",
            "all that the recording does not explain gone",
            parts["unexplained_device"] + parts["unexplained_host"],
        ),
    ]
    found = waits(model, outcome)
    if is_pipeline(model):
        gains = [_with_bubble(gain, found.bubble, makespan) for gain in gains]
    return largest([*gains, *of_waits(model, found)], makespan, estimate=True)


def _with_bubble(gain: Gain, bubble: int, makespan: int) -> Gain:
    busy = makespan - bubble
    return gain._replace(ticks=min(makespan, gain.ticks * makespan // busy)) if busy > 0 else gain


def _of_kernels(model: Model, outcome: _core.Outcome, rank: int, computing: int) -> Iterable[Gain]:
    roofline = roofline_of(model.scenario.device_of(rank), model.without, measured=True)
    statistics = _core.rank_statistics(model.native, outcome, rank, roofline)
    if not roofline.enabled or model.scenario.replay_only or not statistics.memory_utilisation:
        yield Gain("compute", "compute", "kernels that take no time", computing)
        return
    for kind, label, text, used in (
        ("compute", "the rate of arithmetic", "infinite peak performance", "memory_utilisation"),
        (
            "memory_bandwidth",
            "memory bandwidth",
            "infinite bandwidth of memory",
            "compute_utilisation",
        ),
    ):
        share = max(0.0, 1.0 - min(1.0, getattr(statistics, used)))
        yield Gain(kind, label, text, int(share * computing))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def union_length(intervals: list[tuple[int, int]]) -> int:
    total = until = 0
    for start, end in sorted(intervals):
        total += max(end, until) - max(start, until)
        until = max(end, until)
    return total
