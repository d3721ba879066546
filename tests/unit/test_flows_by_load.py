"""Lists of flows whose routing goes by load: each way is found as a flow starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from yantra.base.errors import ConfigError
from yantra.fabric.graphs.describe import shown
from yantra.fabric.graphs.link_changes import LinkChange
from yantra.network.traffic.generator import Flows
from yantra.run.flows import Choice, FlowResult, simulate
from yantra.run.flows_as_messages import MessageRun
from yantra.run.over_shown import scenario_over

PER_LEAF, BYTES = 4, 1_000_000
ADAPTIVE = Choice(routing="adaptive")


def fabric(spines: int = 4) -> Any:
    options = {"leaves": 2, "ranks_per_leaf": PER_LEAF, "spines": spines}
    return shown("leaf_spine", options | {"bandwidth": "100Gb/s", "latency": "1us"})


def flows(rows: list[tuple[int, int, int, int]]) -> Flows:
    return Flows(*(np.array(column, np.int64) for column in zip(*rows, strict=True)))


def between_leaves(count: int = PER_LEAF) -> Flows:
    return flows([(at, PER_LEAF + at, BYTES, 0) for at in range(count)])


def drawn(seed: int, count: int = 60) -> Flows:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        source, destination = (int(one) for one in rng.choice(2 * PER_LEAF, 2, replace=False))
        size, start = int(rng.integers(1, 2_000_000)), int(rng.integers(0, 400_000))
        rows.append((source, destination, size, start))
    return flows(rows)


def run(of: Flows, choice: Choice = ADAPTIVE, spines: int = 4, **more: Any) -> FlowResult:
    return simulate(fabric(spines).graph, of, choice, **more)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("spines", [2, 3, 4])
def test_the_ends_are_those_of_the_same_messages_in_a_run(seed: int, spines: int) -> None:
    of = drawn(seed)
    found = run(of, Choice(routing="adaptive", seed=seed), spines)
    messages = MessageRun(of, scenario_over(fabric(spines), "flow", "adaptive", seed))
    messages.run_for(1)
    share = np.abs(found.end_ns / messages.end_ns - 1)
    assert np.median(share) < 1e-4  # where two flows tie, a hash of each decides
    assert found.makespan_ns == pytest.approx(float(messages.end_ns.max()), rel=0.05)


def test_flows_that_start_together_take_ways_of_their_own_while_there_are_some() -> None:
    assert run(between_leaves()).slowdown == pytest.approx(1.0, rel=1e-9)
    crowded = run(between_leaves(), spines=3)  # two of four share a link of 4 / 3 of their rate
    assert sorted(crowded.slowdown) == pytest.approx([1, 1, *[(4 + 80 * 1.5) / 84] * 2])
    assert run(between_leaves(), Choice(routing="ecmp")).slowdown.max() > 1.5


@pytest.mark.parametrize("seed", range(3))
def test_what_links_carried_is_what_went_over_the_ways_that_are_told(seed: int) -> None:
    of = drawn(seed)
    result = run(of, keeps_rates=True)
    table = result.link_table()
    spans = np.array(table.values("to_ns")) - np.array(table.values("from_ns"))
    carried = np.zeros(len(result.graph.links.start))
    np.add.at(carried, np.array(table.values("link")), spans * table.values("bytes_per_ns"))
    assert carried == pytest.approx(result.link_bytes(), rel=1e-6, abs=1)
    assert result.link_loads().max() <= 1 + 1e-9


def test_a_flow_takes_its_bytes_over_a_link_that_it_has_alone() -> None:
    one = flows([(0, PER_LEAF, BYTES, 500)])
    assert run(one).end_ns[0] == pytest.approx(500 + 4_000 + BYTES / 12.5)


def test_flows_keep_their_ways_where_links_change_and_share_by_round_trips() -> None:
    of = between_leaves()
    usual = run(of)
    at = int(usual.routed.hops[int(usual.routed.first[0]) + 1])
    start, end = (int(column[at]) for column in (usual.graph.links.start, usual.graph.links.end))
    changes = [
        LinkChange(at_ns=10_000.0, link=at, bytes_per_ns=0.0),
        LinkChange(at_ns=60_000.0, link=at, bytes_per_ns=12.5),
    ]
    later = run(of, changes=changes)
    assert later.end_ns[0] == pytest.approx(usual.end_ns[0] + 50_000), (start, end)
    assert later.end_ns[1:] == pytest.approx(usual.end_ns[1:])
    fair = run(of, Choice(routing="adaptive", rtt_fairness=True))
    assert fair.end_ns == pytest.approx(usual.end_ns)


@pytest.mark.parametrize("network", ["analytical", "store_and_forward", "ideal"])
def test_a_network_that_shows_no_loads_is_refused_by_name(network: str) -> None:
    with pytest.raises(ConfigError) as error:
        run(between_leaves(), Choice(routing="adaptive", network=network), fabric=fabric())
    assert str(error.value) == (
        f"--routing: adaptive goes by the load of links, which {network} shows to no routing of a "
        "list; take the network flow or packet, or the routing ecmp"
    )
