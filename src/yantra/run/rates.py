"""Whether links carried more than their rate, up to rounding a message to a tick: a bug where kept,
else a warning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra import _core
from yantra.base.errors import InternalError
from yantra.compile import Model
from yantra.compile.removal import bandwidth_of
from yantra.scenario.quirks import Quirk

if TYPE_CHECKING:
    from yantra.result.network import DimensionUse

_ROUNDING = 1e-6
"""Relative error of sums of rates."""


def check_rates(model: Model, outcome: _core.Outcome) -> list[str]:
    """Warnings of overloaded links.

    Raises InternalError on a network that keeps links.
    """
    if model.level.model is not None or outcome.last_tick == 0:
        return []
    by_formula = model.native.formula_groups
    if model.keeps_links and not model.charged:
        _check_busy(model, outcome, by_formula)
        if not by_formula:
            return []
    elif model.fabric is None and not model.charged:
        dimensions = range(len(model.scenario.topology.dimensions))
        if not any(_times_their_rate(model, outcome, at) > 1 for at in dimensions):
            return []
    return _overloads(model, outcome, by_formula)


def _times_their_rate(model: Model, outcome: _core.Outcome, at: int) -> float:
    # Each rank drives at least one link: most runs end below 1 there, and nothing is counted.
    dimension = model.scenario.topology.dimensions[at]
    a_link = bandwidth_of(at, dimension, model.without) * outcome.last_tick / model.ticks_per_ns
    carried = outcome.dimensions[at].bytes
    if carried <= model.ranks * a_link:
        return carried / (model.ranks * a_link)
    from yantra.result.link_counts import kinds_used, lanes_of, links_per_group

    links = model.ranks // dimension.size * links_per_group(dimension, model.follows_links)
    if not model.keeps_links:
        links = min(links, model.ranks * lanes_of(model, at, kinds_used(model)))
    return carried / (links * a_link)


def _check_busy(model: Model, outcome: _core.Outcome, by_formula: list[int]) -> None:
    for at, (carried, busy) in enumerate(zip(outcome.dimensions, outcome.busiest, strict=True)):
        if at in by_formula:
            continue
        most = outcome.last_tick * (1 + _ROUNDING) + carried.messages
        if busy > most:
            _fail(model, at, busy / outcome.last_tick)
        if model.fabric is None and not model.native.links_change:
            times = _times_their_rate(model, outcome, at)
            if times * outcome.last_tick > most:
                _fail(model, at, times)


def _fail(model: Model, at: int, times: float) -> None:
    raise InternalError(
        f"a link above its rate: one of group {at} on the network "
        f"{model.level.name} carries {times:.6g} times what it can"
    )


def _overloads(model: Model, outcome: _core.Outcome, by_formula: list[int]) -> list[str]:
    from yantra.result.network import dimension_uses

    uses = dimension_uses(model, outcome, outcome.last_tick / model.ticks_per_ns)
    return [
        f"{_links(use)} would carry {times:.3g} times their rate, as {_why(model, by_formula)}"
        for use in uses
        if (not by_formula or model.charged or use.dimension in by_formula)
        and (times := max(use.busy, use.utilisation)) > 1 + _ROUNDING
        and times * outcome.last_tick > outcome.last_tick + use.messages
    ]


def _links(use: DimensionUse) -> str:
    return f"the links of {use.label}" if use.size else use.label


def _why(model: Model, by_formula: list[int]) -> str:
    if model.charged:
        return "collectives take measured times and wait for no other; name algorithms for them"
    return f"messages cross them at once {_who_lets_them(model, by_formula)}"


def _who_lets_them(model: Model, by_formula: list[int]) -> str:
    if by_formula:
        return "by formula; leave them out of tier_networks"
    level = model.level
    name = level.name
    if Quirk.LINKS_CARRY_ANYTHING in model.quirks and level.has("has_ports"):
        if model.scenario.semantics != "yantra":
            return f"on the network {name} of ASTRA-sim; take network: store_and_forward"
        return f"with the quirk {Quirk.LINKS_CARRY_ANYTHING}; leave it out, or take network: flow"
    return f"on the network {name}, which is a bound; take network: flow"
