"""A scenario over a fabric named by a command, without workload; as dimensions for networks that
run over no graphs.
"""

from __future__ import annotations

import json
from os import path as paths
from typing import Any

from yantra.base.errors import ConfigError
from yantra.base.fields import Plugin
from yantra.fabric.graphs.as_dimensions import dimensions_of
from yantra.fabric.graphs.describe import Shown
from yantra.network import describe, find, names
from yantra.scenario import Dimension, Scenario, Topology, loads

_IN_ORDER = "in_order"  # messages of a pair keep their order, as on a connection


def scenario_over(
    shown: Shown,
    network: str,
    routing: str,
    seed: int = 0,
    more: dict[str, Any] | None = None,
    *,
    options: tuple[tuple[str, Any], ...] = (),
) -> Scenario:
    """A scenario on a network by name or file; `more`: keys beside its cluster.

    `options` by Python name.

    Raises ConfigError at `--network` if it cannot run over the fabric, or needs options a command
    cannot give.
    """
    level = find(network, "--network")
    if not level.runs_by_name and not options:
        problem = f"{describe(network)} needs options; run it in a scenario, which can state them"
        raise ConfigError("--network", problem)
    ranks = shown.graph.ranks
    dimension = {"kind": "ring", "size": ranks, "bandwidth": "1 GB/s", "latency": "0 ns"}
    cluster: dict[str, Any] = {"topology": [dimension]}
    if level.has("on_fabric"):
        cluster |= {
            "fabric": _fabric(shown),
            "routing": {"kind": routing, "options": {"seed": seed}} if seed else routing,
        }
    tree = {"workload": {"traces": "none.{rank}.et"}, "cluster": cluster, **(more or {})}
    chosen = Plugin(kind=network, options=options) if options else network
    scenario = loads(json.dumps(tree)).replace(network=chosen)
    if level.has("on_fabric"):
        return scenario
    return scenario.replace(topology=_topology(shown, network))


def options_in_order(network: str) -> dict[str, float]:
    section = find(network, "--network").options
    return {_IN_ORDER: 1.0} if section is not None and _IN_ORDER in section.entries else {}


def _fabric(shown: Shown) -> object:
    if shown.builder is None:
        return paths.abspath(shown.name)
    kind = "product" if "dimensions" in shown.options and "(" in shown.name else shown.name
    return {"kind": kind, **shown.options}


def _topology(shown: Shown, network: str) -> Topology:
    dimensions = dimensions_of(shown)
    if dimensions is None:
        able = ", ".join(name for name in names() if find(name).has("on_fabric"))
        problem = (
            f"{describe(network)} runs over dimensions, and {shown.name} is no product of them; "
            f"take one such as R(4)_SW(8), or a network that runs over graphs: {able}"
        )
        raise ConfigError("--network", problem)
    return Topology(dimensions=tuple(Dimension(**of._asdict()) for of in dimensions))
