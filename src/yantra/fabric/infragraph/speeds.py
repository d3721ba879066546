"""The field `links` of InfraGraph fabrics: speeds by link name."""

from __future__ import annotations

from typing import Any

from yantra.base.errors import ConfigError, expected_got
from yantra.base.fields import Field, Schema, Section
from yantra.fabric.graphs.builder import BANDWIDTH, LATENCY
from yantra.fabric.infragraph import LinkSpeed, Said

_SPEED = Section(
    LinkSpeed,
    {
        "bandwidth": ("bytes_per_ns", BANDWIDTH, "of each link, per direction"),
        "latency": ("latency_ns", LATENCY, "of each link"),
    },
)


class LinkSpeeds(Field):
    """Bandwidth and latency by link name, `*` for others."""

    expected = "a mapping such as {pcie: {bandwidth: 64 GB/s, latency: 300 ns}}"

    def read(self, tree: Any, where: str, folder: str) -> Said:
        if not isinstance(tree, dict):
            raise ConfigError(where, expected_got(self.expected, tree))
        return tuple(
            (name, _SPEED.read(tree[name], f"{where}.{name}", folder)) for name in sorted(tree)
        )

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, tuple) or any(not isinstance(pair, tuple) for pair in value):
            raise ConfigError(where, expected_got("pairs of a name and a LinkSpeed", value))
        for name, speed in value:
            _SPEED.check(speed, f"{where}.{name}")

    def write(self, value: Said, folder: str) -> dict[str, Any]:
        return {name: _SPEED.write(speed, folder) for name, speed in value}

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        if not path:
            return value
        whole = tree if isinstance(tree, dict) else {}
        place = f"{where}.{path[0]}"
        return whole | {path[0]: _SPEED.put(whole.get(path[0]), path[1:], value, place, folder)}

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": _SPEED.schema()}


LINKS = LinkSpeeds()
