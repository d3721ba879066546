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
_WHOLE = 1e3
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
    yield f"energy       {_energy(answer)}"
    hourly = f"; give {answer.cluster} a price" if answer.usd is None else ""
    yield f"cost         {_usd(answer)}{hourly}"
    if left := trace.left_out + answer.too_large:
        large = f"{answer.too_large} of more GPUs than there are"
        rest = "the rest without a GPU or a time"
        yield f"left out     {count(left, 'job', commas=True)}: {large}, {rest}"


def _waits(ran: Sequence[Ran]) -> str:
    waits = np.array([one.waited for one in ran]) / 60.0
    said = [f"{name} {np.quantile(waits, share):,.1f}" for share, name in _SHARES]
    return f"mean {waits.mean():,.1f} min, {', '.join(said)}"


def _energy(answer: Answer) -> str:
    of = answer.drawn
    if of is None:
        return f"UNKNOWN: {answer.cluster} states no power of a device"
    least = "at least " if of.unknown else ""
    low, high = _number(of.least_kwh), _number(of.most_kwh)
    said = f"{least}{low} kWh if held GPUs wait, {high} at their limit"
    if of.kwh is not None:
        said = f"{least}{_number(of.kwh)} kWh with GPUs that jobs hold as in the job's steps"
    said += f"; peak at most {_number(of.peak_w / 1e3)} kW"
    co2 = of.kg_co2(of.most_kwh if of.kwh is None else of.kwh)
    most = "at most " if of.kwh is None else ""
    said += "; CO2 UNKNOWN" if co2 is None else f"; {most}{_number(co2)} kg CO2"
    return f"{said}; UNKNOWN, left out: {', '.join(of.unknown)}" if of.unknown else said


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= _WHOLE else f"{value:.4g}"


def _usd(answer: Answer) -> str:
    if answer.usd is None:
        return "UNKNOWN"
    useful = answer.goodput * answer.day.gpus * answer.day.window / _HOURS
    each = f", {answer.usd / useful:.4g} a useful GPU-hour" if useful else ""
    return f"{_number(answer.usd)} USD{each}"


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
        "energy": None if answer.drawn is None else answer.drawn._asdict(),
        "usd": answer.usd,
        "jobs": [
            one.job._asdict() | {k: v for k, v in one._asdict().items() if k != "job"}
            for one in day.ran
        ],
    }
