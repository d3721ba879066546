"""Collectives of known time load links as much as messages of the same algorithm."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import pytest

from yantra.collectives import find
from yantra.collectives.charges import charges, knows
from yantra.collectives.in_network import Node
from yantra.collectives.node_stages import Shares, over_trees, spread, summed_up
from yantra.collectives.schedule import Kind, Schedule
from yantra.collectives.selection.selection import Choice, Group, Selection, Timed
from yantra.compile import compile
from yantra.result import Result
from yantra.result.hot_links import hot_links
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates
from yantra.scenario.named import parts_at
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

SHAPES = [(1, 2), (1, 5), (1, 8), (2, 2), (2, 3), (3, 4), (4, 2), (4, 1), (7, 1)]
Pairs = dict[tuple[int, int], float]


def charged(algorithm: str, kind: str, nodes: int, local: int, once: float = 1.0) -> Pairs:
    found: defaultdict[tuple[int, int], float] = defaultdict(float)
    for one in charges(algorithm, kind, nodes * local, local, once):
        for node in range(nodes) if one.from_node is None else [one.from_node]:
            to = (node + one.node) % nodes if one.from_node is None else one.node
            for place in range(local):
                src, dst = node * local + place, to * local + (place + one.place) % local
                found[src, dst] += one.share
    return dict(found)


def sent(schedule: Schedule) -> Pairs:
    stated = schedule.n if schedule.kind in (Kind.ALL_GATHER, Kind.ALL_TO_ALL) else 1
    found: defaultdict[tuple[int, int], float] = defaultdict(float)
    for round_ in schedule.rounds:
        for move in schedule.moves(round_):
            found[move.src, move.dst] += len(move.blocks) * stated / schedule.blocks
    return dict(found)


@pytest.mark.parametrize(("nodes", "local"), SHAPES)
@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "reduce_scatter"])
def test_rings_charge_what_their_messages_carry(nodes: int, local: int, kind: str) -> None:
    name = "ring" if nodes == 1 or local == 1 else f"rail_rings{local}"
    schedule = find(name).schedule(Kind(kind), nodes * local)
    assert charged("Ring", kind, nodes, local) == pytest.approx(sent(schedule))
    messages = sum(one.messages for one in charges("Ring", kind, nodes * local, local))
    if nodes == 1:
        assert messages * local == sum(
            len(list(schedule.moves(round_))) for round_ in schedule.rounds
        )


@pytest.mark.parametrize(("nodes", "local"), SHAPES)
def test_sends_charge_what_a_direct_exchange_carries(nodes: int, local: int) -> None:
    schedule = find("direct").schedule(Kind.ALL_TO_ALL, nodes * local)
    assert charged("Sends", "all_to_all", nodes, local) == pytest.approx(sent(schedule))
    half = charged("Sends", "all_to_all", nodes, local, once=0.5)
    for (src, dst), share in charged("Sends", "all_to_all", nodes, local).items():
        is_near = src // local == dst // local
        assert half[src, dst] == pytest.approx(share if is_near else share / 2)


@pytest.mark.parametrize(("nodes", "local"), [(2, 2), (3, 4), (4, 1), (7, 3)])
def test_trees_charge_what_chains_and_trees_carry(nodes: int, local: int) -> None:
    shares = Shares(local, 2)
    found: defaultdict[tuple[Any, Any], float] = defaultdict(float)
    rounds = []
    for node in range(nodes):
        of = Node(tuple(range(node * local, (node + 1) * local)), ())
        rounds += [*summed_up("chain", of, shares), *spread("chain", of, shares)]
    for place in range(local):
        rounds += over_trees(range(place, nodes * local, local), shares.of(place))
    for legs in rounds:
        for leg in legs:
            found[leg.src, leg.dst] += len(leg.blocks) / (2 * local)
    assert charged("Tree", "all_reduce", nodes, local) == pytest.approx(dict(found))


def test_switches_carry_all_once_and_each_share_again() -> None:
    assert charged("NVLS", "all_reduce", 1, 8) == pytest.approx(
        {(at, (at + 1) % 8): 1 + 1 / 8 for at in range(8)}
    )


def test_what_an_algorithm_does_not_run_is_not_charged() -> None:
    assert not knows("NVLS", "all_gather")
    assert not knows("PAT", "all_gather")
    assert not knows("Ring", "all_to_all")


def rings_of(scenario: Scenario) -> Scenario:
    chosen = scenario.collectives.replace(
        selection=None, **dict.fromkeys(("all_reduce", "all_gather", "reduce_scatter"), ("ring",))
    )
    return scenario.replace(collectives=chosen)


def by_ends(result: Result) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    return {row[:3]: row[3:] for row in map(tuple, result.links.rows())}


PLANS = [Plan(tp=8, global_batch=4), Plan(tp=4, dp=2, global_batch=4), Plan(dp=8, zero=3)]


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("network", ["analytical", "flow"])
def test_links_carry_as_much_as_with_messages(plan: Plan, network: str) -> None:
    parts = parts_at("dgx-a100-80gb", 8, speeds="measured") | {"network": network}
    workload = Templates(workload=train("llama3-8b", plan))
    scenario = Scenario(workload=workload, **parts)
    timed, sent = simulate(scenario), simulate(rings_of(scenario))
    for a, b in zip(timed.dimension_uses, sent.dimension_uses, strict=True):
        assert a.bytes == pytest.approx(b.bytes, rel=1e-6)
        assert a.messages == b.messages
        assert a.busy > 0
    carried, charged = by_ends(sent), by_ends(timed)
    assert carried.keys() == charged.keys()
    for ends, (size, messages, busy_ns, busy) in charged.items():
        assert size == pytest.approx(carried[ends][0], rel=1e-6)
        assert messages == carried[ends][1]
        assert busy_ns == pytest.approx(carried[ends][2], rel=1e-3)
        assert 0 < busy <= 1


@pytest.mark.parametrize("network", ["analytical", "flow", "ideal"])
@pytest.mark.parametrize(
    "plan", [Plan(tp=8, dp=4, global_batch=8), Plan(tp=4, pp=2, dp=4, global_batch=8)]
)
def test_a_folded_run_charges_what_a_whole_one_does(plan: Plan, network: str) -> None:
    parts = parts_at("hgx-h100", 32, speeds="measured") | {"network": network}
    scenario = Scenario(workload=Templates(workload=train("llama3-8b", plan)), **parts)
    folded = simulate(scenario.replace(fold="require"))
    whole = simulate(scenario.replace(fold="off"))
    assert folded.dimension_uses == whole.dimension_uses
    assert by_ends(folded) == by_ends(whole)
    assert all(use.bytes > 0 for use in whole.dimension_uses)


@pytest.mark.parametrize("network", ["analytical", "flow"])
def test_use_over_time_adds_up(network: str) -> None:
    parts = parts_at("hgx-h100", 16, speeds="measured") | {"network": network}
    workload = Templates(workload=train("llama3-8b", Plan(tp=4, pp=2, dp=2, global_batch=4)))
    result = simulate(Scenario(workload=workload, **parts), record=True)
    used = result.recording.utilisation(bins=20)
    for use in result.dimension_uses:
        rows = used["dimension"] == use.dimension
        assert sum(used["bytes"][rows]) == use.bytes
        assert sum(1 for size in used["bytes"][rows] if size) > 3  # not all at once
    links = result.recording.link_utilisation(bins=20)
    by_link = [sum(links["bytes"][at : at + 20]) for at in range(0, len(links), 20)]
    assert by_link == list(result.links["bytes"])


@pytest.mark.parametrize("network", ["flow", "store_and_forward"])
def test_busy_links_say_whose_bytes_they_carry(network: str) -> None:
    parts = parts_at("hgx-h100", 16, speeds="measured") | {"network": network}
    workload = Templates(workload=train("llama3-8b", Plan(tp=4, pp=2, dp=2, global_batch=4)))
    result = simulate(Scenario(workload=workload, fold="off", **parts), record=True)
    flows, rates = result.recording.link_flows, result.recording.link_rates
    for row, size in enumerate(result.links["bytes"]):
        assert sum(flows["bytes"][flows["link"] == row]) == size
        own = rates["link"] == row
        lasted = rates["to_ns"][own] - rates["from_ns"][own]
        assert sum(lasted * rates["bytes_per_ns"][own]) == pytest.approx(size, rel=1e-6)
        assert all(a <= b for a, b in pairwise(rates["from_ns"][own]))
    ids = [set(result.model.graphs.of(rank).id) for rank in range(16)]
    for sender, node in zip(flows["sender"], flows["node"], strict=True):
        assert node in ids[int(sender)]
    hot = hot_links(result, 3)
    assert [link.flows > 0 and link.bytes > 0 for link in hot] == [True] * 3


class Fast(Selection):
    """A ring that takes a tenth of the time that links of 370.8 GB/s need, and 20 us."""

    def choices(self, kind: str, group: Group) -> list[Choice]:
        points = tuple((1 << at, (1 << at) / 3708 + 2e4) for at in range(10, 34))
        return [Choice(0, Timed(points, "a test", runs=((0, "Ring Simple"),)))]


def test_a_time_below_what_links_carry_is_told_and_kept() -> None:
    parts = parts_at("hgx-h100", 8, speeds="measured")
    workload = Templates(workload=train("llama3-8b", Plan(dp=8, zero=1)))
    usual = compile(Scenario(workload=workload, **parts))
    assert not [text for text in usual.warnings if "measured time" in text]
    parts["collectives"] = parts["collectives"].replace(selection=Fast)
    [told] = [
        text
        for text in compile(Scenario(workload=workload, **parts)).warnings
        if "reduce_scatter" in text
    ]
    assert "links in its node carry 8.68 times what they can (from a test)" in told
