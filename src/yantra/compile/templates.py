"""Templates as graphs: each decoded once for any number of ranks.

Results equal those of expanded traces to the bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra import _core
from yantra.base.errors import ConfigError
from yantra.chakra.graphs import read_graph
from yantra.compile.graphs import Graphs
from yantra.scenario.quirks import Quirk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yantra.chakra.relative import Names
    from yantra.scenario import Templates, TrainingStep, WorkloadFile
    from yantra.workloads.templates import Workload
    from yantra.workloads.templates.rules import Sum


class TemplateGraphs(Graphs):
    """`distinct` has a graph per template and grid.

    `rules`: meanings of their names for ranks.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        kernels: bool = False,
        launches: _core.Launches | None = None,
    ) -> None:
        super().__init__(workload.numbered_groups(), kernels=kernels, launches=launches)
        self.workload = workload
        self.rules: list[tuple[list[Sum], list[Sum]]] = []

    def _take(self, graphs: Sequence[int]) -> None:
        super()._take(graphs)
        self.rules = [self.rules[at] for at in graphs]

    def group_names(self, rank: int) -> Sequence[str]:
        groups, _ = self.rules[self.by_rank[rank]]
        return [str(rule.of(rank)) for rule in groups]

    def table(self, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        meaning = self.workload.meaning(rank, names_of(self.of(rank)))
        return tuple(meaning.groups.values()), tuple(meaning.peers.values())

    def assign(self, builder: _core.ModelBuilder) -> _core.Assignment:
        """Ranks that can share a job, and their communicators.

        Raises ConfigError for a name without meaning.
        """
        uses = [
            _core.TemplateUse(
                groups=[_axis_sum(rule) for rule in groups],
                peers=[_axis_sum(rule) for rule in peers],
                collectives=_collectives(graph),
            )
            for (groups, peers), graph in zip(self.rules, self.distinct, strict=True)
        ]
        assignment = builder.assign(uses, self.column())
        if assignment.faulty is not None:
            rank = assignment.faulty
            self.workload.meaning(rank, names_of(self.of(rank)))
            raise ConfigError(self.workload.name, f"no meaning for the names of rank {rank}")
        return assignment


def _axis_sum(rule: Sum) -> _core.AxisSum:
    axes = [
        _core.SumAxis(stride=stride, size=size, factor=factor, values=values)
        for stride, size, factor, values in rule.axes
    ]
    return _core.AxisSum(
        first_rank=rule.first_rank, base=rule.base, relative=rule.relative, axes=axes
    )


def _collectives(graph: _core.Graph) -> list[_core.CollectiveUse]:
    names = ["", *graph.pg_names]
    return [
        _core.CollectiveUse(place=names.index(used.group), comm_type=used.comm_type)
        for used in _core.used_collectives([graph])
    ]


def load_templates(
    source: WorkloadFile | Templates | TrainingStep,
    ranks: int,
    quirks: frozenset[Quirk],
    *,
    tensors: bool,
    kernels: bool,
    one_slot: bool,
    launches: _core.Launches | None,
) -> Graphs:
    """Load every template's graph and rules.

    `one_slot`: a rank's collectives wait for each other in file order, as different orders would
    deadlock; not for a workload of `ordering` `streams`.
    """
    from yantra.scenario.training import templates_of

    workload = templates_of(source)
    if workload.ranks != ranks:
        problem = f"{workload.name} has {workload.ranks} ranks, the cluster {ranks}"
        raise ConfigError("workload.templates", problem)
    graphs = TemplateGraphs(workload, kernels=kernels, launches=launches)
    in_order = one_slot and workload.ordering == "serial"
    merge = Quirk.DUPLICATE_IDS_MERGE in quirks
    roles, graphs.by_rank = workload.roles()
    known: dict[str, _core.Graph] = {}
    for template, grid in roles:
        where = workload.where(template)
        if template in known:
            graphs.distinct.append(known[template])
            graphs.sources.append(where)
        else:
            plain = not tensors and not in_order and launches is None
            made = workload.graph(template, kernels=kernels) if plain else None
            if made is None:
                made = read_graph(
                    workload.template_bytes(template),
                    where,
                    merge_duplicates=merge,
                    tensors=tensors,
                    kernels=kernels,
                    collectives_in_order=in_order,
                    launches=launches,
                )
            known[template] = made
            graphs.add(known[template], where, quirks)
        graphs.rules.append(workload.rules(template, grid, names_of(known[template])))
    return graphs


def names_of(graph: _core.Graph) -> Names:
    from yantra.chakra.relative import Names

    return Names(tuple(graph.pg_names), tuple(graph.peer_names))
