"""A workload on InfraGraph: `yantra run X.yw --cluster pod.infragraph.yaml`.

Collectives treat the ranks of a box, and the boxes, as two switches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from yantra.base.errors import ConfigError
from yantra.scenario.fabric_fields import FabricField

if TYPE_CHECKING:
    from yantra.fabric.graphs.graph import Graph

_FABRIC = "cluster.fabric."


def cluster_tree(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mapping `cluster` of a description's path or a blueprint.

    Raises ConfigError.
    """
    from yantra.fabric.graphs import files

    field, fabric = FabricField(), {"kind": name}
    stated = fabric
    for path, value in settings.items():
        if path.startswith(_FABRIC):
            place = path.removeprefix(_FABRIC)
            link, _, key = place.removeprefix("links.").rpartition(".")
            steps = ("links", link, key) if link else (place,)
            fabric = field.put(fabric, steps, value, "cluster.fabric", "")
    chosen = field.read(fabric, "cluster.fabric", "")
    said = dict(chosen.options).get("links", ())
    graph = files.read(name, said, "cluster.fabric")
    return {"topology": _dimensions(graph, name), "fabric": stated}


def _dimensions(graph: Graph, name: str) -> list[dict[str, Any]]:
    import numpy as np

    boxes, rates = graph.boxes[: graph.ranks], graph.links.bytes_per_ns
    if graph.ranks < 2:
        raise ConfigError(name, "has one rank; expected at least 2 to communicate")
    own = graph.links.start < graph.ranks
    injection = np.bincount(graph.links.start[own], rates[own], graph.ranks).min()
    speed = {
        "bandwidth": f"{float(injection)!r} GB/s",
        "latency": f"{float(graph.links.latency_ns[own].max())!r} ns",
    }
    sizes = np.unique(boxes, return_counts=True)[1]
    are_alike = len(set(sizes.tolist())) == 1
    are_in_order = np.count_nonzero(np.diff(boxes)) == len(sizes) - 1
    split = [int(sizes[0]), len(sizes)] if are_alike and are_in_order else [graph.ranks]
    return [{"kind": "switch", "size": size, **speed} for size in split if size > 1]
