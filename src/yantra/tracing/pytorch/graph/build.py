"""From the linked trace to the replay graph.

Time left after all known dependencies becomes a delay node, so a replay reproduces the measured
timeline.
"""

from __future__ import annotations

from yantra import _core
from yantra.base.errors import TraceError
from yantra.tracing.pytorch.graph.columns import DELAY, columns_of
from yantra.tracing.pytorch.graph.nodes import Columns, Graph, GraphOptions, Nodes
from yantra.tracing.pytorch.linked import Linked


def build(linked: Linked, options: GraphOptions | None = None) -> Graph:
    return graph_of(columns_of(linked), options or GraphOptions(), linked.rank)


def graph_of(columns: Columns, options: GraphOptions, rank: int) -> Graph:
    try:
        core = _core.replay_graph(
            columns.arrays,
            gaps=options.gaps,
            handover=options.handover,
            anchors=options.anchors,
            delay=columns.names.index(DELAY),
        )
    except OverflowError:
        raise TraceError(
            f"rank {rank}: its times add up to more than 292 years; expected those of a recording"
        ) from None
    nodes = Nodes(core, columns.names, (columns.operator_ids, columns.op_ids))
    return Graph(nodes)
