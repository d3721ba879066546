"""What the page asks for: a run, its report, or a plan search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yantra.base import units
from yantra.base.errors import UnsupportedError
from yantra.base.text import count, format_bytes
from yantra.base.units import format_time
from yantra.explore.answers.best import Answer, best_plans
from yantra.explore.answers.plan_words import unusual, written
from yantra.explore.answers.ranked import Ranked
from yantra.explore.closed_form.on_stack import check_rates
from yantra.explore.closed_form.space import PlanSpace
from yantra.fabric import clusters
from yantra.fabric.clusters.ownership import priced
from yantra.fabric.clusters.types import Cluster
from yantra.result import Result
from yantra.run.simulate import run as rerun
from yantra.run.simulate import simulate
from yantra.ui import question
from yantra.ui.controls import SPLIT
from yantra.workloads.models import catalogue
from yantra.workloads.plan.plan import Plan

_BEST = 5
_MOST_RECORDED = 256 << 20
_SEARCHED = ("lora_rank", "lora_targets")
_NOT_FIELDS = ("dp", "global_batch", "dtype", "schedule")


def run(form: Mapping[str, str]) -> Result:
    return simulate(question.scenario(form))


def recorded(result: Result) -> Result:
    try:
        return rerun(result.model, record=_MOST_RECORDED)
    except UnsupportedError:
        return result


def best(form: Mapping[str, str]) -> dict[str, Any]:
    machine, stated = _priced(form), question.workload(form)
    plan, given = stated["plan"], question.more(form)
    space = PlanSpace(
        ranks=plan["ranks"],
        global_batch=plan["global_batch"],
        sequence=stated.get("sequence"),
        dtype=plan["dtype"],
        **{name: given[name] for name in _SEARCHED if name in given},
    )
    check_rates(machine, space.dtype, "dtype")
    found = best_plans(
        catalogue.find(form["model"]), machine, space, top=_BEST, stack=form["stack"]
    )
    return {
        "judged": _judged(found, form, given),
        "plans": [_row(one, given) for one in found.ranked],
    }


def _judged(found: Answer, form: Mapping[str, str], given: Mapping[str, Any]) -> str:
    told = (
        f"{count(found.legal, 'legal plan')}, {found.fitting} fit, {found.simulated} simulated, "
        f"stack {found.stack}"
    )
    left = [name for name in given if name not in _SEARCHED]
    if form["network"] != "analytical":
        left.insert(0, f"network {form['network']}")
    if form["schedule"]:
        left.insert(0, f"schedule {form['schedule']}")
    return told + (f"; not searched with: {', '.join(left)}" if left else "")


def _row(one: Ranked, given: Mapping[str, Any]) -> dict[str, Any]:
    each, sure = one.usd_per_million_tokens, one.sure
    ends = () if sure is None else (one.time_ns * sure.low, one.time_ns * sure.high)
    return {
        "time_ns": one.time_ns,
        "time": f"{'~' if one.not_simulated else ''}{format_time(one.time_ns)}",
        "interval": " to ".join(map(format_time, ends)),
        "wins": "" if sure is None else f"{100 * sure.wins:.0f} %",
        "mfu": "" if one.mfu is None else f"{100 * one.mfu:.1f} %",
        "tokens_per_s": f"{one.tokens_per_s:,.0f}",
        "memory": format_bytes(one.memory_bytes),
        "usd_per_million_tokens": "" if each is None else f"{each:.4g}",
        "set": _controls_of(one.plan, given),
    }


def _controls_of(plan: Plan, given: Mapping[str, Any]) -> dict[str, str]:
    has_own = {*SPLIT, *_NOT_FIELDS}
    others = {name: value for name, value in unusual(plan).items() if name not in has_own}
    others |= {name: given[name] for name in _SEARCHED if name in given}
    told = [f"{name}={written(value)}" for name, value in others.items()]
    return {
        **{name: str(getattr(plan, name)) for name in SPLIT},
        "schedule": plan.given["schedule"] or "",
        "more": " ".join(told),
    }


def _priced(form: Mapping[str, str]) -> Cluster:
    machine, price = clusters.load(form["cluster"]), question.price_of(form)
    if price is None:
        return machine
    value = units.parse(price, "price", "USD/h", "price")
    return priced(machine, value, price)
