"""Some tiers by formula, the rest by max-min shares: 100 GB/s and 0.1 us in a box of four, 10 GB/s
and 1 us to the leaf of each rail.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import identities
from yantra.base import trust
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.chakra import TraceBuilder
from yantra.compile import compile
from yantra.result import Result
from yantra.run.simulate import run, simulate
from yantra.scenario import load, to_yaml

MB = 1_000_000
RAILS = (
    "{kind: rail_optimised, boxes: 2, ranks_per_box: 4, box_bandwidth: 100 GB/s,"
    " box_latency: 100 ns, bandwidth: 10 GB/s, latency: 1 us}"
)


def _write(folder: Path, tiers: str, posts: list[tuple[int, int, int]], more: str = "") -> Path:
    traces = [TraceBuilder(rank=rank) for rank in range(8)]
    for tag, (source, destination, size) in enumerate(posts):
        traces[source].send(destination, size, tag=tag, name=f"send {tag}")
        traces[destination].recv(source, size, tag=tag, name=f"receive {tag}")
    for rank, trace in enumerate(traces):
        if not posts:
            trace.collective("all_reduce", 8 * MB)
        trace.build().write(str(folder / f"job.{rank}.et"))
    file = folder / "job.yaml"
    file.write_text(
        f'workload: {{traces: "job.{{rank}}.et"}}\nnetwork: flow\ntier_networks: {tiers}\n'
        "resources: {communication: per_communicator}\n"
        "collectives: {all_reduce: [ring, ring], endpoint_delay: 0 ns}\ncluster:\n"
        "  topology:\n  - {kind: switch, size: 4, bandwidth: 100 GB/s, latency: 100 ns}\n"
        "  - {kind: switch, size: 2, bandwidth: 10 GB/s, latency: 1 us}\n"
        f"  fabric: {RAILS}\n{more}"
    )
    return file


def _ends(result: Result) -> list[float]:
    rows = result.nodes.as_dict()
    ends = dict(zip(rows["name"], rows["end_ns"], strict=True))
    return [ends[name] for name in sorted(ends) if name.startswith("receive")]


IN_A_BOX = [(0, 3, 4 * MB), (1, 3, 4 * MB), (2, 3, 4 * MB)]


def test_messages_in_a_tier_by_formula_take_what_each_takes_alone(tmp_path: Path) -> None:
    shared = simulate(load(_write(tmp_path, "{}", IN_A_BOX)))
    assert _ends(shared) == [120_200] * 3
    alone = simulate(load(_write(tmp_path, "{box: analytical}", IN_A_BOX)))
    assert _ends(alone) == [40_200] * 3
    assert [use.bytes for use in alone.dimension_uses] == [
        use.bytes for use in shared.dimension_uses
    ]
    identities.hold(run(alone.model, record=True))


def test_with_all_tiers_by_formula_each_message_takes_what_it_does_alone(tmp_path: Path) -> None:
    tiers = "{box: analytical, rank: analytical}"
    posts = [(0, 4, MB), (1, 4, MB), (2, 4, 2 * MB)]
    alone = [_ends(simulate(load(_write(tmp_path, tiers, [post]))))[0] for post in posts]
    assert sorted(_ends(simulate(load(_write(tmp_path, tiers, posts))))) == sorted(alone)


def test_other_tiers_are_shared_as_on_flow(tmp_path: Path) -> None:
    """Two messages of one rank to its rail: 5 GB/s each, whatever the box does."""
    posts = [(0, 4, MB), (4, 0, MB), *[(1, 5, MB), (5, 1, MB)]]
    twice = [(0, 4, MB), (0, 4, MB)]
    for tiers in ("{}", "{box: analytical}"):
        assert _ends(simulate(load(_write(tmp_path, tiers, posts)))) == [102_000] * 4
        ends = _ends(simulate(load(_write(tmp_path, tiers, twice))))
        assert ends == sorted(ends)
        assert ends[-1] == pytest.approx(202_000, abs=2_001)


@pytest.mark.parametrize(
    "tiers", ["{box: analytical}", "{rank: analytical}", "{box up: analytical}"]
)
@pytest.mark.parametrize("size", [1, 1000, 8 * MB])
def test_where_nothing_contends_a_tier_by_formula_equals_flow(
    tmp_path: Path, tiers: str, size: int
) -> None:
    for posts in ([(0, 3, size)], [(2, 6, size)], []):
        flow = simulate(load(_write(tmp_path, "{}", posts)))
        tiered = simulate(load(_write(tmp_path, tiers, posts)))
        assert tiered.makespan_ns == flow.makespan_ns
        assert tiered.outcome.messages == flow.outcome.messages


def test_a_tier_by_formula_costs_fewer_events(tmp_path: Path) -> None:
    posts = [(a, b, MB + a) for a in range(4) for b in range(4) if a != b]
    more = "  routing: shortest\n"
    flow = simulate(load(_write(tmp_path, "{}", posts, more)))
    tiered = simulate(load(_write(tmp_path, "{box: analytical}", posts, more)))
    assert tiered.events < flow.events


def test_without_a_fabric_tiers_are_dimensions(tmp_path: Path) -> None:
    file = _write(tmp_path, "{0: analytical}", IN_A_BOX)
    file.write_text(file.read_text().replace(f"  fabric: {RAILS}\n", ""))
    for network in ("flow", "store_and_forward", "packet"):
        file.write_text(file.read_text().replace("network: flow", f"network: {network}"))
        assert _ends(simulate(load(file))) == [40_200] * 3
    file.write_text(file.read_text().replace("{0: ", "{2: "))
    with pytest.raises(
        ConfigError, match=r"tier_networks\.2: expected the number of a dimension, from 0"
    ):
        compile(load(file))


def test_a_result_says_which_tiers_went_by_formula(tmp_path: Path) -> None:
    scenario = load(_write(tmp_path, "{box: analytical}", IN_A_BOX))
    result = simulate(scenario)
    assert "flow, box analytical network over rail_optimised" in result.summary()
    again = tmp_path / "again.yaml"
    again.write_text(to_yaml(scenario, tmp_path))
    assert load(again).tier_networks == scenario.tier_networks


@pytest.mark.parametrize(
    ("tiers", "problem"),
    [
        ("{bax: analytical}", "no links of the fabric are called so; did you mean 'box'"),
        ("{box: flaw}", r"tier_networks\.box: expected one of analytical"),
        ("[box]", "expected tiers with their network"),
    ],
)
def test_tiers_that_are_not_there_are_refused(tmp_path: Path, tiers: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        compile(load(_write(tmp_path, tiers, IN_A_BOX)))


@pytest.mark.parametrize("network", ["flow", "packet", "store_and_forward", "ideal"])
def test_a_network_that_cannot_be_that_of_a_tier_is_told_what_can(
    tmp_path: Path, network: str
) -> None:
    with pytest.raises(UnsupportedError, match=r"tier_networks\.box: .* a tier may be analytical"):
        load(_write(tmp_path, f"{{box: {network}}}", IN_A_BOX))


def test_tiers_are_refused_where_the_formula_would_not_hold(tmp_path: Path) -> None:
    failing = "  failures: [{switch: box switch 0, at: 1 us, for: 1 us}]\n"
    with pytest.raises(
        ConfigError, match=r"tier_networks\.box: its link from .* fails, which no formula"
    ):
        compile(load(_write(tmp_path, "{box: analytical}", IN_A_BOX, failing)))
    trust.allow_program(("sh",))
    for network, why in {
        "ideal": "ideal is a formula in all tiers as it is",
        "analytical": "analytical is a formula in all tiers as it is",
        "{kind: external, options: {command: [sh]}}": "external carries all messages itself",
        "noc": "noc moves all messages in flits",
    }.items():
        file = _write(tmp_path, "{0: analytical}", IN_A_BOX)
        text = file.read_text().replace("network: flow", f"network: {network}")
        file.write_text(text.replace(f"  fabric: {RAILS}\n", ""))
        able = "set network to one of flow, packet, store_and_forward"
        with pytest.raises(UnsupportedError, match=f"tier_networks: the network {why}.*; {able}"):
            compile(load(file))
    file = _write(tmp_path, "{box: analytical}", IN_A_BOX)
    fork = "network: {kind: packet, options: {semantics: ns3_fork}}"
    file.write_text(file.read_text().replace("network: flow", fork))
    with pytest.raises(UnsupportedError, match="ns3_fork is what that simulator does"):
        simulate(load(file))
    file = _write(tmp_path, "{rank up: analytical}", [(0, 4, MB)])
    file.write_text(
        file.read_text().replace(
            RAILS,
            "{kind: leaf_spine, leaves: 2, ranks_per_leaf: 4, spines: 1,"
            " bandwidth: 10 GB/s, latency: 1 us, uplink_bandwidth: 40 GB/s}",
        )
    )
    assert _ends(simulate(load(file))) == [104_000]
    text = file.read_text().replace("rank up: analytical", "rank: analytical")
    for network in ("flow", "packet"):
        file.write_text(text.replace("network: flow", f"network: {network}"))
        with pytest.raises(
            UnsupportedError, match="tier_networks: a message crosses a link by formula"
        ):
            simulate(load(file))
