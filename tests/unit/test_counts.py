"""All-to-alls of unequal counts: bytes, loads, the time of the busiest, files, routed workloads."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import ALL_TO_ALL, cluster, collectives, run, scenario
from yantra.base.errors import ConfigError
from yantra.base.fields import Plugin
from yantra.chakra import TraceBuilder
from yantra.collectives.counts import ROWS, largest, load, loads, of_routing, program_of
from yantra.compile import compile
from yantra.explain import explain
from yantra.scenario import Counts
from yantra.scenario.text import loads as read
from yantra.scenario.text import to_yaml

RATE = 50  # bytes per ns
ONE = cluster(("switch", 4, float(RATE), 100.0))
matrices = st.integers(2, 6).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 50), min_size=n, max_size=n), min_size=n, max_size=n)
)


@given(matrices)
def test_every_count_is_sent_once_and_awaited(rows: list[list[int]]) -> None:
    rows[0][1] += 1
    counts = tuple(map(tuple, rows))
    program, whole = program_of(counts), largest(counts)
    expected = Counter(
        (s, d, count) for s, row in enumerate(counts) for d, count in enumerate(row)
        if s != d and count
    )  # fmt: skip
    assert Counter(program.messages(whole)) == expected
    assert Counter(program.receives(whole)) == expected
    sent, got = loads(counts)
    assert sum(sent) == sum(got) == sum(size for *_, size in program.messages(whole))
    assert max(*sent, *got) <= whole


@given(matrices, st.integers(1, 1000))
@settings(max_examples=30, deadline=None)
def test_on_shared_links_it_takes_the_time_of_the_busiest_member(
    rows: list[list[int]], each: int
) -> None:
    rows[0][1] += 1
    counts = tuple(map(tuple, rows))
    n = len(counts)
    file = "counts.csv"
    sent, got = loads(counts)

    def write(trace: TraceBuilder, rank: int) -> None:
        trace.collective(ALL_TO_ALL, largest(counts) * each)

    Path(file).write_text("\n".join(",".join(map(str, row)) for row in counts))
    found = run(
        cluster(("switch", n, float(RATE), 100.0)), write, network="flow",
        collectives=collectives("direct", counts=Counts(file=str(Path(file).resolve()))),
    )  # fmt: skip
    least = max(*sent, *got) * each / RATE + 200
    most = (max(sent) + max(got)) * each / RATE + 200
    assert least - 0.01 <= float(max(found.finish)) <= most + 0.01


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.2])
@pytest.mark.parametrize(("experts", "members"), [(8, 4), (64, 8), (8, 8)])
def test_routing_sends_every_row_and_loads_the_busiest_as_generated_workloads_do(
    alpha: float, experts: int, members: int
) -> None:
    counts = of_routing(alpha, experts, members)
    assert [sum(row) for row in counts] == [ROWS] * members
    shares = [(expert + 1) ** -alpha for expert in range(experts)]
    inside = experts // members
    busiest = max(
        sum(shares[at * inside : (at + 1) * inside]) / sum(shares) for at in range(members)
    )
    assert largest(counts) == pytest.approx(members * ROWS * busiest, abs=members)


def test_even_routing_takes_the_time_of_a_direct_exchange() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.collective(ALL_TO_ALL, 4 * ROWS)

    plain = run(ONE, write, network="flow", collectives=collectives("direct"))
    even = Counts(routing="zipf:0", experts=8)
    routed = run(ONE, write, network="flow", collectives=collectives("direct", counts=even))
    assert routed.finish == plain.finish
    assert routed.bytes() == plain.bytes()


@pytest.mark.parametrize("alpha", [0.3, 1.2])
def test_skewed_routing_takes_what_the_busiest_gets_to_the_tick(alpha: float) -> None:
    counts = of_routing(alpha, 8, 4)
    size = 16 * largest(counts)
    given = collectives("direct", counts=Counts(routing=f"zipf:{alpha}", experts=8))
    found = run(ONE, lambda t, r: t.collective(ALL_TO_ALL, size), network="flow", collectives=given)
    sent, got = loads(counts)
    assert float(max(found.finish)) == pytest.approx(16 * max(*sent, *got) / RATE + 200, abs=0.002)
    assert sum(found.bytes()) == 2 * 16 * sum(sent)  # over a link up and a link down


def test_what_ran_is_told() -> None:
    given = collectives("direct", counts=Counts(routing="zipf:1", experts=8))
    told = explain(scenario(ONE, lambda t, r: t.collective(ALL_TO_ALL, 64), collectives=given))
    assert told.data["collectives"]["ran"] == [{"kind": "all_to_all", "ranks": 4, "by": ["counts"]}]
    assert told.data["collectives"]["at_best"] is None


def test_groups_of_other_sizes_keep_their_algorithm() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.collective(ALL_TO_ALL, 4 * ROWS)

    other = Counts(routing="zipf:1.2", experts=8, ranks=8)
    plain = run(ONE, write, collectives=collectives("direct"))
    assert run(ONE, write, collectives=collectives("direct", counts=other)).finish == plain.finish


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n3", "line 2: expected 2 counts, one for each line, got 1"),
        ("1,2\n3,-1", "line 2: expected a whole number from 0"),
        ("1,2\n3,x", "line 2: expected a whole number from 0"),
        ("0,0\n0,0", "expected a count above 0, got none"),
        ("1", "expected 2 to 1024 lines of counts, got 1"),
        ("", "expected 2 to 1024 lines of counts, got 0"),
    ],
)
def test_a_file_that_has_no_counts_is_refused_with_its_line(
    text: str, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "counts.csv"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load(file)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (Counts(), "expected a file or a routing, and not both"),
        (Counts(routing="zipf:x", experts=8), 'expected "zipf:<alpha>"'),
        (Counts(routing="zipf:1"), "experts: missing"),
        (Counts(routing="zipf:1", experts=6), "6 experts cannot be split over a group of 4 ranks"),
    ],
)
def test_counts_that_say_too_much_or_too_little_are_refused(counts: Counts, message: str) -> None:
    given = collectives("direct", counts=counts)
    with pytest.raises(ConfigError, match=message):
        compile(scenario(ONE, lambda t, r: t.collective(ALL_TO_ALL, 64), collectives=given))


def test_a_time_of_the_whole_leaves_no_counts() -> None:
    measured = Plugin(kind="measured", options=(("system", "h100"),))
    given = collectives(counts=Counts(routing="zipf:1", experts=8), selection=measured)
    with pytest.raises(ConfigError, match="not where the time"):
        compile(scenario(ONE, lambda t, r: t.collective(ALL_TO_ALL, 64), collectives=given))


def test_a_scenario_file_states_them() -> None:
    text = """
workload: {traces: "x.{rank}.et"}
cluster:
  topology: [{kind: switch, size: 8, bandwidth: 1 GB/s, latency: 0 ns}]
collectives:
  counts: {routing: "zipf:1.2", experts: 64, ranks: 8}
"""
    found = read(text)
    assert found.collectives.counts == Counts(routing="zipf:1.2", experts=64, ranks=8)
    assert read(to_yaml(found)) == found
