"""Every registered collective algorithm keeps the laws of `yantra.collectives.contract`."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from tests.oracles import machines
from tests.oracles.wire import World
from yantra.collectives import find
from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.algorithms import algorithms
from yantra.collectives.contract import LAWS, Law, supported_sizes, violations
from yantra.collectives.lower import lower
from yantra.collectives.schedule import Kind

PLAIN = tuple(name for name in algorithms.names() if not find(name).in_network)
NAMES = (*PLAIN, "direct1", "direct3")
SLOW = ("rail_rings", 64)  # seconds a law
CASES = [
    pytest.param(
        name, kind, n, id=f"{name}-{kind}-{n}", marks=[pytest.mark.slow] * ((name, n) == SLOW)
    )
    for name in NAMES
    for kind in sorted(find(name).kinds)
    for n in supported_sizes(find(name), kind)
]
SMALL_CASES = [case for case in CASES if int(str(case.values[2])) <= 17]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize(("name", "kind", "n"), CASES)
def test_law(law: Law, name: str, kind: Kind, n: int) -> None:
    assert law(find(name), kind, n) is None


def _local(n: int) -> int:
    """The divisor of n next to its square root, from below."""
    return max(g for g in range(1, n + 1) if n % g == 0 and g * g <= n)


def _on_rails(n: int) -> Fraction:
    """A step sends the n-th inside the node, and its own ring's share of that to the next node."""
    g = _local(n)
    return Fraction(n - 1, n) * (1 if g == 1 else 1 + Fraction(1, g))


# Bytes each position sends, as a fraction of the data (of one shard, for an all_gather).
SENT_PER_POSITION = {
    ("ring", Kind.ALL_REDUCE): lambda n: Fraction(2 * (n - 1), n),
    ("ring", Kind.REDUCE_SCATTER): lambda n: Fraction(n - 1, n),
    ("ring", Kind.ALL_GATHER): lambda n: Fraction(n - 1),
    ("ring", Kind.ALL_TO_ALL): lambda n: Fraction(n - 1, 2),
    ("direct", Kind.ALL_REDUCE): lambda n: Fraction(2 * (n - 1), n),
    ("direct", Kind.REDUCE_SCATTER): lambda n: Fraction(n - 1, n),
    ("direct", Kind.ALL_GATHER): lambda n: Fraction(n - 1),
    ("direct", Kind.ALL_TO_ALL): lambda n: Fraction(n - 1, n),
    ("halving_doubling", Kind.ALL_REDUCE): lambda n: Fraction(2 * (n - 1), n),
    ("halving_doubling", Kind.REDUCE_SCATTER): lambda n: Fraction(n - 1, n),
    ("halving_doubling", Kind.ALL_GATHER): lambda n: Fraction(n - 1),
    ("pat", Kind.ALL_REDUCE): lambda n: Fraction(2 * (n - 1), n),
    ("pat", Kind.REDUCE_SCATTER): lambda n: Fraction(n - 1, n),
    ("pat", Kind.ALL_GATHER): lambda n: Fraction(n - 1),
    ("rail_rings", Kind.ALL_REDUCE): lambda n: 2 * _on_rails(n),
    ("rail_rings", Kind.REDUCE_SCATTER): lambda n: _on_rails(n),
    ("rail_rings", Kind.ALL_GATHER): lambda n: n * _on_rails(n),
    ("pairwise", Kind.ALL_TO_ALL): lambda n: Fraction(n - 1, n),
    ("two_level", Kind.ALL_TO_ALL): lambda n: 2 - Fraction(1, _local(n)) - Fraction(_local(n), n),
    ("bruck", Kind.ALL_TO_ALL): lambda n: Fraction(sum(way.bit_count() for way in range(n)), n),
}


@pytest.mark.parametrize(("name", "kind"), SENT_PER_POSITION)
def test_each_position_sends_the_bytes_of_the_closed_form(name: str, kind: Kind) -> None:
    algorithm = find(name)
    for n in supported_sizes(algorithm, kind):
        (program,) = algorithm.programs(kind, n)
        sent = [0] * n
        for src, _, size in program.messages(n * 840):
            sent[src] += size
        assert sent == [SENT_PER_POSITION[name, kind](n) * n * 840] * n


# Bytes all positions send together, as a fraction of the data (of one shard, for a gather).
SENT_BY_ALL = {
    ("double_binary_tree", Kind.ALL_REDUCE): lambda n: 2 * (n - 1),
    ("binomial_tree", Kind.BROADCAST): lambda n: n - 1,
    ("binomial_tree", Kind.REDUCE): lambda n: n - 1,
    ("binomial_tree", Kind.BARRIER): lambda n: 2 * (n - 1),
    ("binomial_tree", Kind.GATHER): lambda n: sum(_depth(p) for p in range(n)),
    ("binomial_tree", Kind.SCATTER): lambda n: Fraction(sum(_depth(p) for p in range(n)), n),
    ("chain", Kind.BROADCAST): lambda n: n - 1,
    ("chain", Kind.REDUCE): lambda n: n - 1,
    ("spread", Kind.BROADCAST): lambda n: n - 1,
    ("spread", Kind.REDUCE): lambda n: n - 1,
    ("star", Kind.GATHER): lambda n: n - 1,
    ("star", Kind.SCATTER): lambda n: Fraction(n - 1, n),
}


def _depth(position: int) -> int:
    """How often a block of a position moves on its way to or from the root."""
    return position.bit_count()


@pytest.mark.parametrize(("name", "kind"), SENT_BY_ALL)
def test_all_positions_send_the_bytes_of_the_closed_form(name: str, kind: Kind) -> None:
    algorithm = find(name)
    for n in supported_sizes(algorithm, kind):
        (program,) = algorithm.programs(kind, n)
        data = 2 * n * max(n - 1, 1) * 840
        total = sum(size for _, _, size in program.messages(data))
        assert total == SENT_BY_ALL[name, kind](n) * data


def test_every_built_in_has_its_closed_form() -> None:
    offered = {(name, kind) for name in PLAIN for kind in find(name).kinds}
    assert offered == {*SENT_PER_POSITION, *SENT_BY_ALL}


@pytest.mark.parametrize(("name", "kind", "n"), SMALL_CASES)
def test_every_program_comes_to_its_end_at_every_position(name: str, kind: Kind, n: int) -> None:
    algorithm = find(name)
    for faithful in (False, True):
        if algorithm.supports(kind, n, faithful=faithful) is None:
            for program in algorithm.programs(kind, n, faithful=faithful):
                assert None not in machines.run(World(), program, data=n * 840)


@pytest.mark.parametrize("name", ["ring", "halving_doubling"])
def test_the_plain_exchange_program_takes_as_long_as_the_lowered_schedule(name: str) -> None:
    algorithm = find(name)
    for kind in algorithm.kinds:
        for n in supported_sizes(algorithm, kind)[:12]:
            (program,) = algorithm.programs(kind, n)
            lowered = lower(algorithm.schedule(kind, n))
            assert machines.run(World(), program, 840 * n) == machines.run(
                World(), lowered, 840 * n
            ), (kind, n)


def test_direct_takes_as_long_as_its_lowered_schedule() -> None:
    direct = find("direct")
    for kind in direct.kinds:
        for n in range(2, 12):
            (program,) = direct.programs(kind, n)
            lowered = lower(direct.schedule(kind, n))
            assert machines.run(World(), program, 840 * n) == machines.run(
                World(), lowered, 840 * n
            ), (kind, n)


EXAMPLE = """
from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.schedule import Kind, Move, Round, Schedule

class RecursiveDoubling(CollectiveAlgorithm):
    kinds = frozenset({Kind.ALL_REDUCE})

    def supports(self, kind, n, *, faithful=False):
        reason = super().supports(kind, n, faithful=faithful)
        return reason or ("it needs a power of two" if n & (n - 1) else None)

    def schedule(self, kind, n):
        distances = [1 << k for k in range(n.bit_length() - 1)]
        rounds = [Round((Move(0, d, (0,), reduce=True),), "xor") for d in distances]
        return Schedule(kind, n, 1, tuple(rounds))
"""


@pytest.fixture
def third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CollectiveAlgorithm:
    (tmp_path / "doubling.py").write_text(EXAMPLE)
    info = tmp_path / "doubling-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: doubling\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[yantra.collectives]\nrecursive_doubling = doubling:RecursiveDoubling\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return find("recursive_doubling")


def test_a_third_party_algorithm_is_found_and_keeps_the_laws(
    third_party: CollectiveAlgorithm,
) -> None:
    assert supported_sizes(third_party, Kind.ALL_REDUCE) == [2, 4, 8, 16, 32, 64]
    assert list(violations(third_party)) == []
    (program,) = third_party.programs(Kind.ALL_REDUCE, 8)
    assert len(program.ops) == 1  # one list of operations for all positions
    assert set(machines.run(World(), program, data=5)) == {3 * (100 + 5 + 10 + 3 * 5) + 10}
