"""A refit that sends parts straight to who wants them: its messages as flows on the cluster.

Devices of a node meet at its switch, all others at one switch for the cluster, each at the rate of
its links; the project's `flow` network shares them. Trade-off: fabrics between nodes block nothing,
and all messages start at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from yantra.fabric.graphs.graph import DeviceKind, Graph, Links, Tier
from yantra.network.traffic.generator import Flows
from yantra.rl.layouts import Generation, Training
from yantra.rl.model_tensors import tensors_of_model
from yantra.rl.refit import Dtype, messages
from yantra.run.flow_fronts import Choice
from yantra.run.flows import simulate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yantra.fabric.clusters.types import Cluster

_FAR = 10.0  # of a link to the cluster's switch, so that a node's own switch is nearer
_BITS = {"fp32": 32, "fp8": 8, "fp8_block": 8, "mxfp8": 8, "nvfp4": 4}


def direct_refit_s(
    model: Any,
    cluster: Cluster,
    train: Mapping[str, Any],
    training: int,
    generate: Mapping[str, Any],
    replicas: int,
    *,
    colocated: bool,
) -> float:
    """Seconds from the first byte to the last. Raises ConfigError for layouts that cannot be."""
    tp, pp, ep = (int(train.get(name, 1)) for name in ("tp", "pp", "ep"))
    layers = len(model.layers)
    stages = tuple(len(part) for part in np.array_split(np.arange(layers), pp))
    made = messages(
        tensors_of_model(model),
        Training(tp=tp, pp=pp, ep=ep, dp=training // (tp * pp), layers_per_stage=stages),
        Generation(tp=int(generate.get("tp", 1)), replicas=replicas),
        Dtype(generation_bits_matrices=_BITS.get(str(generate.get("dtype", "bf16")), 16)),
        colocated=colocated,
    )
    if not len(made.bytes):
        return 0.0
    start = np.zeros(len(made.bytes), np.int64)
    flows = Flows(made.source, made.destination, made.bytes, start)
    found = simulate(star(cluster, made.ranks), flows, Choice())
    return float(np.max(found.end_ns)) / 1e9


def star(cluster: Cluster, ranks: int) -> Graph:
    """Devices behind the switch of their node and behind one of the cluster."""
    inner, outer = cluster.network[0], cluster.network[-1]
    members = ranks if inner.members is None else min(int(inner.members.value), ranks)
    nodes = -(-ranks // members)
    device = np.arange(ranks)
    ends = [(ranks + device // members, inner, 1.0)]
    if nodes > 1:
        ends.append((np.full(ranks, ranks + nodes), outer, _FAR))
    begin, end, rate, latency, weight = [], [], [], [], []
    for switch, level, far in ends:
        for one, other in ((device, switch), (switch, device)):
            begin.append(one)
            end.append(other)
            rate.append(np.full(ranks, level.device_bytes_per_s() / 1e9))
            latency.append(np.full(ranks, level.latency.value / 2))
            weight.append(np.full(ranks, far))
    links = Links(
        np.concatenate(begin).astype(np.uint32), np.concatenate(end).astype(np.uint32),
        np.concatenate(rate), np.concatenate(latency),
        np.zeros(len(ends) * 2 * ranks, np.uint16),
    )  # fmt: skip
    tiers = (
        Tier("gpu", DeviceKind.RANK, ranks),
        Tier("node", DeviceKind.SWITCH, nodes),
        *((Tier("cluster", DeviceKind.SWITCH, 1),) if nodes > 1 else ()),
    )
    return Graph(tiers, links, ("link",), weights=np.concatenate(weight))
