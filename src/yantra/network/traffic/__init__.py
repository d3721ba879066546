"""Traffic: lists of flows made by rules, to study a network without any job."""

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
"""The longest list: 32 bytes per flow."""


def generate(kind: str, options: Mapping[str, Any], hosts: int, seed: int, where: str) -> Flows:
    """The flows of a generator, by start.

    `options` are as in a file. Raises ConfigError for invalid ones, and for too long a list.
    """
    found = generators.get(kind, where)
    return flows_by(found, found.options.read(dict(options), where, ""), hosts, seed, where)


def flows_by(found: type[Traffic], given: Any, hosts: int, seed: int, where: str) -> Flows:
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
