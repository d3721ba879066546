"""A day in lines of text, and as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from yantra.base.text import count
from yantra.lives.days.day import sizes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from yantra.lives.days.day import Answer
    from yantra.lives.days.play import Ran

_HOURS = 3600.0
_SHARES = ((0.5, "median"), (0.95, "p95"), (1.0, "most"))


def lines(answer: Answer, host_gpus: int) -> Iterator[str]:
    day, trace = answer.day, answer.trace
    jobs = count(len(day.ran), "job", commas=True)
    hours = day.window / _HOURS
    yield f"{jobs} of {trace.kind} on {day.gpus:,} GPUs of {answer.cluster}, {answer.rules.policy}"
    used = f"{answer.utilisation:.1%} of {hours:g} h held, {answer.goodput:.1%} useful"
    yield f"GPU time     {used}; {answer.fragmented:.2%} free in too small pieces"
    for name, ran in sizes_of(day.ran, host_gpus).items():
        yield f"wait         {name:14}{count(len(ran), 'job', commas=True):>12}: {_waits(ran)}"
    lost = sum(one.redone * one.job.gpus for one in day.ran) / _HOURS
    times = sum(one.preempted for one in day.ran)
    yield f"preempted    {count(times, 'time', commas=True)}, {lost:,.0f} GPU-hours done again"
    yield f"queue        at most {count(day.queue, 'job', commas=True)}"
    yield f"interference {_interference(answer)}"
    if left := trace.left_out + answer.too_large:
        large = f"{answer.too_large} of more GPUs than there are"
        yield f"left out     {count(left, 'job', commas=True)}: {large}, the rest without a GPU"


def _waits(ran: Sequence[Ran]) -> str:
    waits = np.array([one.waited for one in ran]) / 60.0
    said = [f"{name} {np.quantile(waits, share):,.1f}" for share, name in _SHARES]
    return f"mean {waits.mean():,.1f} min, {', '.join(said)}"


def _interference(answer: Answer) -> str:
    crossing = [one for one in answer.day.ran if one.crosses]
    said = f"{count(len(crossing), 'job')} crossed pods"
    if answer.slowdowns is None:
        reason = "give --job and --set oversubscription" if crossing else "nobody shares uplinks"
        return f"{said}; slowdown UNKNOWN: {reason}" if crossing else f"{said}; {reason}"
    lost = sum(one.slowed * one.job.gpus for one in crossing) / _HOURS
    worst = max(answer.slowdowns.values(), default=1.0)
    said += f", {lost:,.0f} GPU-hours slowed; steps up to {worst:.3g} times as long"
    others = sum(one.job.gpus not in answer.slowdowns for one in crossing)
    return f"{said}; UNKNOWN for {others} of sizes that the job cannot have" if others else said


def as_dict(answer: Answer, host_gpus: int) -> dict[str, Any]:
    day = answer.day
    return {
        "trace": answer.trace.kind,
        "cluster": answer.cluster,
        "gpus": day.gpus,
        "policy": answer.rules.policy,
        "utilisation": answer.utilisation,
        "goodput": answer.goodput,
        "fragmented": answer.fragmented,
        "longest_queue": day.queue,
        "left_out": answer.trace.left_out + answer.too_large,
        "slowdowns": answer.slowdowns,
        "waits_s": {
            name: {"jobs": len(ran), "mean": float(np.mean([one.waited for one in ran]))}
            for name, ran in sizes_of(day.ran, host_gpus).items()
        },
        "jobs": [
            one.job._asdict() | {k: v for k, v in one._asdict().items() if k != "job"}
            for one in day.ran
        ],
    }
