"""Statistics of random graphs against slow definitions, and what must not change them."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from yantra.chakra import Node, NodeType, Trace
from yantra.tracing.inspect.columns import KINDS, Columns
from yantra.tracing.inspect.names import normalised
from yantra.tracing.inspect.paths import issue_order, topological
from yantra.tracing.inspect.rank_traces import RankTrace
from yantra.tracing.inspect.stats import as_dict, job_stats
from yantra.tracing.inspect.stats.rank import RankStats, rank_stats


@st.composite
def graphs(draw: st.DrawFn) -> list[Node]:
    ids = draw(st.permutations(range(draw(st.integers(0, 14)))))
    nodes: list[Node] = []
    for id in ids:
        earlier = [node.id for node in nodes]
        data = draw(st.lists(st.sampled_from(earlier), max_size=3)) if earlier else []
        control = draw(st.lists(st.sampled_from(earlier), max_size=1)) if earlier else []
        kind = draw(st.sampled_from([NodeType.COMP, NodeType.COMM_COLL, NodeType.MEM_LOAD]))
        sizes = {"comm_size": draw(st.integers(0, 99)), "num_ops": draw(st.integers(0, 99))}
        attributes: dict[str, Any] = {"is_cpu_op": draw(st.booleans()), "comm_type": 0, **sizes}
        duration = draw(st.integers(0, 50))
        nodes.append(Node(id, f"op_{id % 3}", kind, duration, data, control, attributes))
    return nodes


def stats(nodes: list[Node]) -> RankStats:
    return rank_stats(Columns(Trace(nodes)))


@given(graphs())
def test_the_critical_path_is_the_longest_chain(nodes: list[Node]) -> None:
    by_id = {node.id: node for node in nodes}

    @cache
    def longest(id: int) -> tuple[int, int]:
        node = by_id[id]
        before = [longest(parent) for parent in (*node.data_deps, *node.ctrl_deps)]
        time = max((time for time, _ in before), default=0) + node.duration_micros
        return time, 1 + max((depth for _, depth in before), default=0)

    found = stats(nodes)
    assert found.span_us == max((longest(id)[0] for id in by_id), default=0)
    assert found.depth == max((longest(id)[1] for id in by_id), default=0)
    levels = [longest(id)[1] for id in by_id]
    assert found.width == max((levels.count(level) for level in levels), default=0)
    assert sum(found.span_us_of_kind.values()) == found.span_us <= found.work_us


@given(graphs())
def test_the_sums_are_those_of_the_nodes(nodes: list[Node]) -> None:
    found = stats(nodes)
    assert found.nodes == len(nodes) == sum(found.types.values())
    assert found.work_us == sum(node.duration_micros for node in nodes)
    assert found.work_us == sum(found.time_us.values()) and tuple(found.time_us) == KINDS
    assert found.data_edges == sum(len(node.data_deps) for node in nodes)
    assert found.control_edges == sum(len(node.ctrl_deps) for node in nodes)
    assert found.num_ops + found.host_num_ops == sum(node["num_ops"] for node in nodes)  # type: ignore[misc]
    sent = [node["comm_size"] for node in nodes if node.type == NodeType.COMM_COLL]
    assert sum(row.bytes for row in found.collectives) == sum(sent)  # type: ignore[arg-type]
    assert sum(operator.time_us for operator in found.operators) == found.work_us
    assert sum(operator.calls for operator in found.operators) == found.nodes


@given(graphs(), st.randoms(use_true_random=False))
def test_the_order_of_the_file_does_not_matter(nodes: list[Node], random: Any) -> None:
    shuffled = random.sample(nodes, len(nodes))
    assert stats(shuffled) == stats(nodes)


@given(graphs())
def test_orders_put_parents_first(nodes: list[Node]) -> None:
    columns = Columns(Trace(nodes))
    for order in (topological(columns), issue_order(columns)):
        place = {node: at for at, node in enumerate(order)}
        assert sorted(order) == list(range(columns.count))
        assert all(place[p] < place[n] for n in order for p in columns.parents(n))


@given(graphs(), st.integers(1, 3))
def test_equal_ranks_add_up(nodes: list[Node], ranks: int) -> None:
    trace = Trace(nodes)
    job = job_stats([RankTrace(rank, "", trace) for rank in range(ranks)])
    alone = stats(nodes)
    assert [one for _, _, one in job.ranks] == [alone] * ranks
    assert sum(operator.time_us for operator in job.operators) == ranks * alone.work_us
    assert sum(row.bytes for row in job.groups) == ranks * sum(r.bytes for r in alone.collectives)
    assert len(as_dict(job)["ranks"]) == ranks


@given(st.text(max_size=40))
def test_a_normalised_name_stays_as_it_is(name: str) -> None:
    once = normalised(name)
    assert normalised(once) == once
