"""Runs each row of the page on what ASTRA-sim does not complete. Links of 50 bytes per ns and 500
ns, hand-overs of 10 ns; times in ns.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clusters import dimension, scenario
from yantra import simulate
from yantra.chakra import CollectiveType, Kind, Node, NodeType, TraceBuilder
from yantra.scenario import (
    ASTRA_SIM_RESOURCES,
    Collectives,
    Custom,
    Device,
    RemoteMemory,
    SharedBus,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "concepts" / "quirks.md"
HEADING = "## What Yantra completes where ASTRA-sim does not"
SIZE = 1_000_000


def finish(traces: list[TraceBuilder], *dimensions: Any, **parts: Any) -> list[float]:
    asked = scenario(
        traces,
        *(dimensions or (dimension(size=len(traces)),)),
        semantics="astra-sim",
        resources=ASTRA_SIM_RESOURCES,
        **parts,
    )
    return [float(time) for time in simulate(asked).finish_ns]


def collective(kind: CollectiveType, size: int = SIZE, **given: Any) -> TraceBuilder:
    trace = TraceBuilder()
    trace.collective(kind, size, **given)
    return trace


def after(node_type: NodeType) -> TraceBuilder:
    """A node that is skipped, then 5 us of computation."""
    trace = TraceBuilder()
    trace.compute("after", duration_micros=5, after=trace.add(Node(0, "skipped", node_type)))
    return trace


def kernel(num_ops: int, tensor_size: int) -> TraceBuilder:
    trace = TraceBuilder()
    trace.compute("kernel", num_ops=num_ops, tensor_size=tensor_size)
    return trace


def nothing_delays_at_the_start(_: Path) -> None:
    reduce = collective(CollectiveType.ALL_REDUCE)
    undelayed = Collectives(all_reduce=("ring",), chunks=1, endpoint_delay_ns=0)
    (time, *_rest) = finish([reduce] * 4, collectives=undelayed, device=Device())
    assert time == 6 * (500 + SIZE // 4 // 50)
    roofline = Device(peak_flops=1e15, memory_bytes_per_s=1e13, compute="roofline")
    assert finish([kernel(1, 1)] * 4, device=roofline) == [0.0] * 4


def fewer_bytes_than_chunks(_: Path) -> None:
    gather = collective(CollectiveType.ALL_GATHER, 3)
    chunks = Collectives(all_gather=("ring",), chunks=4)
    assert finish([gather] * 4, collectives=chunks) == [3 * (4 * 10 + 3 * 500)] * 4


def no_bytes_to_gather(_: Path) -> None:
    assert finish([collective(CollectiveType.ALL_GATHER, 0)] * 4) == [0.0] * 4


def no_bytes_to_send(_: Path) -> None:
    sender, receiver = TraceBuilder(), TraceBuilder()
    sender.send(1, 0)
    receiver.recv(0, 0)
    assert finish([sender, receiver]) == [500.0, 500.0]


def traces_in_several_chunks(folder: Path) -> None:
    for rank in range(4):
        trace = TraceBuilder()
        trace.send((rank + 1) % 4, SIZE)
        trace.recv((rank - 1) % 4, SIZE)
        trace.build().write(folder / f"shift.{rank}.et")
    shift = Collectives(all_reduce=Custom(prefix=str(folder / "shift")), chunks=4)
    reduce = collective(CollectiveType.ALL_REDUCE)
    assert finish([reduce] * 4, collectives=shift) == [500 + SIZE / 50] * 4


def tree_over_a_group(_: Path) -> None:
    tree = Collectives(all_reduce=("doubleBinaryTree",), chunks=1)
    halves = ((1, (0, 1, 2, 3)), (2, (4, 5, 6, 7)))
    grouped = [collective(CollectiveType.ALL_REDUCE, group="1" if r < 4 else "2") for r in range(8)]
    alone = [collective(CollectiveType.ALL_REDUCE)] * 4
    times = finish(grouped, dimension("fully_connected", 8), collectives=tree, groups=halves)
    assert times == finish(alone, dimension("fully_connected", 4), collectives=tree) * 2


def group_of_one(_: Path) -> None:
    alone = collective(CollectiveType.ALL_REDUCE, group="1")
    assert finish([alone, TraceBuilder()], groups=((1, (0,)),)) == [0.0, 0.0]


def memory_per_node(_: Path) -> None:
    load = TraceBuilder()
    load.memory_load(SIZE)
    shared = RemoteMemory(
        kind="per_node", latency_ns=100, bytes_per_ns=50.0, ranks_per_node=2, nodes=2
    )
    once = 100 + SIZE / 50
    assert finish([load] * 4, memory=shared) == [once, 2 * once] * 2


def skipped_node(_: Path) -> None:
    assert finish([after(NodeType.INVALID)] * 4) == [5000.0] * 4


def metadata(_: Path) -> None:
    assert finish([after(NodeType.METADATA)] * 4) == [5000.0] * 4


def five_dimensions(_: Path) -> None:
    pairs = [dimension("fully_connected", 2)] * 5
    default = collective(CollectiveType.ALL_REDUCE)
    four = collective(CollectiveType.ALL_REDUCE, involved_dim=[True] * 4 + [False])
    all_five = collective(CollectiveType.ALL_REDUCE, involved_dim=[True] * 5)
    times = finish([default] * 32, *pairs)
    assert times == finish([four] * 32, *pairs)
    assert max(times) < min(finish([all_five] * 32, *pairs))


def large_tags(_: Path) -> None:
    sender, receiver = TraceBuilder(), TraceBuilder()
    sender.send(1, SIZE).set("comm_tag", 2**31 + 5, Kind.UINT32)
    receiver.recv(0, SIZE, tag=(2**31 + 5) % 500_000_000)
    assert finish([sender, receiver])[1] == 500 + SIZE / 50


def several_dimensions(_: Path) -> None:
    sender, receiver = TraceBuilder(), TraceBuilder()
    sender.send(3, SIZE)
    receiver.recv(0, SIZE)
    pairs = [dimension("fully_connected", 2)] * 2
    ranks = [sender, TraceBuilder(), TraceBuilder(), receiver]
    assert finish(ranks, *pairs, network="store_and_forward")[3] == 2 * (500 + SIZE / 50)


def ring_of_two(_: Path) -> None:
    gather = collective(CollectiveType.ALL_GATHER)
    once = Collectives(all_gather=("ring",), chunks=1)
    times = finish([gather] * 2, collectives=once, network="store_and_forward")
    assert times == [10 + 500 + SIZE / 50 + 10] * 2


def windows(_: Path) -> None:
    reduce = collective(CollectiveType.ALL_REDUCE)
    windowed = Collectives(all_reduce=("direct2",), chunks=4)
    bus = SharedBus(l_ns=10, o_ns=10, g_ns=10, big_g_ns_per_byte=0.01)
    for collectives in (windowed, windowed.replace(all_reduce=("direct",), shared_bus=bus)):
        assert min(finish([reduce] * 8, collectives=collectives)) > 0


def groups(_: Path) -> None:
    pairs = [collective(CollectiveType.ALL_REDUCE, group=str(1 + rank // 2)) for rank in range(4)]
    assert min(finish(pairs, groups=((1, (0, 1)), (2, (2, 3))))) > 0


def some_then_all(_: Path) -> None:
    def trace(rank: int) -> TraceBuilder:
        made = TraceBuilder()
        first = made.collective(CollectiveType.ALL_REDUCE, SIZE, group="1") if rank < 2 else ()
        made.collective(CollectiveType.ALL_REDUCE, SIZE, after=first)
        return made

    ring = Collectives(all_reduce=("ring",))
    times = finish([trace(rank) for rank in range(4)], collectives=ring, groups=((1, (0, 1)),))
    alone = finish([trace(3)] * 4, collectives=ring)
    assert min(times) > max(alone)


def no_nodes(_: Path) -> None:
    assert finish([TraceBuilder()] * 4) == [0.0] * 4


ROWS: dict[str, Callable[[Path], None]] = {
    "an endpoint delay of 0": nothing_delays_at_the_start,
    "fewer bytes than chunks": fewer_bytes_than_chunks,
    "an all-gather of 0 bytes": no_bytes_to_gather,
    "a message of 0 bytes": no_bytes_to_send,
    "with several chunks": traces_in_several_chunks,
    "a double binary tree over a subset group": tree_over_a_group,
    "a group of one rank": group_of_one,
    "of kind PER_NODE": memory_per_node,
    "a skipped node": skipped_node,
    "a METADATA node": metadata,
    "over five or more dimensions": five_dimensions,
    "a tag of 2^31": large_tags,
    "several dimensions on the store-and-forward": several_dimensions,
    "a ring of two": ring_of_two,
    "direct with a window": windows,
    "communicator groups": groups,
    "a collective of a group that not all ranks are in": some_then_all,
    "a trace with no nodes": no_nodes,
}


def rows() -> list[str]:
    section = PAGE.read_text(encoding="utf-8").split(HEADING)[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [line.split(" | ")[0].removeprefix("| ") for line in lines[1:]]


def test_every_row_of_the_page_is_run() -> None:
    unmatched = list(ROWS)
    for row in rows():
        (name,) = [name for name in unmatched if name in row]
        unmatched.remove(name)
    assert unmatched == []


@pytest.mark.parametrize("row", ROWS)
def test_yantra_completes(row: str, tmp_path: Path) -> None:
    ROWS[row](tmp_path)
