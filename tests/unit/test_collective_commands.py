"""`yantra collective bench` and `show`: nothing beats the bound, rounds are those of schedules."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from yantra.cli import main
from yantra.collectives import find
from yantra.collectives.messages import of_program, of_schedule
from yantra.collectives.msccl import parse_program, prove
from yantra.collectives.schedule import Kind
from yantra.collectives.synthesis import tacos
from yantra.collectives.synthesis.bound import Fabric
from yantra.collectives.synthesis.msccl_text import program_text
from yantra.collectives.synthesis.rank_graph import rank_graph
from yantra.fabric.graphs.describe import shown
from yantra.run.collective_bench import BENCHED, MADE, Question, bench, default_algorithms

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("kind", BENCHED)
def test_no_algorithm_beats_the_bound(kind: Kind) -> None:
    fabrics = [shown(name, {}) for name in ("switch", "dgx1", "leaf_spine")]
    names = default_algorithms(kind)
    rows = []
    for name in names:  # slow synthesized ones are in test_synthesis.py
        sizes = (2**16, 2**12 if name == MADE else 2**24)
        rows += bench(fabrics, Question(kind, sizes, (name,)))
    assert len(rows) == 3 * 2 * len(names)
    for row in rows:
        assert row.refused or (row.of_bound is not None and 0 < row.of_bound <= 1 + 1e-9)
    assert {row.algorithm for row in rows if not row.refused} >= {"direct"}


@pytest.mark.parametrize("name", ["sharp", "nvls"])
def test_where_switches_add_the_bound_is_one_crossing(name: str) -> None:
    options = {"ranks": 8, "bandwidth": "450 GB/s", "latency": "300 ns"}
    size = 2**30
    asked = Question(Kind.ALL_REDUCE, (size,), (name, "ring"), chunks=64)
    switched, ring = bench([shown("switch", options)], asked)
    assert switched.time_ns is not None and switched.of_bound is not None
    assert switched.of_bound * switched.time_ns == pytest.approx(size / 450)
    assert 0.7 < switched.of_bound <= 1
    assert ring.time_ns is not None and ring.of_bound is not None
    assert ring.of_bound * ring.time_ns == pytest.approx(2 * 7 / 8 * size / 450)
    assert ring.of_bound <= 1 < ring.time_ns / switched.time_ns


def test_a_ring_on_a_switch_takes_its_closed_form() -> None:
    """n - 1 steps each way: two links of latency, and the bytes of a part over the rate."""
    options = {"ranks": 4, "bandwidth": "50 GB/s", "latency": "500 ns"}
    asked = Question(Kind.ALL_REDUCE, (2**24,), ("ring",))
    row = next(bench([shown("switch", options)], asked))
    expected = 6 * (1000 + 2**24 / 4 / 50)
    assert row.time_ns == pytest.approx(expected, rel=1e-6)
    assert row.bus_bytes_per_ns == pytest.approx(2 * 3 / 4 * 2**24 / expected, rel=1e-6)


def test_chunks_overlap_what_goes_up_and_what_comes_down() -> None:
    options = {"bandwidth": "50 GB/s", "latency": "500 ns", "ranks_per_rack": 8, "switches": 2}
    fabric = shown("nvl72", options)
    one, many = (
        next(bench([fabric], Question(Kind.ALL_REDUCE, (2**30,), ("nvls",), chunks=chunks)))
        for chunks in (1, 32)
    )
    assert one.time_ns is not None and many.time_ns is not None
    assert 0.5 * one.time_ns < many.time_ns < 0.7 * one.time_ns


def test_the_size_of_an_all_gather_is_what_a_rank_has_at_last(capsys: Captured) -> None:
    line = ["collective", "bench", "--cluster", "hgx-h100", "--json", "--sizes", "64 MiB"]
    buses = {}
    for kind in ("all_gather", "reduce_scatter"):
        assert main([*line, "--collective", kind]) == 0
        (row,) = json.loads(capsys.readouterr().out)["rows"]
        buses[kind] = row["bus_bytes_per_ns"]
        assert row["bus_bytes_per_ns"] == pytest.approx(7 / 8 * 2**26 / row["time_ns"])
    assert 0.5 < buses["all_gather"] / buses["reduce_scatter"] < 2
    for wrong in ("8 MiB,,1 B", "0 B"):
        assert main([*line[:-1], wrong]) == 2
        assert "--sizes" in capsys.readouterr().err


@pytest.mark.parametrize("n", [4, 6, 8])
def test_rounds_of_one_message_each_take_the_sum_of_their_messages(n: int) -> None:
    parts = {
        "pairwise": (Kind.ALL_TO_ALL, [1] * (n - 1)),
        "bruck": (Kind.ALL_TO_ALL, [sum(bool(way & bit) for way in range(n)) for bit in _bits(n)]),
        "pat": (Kind.ALL_GATHER, [len(range(0, n - bit, 2 * bit)) for bit in _bits(n)]),
    }
    options = {"ranks": n, "bandwidth": "50 GB/s", "latency": "500 ns"}
    for name, (kind, blocks) in parts.items():
        size = n * 2**20
        row = next(bench([shown("switch", options)], Question(kind, (size,), (name,))))
        expected = sum(1000 + count * 2**20 / 50 for count in blocks)
        assert row.time_ns == pytest.approx(expected, rel=1e-6), name


def _bits(n: int) -> list[int]:
    return [1 << bit for bit in range((n - 1).bit_length())]


def test_a_made_all_gather_fills_the_links_of_a_dgx1() -> None:
    row = next(bench([shown("dgx1", {})], Question(Kind.ALL_GATHER, (2**28,), ("synthesized",))))
    assert row.of_bound is not None and row.of_bound > 0.97


@pytest.mark.parametrize("name", ["ring", "halving_doubling", "direct"])
def test_a_member_sends_what_the_law_of_bandwidth_says(name: str) -> None:
    rounds = of_schedule(find(name).schedule(Kind.ALL_REDUCE, 8))
    assert rounds.sent() == [Fraction(2 * 7, 8)] * 8


def test_a_program_has_the_messages_of_its_plan_each_after_what_it_waits_for() -> None:
    ring = Fabric(5, 5, tuple((at, (at + 1) % 5, Fraction(10)) for at in range(5)))
    plan = tacos.gather(rank_graph(ring, (0.0,) * 5), 1e6)
    rounds = of_program(prove(parse_program(program_text(plan, "ring").encode())))
    assert [len(round_) for round_ in rounds.rounds] == [5] * 4
    assert all((each.dst - each.src) % 5 == 1 for each in (m for r in rounds.rounds for m in r))
    assert rounds.sent() == [Fraction(4)] * 5


def test_the_drawing_has_an_arrow_for_each_message(tmp_path: Path, capsys: Captured) -> None:
    svg = tmp_path / "ring.svg"
    assert main(["collective", "show", "ring", "--ranks", "4", "--svg", str(svg)]) == 0
    assert "6 rounds, 24 messages; proven" in capsys.readouterr().out
    text = svg.read_text(encoding="utf-8")
    assert text.count('marker-end="url(#add)"') == text.count('marker-end="url(#copy)"') == 12


def test_what_cannot_be_drawn_or_performed_is_refused(tmp_path: Path, capsys: Captured) -> None:
    large = ["collective", "show", "direct", "--ranks", "64", "--svg", str(tmp_path / "no.svg")]
    assert main(large) == 2
    assert "--svg: 8064 messages are too many to draw" in capsys.readouterr().err
    assert main(["collective", "show", "ring", "--collective", "broadcast"]) == 2
    assert "performs" in capsys.readouterr().err


def test_a_row_that_cannot_run_says_why(capsys: Captured) -> None:
    line = ["collective", "bench", "torus", "--algorithms", "halving_doubling", "--sizes", "1 MiB"]
    assert main([*line, "--set", "sizes=[3]"]) == 0
    assert "halving_doubling does not run on torus" in capsys.readouterr().out
    assert main([*line, "--set", "sizes=[4]", "--json"]) == 0
    assert [row["ranks"] for row in json.loads(capsys.readouterr().out)["rows"]] == [4]
