"""`adaptive` on `packet`: each packet takes the least loaded port of the cheapest ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.test_failures import _write as failing
from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.fabric.graphs.describe import shown
from yantra.network.traffic.generator import Flows
from yantra.run.flows import Choice, Simulation
from yantra.run.packets import PacketChoice
from yantra.run.simulate import simulate
from yantra.scenario import load

# No loss and no control, so that routing alone decides.
LOSSLESS = PacketChoice("none", (("recovery", 1.0), ("reordering", 0.0)))
PER_LEAF = 4


def fabric(spines: int, leaves: int = 4) -> Any:
    options = {"leaves": leaves, "ranks_per_leaf": PER_LEAF, "spines": spines}
    return shown("leaf_spine", options | {"bandwidth": "100Gb/s", "latency": "1us"})


def permuted(seed: int, hosts: int, size: int) -> Flows:
    order = np.random.default_rng(seed).permutation(hosts)
    others = np.roll(order, -1)
    return Flows(order, others, np.full(hosts, size), np.zeros(hosts, np.int64))


def run(of: Flows, routing: str, place: Any, packets: PacketChoice = LOSSLESS) -> Any:
    choice = Choice(routing=routing, network="packet", packets=packets)
    simulation = Simulation(place.graph, of, choice, fabric=place)
    for _ in simulation.ended():
        pass
    simulation.check_all_end()
    return simulation


def mean(simulation: Any, of: Flows) -> float:
    return float(np.mean(simulation.result.end_ns - of.start_ns))


@pytest.mark.parametrize("seed", range(4))
def test_what_is_sent_arrives_once_and_no_permutation_is_slower_in_the_mean(seed: int) -> None:
    place, of = fabric(4), permuted(seed, 16, 300_000)
    found = {name: run(of, name, place) for name in ("ecmp", "spray", "adaptive")}
    for one in found.values():
        totals, graph = one.run.totals, place.graph
        assert totals.drops == totals.timeouts == 0
        sent = np.asarray(one.run.ports().bytes)
        to_hosts = sent[graph.links.end < graph.ranks].sum()
        from_hosts = sent[graph.links.start < graph.ranks].sum()
        packets = -(-of.bytes // 1000).sum()
        assert to_hosts == from_hosts == of.bytes.sum() + packets * (36 + 48)
    assert mean(found["adaptive"], of) <= 1.001 * mean(found["ecmp"], of)


def test_a_leaf_without_oversubscription_never_waits_for_its_spines() -> None:
    place = fabric(PER_LEAF, leaves=2)
    of = Flows(np.arange(4), np.arange(4, 8), np.full(4, 400_000), np.zeros(4, np.int64))
    found = run(of, "adaptive", place)
    # The first packet is behind at most three others of its tick, twice.
    assert found.result.slowdown.max() < 1.02
    assert run(of, "ecmp", place).result.slowdown.max() > 1.9
    sent = np.asarray(found.run.ports().bytes)
    up = sent[(place.graph.links.start == 8) & (place.graph.links.end >= 10)]
    assert len(up) == PER_LEAF
    assert up.min() > 0.95 * up.max()


@pytest.mark.parametrize("routing", ["spray", "ecmp"])
def test_where_no_port_differs_all_routings_are_one_to_the_picosecond(routing: str) -> None:
    alone = Flows(*(np.array([one]) for one in (0, 5, 123_456, 0)))
    for of, place in ((alone, fabric(3)), (permuted(1, 16, 50_000), fabric(1))):
        one, other = run(of, routing, place), run(of, "adaptive", place)
        assert one.result.end_ns.tolist() == other.result.end_ns.tolist()


def test_slower_links_get_less_by_their_rate(tmp_path: Path) -> None:
    rows = ["from,to,bandwidth,latency"]
    rows += [f"{rank},leaf{rank // 4},100Gb/s,1us" for rank in range(8)]
    for leaf in (0, 1):
        rows += [f"leaf{leaf},fast{at},100Gb/s,1us" for at in range(3)]
        rows += [f"leaf{leaf},slow,50Gb/s,1us"]
    path = tmp_path / "pod.csv"
    path.write_text("\n".join(rows) + "\n")
    place = shown(str(path), {})
    of = Flows(np.arange(4), np.arange(4, 8), np.full(4, 1_000_000), np.zeros(4, np.int64))
    found = run(of, "adaptive", place)
    # Four hosts over links of 3.5: 4 / 3.5 of the time alone, where an even share takes 2.
    assert found.result.slowdown.max() == pytest.approx(4 / 3.5, rel=0.03)
    assert run(of, "spray", place).result.slowdown.max() > 1.8


def test_it_is_the_same_again_and_for_any_number_of_threads() -> None:
    place, of = fabric(2), permuted(3, 16, 100_000)
    once = run(of, "adaptive", place)
    again = run(of, "adaptive", place, LOSSLESS._replace(threads=4))
    assert once.result.end_ns.tolist() == again.result.end_ns.tolist()
    assert again.run.threads == 1
    assert "overtake" in again.run.why_threads


@pytest.mark.parametrize(("routing", "knows"), [("adaptive", True), ("spray", False)])
def test_a_port_that_is_down_is_left_out_before_anyone_else_knows(
    tmp_path: Path, routing: str, knows: bool
) -> None:
    ends = []
    for delay in ("10 us", "1 ms"):
        uec = "{kind: packet, options: {preset: uec}}"
        file = failing(tmp_path, "[{link: [leaf 0, spine 1], at: 50 us}]", network=uec)
        text = file.read_text().replace("routing: shortest", f"routing: {routing}")
        file.write_text(text.replace("reroute_delay: 10 us", f"reroute_delay: {delay}"))
        ends.append(simulate(load(file)).makespan_ns)
    assert (ends[0] == ends[1]) is knows


def test_receivers_of_one_order_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"go_back_n takes them in order alone"):
        run(permuted(0, 16, 1000), "adaptive", fabric(2), PacketChoice("dcqcn"))
    with pytest.raises(ConfigError, match=r"reads what the switches of one way say"):
        options = (("recovery", 1.0),)
        run(permuted(0, 16, 1000), "adaptive", fabric(2), PacketChoice("hpcc95", options))


def _line(folder: Path, *more: str) -> list[str]:
    flows = folder / "flows.csv"
    rows = [f"{at},{(at + 5) % 16},200000,0" for at in range(16)]
    flows.write_text("\n".join(["src,dst,bytes,start_ns", *rows]) + "\n")
    sets = ("leaves=4", "ranks_per_leaf=4", "spines=2", "bandwidth=100Gb/s", "latency=1us")
    place = [word for one in sets for word in ("--set", one)]
    return ["network", "flows", str(flows), "--topology", "leaf_spine", *place, *more]


def test_several_routings_are_a_row_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packet = ("--network", "packet", "--preset", "uec")
    names = ["ecmp", "spray", "adaptive"]
    several = _line(tmp_path, *packet, "--routing", ",".join(names))
    assert main(several) == 0
    head, _, columns, *rows = capsys.readouterr().out.splitlines()
    assert head == "16 flows under each routing"
    assert columns.split()[0] == "routing"
    assert [row.split()[0] for row in rows] == names
    assert main([*several, "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    for row in form["routings"]:
        assert main(_line(tmp_path, *packet, "--routing", row["routing"], "--json")) == 0
        alone = json.loads(capsys.readouterr().out)
        assert row["end_ns"] == alone["end_ns"]
        assert row["p99"] == alone["slowdown"][-1]["p99"]
    assert main(_line(tmp_path, "--routing", "ecmp,adaptive")) == 0  # on flow


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--routing", "ecmp,adaptve"), "did you mean 'adaptive'?"),
        (("--routing", "ecmp,"), "--routing"),
        (("--routing", "ecmp,shortest", "-o", "fct.csv"), "--output: shows one run"),
        (("--routing", "ecmp,shortest", "--hot-links", "2"), "--hot-links: shows one run"),
        (("--routing", "adaptive", "--network", "packet", "--hot-links", "2"), "parts the packets"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], said: str
) -> None:
    assert main(_line(tmp_path, *more)) == 2
    assert said in capsys.readouterr().err
