"""Folding changes no result: one rank of each class gives all ranks what running all gives."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.cases import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, cluster, collectives, scenario
from tests.oracles.folded_jobs import folded_case
from tests.oracles.folded_runs import cases, compared
from tests.zoo import some
from yantra.base.errors import UnsupportedError
from yantra.chakra import TraceBuilder
from yantra.collectives.algorithms.ring import Ring
from yantra.collectives.lower import lower
from yantra.collectives.schedule import Kind
from yantra.compile import Model, compile
from yantra.result import Result
from yantra.run.fold import explain, find
from yantra.run.simulate import run, run_native
from yantra.scenario import RemoteMemory, Scenario, Traces
from yantra.scenario.quirks import Quirk

CASES, BLOCK = 1000, 100
LEAST = (
    (70, 68, 77, 73, 66, 73, 78, 75, 72, 74),
    (62, 62, 69, 62, 59, 62, 68, 69, 67, 67),
)
TABLES = ("ranks", "nodes", "collectives", "dimensions", "links")


def tables(result: Result) -> dict[str, Any]:
    return {name: getattr(result, name).as_dict() for name in TABLES} | {
        "finish_ps": result.finish_ps.tolist(),
        "messages": result.messages,
        "makespan": result.makespan_ns,
        "bound_by": result.bound_by,
        "warnings": result.warnings,
    }


def folded(model: Model) -> Result | None:
    try:
        return run(model, fold="require")
    except UnsupportedError:
        return None


def folded_alike(first: int, network: str) -> int:
    count = 0
    for seed in range(first, first + BLOCK):
        model = compile(folded_case(seed).replace(network=network))
        once = folded(model)
        if once is not None:
            count += 1
            assert tables(once) == tables(run(model, fold="off")), f"case {seed}"
    return count


@pytest.mark.parametrize("first", some(range(0, CASES, BLOCK), (300).__gt__))
def test_a_folded_run_gives_every_rank_and_node_what_the_whole_run_gives(first: int) -> None:
    assert folded_alike(first, "analytical") >= LEAST[0][first // BLOCK]


@pytest.mark.parametrize(
    ("kind", "seeds", "least"),
    [("repeated", range(80), 42), ("pipelined", range(20), 87), ("sliding", range(60), 198)],
)
def test_jobs_that_repeat_fold_on_links_of_which_each_has_its_row(
    kind: str, seeds: range, least: int
) -> None:
    models = (
        (name, compile(one.replace(network=LINKS["network"]))) for name, one in cases(kind, seeds)
    )
    assert sum(compared(model, name) is not None for name, model in models) >= least


@pytest.mark.parametrize("first", some(range(0, CASES, BLOCK), (300).__gt__))
def test_so_it_does_where_messages_wait_for_links_and_every_link_has_its_row(first: int) -> None:
    assert folded_alike(first, "store_and_forward") >= LEAST[1][first // BLOCK]


def all_reduce(sizes: tuple[int, ...], **parts: Any) -> Scenario:
    parts.setdefault("collectives", collectives(dimensions=len(sizes), chunks=4))
    return scenario(
        cluster(*(("ring", size, 50.0, 500.0) for size in sizes)),
        lambda trace, rank: trace.collective(ALL_REDUCE, 1 << 20),
        **parts,
    )


def test_an_all_reduce_on_a_torus_runs_one_rank() -> None:
    model = compile(all_reduce((4, 4, 4)))
    result = run(model)
    assert list(find(model).count) == [64]
    assert result.outcome.folded
    assert len(result.outcome.start) == 1
    assert explain(model, find(model)) == [
        "folded: 64 ranks in 1 class",
        "  class 0: 64 ranks: 0-63",
    ]


def test_a_straggler_in_a_ring_leaves_no_two_ranks_alike() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        work = trace.compute(duration_micros=9 if rank == 3 else 5)
        trace.collective(ALL_REDUCE, 1 << 20, after=work)

    model = compile(scenario(cluster(("ring", 32, 50.0, 500.0)), write))
    result = run(model)
    assert not result.outcome.folded
    assert result.not_folded == "there are fewer than 2 ranks to a class"
    told = explain(model, find(model))
    assert told[0] == "not folded: there are fewer than 2 ranks to a class"
    assert told[1].startswith(
        "  rank 3 is not in the class of rank 0: they run different operations"
    )
    assert "their neighbours of all ranks are of different classes" in told[2]


def pipeline(trace: TraceBuilder, rank: int) -> None:
    stage, last = rank // 16, ()
    for step in range(3):
        got = trace.recv(rank - 16, 1000, tag=step, after=last) if stage > 0 else last
        last = trace.compute(duration_micros=3 + stage, after=got)
        if stage < 3:
            trace.send(rank + 16, 1000, tag=step, after=last)


def test_stages_that_pass_messages_on_are_classes() -> None:
    model = compile(scenario(cluster(("switch", 64, 50.0, 500.0)), pipeline))
    assert list(find(model).representative) == [0, 16, 32, 48]
    once, whole = run(model), run(model, fold="off")
    assert once.outcome.folded
    assert not whole.outcome.folded
    assert tables(once) == tables(whole)


def test_ranks_that_share_a_slot_for_messages_that_end_together_are_run_one_by_one() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.send((rank + 1) % 8, 1000, tag=1)
        trace.recv((rank - 1) % 8, 1000, tag=1)
        later = [trace.compute(duration_micros=2 + at) for at in range(2)]
        for at, node in enumerate(later):
            trace.send((rank + 1) % 8, 1000, tag=2 + at, after=node)
            trace.recv((rank - 1) % 8, 1000, tag=2 + at)

    model = compile(scenario(cluster(("ring", 8, 50.0, 500.0)), write))
    assert tables(run(model)) == tables(run(model, fold="off"))


def both_sides(trace: TraceBuilder, rank: int, what: str) -> None:
    if rank % 4 == 3:
        trace.send((rank + 1) % 16, 1000, tag=1)
    elif rank % 4 == 1:
        trace.send(rank - 1, 1000, tag=2)
    elif rank % 4 == 2:
        work: Any = ()
        for _ in range(2 if what == "receive" else 0):
            work = trace.compute(duration_micros=9, after=work)
            trace.send((rank + 2) % 16, 500, tag=3, after=work)
    else:
        for at, other in enumerate((rank - 1, rank + 1)):
            came: Any = trace.recv(other % 16, 1000, tag=1 + at)
            if what == "receive":
                came = trace.recv((rank - 2) % 16, 500, tag=3, after=came)
            elif what == "collective":
                came = trace.collective(ALL_REDUCE, 4096, group="1", after=came)
            trace.compute(duration_micros=5 + at, after=came)


@pytest.mark.parametrize("what", ["receive", "collective", "compute"])
def test_what_comes_from_both_sides_in_one_tick_is_run_one_by_one(what: str) -> None:
    """Rank 0 hears from its right neighbour first, rank 4 from the left one: numbers decide."""
    groups = ((1, (0, 4, 8, 12)),)
    write = partial(both_sides, what=what)
    model = compile(scenario(cluster(("switch", 16, 50.0, 500.0)), write, groups=groups))
    assert len(find(model).count) == 4
    assert folded(model) is None
    whole = run_native(model)
    ends = [whole.end[whole.first_node[rank] :][: len(model.graphs.of(0))] for rank in (0, 4)]
    assert ends[0].tolist() != ends[1].tolist()


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"inter_dimension": "themis"}, "Themis balances the load"),
        ({"rendezvous": True}, "the rendezvous protocol is not folded"),
    ],
)
def test_what_breaks_the_symmetry_is_told(parts: dict[str, Any], reason: str) -> None:
    policies = collectives(dimensions=2, chunks=4, **parts)
    model = compile(all_reduce((8, 8), collectives=policies))
    with pytest.raises(UnsupportedError, match=f"fold: require, but .*{reason}"):
        run(model, fold="require")
    result = run(model)
    assert not result.outcome.folded
    assert reason in result.not_folded


LINKS = {"network": "store_and_forward"}


def test_an_all_reduce_on_a_torus_gives_all_its_links_a_row() -> None:
    model = compile(all_reduce((4, 4, 4), **LINKS))
    once, whole = run(model, fold="require"), run(model, fold="off")
    assert list(find(model).count) == [64]
    assert tables(once) == tables(whole)
    assert len(once.links) == 64 * 5  # the last dimension is gone round one way


def test_a_recorded_run_tells_the_same_of_every_link_folded_and_not() -> None:
    model = compile(all_reduce((4, 4), **LINKS))
    once = run(model, fold="require", record=True).recording
    whole = run(model, fold="off", record=True).recording
    assert once.link_utilisation(7).as_dict() == whole.link_utilisation(7).as_dict()
    assert once.utilisation(7).as_dict() == whole.utilisation(7).as_dict()


@pytest.mark.parametrize("parts", [{"active_chunks": 2}, {"queues_per_dimension": 2}])
@pytest.mark.parametrize("algorithm", ["ring", "direct"])
def test_chunks_that_share_links_in_step_fold(algorithm: str, parts: dict[str, int]) -> None:
    policies = collectives(algorithm, dimensions=2, chunks=5, **parts)
    model = compile(all_reduce((4, 4), collectives=policies, **LINKS))
    assert tables(run(model, fold="require")) == tables(run(model, fold="off"))


@pytest.mark.parametrize("network", ["analytical", "store_and_forward"])
@pytest.mark.parametrize("block", ["ring", "fully_connected"])
@pytest.mark.parametrize("ranks", [6, 12, 24])
def test_pairs_of_a_distance_that_is_no_power_of_two_fold(
    network: str, block: str, ranks: int
) -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.collective(ALL_GATHER, 12345)

    parts = {"network": network, "semantics": "astra-sim"}
    schedule = collectives("halvingDoubling", chunks=3)
    job = scenario(cluster((block, ranks, 8.0, 100.0)), write, collectives=schedule, **parts)
    once = folded(model := compile(job))
    assert once is not None
    assert tables(once) == tables(run(model, fold="off"))


def exchange(to: list[int]) -> Any:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.send(to[rank], 1000, tag=1)
        trace.recv(to.index(rank), 1000, tag=1)

    return write


TREE = cluster(("two_level_tree2", 8, 50.0, 500.0))  # 4 leaves of 2 ranks, 2 spines


def test_ways_through_a_tree_that_lie_apart_fold() -> None:
    model = compile(scenario(TREE, exchange([4, 5, 6, 7, 0, 1, 2, 3]), **LINKS))
    once = run(model, fold="require")
    assert tables(once) == tables(run(model, fold="off"))
    assert len(once.links) == 32


def test_ranks_that_do_the_same_over_one_link_are_run_one_by_one() -> None:
    """Both ranks of leaf 0 send by the same spine, so one has to wait."""
    model = compile(scenario(TREE, exchange([5, 7, 4, 6, 1, 3, 0, 2]), **LINKS))
    with pytest.raises(
        UnsupportedError, match=r"ranks 0 and 1 do the same.* share the link from switch 8"
    ):
        run(model, fold="require")
    assert sorted(set(run(model).finish_ns)) == [2080.0, 2100.0]


def test_ranks_whose_messages_meet_others_on_the_way_are_told_apart() -> None:
    mesh = cluster(("mesh", 8, 50.0, 500.0))
    model = compile(scenario(mesh, exchange([4, 5, 6, 7, 0, 1, 2, 3]), **LINKS))
    folding = find(model)
    assert list(folding.count) == [2, 2, 2, 2]
    assert "share the links they cross with different messages" in explain(model, folding)[-1]
    assert tables(run(model, fold="require")) == tables(run(model, fold="off"))


def test_messages_that_come_to_a_link_in_one_tick_end_a_folded_run() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.collective(ALL_REDUCE, 4096)
        trace.send((rank + 1) % 8, 1000, tag=1)
        trace.recv((rank - 1) % 8, 1000, tag=1)

    model = compile(scenario(cluster(("ring", 8, 50.0, 500.0)), write, **LINKS))
    told = run(model).not_folded
    assert "two messages come in one tick to the link from rank 0 to rank 1 (dimension 0)" in told


def test_links_that_are_crossed_too_often_to_be_told_apart_are_not_folded() -> None:
    """Every rank sends to every other, over 85 million links in all."""
    trace = TraceBuilder()
    trace.collective(ALL_TO_ALL, 4096)
    model = compile(
        Scenario(
            workload=Traces(traces=(trace.build(),) * 700),
            topology=cluster(("ring", 700, 50.0, 500.0)),
            collectives=collectives("direct"),
            **LINKS,
        )
    )
    assert find(model).refusal == "telling the classes of ranks apart would take too long"


def test_ranks_of_a_written_out_algorithm_stand_alone_among_others_that_fold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = Ring.programs

    def programs(self: Ring, kind: Kind, n: int, **options: Any) -> Any:
        lowered = kind is Kind.ALL_REDUCE
        return (lower(self.schedule(kind, n)),) if lowered else plain(self, kind, n, **options)

    def write(trace: TraceBuilder, rank: int) -> None:
        kind = ALL_REDUCE if rank < 4 else ALL_GATHER
        trace.collective(kind, 100_000, group=str(1 + rank // 4))

    monkeypatch.setattr(Ring, "programs", programs)
    groups = tuple((1 + at, tuple(range(4 * at, 4 * at + 4))) for at in range(8))
    model = compile(scenario(cluster(("switch", 32, 50.0, 500.0)), write, groups=groups, **LINKS))
    assert len(find(model).count) == 5
    assert tables(run(model, fold="require")) == tables(run(model, fold="off"))


def test_memory_that_ranks_share_is_not_folded() -> None:
    model = compile(
        scenario(
            cluster(("ring", 16, 50.0, 500.0)),
            lambda trace, rank: trace.memory_load(1000),
            memory=RemoteMemory(kind="pool", latency_ns=50, bytes_per_ns=3.0),
        )
    )
    assert "remote memory that ranks share" in run(model).not_folded


def test_groups_of_astra_sim_that_cross_dimensions_unevenly_are_told_apart() -> None:
    topology = cluster(("ring", 4, 50.0, 500.0), ("ring", 8, 25.0, 700.0))
    model = compile(
        scenario(
            topology,
            lambda trace, rank: trace.collective(ALL_REDUCE, 4096, group=str(1 + rank // 16)),
            groups=((1, tuple(range(16))), (2, tuple(range(16, 32)))),
            quirks=[Quirk.GROUP_RING],
        )
    )
    folding = find(model)
    assert tables(run(model)) == tables(run(model, fold="off"))
    assert any("distances" in line for line in explain(model, folding))


def test_auto_folds_where_half_of_the_work_is_saved() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        for _ in range(3 if rank < 2 else 1):
            trace.compute(duration_micros=5 if rank < 2 else 9)

    def told(ranks: int) -> tuple[bool, str]:
        result = run(compile(scenario(cluster(("switch", ranks, 50.0, 500.0)), write)))
        return bool(result.outcome.folded), result.not_folded

    assert told(4) == (True, "")  # 4 of 8 nodes
    classes = find(compile(scenario(cluster(("switch", 4, 50.0, 500.0)), write)))
    assert list(classes.count) == [2, 2]
