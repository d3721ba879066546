"""Each pipeline stage over time, drawn from the run; blank is the bubble."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from yantra.base.text import count
from yantra.base.units import format_time
from yantra.chakra.schema import NodeType
from yantra.chakra.trace import Trace
from yantra.compile import Model
from yantra.compile.templates import TemplateGraphs
from yantra.export.report.bars import legend
from yantra.export.report.classes import RankClass
from yantra.export.report.markup import Html, element, join
from yantra.export.report.run import Run
from yantra.export.report.traces import records_of, traces_of
from yantra.ui.rows import bar_row

_MOST_NODES = 400_000
_MOST_ROWS = 16
_MOST_NAMED = 1_500  # labelled pieces; beyond, those of a kind are one shape
_POINTS = 1_500
_WIDTH = 1_000
_NO_WORK = (NodeType.INVALID, NodeType.METADATA, NodeType.COMM_SEND, NodeType.COMM_RECV)
_KINDS = {
    "communication": ("communication", "s1"),
    "forward": ("forward", "s0"),
    "recompute": ("forward again", "s9"),
    "dgrad": ("backward", "s2"),
    "wgrad": ("gradients of weights", "s8"),
    "optimizer": ("optimizer", "s4"),
    "": ("other work", "s7"),
}
"""Kinds of work by trace phase, with names and colours."""


_Key = tuple[str, Any, Any]
"""A kind with its micro-batch and chunk of layers."""


class Shape(NamedTuple):
    """Work of a kind, of one or more micro-batches: spans in ticks."""

    kind: str
    what: str
    start: Any
    end: Any


class _Passes(NamedTuple):
    phase: list[Any]
    microbatch: list[Any]
    chunk: list[Any]


def step(run: Run) -> Html:
    nodes = sum(len(graph) for graph in run.result.model.graphs.distinct)
    if nodes > _MOST_NODES:
        told = f"Not drawn: the step has {nodes:,} nodes. The report has its timeline."
        return element("p", told, class_="note")
    shown = run.classes[:_MOST_ROWS]
    made = list(zip(shown, shapes(run, shown), strict=True))
    kinds = [kind for kind in _KINDS if any(s.kind == kind for _, every in made for s in every)]
    rows = [
        bar_row(
            f"{'ranks' if one.size > 1 else 'rank'} {one.label}",
            f"idle {100 * idle(run, one):.1f} %",
            _drawn(run, one, every, sum(len(s.start) for s in every) <= _MOST_NAMED / len(made)),
        )
        for one, every in made
    ]
    left = len(run.classes) - len(shown)
    more = f" {count(left, 'more class', 'more classes')} of ranks not drawn." if left > 0 else ""
    ends = [element("span", "0"), element("span", format_time(run.ns(run.makespan)))]
    axis = element("div", *ends, class_="ends", aria_hidden="true")
    return join(
        [
            legend([_KINDS[kind] for kind in kinds]),
            element("div", *rows, bar_row("", "", axis), class_="bars step"),
            element("p", _BLANK + more, class_="note"),
        ]
    )


_BLANK = "Blank: the stage does nothing of its own, which the bubble counts."


def shapes(run: Run, classes: Sequence[RankClass]) -> Iterator[list[Shape]]:
    model = run.result.model
    traces = traces_of(model)
    known: dict[int, _Passes] = {}
    for one in classes:
        if one.graph not in known:
            known[one.graph] = _passes(model, one.graph, traces[one.graph])
        yield list(_shapes(run, one, known[one.graph]))


def _passes(model: Model, at: int, trace: Trace | None) -> _Passes:
    graph = model.graphs.distinct[at]
    found = _Passes(*([None] * len(graph) for _ in _Passes._fields))
    if trace is None:
        return found
    columns = found._asdict()
    for node, record in enumerate(records_of(trace, graph)):
        for name, _, value, _ in trace.native.attributes(record):
            if name in columns:
                columns[name][node] = value
    return found


def _shapes(run: Run, one: RankClass, passes: _Passes) -> Iterator[Shape]:
    work, gap = _work(run, one), run.makespan / _POINTS
    parts: dict[_Key, list[int]] = {}
    for node in np.flatnonzero(work.is_own).tolist():
        phase, batch, chunk = (column[node] for column in passes)
        kind = phase if phase in _KINDS else ""
        key = ("communication", None, None) if work.is_sent[node] else (kind, batch, chunk)
        parts.setdefault(key, []).append(node)
    _join_backward(parts, work)
    order = list(_KINDS)
    for key in sorted(parts, key=lambda key: order.index(key[0])):
        start, end = merged(work.start[parts[key]], work.end[parts[key]], gap)
        yield Shape(key[0], _what(*key), start, end)


def _join_backward(parts: dict[_Key, list[int]], work: _Work) -> None:
    for kind, batch, chunk in list(parts):
        if kind not in ("recompute", "wgrad") or ("dgrad", batch, chunk) not in parts:
            continue
        own, backward = parts[kind, batch, chunk], parts["dgrad", batch, chunk]
        is_before = work.end[own].max() <= work.start[backward].min()
        is_after = work.start[own].min() >= work.end[backward].max()
        if not is_before and not is_after:
            backward += parts.pop((kind, batch, chunk))


def _what(kind: str, batch: Any, chunk: Any) -> str:
    told = _KINDS[kind][0]
    if batch is not None:
        told += f" of micro-batch {batch}"
    return f"{told}, chunk {chunk}" if chunk else told


def idle(run: Run, one: RankClass) -> float:
    work = _work(run, one)
    start, end = merged(work.start[work.is_own], work.end[work.is_own], 0)
    return 1 - float((end - start).sum()) / (run.makespan or 1)


class _Work(NamedTuple):
    start: Any
    end: Any
    is_own: Any
    is_sent: Any


def _work(run: Run, one: RankClass) -> _Work:
    start, end = (times.astype(np.int64) for times in run.times(one))
    graphs = run.result.model.graphs
    graph = graphs.distinct[one.graph]
    groups = graphs.workload.groups if isinstance(graphs, TemplateGraphs) else {}
    across = {name for name, group in groups.items() if "pp" in group.axes}
    names = graph.pg_names
    is_across = np.array([name in across for name in names] or [False])
    group, kind = np.asarray(graph.pg_name, dtype=np.int64), np.asarray(graph.type)
    is_sent = kind == NodeType.COMM_COLL
    has_group = (group >= 0) & (group < len(names)) & is_sent
    outside = has_group & is_across[np.where(has_group, group, 0)]
    is_own = ~np.isin(kind, _NO_WORK) & ~outside & (end > start)
    return _Work(start, end, is_own, is_sent)


def merged(start: Any, end: Any, gap: float) -> tuple[Any, Any]:
    if not len(start):
        return start, end
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    begins = np.flatnonzero(np.concatenate(([True], start[1:] > end[:-1] + gap)))
    lasts = np.concatenate((begins[1:] - 1, [len(end) - 1]))
    return start[begins], end[lasts]


def _drawn(run: Run, one: RankClass, every: list[Shape], is_named: bool) -> Html:
    scale = _WIDTH / (run.makespan or 1)
    boxes: list[Html] = []
    for kind in _KINDS:
        of_kind = [shape for shape in every if shape.kind == kind]
        if is_named:
            boxes += [box for shape in of_kind for box in _named(run, shape, scale)]
        elif of_kind:
            boxes.append(_whole(of_kind, scale))
    told = f"{one.label}: idle {100 * idle(run, one):.1f} % of {run.told(run.makespan)}"
    return element(
        "svg",
        *boxes,
        role="img",
        aria_label=told,
        class_="bar",
        viewBox=f"0 0 {_WIDTH} 1",
        preserveAspectRatio="none",
    )


def _named(run: Run, shape: Shape, scale: float) -> Iterator[Html]:
    for start, end in zip(shape.start.tolist(), shape.end.tolist(), strict=True):
        title = element("title", f"{shape.what}: {run.told(start)} to {run.told(end)}")
        box = element(
            "rect",
            x=f"{start * scale:.2f}",
            width=f"{(end - start) * scale:.2f}",
            height="1",
            class_=_KINDS[shape.kind][1],
        )
        yield element("g", title, box)


def _whole(every: list[Shape], scale: float) -> Html:
    starts = np.concatenate([shape.start for shape in every])
    ends = np.concatenate([shape.end for shape in every])
    start, end = merged(starts, ends, _WIDTH / _POINTS / scale)
    path = "".join(
        f"M{begin:.2f} 0h{past - begin:.2f}v1h{begin - past:.2f}z"
        for begin, past in zip((start * scale).tolist(), (end * scale).tolist(), strict=True)
    )
    name, style = _KINDS[every[0].kind]
    return element("g", element("title", name), element("path", d=path, class_=style))
