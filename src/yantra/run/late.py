"""Runs whose clock would overflow."""

from __future__ import annotations

from yantra import _core
from yantra.base.errors import UnsupportedError
from yantra.base.units import format_time
from yantra.compile import Model
from yantra.compile.limits import how_long, longest_ns

NOTABLE_TICKS = 2**60
"""Later ends get a warning: right, and seldom meant."""


def too_late(model: Model, late: _core.Late | None) -> UnsupportedError:
    assert late is not None  # set before the core throws
    where = f"at {format_time(late.tick / model.ticks_per_ns)}"
    if late.rank is not None and model.arrivals:
        where += f", rank {late.rank}"  # of any job
    elif late.rank is not None and late.node is not None:
        from yantra.run.waiting import node_of

        where += f", rank {late.rank}, node {node_of(model, late.rank, late.node)}"
    lasts = how_long(model.ticks_per_ns)
    return UnsupportedError(
        f"{where}: {_what(late)} does not fit the clock, which ends at {lasts} "
        f"({longest_ns(model.ticks_per_ns)} ns); look for a size, delay or rate that is not meant"
    )


def finishes_late(model: Model, outcome: _core.Outcome) -> list[str]:
    if outcome.last_tick < NOTABLE_TICKS:
        return []
    ns = outcome.last_tick / model.ticks_per_ns
    days = ns / (86400 * 1e9)
    return [f"the run ends after {days:.0f} days ({format_time(ns)}); is every duration meant?"]


def _what(late: _core.Late) -> str:
    return "what comes next" if late.ns is None else f"a duration of {late.ns:g} ns"
