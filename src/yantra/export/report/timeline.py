"""The timeline: start and duration of every class's nodes, and each rank's peers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from yantra.compile.templates import TemplateGraphs
from yantra.export.report import nodes
from yantra.export.report.columns import Columns
from yantra.export.report.run import Run
from yantra.result.tables import COLLECTIVE_KINDS, NEVER, NODE_TYPES
from yantra.workloads.templates.rules import Sum

MOST_NODES = 1_500_000
_WORD = 1 << 32


def gather(run: Run) -> dict[str, Any]:
    shown = chosen(run)
    for at in shown:
        _embed_times(run, at)
    run.columns.add("class_of", run.grouping.class_of)
    return {
        "streams": list(nodes.STREAMS),
        "types": list(NODE_TYPES),
        "collectives": list(COLLECTIVE_KINDS),
        "graphs": nodes.embed(run.columns, run.graphs),
        "classes": [
            {
                "graph": one.graph,
                "rank": one.rank,
                "count": one.size,
                "label": one.label,
                "finish": one.finish,
                "shown": at in shown,
            }
            for at, one in enumerate(run.classes)
        ],
        "meanings": _embed_meanings(run),
    }


def chosen(run: Run) -> set[int]:
    left = MOST_NODES
    shown: set[int] = set()
    for at, one in sorted(enumerate(run.classes), key=lambda pair: -pair[1].finish):
        left -= one.nodes
        if left < 0 and shown:
            break
        shown.add(at)
    return shown


def _embed_times(run: Run, at: int) -> None:
    """The duration is stored plus one; 0 means that a node never ran."""
    start, end = run.times(run.classes[at])
    ran = end != np.uint64(NEVER)
    begin = np.where(ran, start, 0).astype(np.int64)
    run.columns.add(f"c{at}.start", begin)
    length = np.where(ran, end.astype(np.int64) - begin + 1, 0)
    run.columns.add(f"c{at}.length", length, delta=False)
    if run.result.recorded:
        one = run.classes[at]
        slack = run.result.recording.slack_ticks[one.first : one.first + one.nodes]
        run.columns.add(f"c{at}.slack", np.where(ran, np.asarray(slack), 0), delta=False)


def _embed_meanings(run: Run) -> dict[str, Any]:
    graphs = run.result.model.graphs
    meanings: dict[str, Any] = {
        "groups": [list(graph.native.pg_names) for graph in run.graphs],
        "peers": [list(graph.native.peer_names) for graph in run.graphs],
        "families": [],
    }
    if isinstance(graphs, TemplateGraphs):
        _embed_rules(run.columns, graphs)
        meanings["families"] = [list(family) for family in graphs.workload.families()]
    else:
        _embed_members(run.columns, graphs.groups)
    return meanings


def _embed_rules(columns: Columns, graphs: TemplateGraphs) -> None:
    graph_of = np.asarray(graphs.by_rank)
    for at, (groups, peers) in enumerate(graphs.rules):
        ranks = np.flatnonzero(graph_of == at)
        columns.add(f"g{at}.ranks", ranks)
        for what, rules in (("group", groups), ("peer", peers)):
            for place, rule in enumerate(rules):
                columns.add(f"g{at}.{what}{place}", numbers(rule, ranks))


def numbers(rule: Sum, ranks: Any) -> Any:
    found = np.full(len(ranks), rule.base, dtype=np.int64)
    if rule.relative:
        found += ranks
    for stride, size, each, values in rule.axes:
        coordinate = (ranks - rule.first_rank) // stride % size
        found += np.asarray(values, dtype=np.int64)[coordinate] if values else each * coordinate
    return found % _WORD


def _embed_members(columns: Columns, groups: Sequence[tuple[int, Sequence[int]]]) -> None:
    columns.add("groups.id", [group for group, _ in groups])
    columns.add("groups.size", [len(members) for _, members in groups])
    columns.add("groups.member", [rank for _, members in groups for rank in members])
