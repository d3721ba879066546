"""SimGrid through its adapter is max-min fair to 1e-9, as our own network."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.golden.test_max_min_flows import cases
from tests.programs import adapter
from yantra.base.fields import Plugin
from yantra.chakra import TraceBuilder
from yantra.fabric.graphs.describe import shown
from yantra.fabric.graphs.graph import DeviceKind, Graph, Links, Tier
from yantra.kinds.external_laws import known, violations
from yantra.network.external import Options
from yantra.network.lockstep.conversation import Conversation
from yantra.network.traffic.generator import Flows
from yantra.run.flows import Choice, simulate
from yantra.run.simulate import simulate as simulate_scenario
from yantra.scenario import Collectives, Dimension, Scenario, Topology, Traces

PS = 0.001  # in ns


@pytest.fixture(scope="module")
def simgrid(tmp_path_factory: pytest.TempPathFactory) -> str:
    return adapter("simgrid", "simgrid/s4u.hpp", tmp_path_factory.mktemp("simgrid"))


def graph_of(links: list[list[float]]) -> Graph:
    count = len(links)
    rates, latencies = (np.array(column, float) for column in zip(*links, strict=True))
    ends = np.zeros(count, np.uint32)
    columns = Links(ends, ends + 1, rates, latencies, np.zeros(count, np.uint16))
    return Graph((Tier("rank", DeviceKind.RANK, 2),), columns, ("links",))


def ends_ns(program: str, case: dict[str, Any]) -> list[float]:
    talk = Conversation((program,), graph_of(case["links"]), gives_routes=True, timeout_s=60)
    for size, start_ns, route, _ in case["flows"]:
        talk.send(round(start_ns / PS), 0, 1, size, route)
    found: dict[int, float] = {}
    while talk.under_way:
        found |= {flow: at * PS for flow, at in talk.advance(None, talk.clock).arrived}
    talk.close()
    return [found[flow] for flow in range(len(case["flows"]))]


@pytest.mark.parametrize("case", cases())
def test_flows_are_through_when_the_golden_cases_say(simgrid: str, case: dict[str, Any]) -> None:
    expected = [end for _, _, _, end in case["flows"]]
    np.testing.assert_allclose(ends_ns(simgrid, case), expected, rtol=1e-9, atol=PS)


def test_it_keeps_every_law(simgrid: str) -> None:
    assert list(violations(known(simgrid))) == []


def test_lists_of_flows_are_those_of_our_own_rung(simgrid: str) -> None:
    sizes = {"leaves": 4, "ranks_per_leaf": 4, "spines": 2}
    graph = shown("leaf_spine", sizes | {"bandwidth": "100 Gb/s", "latency": "1 us"}).graph
    random = np.random.default_rng(5)
    src = random.integers(0, 16, 400)
    dst = (src + random.integers(1, 16, 400)) % 16
    flows = Flows(src, dst, random.integers(1, 10**6, 400), random.integers(0, 10**6, 400))
    ours = simulate(graph, flows, Choice(network="flow"))
    program = Options(command=(simgrid,))
    theirs = simulate(graph, flows, Choice(network="external", program=program))
    np.testing.assert_allclose(theirs.end_ns, ours.end_ns, rtol=1e-9, atol=2 * PS)


def test_collectives_are_those_of_our_own_rung(simgrid: str) -> None:
    trace = TraceBuilder()
    trace.collective("all_reduce", 10**6)
    trace.collective("all_to_all", 10**6)
    dimensions = (
        Dimension(kind="switch", size=4, bytes_per_ns=100.0, latency_ns=250.0),
        Dimension(kind="ring", size=3, bytes_per_ns=12.5, latency_ns=2000.0),
    )
    options = (("command", (simgrid,)),)
    makespans = [
        simulate_scenario(
            Scenario(
                workload=Traces(traces=(trace.build(),) * 12),
                topology=Topology(dimensions=dimensions),
                network=network,
                collectives=Collectives(
                    all_reduce=("ring", "ring"), all_to_all=("direct", "direct"), chunks=4
                ),
            )
        ).makespan_ns
        for network in ("flow", Plugin(kind="external", options=options))
    ]
    # Each of a few hundred messages that follow each other is rounded to a picosecond.
    assert makespans[1] == pytest.approx(makespans[0], abs=0.5)


def test_what_it_lacks_is_told(simgrid: str) -> None:
    graph = graph_of([[1.0, 0.0]])
    with pytest.raises(Exception, match="SimGrid knows no routes of its own; set routes: given"):
        Conversation((simgrid,), graph, gives_routes=False, timeout_s=60)
