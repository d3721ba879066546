"""Keeps a communicator's collectives becoming ready in issue order.

Simulators match ranks' k-th collectives in issue order. Overlapping collectives do not wait for
each other, so a what-if could make the second ready first on one rank and hang the job. So the
second also waits for what the first waits for, which ended before either began.
"""

from __future__ import annotations

from collections.abc import Sequence

from yantra.chakra.schema import NodeType
from yantra.tracing.pytorch.communication import Communication
from yantra.tracing.pytorch.communicators import Communicators
from yantra.tracing.pytorch.graph import Graph


def keep_issue_order(
    graph: Graph, items: Sequence[Communication], communicators: Communicators
) -> None:
    latest: dict[int, int] = {}  # node of the communicator's last collective
    for item in items:
        if item.type is not NodeType.COMM_COLL:
            continue
        group = communicators.id(item)
        node = graph.nodes[graph.device_node[item.op]]
        before = latest.get(group)
        latest[group] = node.id
        if before is None or before in node.deps or before >= node.id:
            continue
        known = set(node.deps)
        parents = graph.nodes[before].deps
        more = [one for one in parents if one not in known]
        graph.nodes.core.depend(
            node.id, [one for one in more if graph.nodes[one].end_us <= node.start_us]
        )
