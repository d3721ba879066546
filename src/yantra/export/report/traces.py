"""Model -> the traces of its graphs, for every attribute that graphs leave out."""

from __future__ import annotations

from yantra import _core, chakra
from yantra.base.errors import YantraError
from yantra.chakra.trace import Trace
from yantra.compile import Model
from yantra.scenario import Templates, Traces, TrainingStep, WorkloadFile
from yantra.scenario.training import templates_of


def traces_of(model: Model) -> list[Trace | None]:
    """The trace of each distinct graph; None where its file has changed."""
    workload, graphs = model.scenario.workload, model.graphs
    if isinstance(workload, WorkloadFile | Templates | TrainingStep):
        try:
            made = templates_of(workload)
            known = {made.where(name): name for name in made.templates}
            traces: list[Trace | None] = [made.template(known[source]) for source in graphs.sources]
        except (YantraError, KeyError):
            return [None] * len(graphs.distinct)
    elif isinstance(workload, Traces):
        ranks = [graphs.by_rank.index(at) for at in range(len(graphs.distinct))]
        traces = [workload.traces[rank] for rank in ranks]
    else:
        traces = [_read(source) for source in graphs.sources]
    pairs = zip(traces, graphs.distinct, strict=True)
    return [trace if trace and _fits(trace, graph) else None for trace, graph in pairs]


def records_of(trace: Trace, graph: _core.Graph) -> list[int]:
    last = {id: place for place, id in enumerate(trace.native.id.tolist())}
    return [last[id] for id in graph.id.tolist()]


def _read(source: str) -> Trace | None:
    try:
        return chakra.read(source)
    except YantraError:
        return None


def _fits(trace: Trace, graph: _core.Graph) -> bool:
    return set(trace.native.id.tolist()) == set(graph.id.tolist())
