"""Laws of all networks, held against each other: a message alone, bytes, agreement, threads (each
network's own claims: `yantra.kinds.network_laws`).
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from tests import identities
from tests.programs import REFERENCE_WORDS
from yantra.base.fields import Plugin, PluginChoice
from yantra.chakra import TraceBuilder
from yantra.compile.fabric import graph_of_scenario, links_between
from yantra.kinds import network_laws as laws
from yantra.kinds.network_laws import Case, Where
from yantra.network import find, names
from yantra.result import Result
from yantra.run.simulate import run, simulate
from yantra.scenario import Scenario, load

Links = list[tuple[float, float]]
"""Rate (bytes/ns) and latency (ns) of each link of a way."""

PAYLOAD, HEADERS = 1000, 36
FLIT, PACKET_FLITS, STAGES, AROUND = 16, 4, 5, 2


def _bytes_alone(links: Links, size: int) -> float:
    return size / min(rate for rate, _ in links)


def _latency(links: Links) -> float:
    return sum(latency for _, latency in links)


def _shared(links: Links, size: int) -> float:
    return _latency(links) + _bytes_alone(links, size)


def _stored(links: Links, size: int) -> float:
    return sum(latency + size / rate for rate, latency in links)


def _packets(links: Links, size: int) -> float:
    sizes = [PAYLOAD + HEADERS] * (size // PAYLOAD)
    sizes += [size % PAYLOAD + HEADERS] if size % PAYLOAD else []
    free = [0.0] * len(links)
    at = 0.0
    for packet in sizes:
        at = 0.0
        for link, (rate, latency) in enumerate(links):
            free[link] = max(free[link], at) + packet / rate
            at = free[link] + latency
    return at


def _flits(links: Links, size: int) -> float:
    cycle = FLIT / links[0][0]
    channels = sum(ceil(latency / cycle) - 1 for _, latency in links)
    return (STAGES * (len(links) + 1) + AROUND + ceil(size / FLIT) - 1 + channels) * cycle


class Rung(NamedTuple):
    """A network, the exact time of a message alone, and how far that may be from `flow`'s.

    `grain(way, bytes)` is the most that the rung adds to latency and bytes.
    """

    choice: PluginChoice
    alone: Callable[[Links, int], float]
    grain: Callable[[Links, int], float]


def _no_grain(links: Links, size: int) -> float:
    return 0.0


def _without_latency(links: Links, size: int) -> float:
    return -_latency(links)


def _a_message_a_link(links: Links, size: int) -> float:
    return sum(size / rate for rate, _ in links) - _bytes_alone(links, size)


def _headers_and_a_packet_a_link(links: Links, size: int) -> float:
    packets = ceil(size / PAYLOAD)
    narrowest = min(rate for rate, _ in links)
    whole = min(size, PAYLOAD) + HEADERS
    return HEADERS * packets / narrowest + sum(whole / rate for rate, _ in links)


def _stages_and_a_flit(links: Links, size: int) -> float:
    return (STAGES * (len(links) + 1) + AROUND + len(links)) * FLIT / links[0][0]


PACKETS = Plugin(kind="packet", options=(("window", "unlimited"),))
PROGRAM = Plugin(kind="external", options=(("command", REFERENCE_WORDS),))
RUNGS = {
    "ideal": Rung("ideal", _bytes_alone, _without_latency),
    "analytical": Rung("analytical", _shared, _no_grain),
    "store_and_forward": Rung("store_and_forward", _stored, _a_message_a_link),
    "flow": Rung("flow", _shared, _no_grain),
    "packet": Rung(PACKETS, _packets, _headers_and_a_packet_a_link),
    "noc": Rung(
        Plugin(kind="noc", options=(("flit", FLIT), ("packet_flits", PACKET_FLITS))),
        _flits,
        _stages_and_a_flit,
    ),
    "external": Rung(PROGRAM, _stored, _a_message_a_link),
}
CASES = [
    pytest.param(rung, where, id=f"{name} on {Case(rung.choice, where)}")
    for name, rung in RUNGS.items()
    for where in laws.places_of(rung.choice)
]
ROUNDING_NS = 0.001  # per link: times are whole picoseconds


def test_every_network_of_the_core_is_a_rung() -> None:
    of_the_core = {name for name in names() if find(name).model is None}
    assert {*of_the_core, "external"} == set(RUNGS)


def _slack(case: Case, post: laws.Post, alone: float) -> float:
    packets = ceil(post[2] / PAYLOAD) if case.level.has("has_headers") else 1
    return 1e-12 * alone + ROUNDING_NS * packets * len(case.links(*post[:2]))


@pytest.mark.parametrize(("rung", "where"), CASES)
def test_a_message_alone_equals_the_formula_of_its_rung(rung: Rung, where: Where) -> None:
    case = Case(rung.choice, where)
    for destination in range(1, case.topology.ranks):
        for size in (1, 999, 1000, 1001, 65_537):
            post = (0, destination, size)
            took = case.arrivals([post])[0]
            alone = [rung.alone(links, size) for links in _ways(case, destination)]
            slack = _slack(case, post, alone[0])
            assert any(took == pytest.approx(one, rel=0, abs=slack) for one in alone), post


def _ways(case: Case, destination: int) -> list[Links]:
    """Return the links to a rank in every order in which a message may cross them."""
    links = case.links(0, destination)
    goes_back = case.level.has("needs_fabric") and case.graph is None
    return [links, links[::-1]] if goes_back else [links]


@pytest.mark.parametrize(("rung", "where"), CASES)
def test_bytes_are_conserved_whoever_meets_whom(rung: Rung, where: Where) -> None:
    case = Case(rung.choice, where)
    assert laws.bytes_are_conserved(case) is None
    assert laws.every_message_arrives(case) is None


@pytest.mark.parametrize(("rung", "where"), CASES)
@pytest.mark.parametrize("seed", range(3))
def test_without_contention_rungs_agree_within_their_grain(
    rung: Rung, where: Where, seed: int
) -> None:
    case = Case(rung.choice, where)
    posts = _apart(case, Random(seed))
    assert posts
    for post, took in zip(posts, case.arrivals(posts), strict=True):
        links = case.links(*post[:2])
        shared, grain = _shared(links, post[2]), rung.grain(links, post[2])
        slack = _slack(case, post, shared)
        assert min(grain, 0) - slack <= took - shared <= max(grain, 0) + slack, post


def _apart(case: Case, random: Random) -> list[laws.Post]:
    ranks = list(range(case.topology.ranks))
    random.shuffle(ranks)
    taken: set[Any] = set()
    posts = []
    for source, destination in zip(ranks[::2], ranks[1::2], strict=False):
        used = set(_links_of(case, source, destination))
        if not used & taken:
            taken |= used
            posts.append((source, destination, random.randrange(1, 100_000)))
    return posts


def _links_of(case: Case, source: int, destination: int) -> list[Any]:
    if case.graph is not None:
        return list(links_between(case.graph, laws.ROUTING, source, destination))
    named, stride = [], 1
    for at, of in enumerate(case.topology.dimensions):
        if source // stride % of.size != destination // stride % of.size:
            row = source // (stride * of.size), source % stride
            named.append((at, row))
            named.append((at, (destination // (stride * of.size), destination % stride)))
        stride *= of.size
    return named


@pytest.mark.parametrize(("rung", "where"), CASES)
def test_runs_on_any_number_of_threads_have_the_same_bits(rung: Rung, where: Where) -> None:
    assert laws.runs_on_any_number_of_threads_are_the_same(Case(rung.choice, where)) is None


# A tier by formula: two boxes of four ranks, 100 GB/s and 0.1 us in a box, 10 GB/s and 1 us to the
# leaf of each rail, and as much from there to a spine.
TIERED = {
    "flow": "flow",
    "store_and_forward": "store_and_forward",
    "packet": "{kind: packet, options: {window: unlimited}}",
}
BOX = ("box up", "box down")


def _tiered(folder: Path, network: str, tiers: str, posts: list[laws.Post]) -> Scenario:
    traces = [TraceBuilder(rank=rank) for rank in range(8)]
    for tag, (source, destination, size) in enumerate(posts):
        traces[source].send(destination, size, tag=tag)
        traces[destination].recv(source, size, tag=tag, name=f"receive {tag}")
    for rank, trace in enumerate(traces):
        trace.build().write(str(folder / f"job.{rank}.et"))
    file = folder / "job.yaml"
    file.write_text(
        f'workload: {{traces: "job.{{rank}}.et"}}\nnetwork: {TIERED[network]}\n'
        f"tier_networks: {tiers}\ncollectives: {{endpoint_delay: 0 ns}}\ncluster:\n"
        "  topology: [{kind: switch, size: 8, bandwidth: 10 GB/s, latency: 1 us}]\n"
        "  routing: shortest\n"
        "  fabric: {kind: rail_optimised, boxes: 2, ranks_per_box: 4, box_bandwidth: 100 GB/s,"
        " box_latency: 100 ns, bandwidth: 10 GB/s, latency: 1 us, spines: 1}\n"
    )
    return load(file)


def _took(result: Result, posts: list[laws.Post]) -> list[float]:
    rows = result.nodes.as_dict()
    ends = dict(zip(rows["name"], rows["end_ns"], strict=True))
    return [ends[f"receive {tag}"] for tag in range(len(posts))]


class Crossed(NamedTuple):
    rate: float
    latency: float
    by_formula: bool


def _crossed(scenario: Scenario, source: int, destination: int) -> list[Crossed]:
    graph = graph_of_scenario(scenario)
    tiers = [name for name, _ in scenario.tier_networks]
    found = []
    for link in links_between(graph, "shortest", source, destination):
        label = graph.labels[int(graph.links.label[link])]
        rate, latency = graph.links.bytes_per_ns[link], graph.links.latency_ns[link]
        by_formula = any(label == tier or label.startswith(f"{tier} ") for tier in tiers)
        found.append(Crossed(float(rate), float(latency), by_formula))
    return found


def _mixed(network: str, way: list[Crossed], size: int) -> float:
    links: Links = [(link.rate, link.latency) for link in way]
    others: Links = [(link.rate, link.latency) for link in way if not link.by_formula]
    if network == "flow" or not others:
        return _shared(links, size)
    if network == "packet":
        return sum(link.latency for link in way if link.by_formula) + _packets(others, size)
    total = 0.0
    stretch: Links = []
    for link in [*way, None]:
        if link is not None and link.by_formula:
            stretch.append((link.rate, link.latency))
            continue
        total += _shared(stretch, size) if stretch else 0.0
        stretch = []
        total += _stored([(link.rate, link.latency)], size) if link is not None else 0.0
    return total


def _unmixed_grain(network: str, way: list[Crossed], size: int) -> float:
    of_tier: Links = [(link.rate, link.latency) for link in way if link.by_formula]
    if network == "flow" or not of_tier:
        return 0.0
    if network == "store_and_forward":
        return sum(size / rate for rate, _ in of_tier)
    return _headers_and_a_packet_a_link(of_tier, size)


@pytest.mark.parametrize("network", TIERED)
@pytest.mark.parametrize(
    "tiers", ["{box: analytical}", "{leaf: analytical}", "{box up: analytical}"]
)
def test_a_message_alone_takes_its_rung_and_the_formula_of_the_tiers_by_formula(
    tmp_path: Path, network: str, tiers: str
) -> None:
    for destination in range(1, 8):
        for size in (1, 1000, 65_537):
            posts = [(0, destination, size)]
            scenario = _tiered(tmp_path, network, tiers, posts)
            way = _crossed(scenario, 0, destination)
            result = simulate(scenario)
            took = _took(result, posts)[0]
            slack = ROUNDING_NS * (1 + ceil(size / PAYLOAD) * len(way))
            assert took == pytest.approx(_mixed(network, way, size), rel=0, abs=slack), posts
            whole = simulate(_tiered(tmp_path, network, "{}", posts))
            grain = _unmixed_grain(network, way, size)
            assert -slack <= _took(whole, posts)[0] - took <= grain + slack, posts
            carried = [use.bytes for use in result.dimension_uses]
            assert carried == [use.bytes for use in whole.dimension_uses]
            assert sum(carried) == size * len(way)


@pytest.mark.parametrize("network", TIERED)
def test_without_contention_messages_at_once_take_what_each_takes_alone(
    tmp_path: Path, network: str
) -> None:
    posts = [(0, 1, 40_000), (2, 3, 1_000), (4, 6, 90_001), (5, 1, 64_000), (7, 3, 5)]
    scenario = _tiered(tmp_path, network, "{box: analytical}", posts)
    result = simulate(scenario)
    slack = ROUNDING_NS * 400
    for post, took in zip(posts, _took(result, posts), strict=True):
        alone = _mixed(network, _crossed(scenario, *post[:2]), post[2])
        assert took == pytest.approx(alone, rel=0, abs=slack), post
    identities.hold(run(result.model, record=True))


@pytest.mark.parametrize("network", TIERED)
def test_messages_meet_in_the_tiers_of_the_rung_alone(tmp_path: Path, network: str) -> None:
    """Three messages to one rank in a box each take the time of one alone; on a rail they share."""
    size = 400_000
    inside = [(source, 3, size) for source in range(3)]
    scenario = _tiered(tmp_path, network, "{box: analytical}", inside)
    result = simulate(scenario)
    assert _took(result, inside) == [_mixed(network, _crossed(scenario, 0, 3), size)] * 3
    identities.hold(run(result.model, record=True))
    across = [(0, 4, size)] * 3
    result = simulate(_tiered(tmp_path, network, "{box: analytical}", across))
    assert max(_took(result, across)) >= 3 * size / 10
    whole = simulate(_tiered(tmp_path, network, "{}", across))
    assert _took(result, across) == _took(whole, across)


@pytest.mark.parametrize("network", TIERED)
@pytest.mark.parametrize("seed", range(3))
def test_with_a_tier_by_formula_bytes_are_conserved_whoever_meets_whom(
    tmp_path: Path, network: str, seed: int
) -> None:
    random = Random(seed)
    posts = []
    for _ in range(20):
        source, destination = random.sample(range(8), 2)
        posts.append((source, destination, random.randrange(1, 60_000)))
    scenario = _tiered(tmp_path, network, "{box: analytical}", posts)
    result = simulate(scenario)
    carried = sum(use.bytes for use in result.dimension_uses)
    assert carried == sum(size * len(_crossed(scenario, *ends)) for *ends, size in posts)
    for post, took in zip(posts, _took(result, posts), strict=True):
        alone = _mixed(network, _crossed(scenario, *post[:2]), post[2])
        assert took >= alone - ROUNDING_NS * 400
