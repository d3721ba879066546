"""Switches in a collective, over four leaves of two ranks and one spine, 10 GB/s and 1 us
a link.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.base.trust import allow
from yantra.chakra import TraceBuilder
from yantra.cli import main
from yantra.collectives.check import find_violation
from yantra.collectives.lower import lower
from yantra.collectives.schedule import Kind, Move, Round, Schedule
from yantra.collectives.switch_tree import Tree, all_reduce, barrier, broadcast
from yantra.compile import compile
from yantra.result import Result
from yantra.run.simulate import run, simulate
from yantra.scenario import load

MB = 1_000_000
D = 10  # ns, of each hand-over at a rank
LATENCY = 1_000
ACROSS = 100_000  # of 1 MB over a link
LEAVES = tuple(Tree(f"leaf {at}", ranks=(2 * at, 2 * at + 1)) for at in range(4))
TREE = Tree("spine 0", children=LEAVES)

PLUGIN = """
from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.schedule import Kind
from yantra.collectives.switch_tree import Tree, all_reduce, barrier, broadcast

LEAVES = tuple(Tree(f"leaf {{at}}", ranks=(2 * at, 2 * at + 1)) for at in range(4))
TREE = Tree("{spine}", children=LEAVES)


class InNetwork(CollectiveAlgorithm):
    kinds = frozenset({{Kind.ALL_REDUCE}})

    def supports(self, kind, n, *, faithful=False):
        wrong = super().supports(kind, n, faithful=faithful)
        return wrong or (None if n == 8 else f"its tree has 8 ranks, got {{n}}")

    def schedule(self, kind, n):
        self.require(kind, n)
        return all_reduce(n, TREE, {blocks})


PLUGIN = InNetwork
"""


def _write(
    folder: Path,
    *,
    network: str = "flow",
    blocks: int = 1,
    spine: str = "spine 0",
    size: int = MB,
    times: int = 1,
    more: str = "",
) -> Path:
    (folder / "tree.py").write_text(PLUGIN.format(spine=spine, blocks=blocks))
    allow(str(folder / "tree.py"))
    for rank in range(8):
        trace = TraceBuilder(rank=rank)
        before = []
        for _ in range(times):
            before = [trace.collective("all_reduce", size, after=before)]
        trace.build().write(str(folder / f"job.{rank}.et"))
    file = folder / "job.yaml"
    file.write_text(
        f'workload: {{traces: "job.{{rank}}.et"}}\nnetwork: {network}\n'
        f"collectives: {{all_reduce: [./tree.py], endpoint_delay: {D} ns}}\ncluster:\n"
        "  topology: [{kind: switch, size: 8, bandwidth: 10 GB/s, latency: 1 us}]\n"
        "  fabric: {kind: leaf_spine, leaves: 4, ranks_per_leaf: 2, spines: 2, bandwidth: 10 GB/s,"
        f" latency: 1 us, uplink_bandwidth: 10 GB/s}}\n{more}"
    )
    return file


def _bytes(result: Result) -> list[int]:
    return [use.bytes for use in result.dimension_uses]


@pytest.mark.parametrize(
    ("network", "routing"),
    [
        *product(("flow", "store_and_forward"), ("shortest", "ecmp", "up_down")),
        ("flow", "adaptive"),
    ],
)
def test_reduce_up_and_multicast_down_takes_its_formula_to_the_tick(
    tmp_path: Path, network: str, routing: str
) -> None:
    result = simulate(load(_write(tmp_path, network=network, more=f"  routing: {routing}\n")))
    assert set(result.finish_ns) == {4 * (LATENCY + ACROSS) + 2 * D}
    # Each rank sends once and receives once; each leaf, too.
    assert _bytes(result) == [8 * MB, 8 * MB, 4 * MB, 4 * MB]
    assert result.messages == 2 * (8 + 4)


@pytest.mark.parametrize("blocks", [2, 5, 10])
def test_blocks_follow_each_other_through_the_tree_where_messages_queue(
    tmp_path: Path, blocks: int
) -> None:
    result = simulate(load(_write(tmp_path, network="store_and_forward", blocks=blocks)))
    assert result.makespan_ns == 4 * LATENCY + (blocks + 3) * ACROSS // blocks + 2 * D
    assert _bytes(result) == [8 * MB, 8 * MB, 4 * MB, 4 * MB]


def test_two_in_a_row_take_twice_as_long_and_nothing_is_left_behind(tmp_path: Path) -> None:
    result = simulate(load(_write(tmp_path, times=3)))
    assert result.makespan_ns == 3 * (4 * (LATENCY + ACROSS) + 2 * D)
    assert _bytes(result) == [24 * MB, 24 * MB, 12 * MB, 12 * MB]


def test_a_switch_waits_for_the_last_of_its_ranks(tmp_path: Path) -> None:
    """Rank 5 computes for 300 us first, and is no host: the others wait at the switches."""
    file = _write(tmp_path)
    trace = TraceBuilder(rank=5)
    trace.collective("all_reduce", MB, after=[trace.compute(duration_micros=300)])
    trace.build().write(str(tmp_path / "job.5.et"))
    assert simulate(load(file)).makespan_ns == 300_000 + 4 * (LATENCY + ACROSS) + 2 * D


def test_the_root_of_a_broadcast_is_done_when_it_has_sent(tmp_path: Path) -> None:
    assert find_violation(broadcast(8, TREE)) is None
    file = _write(tmp_path)
    text = (tmp_path / "tree.py").read_text()
    (tmp_path / "tree.py").write_text(text.replace("all_reduce(n, TREE, 1)", "broadcast(n, TREE)"))
    result = simulate(load(file))
    assert result.finish_ns[0] == D + ACROSS
    near, far = (hops * (LATENCY + ACROSS) + 2 * D for hops in (2, 4))
    assert sorted(set(result.finish_ns)) == [D + ACROSS, near, far]
    assert _bytes(result) == [MB, 7 * MB, MB, 3 * MB]


def _trees() -> st.SearchStrategy[tuple[int, Tree]]:
    def grown(parents: list[int], at: list[int]) -> tuple[int, Tree]:
        children: dict[int, list[int]] = {}
        for child, parent in enumerate(parents, 1):
            children.setdefault(parent % child, []).append(child)

        def made(switch: int) -> Tree:
            below = tuple(made(child) for child in children.get(switch, ()))
            own = tuple(r for r, where in enumerate(at) if where % (len(parents) + 1) == switch)
            return Tree(f"s{switch}", own, below)

        return len(at), _pruned(made(0)) or Tree("s0", tuple(range(len(at))))

    return st.builds(
        grown,
        st.lists(st.integers(0, 6), max_size=6),
        st.lists(st.integers(0, 6), min_size=2, max_size=9),
    )


def _pruned(tree: Tree) -> Tree | None:
    below = tuple(one for child in tree.children if (one := _pruned(child)) is not None)
    return Tree(tree.switch, tree.ranks, below) if tree.ranks or below else None


@settings(max_examples=60)
@given(tree=_trees(), blocks=st.integers(1, 3))
def test_every_tree_is_proven_and_its_program_sends_what_the_schedule_says(
    tree: tuple[int, Tree], blocks: int
) -> None:
    n, top = tree
    for schedule in (all_reduce(n, top, blocks), barrier(n, top), broadcast(n, top, blocks)):
        assert find_violation(schedule) is None
        program = lower(schedule)
        data = 60 * schedule.parts
        assert sorted(program.messages(data)) == sorted(schedule.messages(data))
        assert sorted(program.receives(data)) == sorted(schedule.messages(data))
        assert all(0 <= host < n for host in program.hosts)


@settings(max_examples=40)
@given(tree=_trees(), data=st.data())
def test_a_tree_that_leaves_a_message_out_or_adds_one_twice_is_not_proven(
    tree: tuple[int, Tree], data: st.DataObject
) -> None:
    schedule = all_reduce(*tree)
    at = data.draw(st.integers(0, len(schedule.rounds) - 1))
    moves = schedule.rounds[at].moves
    one = data.draw(st.sampled_from(moves))
    fewer = tuple(move for move in moves if move is not one)
    rounds = list(schedule.rounds)
    rounds[at] = Round(fewer)
    assert find_violation(schedule._replace(rounds=tuple(rounds))) is not None
    if one.reduce:
        rounds[at : at + 1] = [Round(moves), Round((one,))]
        assert "a second time" in str(find_violation(schedule._replace(rounds=tuple(rounds))))


@pytest.mark.parametrize(
    ("moves", "switches", "problem"),
    [
        (
            [[Move(2, 0, (0,))], [Move(0, 2, (0,))]],
            ("s",),
            "switch s sends block 0 to position 0 but",
        ),
        ([[Move(0, 1, (0,), True)]], ("s",), "nobody sends to switch s"),
        ([[Move(0, 2, (0,), True)]], ("s", "s"), "a switch is listed twice"),
        ([[Move(0, 4, (0,), True)]], ("s",), "leaves the positions 0..2"),
    ],
)
def test_the_checker_says_what_is_wrong_with_a_switch(
    moves: list[list[Move]], switches: tuple[str, ...], problem: str
) -> None:
    rounds = tuple(Round(tuple(of_round)) for of_round in moves)
    schedule = Schedule(Kind.ALL_REDUCE, 2, 1, rounds, switches=switches)
    assert problem in str(find_violation(schedule))


def test_the_contract_checks_a_file_whose_schedule_names_switches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(tmp_path)
    assert main(["contract", "collective", str(tmp_path / "tree.py")]) == 0
    assert "all_reduce: proven over 8 positions" in capsys.readouterr().out


def test_switches_are_refused_where_there_are_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is called 'spin 0'; did you mean 'spine 0'"):
        compile(load(_write(tmp_path, spine="spin 0")))
    file = _write(tmp_path)
    lines = [line for line in file.read_text().splitlines() if "fabric:" not in line]
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(Exception, match=r"so it needs cluster\.fabric, which has them"):
        compile(load(file))
    file = _write(tmp_path)
    for rank in range(8):
        trace = TraceBuilder(rank=rank)
        trace.collective("all_reduce", MB, group="1" if rank < 4 else "2")
        trace.build().write(str(tmp_path / f"job.{rank}.et"))
    groups = "groups: {1: [0, 1, 2, 3], 2: [4, 5, 6, 7]}"
    file.write_text(file.read_text().replace('.et"}', f'.et", {groups}}}'))
    assert "pat" in str(compile(load(file)).chosen)  # which its groups run, as its tree is of 8
    text = (tmp_path / "tree.py").read_text()
    (tmp_path / "tree.py").write_text(
        text.replace("n == 8", "n == 4").replace("range(4)", "range(2)")
    )
    with pytest.raises(UnsupportedError, match="of all 8 ranks; this is over 4"):
        compile(load(file))


def test_a_recording_is_refused_as_it_would_lack_what_switches_send(tmp_path: Path) -> None:
    model = compile(load(_write(tmp_path)))
    with pytest.raises(UnsupportedError, match="recordings do not follow messages of switches"):
        run(model, record=True)
    result = run(model)
    result.to_json(tmp_path / "result.json")
    assert simulate(load(tmp_path / "result.json")).makespan_ns == result.makespan_ns
