"""Kernels for the roofline: operations, bytes and time of all that runs on a device.

Source: Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from yantra.base.fields import kind_of
from yantra.base.text import count as counted
from yantra.base.units import format_bandwidth, format_flops, format_size, format_time
from yantra.export.report.classes import RankClass
from yantra.export.report.markup import Cell, Content, Head, Html, element, join, table
from yantra.export.report.nodes import STREAMS, Graph, integers
from yantra.export.report.run import Run
from yantra.result.tables import NEVER
from yantra.tracing.inspect.names import normalised

_COMPUTE = STREAMS.index("compute")
_NS_PER_S = 1e9
_MOST_POINTS = 20_000


class Kernel(NamedTuple):
    """Equal kernels: `calls` over all ranks, `ticks` of one call."""

    operations: int
    bytes: int
    ticks: int
    name: str
    calls: int


class Kernels(NamedTuple):
    """Kernels that can be placed, and calls that lack operations, bytes or time."""

    placed: list[Kernel]
    without: int


def find(run: Run) -> Kernels:
    placed: list[Kernel] = []
    without = 0
    for at, graph in enumerate(run.graphs):
        classes = [one for one in run.classes if one.graph == at]
        found, left = _of_graph(run, graph, classes)
        placed += found
        without += left
    return Kernels(
        sorted(_merged(placed), key=lambda kernel: -kernel.calls * kernel.ticks), without
    )


def _of_graph(run: Run, graph: Graph, classes: list[RankClass]) -> tuple[list[Kernel], int]:
    nodes = np.flatnonzero(np.asarray(graph.stream) == _COMPUTE)
    if not len(nodes) or not classes:
        return [], 0
    kinds, kind_of = _kinds(graph, nodes)
    can = np.array([bool(operations and size) for operations, size, _ in kinds])[kind_of]
    weights = np.array([one.size for one in classes])
    ticks = np.empty((len(classes), len(nodes)), dtype=np.int64)
    ran = np.empty(ticks.shape, dtype=bool)
    for place, one in enumerate(classes):
        start, end = (times[nodes] for times in run.times(one))
        ran[place] = end != np.uint64(NEVER)
        ticks[place] = np.where(ran[place], end - start, 0).astype(np.int64)
    good = ran & can & (ticks > 0)
    without = int((ran & ~good).sum(axis=1) @ weights)
    lengths, length_of = np.unique(ticks[good], return_inverse=True)
    rows, columns = np.nonzero(good)
    keys, key_of = np.unique(kind_of[columns] * len(lengths) + length_of, return_inverse=True)
    calls = np.bincount(key_of, weights=weights[rows]).astype(np.int64)
    pairs = zip(keys.tolist(), calls.tolist(), strict=True)
    found = []
    for key, count in pairs:
        kind, length = divmod(key, len(lengths))
        operations, size, name = kinds[kind]
        found.append(Kernel(operations, size, int(lengths[length]), name, count))
    return found, without


def _merged(kernels: list[Kernel]) -> list[Kernel]:
    calls: dict[tuple[int, int, int, str], int] = {}
    for kernel in kernels:
        calls[kernel[:4]] = calls.get(kernel[:4], 0) + kernel.calls
    return [Kernel(*key, count) for key, count in calls.items()]


def section(run: Run, kernels: Kernels) -> Html:
    plot = element("div", id="roofline", class_="chart") if kernels.placed else None
    return join(
        [
            *[element("p", text, class_="note") for text in _notes(run, kernels)],
            plot,
            _table(run, kernels),
        ]
    )


def as_data(run: Run, kernels: Kernels) -> dict[str, Any]:
    shown = kernels.placed[:_MOST_POINTS]
    run.columns.add("kernels.operations", [kernel.operations for kernel in shown], delta=False)
    run.columns.add("kernels.bytes", [kernel.bytes for kernel in shown], delta=False)
    run.columns.add("kernels.ticks", [kernel.ticks for kernel in shown], delta=False)
    run.columns.add("kernels.calls", [kernel.calls for kernel in shown], delta=False)
    run.columns.add_texts("kernels.name", [kernel.name for kernel in shown])
    device = run.result.model.scenario.device
    return {"peak": device.peak_flops, "memory": device.memory_bytes_per_s, "points": len(shown)}


def _kinds(graph: Graph, nodes: Any) -> tuple[list[tuple[int, int, str]], Any]:
    native = graph.native
    operations, size = integers(native, "num_ops"), integers(native, "tensor_size")
    names: dict[str, str] = {}
    kinds: dict[tuple[int, int, str], int] = {}
    places = []
    for node in nodes.tolist():
        name = native.name(node)
        if name not in names:
            names[name] = normalised(name)
        key = (operations[node] or 0, size[node] or 0, names[name])
        places.append(kinds.setdefault(key, len(kinds)))
    return list(kinds), np.array(places)


def _notes(run: Run, kernels: Kernels) -> list[str]:
    device = run.result.model.scenario.device
    notes = []
    if not kernels.placed:
        notes.append(
            "No kernel says both its operations and its bytes (num_ops and tensor_size), so there "
            "is nothing to plot."
        )
    elif kernels.without:
        notes.append(
            f"Not shown: {counted(kernels.without, 'call', commas=True)} of kernels without "
            "operations, bytes or time."
        )
    if kernels.placed and not (device.peak_flops and device.memory_bytes_per_s):
        lacking = [] if device.peak_flops else ["cluster.device.peak"]
        lacking += [] if device.memory_bytes_per_s else ["cluster.device.memory_bandwidth"]
        notes.append(f"No roof: the scenario does not give {' and '.join(lacking)}.")
    if kernels.placed and kind_of(device.compute) == "roofline":
        notes.append("Durations come from the roofline, so every kernel is on it by construction.")
    if len(kernels.placed) > _MOST_POINTS:
        notes.append(f"The plot shows the {_MOST_POINTS:,} kernels that take longest in all.")
    return notes


def _table(run: Run, kernels: Kernels) -> Html | None:
    if not kernels.placed:
        return None
    by_name: dict[str, list[Kernel]] = {}
    for kernel in kernels.placed:
        by_name.setdefault(kernel.name, []).append(kernel)
    heads = [
        Head("kernel", False, "a * stands for the numbers in names"),
        Head("calls", about="over all ranks"),
        Head("per rank", about="mean over all ranks of the time of all calls"),
        Head("FLOP/byte"),
        Head("rate"),
        Head("of the peak"),
        Head("bytes per call"),
        Head("memory rate"),
        Head("bound by", False),
    ]
    ordered = sorted(by_name.items(), key=lambda pair: -_ticks(pair[1]))
    return table("Kernels by name", heads, [_cells(run, *pair) for pair in ordered])


def _ticks(alike: list[Kernel]) -> int:
    return sum(kernel.ticks * kernel.calls for kernel in alike)


def _cells(run: Run, name: str, alike: list[Kernel]) -> list[Cell | Content]:
    device = run.result.model.scenario.device
    calls, ticks = sum(kernel.calls for kernel in alike), _ticks(alike)
    operations = sum(kernel.operations * kernel.calls for kernel in alike)
    size = sum(kernel.bytes * kernel.calls for kernel in alike)
    seconds = run.ns(ticks) / _NS_PER_S
    rate, per_rank = operations / seconds, ticks / run.result.model.ranks
    share = rate / device.peak_flops if device.peak_flops else None
    return [
        name,
        Cell(f"{calls:,}", calls),
        Cell(format_time(run.ns(per_rank)), per_rank),
        Cell(f"{operations / size:.4g}", operations / size),
        Cell(format_flops(rate), rate),
        Cell("" if share is None else f"{100 * share:.1f} %", share or 0),
        Cell(format_size(size // calls), size / calls),
        Cell(format_bandwidth(size / seconds), size / seconds),
        _bound(device, operations / size),
    ]


def _bound(device: Any, intensity: float) -> str:
    if not (device.peak_flops and device.memory_bytes_per_s):
        return ""
    ridge = device.peak_flops / device.memory_bytes_per_s
    return "compute" if intensity >= ridge else "memory"
