"""Why a study did not choose a plan: the constraints it breaks, or the time it loses by cause.

A plan is named by some fields, such as `tp=16 pp=4`; the fastest that has them and fits stands for
the rest. If no legal plan has them, other fields get their simplest values, so only the named can
be at fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.text import format_bytes, room_text, table
from yantra.base.units import format_time
from yantra.base.whole_numbers import whole
from yantra.explore.answers.causes import CAUSES, PARTS
from yantra.explore.closed_form.space import (
    COLUMNS,
    FURTHER,
    NAMES,
    OFF_OR_ON,
    SWITCHES,
    switched,
    told,
)
from yantra.explore.study.objectives import sign
from yantra.explore.study.study import Finished
from yantra.explore.study.study_file import Study, point_words
from yantra.explore.study.trial import Plans, broken_bounds, figures, plans_of, space_of
from yantra.workloads.plan.check import facts_of, problems
from yantra.workloads.plan.plan import Plan

_USUAL = {
    "etp": 1,
    "cp_kind": "p2p",
    "gradient_dtype": "fp32",
    "embedding_as_layer": False,
    "loss_as_layer": False,
    "sequence_parallel": True,
    "overlap": True,
}
"""What fields beside the first columns are if nothing is said of them."""
_SWITCHED = {"true": True, "false": False}


class Why(NamedTuple):
    """The best plan of a trial and the one asked for; times in ns.

    `broken` are the constraints the other breaks, with margins. `differences` are its extra time by
    cause; None if it is not legal.
    """

    trial: int
    best: dict[str, int]
    other: dict[str, int] | None
    best_ns: float
    other_ns: float | None
    broken: tuple[str, ...]
    differences: dict[str, float] | None


def read_plan(text: str) -> dict[str, Any]:
    """Read the fields of a plan, as in `tp=16 pp=4`. Raises ConfigError."""
    given: dict[str, Any] = {}
    for word in text.replace(",", " ").split():
        name, _, value = word.partition("=")
        if name not in (known := COLUMNS):
            problem = expected_got(f"one of {', '.join(known)}", name)
            raise ConfigError("--not", problem + did_you_mean(name, known))
        if name in given:
            raise ConfigError("--not", f"names {name} twice")
        if name in NAMES:
            given[name] = value
        elif name in OFF_OR_ON:
            if value not in _SWITCHED:
                raise ConfigError(f"--not {name}", expected_got("true or false", value))
            given[name] = _SWITCHED[value]
        elif (number := whole(value)) is not None and number >= (name != "zero"):
            given[name] = number
        else:
            raise ConfigError(f"--not {name}", expected_got("a whole number of at least 1", value))
    if not given:
        raise ConfigError("--not", expected_got("fields such as tp=16 pp=4", text))
    return given


def winner(study: Study, finished: Finished) -> int:
    """Return the best trial in the first objective.

    Raises ConfigError if none is feasible.
    """
    if not finished.front:
        raise ConfigError("study", "no trial is feasible, so none is best; name one with --trial")
    first = study.objectives[0]
    way = sign(first)
    return min(finished.front, key=lambda number: way * float(finished.trials[number][first]))


def why_not(study: Study, number: int, given: Mapping[str, Any]) -> Why:
    """Say why a trial did not choose the plan with the given fields.

    Raises ConfigError for a value that no plan has, and a trial without a plan that fits.
    """
    plans = plans_of(study, number)
    best = plans.best()
    chosen = {name: (value,) for name, value in given.items() if name != "dp"}
    space_of(study, number)[3].replace(**chosen)  # refuses what no space can have
    every = _having(study, number, given)
    if every is None:
        reasons = tuple(_illegal(plans, given))
        own = _row_of(plans, best, given)
        return Why(number, own, None, float(plans.judged.time_ns[best]), None, reasons, None)
    wide, rows = every
    over = np.maximum(wide.judged.memory_bytes[rows] - wide.cluster.usable_bytes, 0)
    row = int(rows[np.lexsort((wide.judged.time_ns[rows], over))[0]])
    differences = {
        name: float(getattr(wide.judged, f"{name}_ns")[row])
        - float(getattr(plans.judged, f"{name}_ns")[best])
        for name in PARTS
    }
    return Why(
        number,
        _row_of(plans, best, given),
        _row_of(wide, row, given),
        float(plans.judged.time_ns[best]),
        float(wide.judged.time_ns[row]),
        tuple(_broken(wide, row, plans.space.most_tp)),
        differences,
    )


def _having(study: Study, number: int, given: Mapping[str, Any]) -> tuple[Plans, np.ndarray] | None:
    chosen = {name: (value,) for name, value in given.items() if name != "dp"}
    try:
        wide = plans_of(study, number, most_tp=None, **chosen)
    except ConfigError as error:
        if error.where != "space":
            raise
        return None
    rows = np.flatnonzero(wide.columns["dp"] == given.get("dp", wide.columns["dp"]))
    return (wide, rows) if len(rows) else None


def _row_of(plans: Plans, row: int, given: Mapping[str, Any]) -> dict[str, int]:
    shown = (*plans.space.shown, *(name for name in (*FURTHER, *SWITCHES) if name in given))
    return {name: int(plans.columns[name][row]) for name in dict.fromkeys(shown)}


def _broken(plans: Plans, row: int, most_tp: int | None) -> Iterator[str]:
    tp = int(plans.columns["tp"][row])
    if most_tp is not None and tp > most_tp:
        yield f"tp: {tp} is {tp - most_tp} more than the {most_tp} devices of a node"
    need, cluster = int(plans.judged.memory_bytes[row]), plans.cluster
    if need > cluster.usable_bytes:
        lacks = format_bytes(need - cluster.usable_bytes)
        has = room_text(cluster.memory_bytes, cluster.reserve_bytes)
        yield f"memory: {format_bytes(need)} is {lacks} more than {has}"
    yield from broken_bounds(plans.study, plans.cluster.name, figures(plans, row))


def _illegal(plans: Plans, given: Mapping[str, Any]) -> Iterator[str]:
    of: dict[str, Any] = {"tp": 1, "cp": 1, "pp": 1, "ep": 1, "vpp": 1, "micro_batch": 1, **given}
    ranks, split = plans.space.ranks, of["tp"] * of["cp"] * of["pp"]
    dp = of.setdefault("dp", max(ranks // split, 1))
    if split * dp != ranks:
        product = f"tp x cp x pp x dp = {of['tp']} x {of['cp']} x {of['pp']} x {dp}"
        off = abs(split * dp - ranks)
        more = "more" if split * dp > ranks else "fewer"
        yield f"ranks: {product} = {split * dp}, {off} {more} than the {ranks} of the trial"
    most = plans.space.most_tp
    if most is not None and of["tp"] > most:
        yield f"tp: {of['tp']} is {of['tp'] - most} more than the {most} devices of a node"
    switches: dict[str, Any] = switched(*(of.pop(name, True) for name in SWITCHES))
    plan = Plan(**of, **switches, global_batch=plans.space.global_batch)
    tokens = plans.space.sequence or plans.model.sequence
    for rule in problems(plan, facts_of(plans.model), tokens):
        yield f"{rule.field}: {rule.reason}"


def words(study: Study, answer: Why) -> Iterator[str]:
    factors = study.trials()[answer.trial][2]
    scale = "".join(f", {rate} x{factor:g}" for rate, factor in factors.items())
    yield f"trial {answer.trial}: {point_words(study, answer.trial)}{scale}"
    yield f"best: {plan_text(answer.best)}, {format_time(answer.best_ns)}"
    if answer.other is None:
        yield "no legal plan has what you named:"
    elif answer.other == answer.best:
        yield "it is the best plan"
        return
    else:
        other_ns = answer.other_ns or 0.0
        yield f"not:  {plan_text(answer.other)}, {format_time(other_ns)}"
        if answer.broken:
            yield "it breaks:"
    yield from (f"  {reason}" for reason in answer.broken)
    if answer.differences is None or answer.other_ns is None:
        return
    rows = [
        (CAUSES[part], _signed(ns))
        for part, ns in sorted(answer.differences.items(), key=lambda pair: -abs(pair[1]))
    ]
    rows.append(("together", _signed(answer.other_ns - answer.best_ns)))
    yield "difference to the best, by closed form:"
    yield from (f"  {line}" for line in table(("cause", "time"), rows))


def plan_text(row: Mapping[str, int]) -> str:
    """Return the fields of a row as `read_plan` reads them, further ones if unusual."""
    shown = {
        name: str(value).lower() if name in OFF_OR_ON else value
        for name, value in told(row).items()
        if name not in _USUAL or value != _USUAL[name]
    }
    return " ".join(f"{name}={value}" for name, value in shown.items())


def _signed(ns: float) -> str:
    return f"{'+' if ns >= 0 else '-'}{format_time(abs(ns))}"
