"""Traffic: lists of flows made by rules, to study a network without any job.

A generator is a file of this folder that ends with `PLUGIN = <a Traffic class>`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from yantra.base.errors import ConfigError
from yantra.base.registry import Registry

if TYPE_CHECKING:
    from yantra.network.traffic.generator import Flows, Traffic

generators: Registry[type[Traffic]] = Registry(
    "traffic",
    "yantra.network.traffic",
    "yantra.traffic",
    base="yantra.network.traffic.generator.Traffic",
)

MOST_FLOWS = 50_000_000
"""The longest list that is made: 32 bytes per flow."""


def generate(kind: str, options: Mapping[str, Any], hosts: int, seed: int, where: str) -> Flows:
    """Return the flows of a generator, by the time of their start.

    `options` are as a file states them. Raises ConfigError for one that cannot be, and for a list
    that would be too long.
    """
    found = generators.get(kind, where)
    return flows_by(found, found.options.read(dict(options), where, ""), hosts, seed, where)


def flows_by(found: type[Traffic], given: Any, hosts: int, seed: int, where: str) -> Flows:
    """Return the flows of a generator by its options, a record of what it says it takes."""
    from yantra.network.traffic.generator import ordered

    if hosts < 2:
        raise ConfigError(f"{where}.hosts", f"must be at least 2; got {hosts}")
    try:
        generator = found(given)
    except ConfigError as error:
        place = f"{where}.{error.where}" if error.where in found.options.entries else error.where
        raise ConfigError(place, error.problem) from None
    wrong = generator.refuses(hosts)
    if wrong is not None:
        raise ConfigError(f"{where}.{wrong[0]}", wrong[1])
    expected = generator.expected(hosts)
    if expected > MOST_FLOWS:
        problem = f"about {expected:.3g} flows; expected at most {MOST_FLOWS}"
        raise ConfigError(where, f"{problem}, so take fewer hosts or a shorter time")
    return ordered(generator.flows(hosts, seed))
