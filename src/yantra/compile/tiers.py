"""Tiers of a scenario that go by formula, as groups of the core's links.

There a message takes latency and rate as if alone.
"""

from __future__ import annotations

from yantra import _core
from yantra import network as networks
from yantra.base.errors import ConfigError, UnsupportedError, did_you_mean
from yantra.compile.fabric import OnFabric
from yantra.compile.what_fails import Failures
from yantra.scenario import Scenario


def set_tiers(
    builder: _core.ModelBuilder, scenario: Scenario, on: OnFabric | None, failures: Failures
) -> None:
    """Set the groups of links that go by formula.

    Raises ConfigError for an unknown tier and links that fail, UnsupportedError where the network
    is one for all.
    """
    level = networks.level_of(scenario.network)
    if not level.has("takes_tiers"):
        able = [name for name in networks.names() if networks.find(name).has("takes_tiers")]
        raise UnsupportedError(
            f"tier_networks: the network {level.name} {_why_alone(level)}; set network to "
            f"one of {', '.join(able)}, in which a tier may be analytical"
        )
    groups: list[int] = []
    for name, _ in scenario.tier_networks:
        found = _of_labels(on, name) if on and scenario.fabric else _of_dimensions(scenario, name)
        if on and not scenario.fabric:  # dimensions, made into a graph
            found = _of_labels(on, f"dimension {name}")
        _refuse_failing(name, found, on, failures)
        groups += found
    builder.set_formula_groups(sorted(set(groups)))


def _why_alone(level: networks.Level) -> str:
    if level.has("on_chip"):
        return "moves all messages in flits, by one clock"
    if not level.has("has_links"):
        return "is a formula in all tiers as it is"
    return "carries all messages itself, whatever they cross"


def _of_labels(on: OnFabric, name: str) -> list[int]:
    labels = on.graph.labels
    found = [at for at, one in enumerate(labels) if one == name or one.startswith(f"{name} ")]
    if found:
        return found
    tiers = sorted({*labels, *(one.rpartition(" ")[0] or one for one in labels)})
    hint = did_you_mean(name, tiers) or f"; expected one of {', '.join(tiers)}"
    raise ConfigError(f"tier_networks.{name}", f"no links of the fabric are called so{hint}")


def _of_dimensions(scenario: Scenario, name: str) -> list[int]:
    count = len(scenario.topology.dimensions)
    if not name.isascii() or not name.isdigit() or int(name[:9]) >= count:
        problem = f"expected the number of a dimension, from 0 to {count - 1}; there is no fabric"
        raise ConfigError(f"tier_networks.{name}", problem)
    return [int(name)]


def _refuse_failing(name: str, groups: list[int], on: OnFabric | None, failures: Failures) -> None:
    if on is None:
        return
    changed = {change.link for change in on.changes}
    changed |= {link for event in failures.events for link in event.part.links}
    for link in sorted(changed):
        if int(on.graph.links.label[link]) in groups:
            ends = (on.graph.name_of(int(end[link])) for end in on.graph.links[:2])
            problem = f"its link from {' to '.join(ends)} fails, which no formula knows"
            raise ConfigError(f"tier_networks.{name}", f"{problem}; leave the tier to the network")
