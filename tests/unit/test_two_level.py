"""The two-level all-to-all: its messages, its closed form on a rail-optimised fabric, one node."""

from __future__ import annotations

from collections import Counter

import pytest

from yantra.base.errors import ConfigError
from yantra.collectives import find
from yantra.collectives.contract import LAWS
from yantra.collectives.schedule import Kind
from yantra.fabric.graphs.describe import shown
from yantra.run.collective_bench import Question, bench

SIZES = (4096, 65536, 12345, 1 << 26)


@pytest.mark.parametrize(("n", "g"), [(8, 1), (8, 2), (8, 8), (12, 3), (12, 4), (24, 8), (64, 8)])
def test_every_law_holds_for_every_node(n: int, g: int) -> None:
    for law in LAWS:
        assert law(find(f"two_level{g}"), Kind.ALL_TO_ALL, n) is None


@pytest.mark.parametrize(("n", "g"), [(16, 4), (24, 8), (30, 5)])
def test_a_position_sends_one_message_to_each_other_node_and_only_to_its_place(
    n: int, g: int
) -> None:
    schedule = find(f"two_level{g}").schedule(Kind.ALL_TO_ALL, n)
    pairs = [(src, dst) for src, dst, _ in schedule.messages(n)]
    across = [(src, dst) for src, dst in pairs if src // g != dst // g]
    assert Counter(src for src, _ in across) == dict.fromkeys(range(n), n // g - 1)
    assert all(src % g == dst % g for src, dst in across)


@pytest.mark.parametrize("n", [2, 8, 12])
def test_with_one_node_or_nodes_of_one_it_sends_what_a_direct_exchange_does(n: int) -> None:
    flat = Counter(find("direct").schedule(Kind.ALL_TO_ALL, n).messages(n * 64))
    for name in ("two_level1", f"two_level{n}", f"two_level{2 * n}"):
        assert Counter(find(name).schedule(Kind.ALL_TO_ALL, n).messages(n * 64)) == flat


@pytest.mark.parametrize(("boxes", "local"), [(4, 8), (3, 4), (2, 2)])
@pytest.mark.parametrize("size", SIZES)
def test_alone_it_takes_its_closed_form_to_the_tick(boxes: int, local: int, size: int) -> None:
    ranks = boxes * local
    inside, across = 400, 50  # bytes/ns
    options = {
        "boxes": boxes, "ranks_per_box": local, "box_bandwidth": f"{inside} GB/s",
        "box_latency": "500 ns", "bandwidth": f"{across} GB/s", "latency": "2 us",
    }  # fmt: skip
    asked = Question(Kind.ALL_TO_ALL, (size,), (f"two_level{local}",))
    (row,) = bench([shown("rail_optimised", options)], asked)
    block = -(-size // ranks)  # a message is a whole number of blocks, each rounded up
    form = 2 * 500 + (local - 1) * boxes * block / inside
    form += 2 * 2000 + (boxes - 1) * local * block / across
    assert row.time_ns is not None
    assert abs(row.time_ns - form) <= 0.002  # two phases, a tick of a picosecond each


def test_positions_that_are_no_whole_nodes_are_refused() -> None:
    assert find("two_level8").supports(Kind.ALL_TO_ALL, 12) == (
        "12 positions are no whole number of nodes of 8"
    )


def test_a_node_of_no_ranks_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        find("two_level0", "x")
    assert str(caught.value) == (
        "x: 'two_level0' has an impossible window; expected 1 to 99999 ranks of a node, got 0; "
        "write 'two_level' for the divisor next to the square root"
    )
