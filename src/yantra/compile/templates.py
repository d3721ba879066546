"""Workloads of templates -> graphs: a template is decoded once, whatever number of ranks runs it.

A rank has a small table of its own: what the groups and peers that its template names mean there.
Simulating the templates gives, to the bit, what simulating the expanded traces gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from yantra import _core
from yantra.chakra.relative import Names
from yantra.chakra.trace import read_graph
from yantra.compile.graphs import Graphs
from yantra.errors import ConfigError
from yantra.quirks import Quirk
from yantra.scenario import Templates, WorkloadFile
from yantra.workloads.template import Workload, load

Table = tuple[tuple[int, ...], tuple[int, ...]]


class TemplateGraphs(Graphs):
    """The graphs of templates; `tables[r]` holds, for the names of the graph of rank r in order,
    the ids of its communicators and the ranks of its peers.
    """

    def __init__(self, workload: Workload) -> None:
        super().__init__(tuple(workload.communicators().items()))
        self.tables: list[Table] = []

    def group_names(self, rank: int) -> Sequence[str]:
        """Return the names of groups that the graph of a rank refers to by place."""
        return [str(number) for number in self.tables[rank][0]]

    def collectives(self, find: Callable[[str], int | None]) -> Iterator[tuple[int, int]]:
        """Yield the place of the communicator and the comm_type of the collectives that occur."""
        used = []
        for graph in self.distinct:
            names = ["", *graph.pg_names]
            rows = _core.used_collectives(graph)
            used.append([(names.index(name), comm_type) for name, comm_type in rows])
        tables = [set[tuple[int, ...]]() for _ in self.distinct]
        for at, (communicators, _) in zip(self.by_rank, self.tables, strict=True):
            tables[at].add(communicators)
        for at, distinct in enumerate(tables):
            for place, comm_type in used[at]:
                for index in {
                    communicators[place - 1] if place else 0 for communicators in distinct
                }:
                    yield index, comm_type


def load_templates(
    source: WorkloadFile | Templates,
    ranks: int,
    quirks: frozenset[Quirk],
    *,
    tensors: bool,
    one_slot: bool,
) -> Graphs:
    """Load the graph of every template, and the table of every rank.

    With `one_slot` the collectives of a rank wait for each other in the order of the file: ranks
    that take two ready ones in different order would wait for each other forever. A workload whose
    own `ordering` is `streams` is left as it is.
    """
    workload = load(source.path) if isinstance(source, WorkloadFile) else source.workload
    if workload.ranks != ranks:
        problem = f"{workload.name} has {workload.ranks} ranks, the cluster {ranks}"
        raise ConfigError("workload.templates", problem)
    graphs = TemplateGraphs(workload)
    in_order = one_slot and workload.ordering == "serial"
    merge = Quirk.DUPLICATE_IDS_MERGE in quirks
    templates = workload.template_of_ranks()
    places = {template: at for at, template in enumerate(dict.fromkeys(templates))}
    for template in places:
        where = workload.where(template)
        graph = read_graph(
            workload.template_bytes(template),
            where,
            merge_duplicates=merge,
            tensors=tensors,
            collectives_in_order=in_order,
        )
        graphs.add(graph, where, quirks)
    graphs.by_rank = [places[template] for template in templates]
    names = {template: _names(graphs.distinct[at]) for template, at in places.items()}
    graphs.tables = workload.tables(names)
    return graphs


def _names(graph: Any) -> Names:
    return Names(tuple(graph.pg_names), tuple(graph.peer_names))
