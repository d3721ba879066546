"""Folding changes no result where messages share links max-min fairly, on dimensions and
fabrics.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import ALL_GATHER, ALL_REDUCE, cluster, collectives, scenario
from tests.oracles.fabric_jobs import fabric_case
from yantra import _core
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.base.fields import Plugin
from yantra.chakra import TraceBuilder
from yantra.compile import Model, compile
from yantra.result import Result
from yantra.run import work
from yantra.run.fold import explain, find
from yantra.run.simulate import run
from yantra.scenario import Resources, Scenario

CASES, BLOCK = 1000, 250
LEAST = 100
"""The least of each block that must fold."""


def tables(result: Result) -> dict[str, Any]:
    names = ("ranks", "nodes", "collectives", "dimensions", "links")
    return {name: getattr(result, name).as_dict() for name in names} | {
        "messages": result.messages,
        "warnings": result.warnings,
    }


def is_alike(model: Model) -> bool:
    try:
        once = run(model, fold="require")
    except UnsupportedError:
        return False
    got, wanted = tables(once), tables(run(model, fold="off"))
    assert got == wanted
    return True


@pytest.mark.parametrize("first", range(0, CASES, BLOCK))
def test_a_folded_run_gives_every_rank_node_and_link_what_the_whole_run_gives(first: int) -> None:
    folded = 0
    for seed in range(first, first + BLOCK):
        try:
            model = compile(fabric_case(seed))
        except ConfigError:  # names of algorithms of the other semantics
            continue
        folded += is_alike(model)
    assert folded >= LEAST


def all_reduce(ranks: int, fabric: Plugin, routing: str, **parts: Any) -> Scenario:
    def write(trace: TraceBuilder, rank: int) -> None:
        first = trace.collective(ALL_REDUCE, 1 << 20)
        trace.collective(ALL_GATHER, 1 << 18, after=first)

    one = scenario(cluster(("switch", ranks, 50.0, 500.0)), write, **parts)
    return one.replace(network="flow", fabric=fabric, routing=routing)


def leaf_spine(leaves: int, per_leaf: int, spines: int, uplink: float) -> Plugin:
    return Plugin(
        kind="leaf_spine",
        options=(
            ("leaves", leaves),
            ("ranks_per_leaf", per_leaf),
            ("spines", spines),
            ("bytes_per_ns", 50.0),
            ("latency_ns", 500.0),
            ("uplink_bytes_per_ns", uplink),
        ),
    )


@given(
    leaves=st.integers(1, 4),
    per_leaf=st.integers(2, 6),
    spines=st.integers(1, 5),
    uplink=st.sampled_from((1.0, 12.5, 50.0)),
)
def test_a_ring_over_leaves_has_a_class_for_each_place_on_a_leaf(
    leaves: int, per_leaf: int, spines: int, uplink: float
) -> None:
    fabric = leaf_spine(leaves, per_leaf, spines, uplink)
    routings = ["even_spray"]
    if per_leaf % spines == 0:  # numbers, too, spread every leaf's ranks the same way
        routings.append("d_mod_k")
    for routing in routings:
        model = compile(all_reduce(leaves * per_leaf, fabric, routing))
        wanted = [leaves] * per_leaf if leaves > 1 else [per_leaf]
        assert list(find(model, 1).count) == wanted
        assert is_alike(model)


def test_ways_drawn_by_a_hash_are_named_as_what_stands_in_the_way() -> None:
    model = compile(all_reduce(16, leaf_spine(4, 4, 4, 25.0), "ecmp"))
    (told, *_) = explain(model, find(model))
    assert told.startswith("not folded: there are fewer than 2 ranks to a class; the routing ecmp")
    assert "even_spray" in told


def test_a_long_run_of_all_ranks_says_before_why_it_is_not_folded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    model = compile(all_reduce(16, leaf_spine(4, 4, 4, 25.0), "ecmp"))
    run(model, tell=told.append)
    assert told == []
    monkeypatch.setattr(work, "_MANY_MESSAGES", 100)
    run(model, fold="off", tell=told.append)
    assert told == []
    run(model, tell=told.append)
    (sentence,) = told
    assert sentence.startswith("not folded, so all 16 ranks are run, about ")
    assert "the routing ecmp draws ways by a hash" in sentence


@pytest.mark.parametrize(
    ("routing", "reason"),
    [("spray", "draws ways by a hash"), ("adaptive", "looks at the load of links")],
)
def test_routings_by_packet_and_by_load_are_not_folded(routing: str, reason: str) -> None:
    model = compile(all_reduce(16, leaf_spine(4, 4, 4, 25.0), routing))
    assert reason in find(model).refusal


def test_a_recorded_folded_run_uses_every_link_as_the_whole_run_does() -> None:
    model = compile(all_reduce(8, leaf_spine(2, 4, 3, 12.5), "even_spray"))
    once, whole = (run(model, fold=how, record=True) for how in ("require", "off"))
    assert once.outcome.folded
    assert not whole.outcome.folded
    for name in ("utilisation", "link_utilisation"):
        got, wanted = (
            getattr(result.recording, name)(bins=20).as_dict() for result in (once, whole)
        )
        assert got.keys() == wanted.keys()
        for column, values in wanted.items():
            for one, other in zip(got[column], values, strict=True):
                assert one == other or math.isclose(one, other, rel_tol=1e-9), (name, column)


IN_ORDER = Plugin(kind="flow", options=(("in_order", 1.0),))


def with_messages(micros: int, size: int, network: str | Plugin = "flow") -> Scenario:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.collective(ALL_REDUCE, 1 << 20, group=str(rank // 4 + 1))
        work = trace.compute(duration_micros=micros)
        trace.send((rank + 4) % 16, size, tag=1, after=work)
        trace.recv((rank - 4) % 16, size, tag=1)

    groups = tuple((at + 1, tuple(range(4 * at, 4 * at + 4))) for at in range(4))
    one = scenario(cluster(("switch", 16, 50.0, 500.0)), write, groups=groups)
    fabric = leaf_spine(4, 4, 2, 25.0)
    return one.replace(network=network, fabric=fabric, routing="even_spray")


def played(model: Model, *, shortcuts: bool) -> Any:
    simulation = _core.Simulation(model.native, folding=find(model), shortcuts=shortcuts)
    simulation.start()
    assert simulation.run_for(1 << 40)
    return simulation.outcome()


@pytest.mark.parametrize("size", [1, 5000, 900_000])
@pytest.mark.parametrize("micros", [*range(1, 50), 9000])
@pytest.mark.parametrize("network", ["flow", IN_ORDER])
def test_a_phase_is_one_event_until_other_messages_meet_it_on_its_links(
    network: str | Plugin, micros: int, size: int
) -> None:
    model = compile(with_messages(micros, size, network))
    short, long = (played(model, shortcuts=shortcuts) for shortcuts in (True, False))
    assert short.end.tolist() == long.end.tolist()
    assert short.messages == long.messages
    assert short.events < long.events
    assert is_alike(model)


@pytest.mark.parametrize("step", [1, 2])
def test_what_is_played_of_a_phase_that_is_met_is_what_is_left_of_it(step: int) -> None:
    events = [
        played(compile(with_messages(micros, 5000)), shortcuts=True).events
        for micros in (*range(2, 30, 4 * step), 9000)
    ]
    assert events == sorted(events, reverse=True)
    assert events[0] > events[-2] > events[-1]


STEPS = st.tuples(st.sampled_from("bam"), st.integers(0, 40), st.sampled_from((1, 4096, 300_000)))


@settings(max_examples=60)
@given(
    in_box=st.sampled_from((2, 4)),
    jobs=st.lists(st.lists(STEPS, min_size=1, max_size=5), min_size=2, max_size=3),
    latency=st.sampled_from((500.0, 333.3333, 12.25)),
    delay=st.sampled_from((0, 10)),
    network=st.sampled_from(("flow", IN_ORDER)),
)
def test_phases_that_are_met_on_a_fat_tree_tell_what_all_messages_do(
    in_box: int,
    jobs: list[list[tuple[str, int, int]]],
    latency: float,
    delay: int,
    network: str | Plugin,
) -> None:
    """Several chains of work go on at once on each of 32 ranks, so messages meet by chance."""

    def write(trace: TraceBuilder, rank: int) -> None:
        for number, steps in enumerate(jobs):
            last: Any = ()
            for at, (kind, micros, size) in enumerate(steps):
                last = trace.compute(duration_micros=micros, after=last)
                if kind == "m":
                    tag = 10 * number + at
                    trace.send((rank + in_box) % 32, size, tag=tag, after=last)
                    last = trace.recv((rank - in_box) % 32, size, tag=tag, after=last)
                else:
                    group = rank // in_box + 1 if kind == "b" else 100 + rank % in_box
                    last = trace.collective(ALL_REDUCE, size, group=str(group), after=last)

    boxes = [(at + 1, tuple(range(at * in_box, (at + 1) * in_box))) for at in range(32 // in_box)]
    across = [(100 + at, tuple(range(at, 32, in_box))) for at in range(in_box)]
    policies = collectives(chunks=2, endpoint_delay_ns=delay)
    one = scenario(
        cluster(("switch", 32, 50.0, 500.0)),
        write,
        groups=(*boxes, *across),
        collectives=policies,
    )
    options = (("k", 4), ("oversubscription", 2), ("bytes_per_ns", 8.0), ("latency_ns", latency))
    tree = Plugin(kind="fat_tree", options=options)
    is_alike(compile(one.replace(network=network, fabric=tree, routing="even_spray")))


def two_rings(gap_micros: int) -> Scenario:
    def write(trace: TraceBuilder, rank: int) -> None:
        for again, micros in enumerate((1, 1 + gap_micros)):
            work = trace.compute(duration_micros=micros)
            trace.collective(ALL_REDUCE, 1 << 20, group=str(10 * again + rank // 4 + 1), after=work)

    groups = [
        (10 * again + at + 1, tuple(range(4 * at, 4 * at + 4)))
        for again in range(2)
        for at in range(4)
    ]
    resources = Resources(compute_streams=2)
    one = scenario(
        cluster(("switch", 16, 50.0, 500.0)), write, groups=tuple(groups), resources=resources
    )
    fabric = leaf_spine(4, 4, 2, 25.0)
    return one.replace(network=IN_ORDER, fabric=fabric, routing="even_spray")


def test_messages_that_follow_each_other_are_folded() -> None:
    for micros in (1, 3, 7, 100):
        later = compile(two_rings(micros))
        assert is_alike(later)
        shared = compile(two_rings(micros).replace(network="flow"))
        in_order, sharing = (run(model).nodes.as_dict()["end_ns"] for model in (later, shared))
        assert (in_order == sharing) == (micros == 100)
    assert is_alike(compile(two_rings(0)))
