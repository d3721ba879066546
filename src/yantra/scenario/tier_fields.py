"""The field `tier_networks`: tiers that go by another network.

    network: packet
    tier_networks: {box: analytical}

A tier is a fabric's links of a label, or of all labels that begin so (`box`: `box up`, `box down`);
without a fabric, a dimension's number.
"""

from __future__ import annotations

from typing import Any, Literal

from yantra.base.errors import ConfigError, UnsupportedError, expected_got
from yantra.base.fields import Choice, Field, Schema, Text

TierNetwork = Literal["analytical"]


class TierField(Field):
    """Tiers with their networks, held as sorted pairs."""

    expected = "tiers with their network, such as {box: analytical}"
    _name = Text()
    _network = Choice(TierNetwork)

    def read(self, tree: Any, where: str, folder: str) -> tuple[tuple[str, str], ...]:
        if not isinstance(tree, dict):
            raise ConfigError(where, expected_got(self.expected, tree))
        pairs = {
            self._name.read(str(key), where, folder): self._network_of(
                value, f"{where}.{key}", folder
            )
            for key, value in tree.items()
        }
        return tuple(sorted(pairs.items()))

    def _network_of(self, value: Any, where: str, folder: str) -> str:
        from yantra import network as networks

        if value != "analytical" and value in networks.names():
            raise UnsupportedError(
                f"{where}: a tier cannot go by the network {value}; a tier may be analytical, and "
                "all others go by the network of the scenario. If messages wait in both of two "
                "networks that meet, waiting in one would hold up the other, unknown to both"
            )
        return str(self._network.read(value, where, folder))

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, tuple):
            raise ConfigError(where, expected_got("a tuple of pairs", value))
        for pair in value:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ConfigError(where, expected_got("a pair", pair))
            self._name.check(pair[0], where)
            self._network.check(pair[1], f"{where}.{pair[0]}")

    def write(self, value: tuple[tuple[str, str], ...], folder: str) -> dict[str, str]:
        return dict(value)

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        if not path:
            return value
        if tree is not None and not isinstance(tree, dict):
            raise ConfigError(where, expected_got(self.expected, tree))
        return (tree or {}) | {path[0]: value}

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": self._network.schema()}
