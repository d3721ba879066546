"""Distinct graphs -> columns of each node's id, name, stream, attributes, parents.

With too many nodes the page has only the attributes that pictures and tables need, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from yantra import _core
from yantra.chakra.schema import NODE_TRAITS, NodeType
from yantra.chakra.trace import Trace
from yantra.export.report.columns import Columns
from yantra.export.report.traces import records_of

STREAMS = ("compute", "collectives", "sends", "memory", "host")
"""Rows of a rank in the timeline."""
RECEIVES = len(STREAMS)
"""The stream without a row: a posted receive waits, its data moves while the other rank sends."""

MOST_WITH_ATTRIBUTES = 400_000
_ESSENTIAL = ("phase", "layer", "microbatch", "act_alloc", "act_free")
_IN_GRAPH = ("comm_type", "comm_size", "comm_src", "comm_dst", "num_ops", "tensor_size")
_LONGEST_VALUE = 300
_LARGEST = 2**53
_STREAM_OF_LANE = {"compute": 0, "collective": 1, "send": 2, "receive": RECEIVES, "memory": 3}
_STREAM_OF_TYPE: dict[int, int] = {
    type: _STREAM_OF_LANE[traits.lane] for type, traits in NODE_TRAITS.items()
}

Attributes = dict[str, list[Any]]
"""Values by attribute and node; None where a node has none."""


class Graph(NamedTuple):
    native: _core.Graph
    stream: list[int]
    attributes: Attributes
    is_whole: bool  # whether it has all attributes


def describe(distinct: Sequence[_core.Graph], traces: Sequence[Trace | None]) -> list[Graph]:
    every = sum(len(graph) for graph in distinct) <= MOST_WITH_ATTRIBUTES
    return [
        Graph(graph, _streams(graph), *_attributes(graph, trace, every))
        for graph, trace in zip(distinct, traces, strict=True)
    ]


def integers(graph: _core.Graph, attribute: str) -> list[int | None]:
    column: _core.IntColumn = getattr(graph, attribute)
    if not len(column.kind):
        return [None] * len(graph)
    integer = _core.IntColumn.Kind.INTEGER.value
    pairs = zip(column.kind.tolist(), column.value.tolist(), strict=True)
    return [value if kind == integer else None for kind, value in pairs]


def embed(columns: Columns, graphs: Sequence[Graph]) -> list[dict[str, Any]]:
    return [_embed_one(columns, at, graph) for at, graph in enumerate(graphs)]


def _embed_one(columns: Columns, at: int, graph: Graph) -> dict[str, Any]:
    native = graph.native
    count = len(native)
    ids = np.asarray(native.id)
    are_exact = not count or int(ids.max()) < _LARGEST
    if are_exact:
        columns.add(f"g{at}.id", ids)
    else:
        columns.add_texts(f"g{at}.id", [str(id) for id in native.id])
    columns.add_texts(f"g{at}.name", [native.name(node) for node in range(count)])
    columns.add(f"g{at}.type", native.type, delta=False)
    columns.add(f"g{at}.stream", graph.stream, delta=False)
    columns.add(f"g{at}.group", np.asarray(native.pg_name).astype(np.int64), delta=False)
    columns.add(f"g{at}.parents", np.diff(np.asarray(native.parent_begin, dtype=np.int64)))
    columns.add(f"g{at}.parent", _distances(native))
    forms = {
        name: _embed_attribute(columns, f"g{at}.a.{name}", values)
        for name, values in graph.attributes.items()
    }
    return {
        "nodes": count,
        "ids": "numbers" if are_exact else "texts",
        "attributes": forms,
        "whole": graph.is_whole,
    }


def _distances(native: _core.Graph) -> Any:
    begin = np.asarray(native.parent_begin, dtype=np.int64)
    child = np.repeat(np.arange(len(native)), np.diff(begin))
    return child - np.asarray(native.parent, dtype=np.int64)


def _embed_attribute(columns: Columns, name: str, values: list[Any]) -> str:
    present = [value for value in values if value is not None]
    if all(type(value) is bool for value in present):
        columns.add_texts(name, [None if v is None else "yes" if v else "no" for v in values])
        return "text"
    if all(type(value) is int and abs(value) < _LARGEST for value in present):
        columns.add(name, [0 if value is None else value for value in values], delta=False)
        columns.add(f"{name}?", [value is not None for value in values], delta=False)
        return "number"
    columns.add_texts(name, [None if value is None else _shown(value) for value in values])
    return "text"


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else f"{value:g}" if type(value) is float else str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def _streams(graph: _core.Graph) -> list[int]:
    on_cpu = integers(graph, "is_cpu_op")
    host = STREAMS.index("host")
    return [
        host if cpu and node_type == NodeType.COMP else _STREAM_OF_TYPE.get(node_type, host)
        for node_type, cpu in zip(graph.type.tolist(), on_cpu, strict=True)
    ]


def _attributes(graph: _core.Graph, trace: Trace | None, every: bool) -> tuple[Attributes, bool]:
    if trace is None:
        kept = {name: integers(graph, name) for name in _IN_GRAPH}
        return {k: v for k, v in kept.items() if any(x is not None for x in v)}, False
    found: Attributes = {}
    for node, record in enumerate(records_of(trace, graph)):
        for name, _, value, _ in trace.native.attributes(record):
            if every or name in _ESSENTIAL or name in _IN_GRAPH:
                if name not in found:
                    found[name] = [None] * len(graph)
                found[name][node] = value
    return found, every
