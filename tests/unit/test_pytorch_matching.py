"""Ranks that must agree: communicators, collectives, messages, copies of one rank."""

from __future__ import annotations

from typing import Any

import pytest

from yantra.base.errors import TraceError
from yantra.chakra.schema import CollectiveType, NodeType
from yantra.tracing.pytorch.communication import Communication
from yantra.tracing.pytorch.communicators import Communicators
from yantra.tracing.pytorch.matching import Matches, match
from yantra.tracing.pytorch.replicate import replicated

T = CollectiveType


def collective(
    kind: CollectiveType | None = T.ALL_REDUCE, size: int | None = 8, **more: Any
) -> Any:
    usual = {"op": 0, "name": "x", "group": None, "ranks": ()}
    return Communication(**{**usual, **more}, type=NodeType.COMM_COLL, collective=kind, bytes=size)


def message(sends: bool, peer: int | None, size: int | None = 8, tag: int = 0, **more: Any) -> Any:
    kind = NodeType.COMM_SEND if sends else NodeType.COMM_RECV
    usual = {"op": 0, "name": "x", "group": None, "ranks": ()}
    return Communication(
        **{**usual, **more}, type=kind, collective=None, bytes=size, peer=peer, tag=tag
    )


def matched(*ranks: list[Communication], world: int | None = None, split: bool = False) -> Matches:
    items = dict(enumerate(ranks))
    everything = [item for made in ranks for item in made]
    return match(items, Communicators(world or len(ranks), everything), split=split)


# ------------------------------------------------------------------------- uneven all-to-alls

SENT = ((5, 30, 0), (7, 0, 2), (40, 1, 3))  # bytes from each of three ranks to each


def exchanges(order: tuple[int, ...] = (0, 1, 2), **of_rank_0: Any) -> list[list[Communication]]:
    rows = [tuple(SENT[rank][other] for other in order) for rank in range(3)]
    columns = [tuple(SENT[other][rank] for other in order) for rank in range(3)]
    parts = []
    for rank in range(3):
        splits = {"sends": rows[rank], "gets": columns[rank], "uneven": True}
        more = splits | (of_rank_0 if rank == 0 else {})
        size, got = sum(rows[rank]), sum(columns[rank])
        parts.append([collective(T.ALL_TO_ALL, size, received=got, ranks=order, **more)])
    return parts


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_an_uneven_all_to_all_becomes_the_messages_of_its_pairs(order: tuple[int, ...]) -> None:
    parts = exchanges(order)
    found = matched(*parts, split=True)
    assert not found.problems and not found.resized and not found.splittable
    sent = {
        (rank, item.peer): item.bytes
        for rank, made in enumerate(parts)
        for item in made
        if item.type is NodeType.COMM_SEND
    }
    got = {
        (item.peer, rank): item.bytes
        for rank, made in enumerate(parts)
        for item in made
        if item.type is NodeType.COMM_RECV
    }
    pairs = {(s, d): SENT[s][d] for s in range(3) for d in range(3) if s != d and SENT[s][d]}
    assert sent == got == pairs


@pytest.mark.parametrize(
    "unknown",
    [{"sends": ()}, {"sends": (5, 30)}, {"gets": (5, 7, 41)}],
    ids=["one does not say", "cut", "another says otherwise"],
)
def test_where_pairs_are_not_known_all_take_the_size_of_the_largest(
    unknown: dict[str, Any],
) -> None:
    parts = exchanges(**unknown)
    assert matched(*parts, split=True).splittable == 0
    sizes = {item.bytes for made in parts for item in made}
    assert sizes == {52} and all(len(made) == 1 for made in parts)  # what rank 0 gets


def test_an_all_to_all_stays_one_unless_it_is_to_be_split() -> None:
    parts = exchanges()
    assert matched(*parts).splittable == 1
    assert {(item.type, item.bytes) for made in parts for item in made} == {
        (NodeType.COMM_COLL, 52)
    }


def test_a_rank_that_exchanges_nothing_keeps_the_collective() -> None:
    parts = [
        [collective(T.ALL_TO_ALL, sum(row), sends=row, uneven=True, ranks=(0, 1, 2))]
        for row in ((0, 8, 0), (4, 0, 0), (0, 0, 5))
    ]
    matched(*parts, split=True)
    assert {item.bytes for made in parts for item in made} == {8}


# ------------------------------------------------------------------------------ communicators


def test_the_group_of_all_ranks_is_0_and_needs_no_entry() -> None:
    known = Communicators(4, [collective(group="0", ranks=(0, 1, 2, 3)), collective()])
    assert set(known.ids.values()) == {0}
    assert known.members == {}
    assert known.json() == "{}\n"


def test_a_small_number_is_its_own_id_and_others_follow() -> None:
    items = [
        collective(group="7", ranks=(0, 1)),
        collective(group="f00d", ranks=(2, 3)),
        collective(group="1", ranks=(1, 2)),
        collective(group="cafe", ranks=(0, 1)),
    ]
    known = Communicators(4, items)
    assert known.members == {7: (0, 1), 1: (1, 2), 2: (0, 1), 3: (2, 3)}
    assert known.json() == '{\n  "1": [1, 2],\n  "2": [0, 1],\n  "3": [2, 3],\n  "7": [0, 1]\n}\n'


def test_two_groups_of_one_name_get_two_ids() -> None:
    items = [collective(group="5", ranks=ranks) for ranks in ((0, 1), (2, 3))]
    assert Communicators(4, items).members == {1: (0, 1), 2: (2, 3)}


def test_a_second_group_of_all_ranks_is_a_group_of_its_own() -> None:
    items = [collective(group=name, ranks=(0, 1)) for name in ("0", "4")]
    known = Communicators(2, items)
    assert [known.id(item) for item in items] == [0, 4]


def test_ids_do_not_depend_on_the_order_of_the_ranks_files() -> None:
    items = [collective(group=name, ranks=(0, 1)) for name in ("b", "a", "3", "c")]
    assert Communicators(2, items).ids == Communicators(2, items[::-1]).ids


# ------------------------------------------------------------------------------ collectives


def test_uneven_sizes_become_the_largest() -> None:
    ranks = [
        [collective(T.ALL_TO_ALL, 10, received=30)],
        [collective(T.ALL_TO_ALL, 20, received=5)],
    ]
    found = matched(*ranks)
    assert [made[0].bytes for made in ranks] == [30, 30]
    assert found.resized == 1
    assert found.problems == []


def test_an_uneven_collective_of_one_rank_is_told() -> None:
    assert "in one call" in matched([collective(T.ALL_TO_ALL, uneven=True)], world=2).problems[0]
    both = [[collective(T.ALL_TO_ALL, uneven=True)] for _ in range(2)]
    assert matched(*both).problems == []


def test_what_one_rank_does_not_know_another_tells() -> None:
    ranks = [[collective(None, None)], [collective(T.ALL_GATHER, 12)]]
    matched(*ranks)
    assert (ranks[0][0].collective, ranks[0][0].bytes) == (T.ALL_GATHER, 12)


def test_sequence_numbers_align_recordings_that_begin_apart() -> None:
    first = [collective(size=n, sequence=n) for n in (3, 4, 5)]
    second = [collective(size=n, sequence=n) for n in (4, 5, 6)]
    found = matched(first, second)
    assert [item.type for item in first] == [NodeType.COMP, NodeType.COMM_COLL, NodeType.COMM_COLL]
    assert [item.type for item in second] == [NodeType.COMM_COLL, NodeType.COMM_COLL, NodeType.COMP]
    assert found.unmatched_collectives == 2


def test_an_orphan_counts_back_from_its_successor() -> None:
    first = [collective(None, None), collective(size=5, sequence=5)]
    second = [collective(T.BROADCAST, 4, sequence=4), collective(size=5, sequence=5)]
    assert matched(first, second).problems == []
    assert first[0].collective is T.BROADCAST


@pytest.mark.parametrize(
    "other",
    [[], [collective(T.ALL_GATHER)], [collective(), collective()]],
    ids=["none", "another", "more"],
)
def test_what_has_no_counterpart_is_left_out_and_told(other: list[Communication]) -> None:
    first = [collective()]
    found = matched(first, [*other])
    assert found.unmatched_collectives == 1
    assert "kept as computations" in found.problems[0]
    kept = [sum(i.type is NodeType.COMM_COLL for i in made) for made in (first, other)]
    assert kept[0] == kept[1]


def test_a_single_rank_keeps_what_is_known() -> None:
    made = [collective(), collective(None), collective(size=None)]
    found = matched(made, world=4)
    assert [item.type for item in made] == [NodeType.COMM_COLL, NodeType.COMP, NodeType.COMP]
    assert found.unmatched_collectives == 2


# ------------------------------------------------------------------------------ messages


def test_messages_are_numbered_in_the_order_of_sending() -> None:
    sends = [message(True, 1, tag=tag) for tag in (5, 9, 5)]
    receives = [message(False, 0, tag=tag) for tag in (9, 5, 5)]
    found = matched(sends, receives)
    assert [item.tag for item in sends] == [0, 1, 2]
    assert [item.tag for item in receives] == [1, 0, 2]
    assert found.problems == []


def test_messages_of_two_groups_never_share_a_tag() -> None:
    sends = [message(True, 1), message(True, 1, group="2", ranks=(0, 1))]
    receives = [message(False, 0), message(False, 0, group="2", ranks=(0, 1))]
    matched(sends, receives, [], world=3)
    assert sends[0].tag == receives[0].tag == 0
    assert sends[1].tag == receives[1].tag == 2 << 20


def test_sizes_that_differ_become_the_larger() -> None:
    send, receive = message(True, 1, 10), message(False, 0, None)
    matched([send], [receive])
    assert send.bytes == receive.bytes == 10


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([message(True, 1)], []),
        ([], [message(False, 0)]),
        ([message(True, 1, tag=1)], [message(False, 0, tag=2)]),
        ([message(True, None)], []),
        ([message(True, 0)], []),
        ([message(True, 1, None)], [message(False, 0, None)]),
    ],
    ids=["sent", "received", "other tag", "no peer", "to itself", "no size"],
)
def test_a_message_without_its_other_end_is_left_out(
    first: list[Communication], second: list[Communication]
) -> None:
    items = [*first, *second]
    for item in items:
        item.type = NodeType.COMM_SEND if item in first else NodeType.COMM_RECV
    found = matched(first, second)
    assert all(item.type is NodeType.COMP for item in items)
    assert found.problems or items[0].bytes is None


def test_a_message_to_a_rank_that_was_not_given_stays() -> None:
    send = message(True, 3)
    assert matched([send], [], world=4).problems == []
    assert send.type is NodeType.COMM_SEND


# ------------------------------------------------------------------------------ copies of one rank


def test_groups_repeat_over_the_world() -> None:
    items = [collective(ranks=(0, 2)), collective(ranks=(0, 1, 2, 3, 4, 5, 6, 7)), collective()]
    made = replicated(items, 0, 8, 8)
    assert [made[rank][0].ranks for rank in range(8)] == [
        (0, 2), (1, 3), (0, 2), (1, 3), (4, 6), (5, 7), (4, 6), (5, 7)
    ]  # fmt: skip
    everybody = tuple(range(8))
    assert all(made[rank][1].ranks == made[rank][2].ranks == everybody for rank in range(8))


def test_the_world_may_grow() -> None:
    made = replicated([collective(ranks=(0, 1)), collective(ranks=(0, 1, 2, 3))], 0, 4, 8)
    assert made[7][0].ranks == (6, 7)
    assert made[7][1].ranks == tuple(range(8))


def test_a_ring_of_messages_repeats() -> None:
    items = [message(True, 1, ranks=(0, 1, 2, 3)), message(False, 3, ranks=(0, 1, 2, 3))]
    made = replicated(items, 0, 4, 4)
    found = match(made, Communicators(4, [item for row in made.values() for item in row]))
    assert found.problems == []
    assert [made[rank][0].peer for rank in range(4)] == [1, 2, 3, 0]


@pytest.mark.parametrize("ranks", [(0, 1, 3), (0, 3), (1, 2)])
def test_groups_that_cannot_fill_the_world_are_refused(ranks: tuple[int, ...]) -> None:
    with pytest.raises(TraceError, match="cannot be repeated over 8 ranks"):
        replicated([collective(ranks=ranks)], ranks[0], 8, 8)
