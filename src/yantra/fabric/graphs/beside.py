"""Weights of links and buffers of switches, beside any fabric's options.

    fabric:
      kind: rail_optimised
      ...
      weights: {leaf up: 4}
      buffers: {leaf: 16 MiB, spine 1: 64 MiB}

Routings take the least sum of weights, by label: `leaf up: 4` sends traffic between rails over
ranks of its box (NCCL's PXN), not spines. A buffer, by switch or tier, is what its ports share on
`packet`.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.fields import Field, Number, Plugin, Quantity, Schema
from yantra.fabric.graphs.graph import DeviceKind, Graph

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Named = tuple[tuple[str, Any], ...]
"""Names with a value each, sorted."""

WEIGHT = Number(above=0)
"""The field of a weight that routings take the least sum of."""
BUFFER = Quantity("size", "B", whole=True, at_least=1, at_most=2**53)
"""The field of the buffer of a switch."""


class ByName(Field):
    """A mapping from names to values, held as sorted pairs."""

    def __init__(self, item: Field, expected: str) -> None:
        self.expected = expected
        self._item = item

    def read(self, tree: Any, where: str, folder: str) -> Named:
        if not isinstance(tree, dict):
            raise ConfigError(where, expected_got(self.expected, tree))
        pairs = {
            str(key): self._item.read(value, f"{where}.{key}", folder)
            for key, value in tree.items()
        }
        return tuple(sorted(pairs.items()))

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, tuple) or not all(
            isinstance(pair, tuple) and len(pair) == 2 for pair in value
        ):
            raise ConfigError(where, expected_got("pairs of a name and a value", value))
        for name, one in value:
            self._item.check(one, f"{where}.{name}")

    def write(self, value: Named, folder: str) -> dict[str, Any]:
        return {name: self._item.write(one, folder) for name, one in value}

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        if not path:
            return value
        whole = tree if isinstance(tree, dict) else {}
        return whole | {path[0]: value}

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": self._item.schema()}


BESIDE: dict[str, ByName] = {
    "weights": ByName(WEIGHT, "labels of links with a weight, such as {leaf up: 4}"),
    "buffers": ByName(BUFFER, "switches, or tiers of them, with a size: {leaf: 16 MiB}"),
}
"""The keys that every fabric takes beside its own options."""


def parted(tree: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    own = {key: tree[key] for key in tree if key not in BESIDE}
    return own, {key: tree[key] for key in BESIDE if key in tree}


def read(tree: Mapping[str, Any], before: str, folder: str = "") -> Named:
    return tuple((key, BESIDE[key].read(tree[key], f"{before}{key}", folder)) for key in tree)


def own_of(fabric: Plugin) -> Plugin:
    own = tuple(pair for pair in fabric.options if pair[0] not in BESIDE)
    return fabric if len(own) == len(fabric.options) else Plugin(kind=fabric.kind, options=own)


def beside_of(fabric: Plugin) -> Named:
    return tuple(pair for pair in fabric.options if pair[0] in BESIDE)


def with_beside(graph: Graph, said: Named, before: str) -> Graph:
    given = dict(said)
    if not given:
        return graph
    changed = copy(graph)
    if "weights" in given:
        changed.weights = _weights(graph, given["weights"], f"{before}weights")
    if "buffers" in given:
        changed.buffers = _buffers(graph, given["buffers"], f"{before}buffers")
    return changed


def _weights(graph: Graph, said: Named, where: str) -> Any:
    weights = np.ones(len(graph.links.start)) if graph.weights is None else graph.weights.copy()
    for label, weight in said:
        if label not in graph.labels:
            raise _unknown("links", label, graph.labels, f"{where}.{label}")
        weights[graph.links.label == graph.labels.index(label)] = weight
    return weights


def _buffers(graph: Graph, said: Named, where: str) -> Any:
    buffers = np.zeros(graph.devices, np.int64) if graph.buffers is None else graph.buffers.copy()
    switches = [tier for tier in graph.tiers if tier.kind is DeviceKind.SWITCH]
    firsts, at = {}, 0
    for tier in graph.tiers:
        firsts[tier.name] = at
        at += tier.size
    tiers = {tier.name: tier for tier in switches}
    for name, size in said:
        if name in tiers:
            first = firsts[name]
            buffers[first : first + tiers[name].size] = size
    numbers: dict[str, int] | None = None
    for name, size in said:
        if name in tiers:
            continue
        if numbers is None:
            numbers = {
                graph.name_of(device): device
                for device in np.flatnonzero(graph.kinds == DeviceKind.SWITCH).tolist()
            }
        if name not in numbers:
            raise _unknown("switches", name, (*tiers, *numbers), f"{where}.{name}")
        buffers[numbers[name]] = size
    return buffers


def _unknown(what: str, name: str, known: Iterable[str], where: str) -> ConfigError:
    names = list(known)
    if not names:
        return ConfigError(where, f"the fabric has no {what}")
    few = ", ".join(names[:8]) + (" and others" if len(names) > 8 else "")
    hint = did_you_mean(name, names) or f"; expected one of {few}"
    return ConfigError(where, f"no {what} of the fabric are called so{hint}")
