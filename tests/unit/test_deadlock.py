"""The error of a run that cannot finish: word for word, one line for a rank, causes first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cases import (
    ALL_GATHER,
    ALL_REDUCE,
    REDUCE_SCATTER,
    Write,
    cluster,
    collectives,
    run,
)
from yantra.base.errors import DeadlockError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.scenario import Collectives, Custom, RemoteMemory, Resources
from yantra.scenario.quirks import Quirk

FOUR = cluster(("fully_connected", 4, 8.0, 100.0))
SIZE = 4 * 2**20
GROUPS = ((3, (0, 1, 2)), (12, (0, 1, 3)))
RENDEZVOUS = collectives(rendezvous=True)


def said(write: Write, **parts: Any) -> list[str]:
    parts.setdefault("topology", FOUR)
    with pytest.raises(DeadlockError) as caught:
        run(parts.pop("topology"), write, **parts)
    assert caught.value.exit_code == 3
    return str(caught.value).split("\n")


def test_a_message_that_was_never_sent() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        if rank == 2:
            before = trace.compute(duration_micros=1204)
            trace.recv(1, SIZE, tag=17, name="recv", after=before)

    assert said(write) == [
        "deadlock: 1 of 4 ranks cannot finish",
        "rank 2 waits since 1.204 ms in node 1 'recv' for a message from rank 1 (tag 17, 4 "
        "MiB), "
        "which finished without sending it",
    ]


def test_a_rendezvous_send_that_nobody_receives() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        if rank == 0:
            trace.send(1, SIZE, tag=17, after=trace.compute(duration_micros=5))

    assert said(write, collectives=RENDEZVOUS) == [
        "deadlock: 1 of 4 ranks cannot finish",
        "rank 0 waits since 5.000 us in node 1 'send to 1' for a message to rank 1 (tag 17, "
        "4 MiB), which finished without receiving it",
    ]


def test_a_send_without_a_receive_whose_answer_is_awaited() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        if rank == 0:
            trace.recv(1, 64, tag=2, name="answer", after=trace.send(1, SIZE, tag=1))
        if rank == 1:
            question = trace.recv(0, SIZE, tag=5, name="question")
            trace.send(0, 64, tag=2, after=question)

    assert said(write)[1:] == [
        "rank 1 waits since 0 ns in node 0 'question' for a message from rank 0 (tag 5, 4 "
        "MiB), "
        "which sends one of that size with tag 1",
        "rank 0 waits since 524.288 us in node 1 'answer' for a message from rank 1 (tag 2, "
        "64 B), "
        "which has not started its node 1 'send to 0'",
    ]


@pytest.mark.parametrize("options", [{}, {"collectives": RENDEZVOUS}])
def test_two_sizes_of_one_message(options: dict[str, Any]) -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        if rank == 0:
            trace.send(1, SIZE, tag=17)
        if rank == 1:
            trace.recv(0, SIZE // 2, tag=17)

    assert said(write, **options) == [
        "deadlock: 1 of 4 ranks cannot finish",
        "rank 1 waits since 0 ns in node 0 'receive from 0' for a message from rank 0 (tag "
        "17, "
        "2 MiB), which sends 4 MiB with that tag",
    ]


def two_tags(trace: TraceBuilder, rank: int) -> None:
    if rank == 0:
        trace.send(1, 1_000_000, tag=17)
    if rank == 1:
        trace.recv(0, 1_000_000, tag=18)


def test_two_tags_of_one_message() -> None:
    assert said(two_tags)[1:] == [
        "rank 1 waits since 0 ns in node 0 'receive from 0' for a message from rank 0 (tag "
        "18, "
        "1 MB), which sends one of that size with tag 17",
    ]


def test_two_tags_of_one_message_under_rendezvous() -> None:
    assert said(two_tags, collectives=RENDEZVOUS)[1:] == [
        "rank 0 waits since 0 ns in node 0 'send to 1' for a message to rank 1 (tag 17, 1 "
        "MB), "
        "which receives one of that size with tag 18",
        "rank 1 waits since 0 ns in node 0 'receive from 0' for a message from rank 0 (tag "
        "18, "
        "1 MB), which sends one of that size with tag 17",
    ]


def test_a_rank_that_never_enters_a_collective() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        if rank != 3:
            trace.collective(ALL_REDUCE, SIZE)

    assert said(write) == [
        "deadlock: 3 of 4 ranks cannot finish",
        *(
            f"rank {rank} waits since 0 ns in node 0 'all_reduce' for the all_reduce of 4 "
            "MiB, "
            "which rank 3 (finished) never entered"
            for rank in range(3)
        ),
    ]


def test_the_cause_comes_first_even_if_it_came_last() -> None:
    """Ranks 0 to 2 wait for rank 3, which waits for a message nobody has for it."""

    def write(trace: TraceBuilder, rank: int) -> None:
        before: Any = ()
        if rank == 3:
            before = trace.recv(1, 8, after=trace.compute(duration_micros=3))
        trace.collective(ALL_REDUCE, SIZE, after=before)

    assert said(write)[1:] == [
        "rank 3 waits since 3.000 us in node 1 'receive from 1' for a message from rank 1 "
        "(tag 0, "
        "8 B), which waits itself and has no such message left to send",
        *(
            f"rank {rank} waits since 0 ns in node 0 'all_reduce' for the all_reduce of 4 "
            "MiB, "
            "which rank 3 has not entered yet"
            for rank in range(3)
        ),
    ]


def test_collectives_of_two_groups_entered_in_different_orders() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        before: Any = ()
        for group, members in reversed(GROUPS) if rank == 1 else GROUPS:
            if rank in members:
                before = trace.collective(ALL_REDUCE, SIZE, group=str(group), after=before)

    assert said(write, groups=GROUPS) == [
        "deadlock: 4 of 4 ranks cannot finish",
        *(
            f"rank {rank} waits since 0 ns in node 0 'all_reduce' for the all_reduce of 4 MiB "
            "in "
            f"group {group}, which rank {other} has not entered yet"
            for rank, group, other in ((0, 3, 1), (1, 12, 0), (2, 3, 1), (3, 12, 0))
        ),
    ]


def test_different_collectives_in_each_others_place() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        first = trace.collective(ALL_GATHER, 8)
        kind = ALL_GATHER if rank == 2 else ALL_REDUCE
        trace.collective(kind, SIZE, after=first, name="second")

    lines = said(write, collectives=collectives("direct"))
    assert lines[1:] == [
        *(
            f"rank {rank} waits since 101 ns in node 1 'second' for the {kind} of 4 MiB, in "
            "whose "
            f"place rank {other} entered the {its} of 4 MiB, node 1 'second'"
            for rank, kind, other, its in (
                (0, "all_reduce", 2, "all_gather"),
                (1, "all_reduce", 2, "all_gather"),
                (2, "all_gather", 0, "all_reduce"),
                (3, "all_reduce", 2, "all_gather"),
            )
        ),
    ]


def test_two_sizes_of_one_collective() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        if rank < 3:
            trace.collective(ALL_REDUCE, SIZE // (1 + rank % 2), group="3")

    assert said(write, groups=GROUPS)[1:3] == [
        "rank 0 waits since 0 ns in node 0 'all_reduce' for the all_reduce of 4 MiB in group "
        "3, in "
        "whose place rank 1 entered the all_reduce of 2 MiB, node 0 'all_reduce'",
        "rank 1 waits since 0 ns in node 0 'all_reduce' for the all_reduce of 2 MiB in group "
        "3, in "
        "whose place rank 0 entered the all_reduce of 4 MiB, node 0 'all_reduce'",
    ]


def test_one_collective_over_different_dimensions() -> None:
    square = cluster(*[("fully_connected", 2, 8.0, 100.0)] * 2)

    def write(trace: TraceBuilder, rank: int) -> None:
        trace.collective(ALL_REDUCE, SIZE, involved_dim=(True, rank == 0))

    assert said(write, topology=square)[1:3] == [
        "rank 0 waits since 0 ns in node 0 'all_reduce' for the all_reduce of 4 MiB, in whose "
        "place rank 1 entered one over other dimensions or with another algorithm, node 0 "
        "'all_reduce'",
        "rank 1 waits since 0 ns in node 0 'all_reduce' for the all_reduce of 4 MiB, in whose "
        "place rank 0 entered one over other dimensions or with another algorithm, node 0 "
        "'all_reduce'",
    ]


def test_a_collective_over_one_dimension_waits_only_for_ranks_along_it() -> None:
    square = cluster(*[("fully_connected", 2, 8.0, 100.0)] * 2)

    def write(trace: TraceBuilder, rank: int) -> None:
        if rank == 0:
            trace.collective(ALL_REDUCE, SIZE, involved_dim=(False, True))

    assert said(write, topology=square)[1:] == [
        "rank 0 waits since 0 ns in node 0 'all_reduce' for the all_reduce of 4 MiB, which "
        "rank 2 "
        "(finished) never entered",
    ]


def test_a_circle_of_rendezvous_sends() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        sent = trace.send((rank + 1) % 4, SIZE)
        trace.recv((rank - 1) % 4, SIZE, after=sent)

    assert said(write, collectives=RENDEZVOUS)[1:] == [
        f"rank {rank} waits since 0 ns in node 0 'send to {(rank + 1) % 4}' for a message to "
        "rank "
        f"{(rank + 1) % 4} (tag 0, 4 MiB), which has not started its node 1 'receive from {rank}'"
        for rank in range(4)
    ]


def test_two_sends_behind_one_slot() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        if rank < 2:
            trace.send(1 - rank, 64, tag=1, name="first")
            second = trace.send(1 - rank, 64, tag=2, name="second")
            got = trace.recv(1 - rank, 64, tag=2, name="wait")
            trace.recv(1 - rank, 64, tag=1, name="late", after=[second, got])

    assert said(write, collectives=RENDEZVOUS)[1:] == [
        f"rank {rank} waits since 0 ns in node 0 'first' for a message to rank {1 - rank} "
        "(tag 1, "
        "64 B), which has not started its node 3 'late'"
        for rank in range(2)
    ]


def test_members_of_a_group_that_stay_away() -> None:
    topology = cluster(("switch", 16, 8.0, 100.0))

    def write(trace: TraceBuilder, rank: int) -> None:
        if rank in (4, 6):
            trace.collective(CollectiveType.BARRIER, 0, group="5")

    assert said(write, topology=topology, groups=((5, tuple(range(2, 16))),)) == [
        "deadlock: 2 of 16 ranks cannot finish",
        *(
            f"rank {rank} waits since 0 ns in node 0 'barrier' for the barrier of 0 B in "
            "group 5, "
            "which ranks 2 (finished), 3 (finished), 5 (finished), 7 (finished), 8 (finished), "
            "9 (finished), 10 (finished), 11 (finished), 12 (finished), 13 (finished) and 2 more "
            "never entered"
            for rank in (4, 6)
        ),
    ]


def test_ten_ranks_are_shown_and_the_others_counted() -> None:
    topology = cluster(("switch", 16, 8.0, 100.0))

    def write(trace: TraceBuilder, rank: int) -> None:
        if rank > 0:
            trace.recv(0, rank)

    lines = said(write, topology=topology)
    assert lines[0] == "deadlock: 15 of 16 ranks cannot finish"
    assert [line.split()[1] for line in lines[1:11]] == [str(rank) for rank in range(1, 11)]
    assert lines[11:] == ["and 5 more ranks"]


def test_a_collective_given_by_traces_that_is_stuck(tmp_path: Path) -> None:
    sender = TraceBuilder(rank=0)
    sender.send(1, SIZE, tag=7)
    sender.build().write(tmp_path / "c.0.et")
    receiver = TraceBuilder(rank=1, first_id=40)
    receiver.recv(0, SIZE, tag=7)
    receiver.recv(0, 100, tag=8, name="half")
    receiver.build().write(tmp_path / "c.1.et")
    pair = cluster(("fully_connected", 2, 8.0, 100.0))
    options = collectives(all_reduce=Custom(prefix=str(tmp_path / "c")))

    def write(trace: TraceBuilder, rank: int) -> None:
        trace.collective(ALL_REDUCE, 2**30)

    assert said(write, topology=pair, collectives=options) == [
        "deadlock: 1 of 2 ranks cannot finish",
        "rank 1 waits since 0 ns in node 0 'all_reduce' for the all_reduce of 1 GiB, whose "
        "node 41 "
        "'half' waits for a message from rank 0 (tag 8, 100 B), which finished without sending it",
    ]


def test_memory_behind_a_send_that_holds_the_one_slot() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        if rank == 0:
            trace.send(1, SIZE)
            trace.memory_load(SIZE)
        if rank == 1:
            trace.recv(0, SIZE, after=trace.recv(0, 1, tag=9, name="go"))

    lines = said(
        write,
        collectives=RENDEZVOUS,
        memory=RemoteMemory(kind="pool", latency_ns=10, bytes_per_ns=1.0),
        resources=Resources(communication="one_slot", copy_engines=0),
    )
    assert lines[1:] == [
        "rank 1 waits since 0 ns in node 0 'go' for a message from rank 0 (tag 9, 1 B), which "
        "waits itself and has no such message left to send",
        "rank 0 waits since 0 ns in node 0 'send to 1' for a message to rank 1 (tag 0, 4 "
        "MiB), "
        "which has not started its node 1 'receive from 0'",
    ]


def test_chunks_that_ranks_started_in_different_orders() -> None:
    """Upstream's rule, when rank 0 comes late to an all-reduce over three dimensions."""
    cube = cluster(*[("fully_connected", 2, 8.0, 100.0)] * 3)

    def write(trace: TraceBuilder, rank: int) -> None:
        before = trace.compute(duration_micros=1) if rank == 0 else ()
        trace.collective(ALL_REDUCE, 6400, after=before)

    lines = said(
        write,
        topology=cube,
        collectives=collectives(dimensions=3, chunks=2),
        quirks=[Quirk.PHASES_AS_READY],
    )
    assert lines[1] == (
        "rank 1 waits since 0 ns in node 0 'all_reduce' for the all_reduce of 6.250 KiB, "
        "which all "
        "its ranks entered but whose chunks wait for each other"
    )
    assert lines[-1] == "ASTRA-sim hangs here, too, by its quirk phases-as-ready"


GRID = cluster(("ring", 2, 8.0, 100.0), ("ring", 2, 8.0, 100.0))
SEMANTICS = ["astra-sim", "yantra"]


def _themis(inter_dimension: str, chunks: int) -> Collectives:
    return collectives(dimensions=2, inter_dimension=inter_dimension, chunks=chunks)


@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("inter_dimension", ["themis", "themis_flex"])
@pytest.mark.parametrize("chunks", [1, 4])
@pytest.mark.parametrize(("of_0", "of_others"), [(2048, 1024), (1024, 2048), (2051, 2050)])
def test_themis_lets_no_unequal_collectives_end(
    semantics: str, inter_dimension: str, chunks: int, of_0: int, of_others: int
) -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.collective(REDUCE_SCATTER, of_others if rank else of_0)

    schedule = _themis(inter_dimension, chunks)
    lines = said(write, topology=GRID, semantics=semantics, collectives=schedule)
    assert any("in whose place rank" in line for line in lines)
    if semantics == "yantra":
        assert lines[0] == "deadlock: 4 of 4 ranks cannot finish"


@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("chunks", [1, 4])
def test_themis_with_collectives_in_two_orders(semantics: str, chunks: int) -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        first, second = (1024, 2048) if rank else (2048, 1024)
        trace.collective(REDUCE_SCATTER, second, after=trace.collective(REDUCE_SCATTER, first))

    options = {"semantics": semantics, "collectives": _themis("themis", chunks)}
    lines = said(write, topology=GRID, **options)
    assert lines[0] == "deadlock: 4 of 4 ranks cannot finish"
    assert lines[1] == (
        "rank 0 waits since 0 ns in node 0 'reduce_scatter' for the reduce_scatter of 2 KiB, "
        "in "
        "whose place rank 1 entered the reduce_scatter of 1 KiB, node 0 'reduce_scatter'"
    )


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_themis_with_equal_collectives_ends(semantics: str) -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        last = trace.compute(duration_micros=rank)
        for size in (2051, 1024, 4096):
            last = trace.collective(REDUCE_SCATTER, size, after=last)

    schedule = _themis("themis", 4)
    assert all(run(GRID, write, semantics=semantics, collectives=schedule).finish)


def test_a_group_of_some_ranks_before_all_delays_and_does_not_hold_up() -> None:
    """ASTRA-sim hangs: the ranks of the group number their collectives differently afterwards."""

    def job(in_group: bool, of_all: bool) -> list[Any]:
        def write(trace: TraceBuilder, rank: int) -> None:
            last = []
            if in_group and rank < 2:
                last = [trace.collective(ALL_REDUCE, 4096, group="1")]
            if of_all:
                trace.collective(ALL_REDUCE, 4096, after=last)

        ring, groups = cluster(("ring", 4, 8.0, 100.0)), ((1, (0, 1)),)
        return list(run(ring, write, semantics="astra-sim", groups=groups).finish)

    (group,), (whole,) = set(job(True, False)[:2]), set(job(False, True))
    assert max(job(True, True)) == group + whole
