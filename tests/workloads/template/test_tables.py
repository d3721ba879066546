"""What names mean is the same for all ranks at once and for each alone."""

from __future__ import annotations

from random import Random

import pytest

from tests.oracles.small_workloads import standard
from yantra.compile.grid import Spans, whole_dimensions
from yantra.scenario import Dimension, Topology
from yantra.workloads.template import Workload


@pytest.mark.parametrize("sizes", [(2, 3, 2), (4, 1, 3), (1, 2, 4), (3, 2, 1)])
def test_the_tables_of_all_ranks_are_those_of_each_rank(sizes: tuple[int, int, int]) -> None:
    workload: Workload = standard(*sizes)
    names = {template: workload.names(template) for template in workload.templates}
    templates = workload.template_of_ranks()
    tables = workload.tables(names)
    for rank in range(workload.ranks):
        meaning = workload.meaning(rank)
        assert templates[rank] == workload.class_of(rank).template
        assert tables[rank] == (tuple(meaning.groups.values()), tuple(meaning.peers.values()))


def test_groups_that_lie_alike_span_what_each_spans() -> None:
    random = Random(5)
    topology = Topology(
        dimensions=tuple(
            Dimension(kind="ring", size=size, bytes_per_ns=1.0, latency_ns=1.0)
            for size in (2, 3, 4)
        )
    )
    spans = Spans(topology)
    for _ in range(400):
        length, step = random.choice((2, 3, 4, 6, 12)), random.choice((1, 2, 3, 6))
        first = random.randrange(24)
        members = tuple(first + at * step for at in range(length))
        if members[-1] < topology.ranks:
            assert spans.of(members) == whole_dimensions(topology, members)
