"""Remote memory: what the core gets, and what Python models say."""

from __future__ import annotations

from math import inf

from yantra import _core
from yantra import memory as memories
from yantra.base.errors import ConfigError
from yantra.base.fields import kind_of, named
from yantra.compile.graphs import Graphs
from yantra.compile.removal import Without
from yantra.memory.model import Accesses, MemoryModel, Pipeline, Speeds
from yantra.scenario import RemoteMemory, Scenario

WHERE = "cluster.memory"
_SHARING = {
    "rank": _core.RemoteMemoryKind.PER_NPU,
    "node": _core.RemoteMemoryKind.PER_NODE,
    "pool": _core.RemoteMemoryKind.POOL,
}
_LEVELS = {
    "rank": _core.MemoryLevel.RANK,
    "node": _core.MemoryLevel.NODE,
    "pool": _core.MemoryLevel.POOL,
}


def set_memory(builder: _core.ModelBuilder, scenario: Scenario, without: Without) -> None:
    memory = scenario.memory
    model = _class_of(memory)
    is_free = "remote_memory" in without
    if not is_free and (pipeline := _pipeline_of(scenario)):
        if scenario.device.share_bandwidth:
            problem = f"copies of {named(memory.kind)} share links with those of other ranks"
            raise ConfigError(
                "cluster.device.share_bandwidth",
                f"only where each rank has a memory of its own; {problem}",
            )
        builder.set_memory(
            _core.RemoteMemory(
                kind=_core.RemoteMemoryKind.PIPELINE,
                latency_ns=memory.latency_ns,
                bytes_per_ns=memory.bytes_per_ns,
                ranks_per_node=pipeline.ranks_per_node,
                chunk_bytes=pipeline.chunk_bytes,
                hops=[
                    _core.MemoryHop(level=_LEVELS[hop.sharing], bytes_per_ns=hop.bytes_per_ns)
                    for hop in pipeline.hops
                ],
            )
        )
        return
    native = model.native and _core.RemoteMemoryKind[model.native.upper()]
    builder.set_memory(
        _core.RemoteMemory(
            kind=native or _SHARING[model.sharing],
            latency_ns=0 if is_free else memory.latency_ns,
            bytes_per_ns=inf if is_free else memory.bytes_per_ns,
            ranks_per_node=max(memory.ranks_per_node, 1),
            accesses_say=model.native is None and not is_free,
        )
    )


def tell_accesses(
    options: _core.LowerOptions, scenario: Scenario, graphs: Graphs, scale: _core.TimeScale
) -> None:
    memory = scenario.memory
    native = _class_of(memory).native
    options.remote_memory = native != "none"
    if native is not None or scenario.replay_only or _pipeline_of(scenario):
        return
    from yantra.memory.answers import ask

    model = memories.model_of(memory.kind, f"{WHERE}.kind")
    model.hold(_offloaded(graphs))
    table = _table_of(graphs)
    speeds = Speeds(memory.latency_ns, memory.bytes_per_ns)
    if model.remembers:
        _tell_in_order(table, graphs, model, speeds, named(memory.kind), scale)
    else:
        ns = ask(model, accesses_of(table), speeds, named(memory.kind), f"{WHERE}.kind")
        table.set_ns(ns, scale)
    options.take_accesses(table)


def _tell_in_order(
    table: _core.AccessTable,
    graphs: Graphs,
    model: MemoryModel,
    speeds: Speeds,
    name: str,
    scale: _core.TimeScale,
) -> None:
    import numpy as np

    from yantra.compile.accesses import ordered
    from yantra.memory.answers import ask_in_order

    done: set[int] = set()
    for graph, _, source in graphs.counted():
        if id(graph) in done:
            continue
        done.add(id(graph))
        found = ordered(graph)
        ns = np.zeros(len(graph))
        where = f"{WHERE}.kind, {source}"
        ns[found.nodes] = ask_in_order(model, found.touches, found.names, speeds, name, where)
        table.set_ns_of(graph, ns, scale)


def _offloaded(graphs: Graphs) -> dict[str, int]:
    from yantra.compile.templates import TemplateGraphs

    if not isinstance(graphs, TemplateGraphs):
        return {}
    found = graphs.workload.offloaded()
    most = max(found, key=lambda part: sum(found[part].values()), default=None)
    return {} if most is None else {f"{name} of {most}": n for name, n in found[most].items()}


def _pipeline_of(scenario: Scenario) -> Pipeline | None:
    memory = scenario.memory
    if _class_of(memory).native is not None:
        return None
    model = memories.model_of(memory.kind, f"{WHERE}.kind")
    from yantra.memory.answers import hops_of

    speeds = Speeds(memory.latency_ns, memory.bytes_per_ns)
    return hops_of(model, speeds, named(memory.kind), f"{WHERE}.kind")


def _class_of(memory: RemoteMemory) -> type[MemoryModel]:
    return memories.models.get(kind_of(memory.kind), f"{WHERE}.kind")


def accesses_of(table: _core.AccessTable) -> Accesses:
    import numpy as np

    from yantra.base.columns import signed

    return Accesses(
        bytes=signed(table.bytes, "tensor_size of an access"),
        is_store=np.array(table.is_store, np.bool_),
        count=signed(table.count, "accesses"),
    )


def _table_of(graphs: Graphs) -> _core.AccessTable:
    table = _core.AccessTable()
    for graph, ranks, _ in graphs.counted():
        table.add(graph, ranks)
    return table
