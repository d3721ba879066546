"""The blocks that are native in the core equal their tables, tick for tick."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import link_rows
from tests.clusters import scenario
from yantra.base.errors import DeadlockError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.compile import compile
from yantra.fabric.topologies import find
from yantra.run.simulate import run_native
from yantra.scenario import (
    ASTRA_SIM_RESOURCES,
    Collectives,
    Dimension,
    Resources,
    Scenario,
    Topology,
)

NATIVE = ("ring", "fully_connected", "switch")
TWINS = """
from yantra.fabric.topologies import fully_connected, ring, switch

class Ring(ring.Ring):
    native = None

class FullyConnected(fully_connected.FullyConnected):
    native = None

class Switch(switch.Switch):
    native = None
"""
ENTRY_POINTS = """[yantra.topologies]
table_ring = table_twins:Ring
table_fully_connected = table_twins:FullyConnected
table_switch = table_twins:Switch
"""


@pytest.fixture(scope="module", autouse=True)
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("twins")
    (folder / "table_twins.py").write_text(TWINS)
    info: Path = folder / "table_twins-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: table_twins\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield


dimensions = st.builds(
    Dimension,
    kind=st.sampled_from(NATIVE),
    size=st.integers(2, 5),
    bytes_per_ns=st.sampled_from([1.0, 7.3, 50.0]),
    latency_ns=st.sampled_from([0.0, 0.4, 500.0]),
)
topologies = st.lists(dimensions, min_size=1, max_size=3).map(
    lambda drawn: Topology(dimensions=tuple(drawn))
)
sizes = st.sampled_from([1, 40, 999, 4096, 100_000])
kinds = st.sampled_from(
    [
        CollectiveType.ALL_REDUCE,
        CollectiveType.ALL_GATHER,
        CollectiveType.REDUCE_SCATTER,
        CollectiveType.ALL_TO_ALL,
        CollectiveType.BROADCAST,
    ]
)


@st.composite
def traffic(draw: st.DrawFn, ranks: int, blocks: Sequence[str]) -> list[TraceBuilder]:
    """Broadcasts over nodes, and in fully connected ones, are planned by the names of blocks, so
    a twin may run them otherwise.
    """
    traces = [TraceBuilder() for _ in range(ranks)]
    by_name = len(blocks) > 1 or "fully_connected" in blocks
    alike = kinds.filter(lambda kind: kind is not CollectiveType.BROADCAST or not by_name)
    for kind, size in draw(st.lists(st.tuples(alike, sizes), max_size=2)):
        for trace in traces:
            trace.collective(kind, size)
    rank = st.integers(0, ranks - 1)
    for tag, (source, away, size) in enumerate(
        draw(st.lists(st.tuples(rank, st.integers(1, ranks - 1), sizes), max_size=12))
    ):
        to = (source + away) % ranks
        traces[source].send(to, size, tag=tag)
        traces[to].recv(source, size, tag=tag)
    return traces


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    topology = draw(topologies)
    name = st.sampled_from(["ring", "direct", "direct2"])
    names = st.tuples(*[name for _ in topology.dimensions])
    astra_sim = draw(st.booleans())
    return scenario(
        draw(traffic(topology.ranks, [dimension.kind for dimension in topology.dimensions])),
        *topology.dimensions,
        collectives=Collectives(
            all_reduce=draw(names),
            all_gather=draw(names),
            reduce_scatter=draw(names),
            all_to_all=draw(names),
            chunks=draw(st.integers(1, 3)),
            active_chunks=draw(st.integers(1, 2)),
            queues_per_dimension=draw(st.integers(1, 2)),
        ),
        network=draw(st.sampled_from(["analytical", "store_and_forward"])),
        semantics="astra-sim" if astra_sim else "yantra",
        resources=ASTRA_SIM_RESOURCES if astra_sim else Resources(),
    )


def in_tables(native: Scenario) -> Scenario:
    return native.replace(
        topology=Topology(
            dimensions=tuple(
                dimension.replace(kind=f"table_{dimension.kind}")
                for dimension in native.topology.dimensions
            )
        )
    )


def everything(asked: Scenario) -> tuple[Any, int]:
    try:
        outcome = run_native(compile(asked))
    except DeadlockError as error:
        return str(error), 0
    uses = [(use.bytes, use.messages, use.busy_ticks) for use in outcome.dimensions]
    columns = [
        list(column)
        for column in (outcome.finish, outcome.finish_order, outcome.start, outcome.end)
    ]
    links = sorted(link_rows(outcome), key=str)
    return (columns, uses, links, outcome.messages, outcome.last_tick), outcome.events


@settings(deadline=None)
@given(scenarios())
def test_a_native_block_runs_as_its_table_tick_for_tick(native: Scenario) -> None:
    (ours, events), (theirs, in_table) = everything(native), everything(in_tables(native))
    assert ours == theirs
    is_alike = all(dimension.kind != "switch" for dimension in native.topology.dimensions)
    assert events == in_table if is_alike else events <= in_table


def test_the_twins_have_no_native_form() -> None:
    assert [find(f"table_{name}").native for name in NATIVE] == [None] * 3
    assert [find(name).native for name in NATIVE] == list(NATIVE)
