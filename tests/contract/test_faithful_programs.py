"""The faithful programs are ASTRA-sim's state machines, injection by injection and tick by tick."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from tests.oracles import exchange, machines
from tests.oracles.exchange import Injection
from tests.oracles.wire import World
from tests.zoo import some
from yantra.collectives import find
from yantra.collectives.algorithms.double_binary_tree import DoubleBinaryTree
from yantra.collectives.program import ExchangeProgram, RingKind, scaled
from yantra.collectives.schedule import Kind

KINDS = (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER, Kind.ALL_TO_ALL)
POWERS = (2, 4, 8, 16)
DATA = 10_007  # divisible by nothing, so that every floor shows

Members = Callable[[World, int], exchange.Ring]  # (world, position)


def program_of(name: str, kind: Kind, n: int, ring_kind: RingKind = "usual") -> ExchangeProgram:
    (program,) = find(name).programs(kind, n, faithful=True, ring_kind=ring_kind)
    assert isinstance(program, ExchangeProgram)
    return program


def injections(program: ExchangeProgram, position: int, direction: int) -> Iterator[Injection]:
    for run in program.runs:
        size = scaled(DATA, run.num, run.den, program.round_up)
        if run.reduce_num:
            assert scaled(DATA, run.reduce_num, run.reduce_den, program.round_up) == size
        if run.peer == "xor":
            to = machines.partner(position, run.out, program.n)
            source = machines.partner(position, run.into, program.n)
        else:
            to = (position + direction * run.out) % program.n
            source = (position + direction * run.into) % program.n
        for _ in range(run.count):
            yield Injection(size, run.reduce_num > 0, run.side, run.back, to, source)


def agree(program: ExchangeProgram, members: Members, direction: int = 1) -> None:
    by_rule, by_program = World(), World()
    ranks = [members(by_rule, position) for position in range(program.n)]
    finished = exchange.play(by_rule, ranks)
    assert None not in finished
    for position, rank in enumerate(ranks):
        assert rank.injected == list(injections(program, position, direction))
    assert machines.run(by_program, program, DATA, direction) == finished
    assert by_program.sent == by_rule.sent


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", range(2, 17))
def test_ring(n: int, kind: Kind, direction: int) -> None:
    agree(
        program_of("ring", kind, n),
        lambda world, position: exchange.Ring(world, kind, n, position, DATA, direction),
        direction,
    )


@pytest.mark.parametrize("ring_kind", ["usual", "group"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", some(range(2, 17), (11).__gt__))
def test_direct_with_every_window(n: int, kind: Kind, ring_kind: RingKind) -> None:
    for limit in [None, *range(1, n + 1)]:
        for direction in (1, -1):
            agree(
                program_of(f"direct{limit or ''}", kind, n, ring_kind),
                lambda world, position, limit=limit, direction=direction: exchange.Direct(  # type: ignore[misc]
                    world, kind, n, position, DATA, direction, limit, ring_kind == "group"
                ),
                direction,
            )


@pytest.mark.parametrize("kind", KINDS[:3])
@pytest.mark.parametrize("n", POWERS)
def test_halving_doubling(n: int, kind: Kind) -> None:
    agree(
        program_of("halving_doubling", kind, n),
        lambda world, position: exchange.HalvingDoubling(world, kind, n, position, DATA),
    )


@pytest.mark.parametrize("n", range(2, 131))
def test_halving_doubling_gathers_over_other_numbers_exactly_where_its_rule_ends(n: int) -> None:
    def ranks(world: World) -> list[exchange.Ring]:
        kind = Kind.ALL_GATHER
        return [exchange.HalvingDoubling(world, kind, n, position, DATA) for position in range(n)]

    of_rule = ranks(World())
    to = [rank.to for rank in of_rule]
    world = World()
    ends = None not in exchange.play(world, ranks(world))
    reason = find("halving_doubling").supports(Kind.ALL_GATHER, n, faithful=True)
    assert (reason is None) == ends
    assert not ends or [to[peer] for peer in to] == list(range(n))
    if ends:
        agree(
            program_of("halving_doubling", Kind.ALL_GATHER, n),
            lambda world, at: exchange.HalvingDoubling(world, Kind.ALL_GATHER, n, at, DATA),
        )


@pytest.mark.parametrize("kind", [Kind.ALL_REDUCE, Kind.REDUCE_SCATTER])
@pytest.mark.parametrize("n", [3, 6, 12, 20, 24])
def test_halving_doubling_halves_over_a_power_of_two_only(n: int, kind: Kind) -> None:
    world = World()
    ranks = [exchange.HalvingDoubling(world, kind, n, position, DATA) for position in range(n)]
    assert None in exchange.play(world, ranks)
    assert find("halving_doubling").supports(kind, n, faithful=True) is not None
    assert find("halving_doubling").supports(Kind.ALL_GATHER, n) is not None


@pytest.mark.parametrize("name", ["ring", "direct", "direct2", "direct5"])
@pytest.mark.parametrize("kind", KINDS)
def test_programs_follow_the_rule_on_an_uneven_network(name: str, kind: Kind) -> None:
    """Random delays make receipts and hand-overs overtake one another."""
    n, limit = 7, int(name[6:]) if name[6:] else None
    for seed in range(40):

        def world() -> World:
            luck = random.Random(seed)  # noqa: B023
            return World(delay=lambda _: luck.randrange(1, 400), reduction=lambda _: 57)

        by_rule, by_program = world(), world()
        ranks = [
            exchange.Ring(by_rule, kind, n, position, DATA)
            if name == "ring"
            else exchange.Direct(by_rule, kind, n, position, DATA, 1, limit)
            for position in range(n)
        ]
        finished = exchange.play(by_rule, ranks)
        assert machines.run(by_program, program_of(name, kind, n), DATA) == finished
        assert by_program.sent == by_rule.sent


@pytest.mark.parametrize("asked", KINDS)
@pytest.mark.parametrize("n", (*POWERS, 32, 64))
def test_double_binary_tree_runs_an_all_reduce_whatever_was_asked(n: int, asked: Kind) -> None:
    programs = DoubleBinaryTree().programs(asked, n, faithful=True)
    assert len(programs) == 2
    for program, root_max in zip(programs, (True, False), strict=True):
        by_rule, by_program = World(), World()
        nodes = exchange.double_tree(n, root_max)
        ranks = [exchange.Tree(by_rule, nodes, position, DATA) for position in range(n)]
        assert machines.run(by_program, program, DATA) == exchange.play(by_rule, ranks)
        assert sorted(by_program.sent) == sorted(by_rule.sent)
        assert (program.final_num, program.final_den, program.round_up) == (1, 1, False)


def test_faithful_trees_need_a_power_of_two() -> None:
    reason = DoubleBinaryTree().supports(Kind.ALL_REDUCE, 6, faithful=True)
    assert reason == "in ASTRA-sim it needs a power of two positions, got 6"
    assert DoubleBinaryTree().supports(Kind.ALL_REDUCE, 6) is None


E, W, R = 11, 1009, 100_003


def finish(name: str, kind: Kind, n: int, ring_kind: RingKind = "usual") -> int:
    world = World(delay=lambda _: W, endpoint=E, reduction=lambda _: R)
    (tick,) = set(machines.run(world, program_of(name, kind, n, ring_kind), DATA))
    assert tick is not None
    return tick


@pytest.mark.parametrize("n", range(2, 17))
def test_ring_timelines(n: int) -> None:
    relayed = n * (n - 1) // 2
    assert finish("ring", Kind.ALL_REDUCE, n) == (2 * n - 1) * E + 2 * (n - 1) * W + (n - 1) * R
    assert finish("ring", Kind.REDUCE_SCATTER, n) == n * E + (n - 1) * W + (n - 1) * R
    assert finish("ring", Kind.ALL_GATHER, n) == n * E + (n - 1) * W
    assert finish("ring", Kind.ALL_TO_ALL, n) == (relayed + 1) * E + relayed * W


@pytest.mark.parametrize("n", range(2, 17))
def test_direct_timelines(n: int) -> None:
    assert finish("direct", Kind.ALL_REDUCE, n) == 3 * E + 2 * W + R
    assert finish("direct", Kind.REDUCE_SCATTER, n) == 2 * E + W + R
    assert finish("direct", Kind.ALL_GATHER, n) == 2 * E + W
    assert finish("direct", Kind.ALL_TO_ALL, n) == 2 * E + W


def test_a_narrow_direct_window_pays_every_second_group_of_receipts() -> None:
    receipts = 9
    free_of_charge = 4  # receipts 2, 4, 6 and 8: the free group of one between two charged ones
    in_turn = (receipts + 1) * E + receipts * W
    assert finish("direct1", Kind.REDUCE_SCATTER, 10) == in_turn + (receipts - free_of_charge) * R
    assert finish("direct1", Kind.REDUCE_SCATTER, 10, "group") == in_turn + receipts * R


def test_halving_doubling_timelines() -> None:
    delay, reduction = (lambda size: 3 * size + 1), (lambda size: 7 * size + 2)
    for steps in range(1, 7):
        n, data = 1 << steps, 1 << 10
        halves = [data >> k for k in range(1, steps + 1)]
        down = sum(map(delay, halves))
        charged = sum(map(reduction, halves[1:]))
        doubled = sum(delay(data << k) for k in range(steps))
        expected = {
            Kind.ALL_REDUCE: (2 * steps + 1) * 10 + 2 * down + charged,
            Kind.REDUCE_SCATTER: (steps + 1) * 10 + down + charged,
            Kind.ALL_GATHER: (steps + 1) * 10 + doubled,
        }
        for kind, ticks in expected.items():
            world = World(delay=delay, reduction=reduction)
            program = program_of("halving_doubling", kind, n)
            assert set(machines.run(world, program, data)) == {ticks}, (kind, n)


# Ticks of single chunks that ASTRA-sim gives (50 GB/s links of 500 ns, endpoint delay 10).


def link(size: int) -> int:
    return int(500 + size / 53.6870912)


def reduction_at(bytes_per_s: float) -> Callable[[int], int]:
    return lambda size: 3 * int(size / bytes_per_s * 1e9)


def test_ring_all_reduce_of_eight_as_astra_sim_has_it() -> None:
    world = World(delay=link, reduction=reduction_at(50e9))
    program = program_of("ring", Kind.ALL_REDUCE, 8)
    assert set(machines.run(world, program, 262_144)) == {29_445}


def test_direct_all_reduce_of_four_as_astra_sim_has_it() -> None:
    world = World(delay=link, reduction=reduction_at(1600e9))
    program = program_of("direct", Kind.ALL_REDUCE, 4)
    assert set(machines.run(world, program, 1 << 20)) == {11_283}


def test_double_binary_tree_of_four_as_astra_sim_has_it() -> None:
    world = World(delay=link, reduction=reduction_at(1600e9))
    program, _ = DoubleBinaryTree().programs(Kind.ALL_REDUCE, 4, faithful=True)
    assert machines.run(world, program, 1 << 20) == [86_069, 66_028, 86_069, 44_022]


def test_halving_doubling_all_reduce_of_eight_as_astra_sim_has_it() -> None:
    world = World(delay=link, reduction=reduction_at(1600e9))
    program = program_of("halving_doubling", Kind.ALL_REDUCE, 8)
    assert set(machines.run(world, program, 1 << 20)) == {37_978}
