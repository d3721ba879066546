"""Scenarios on the flow network, over dimensions and over fabrics, against cases by hand."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from tests import identities
from yantra.base import trust
from yantra.base.errors import ConfigError, DeadlockError, UnsupportedError
from yantra.chakra import TraceBuilder
from yantra.compile import compile, compile_without
from yantra.explain.what_if import what_if
from yantra.result import Result
from yantra.run.simulate import run, simulate
from yantra.scenario import load

MB = 1_000_000
HEAD = (
    'workload: {traces: "job.{rank}.et"}\ncollectives: {all_reduce: [ring], endpoint_delay: 0 ns}\n'
)
STAR = "{kind: switch, ranks: 4, bandwidth: 10 GB/s, latency: 1 us}"


def _scenario(folder: Path, posts: list[tuple[int, int, int]], network: str, cluster: str) -> Path:
    traces = [TraceBuilder(rank=rank) for rank in range(4)]
    for tag, (source, destination, size) in enumerate(posts):
        traces[source].send(destination, size, tag=tag, name=f"send {tag}")
        traces[destination].recv(source, size, tag=tag, name=f"receive {tag}")
    for rank, trace in enumerate(traces):
        trace.build().write(str(folder / f"job.{rank}.et"))
    file = folder / "job.yaml"
    topology = "topology: [{kind: ring, size: 4, bandwidth: 10 GB/s, latency: 1 us}]"
    file.write_text(f"{HEAD}network: {network}\ncluster:\n  {topology}\n{cluster}")
    return file


def _ends(result: Result, what: str = "receive") -> list[float]:
    rows = result.nodes.as_dict()
    ends = dict(zip(rows["name"], rows["end_ns"], strict=True))
    return [ends[name] for name in sorted(ends) if name.startswith(what)]


def _over(fabric: str, routing: str = "shortest") -> str:
    return f"  fabric: {fabric}\n  routing: {routing}\n"


def test_one_message_takes_the_latency_of_its_links_and_its_bytes_over_the_narrowest(
    tmp_path: Path,
) -> None:
    over = _over(
        "{kind: leaf_spine, leaves: 2, ranks_per_leaf: 2, spines: 1, bandwidth: 10 GB/s,"
        " latency: 1 us, uplink_bandwidth: 5 GB/s}"
    )
    result = simulate(load(_scenario(tmp_path, [(0, 3, MB)], "flow", over)))
    assert _ends(result) == [4_000 + 200_000]
    assert _ends(result, "send") == [200_000]


@pytest.mark.parametrize("size", [10_000, 10_004, 10_005, 10_006, 10_009])
def test_a_message_that_ends_anywhere_within_a_nanosecond_ends_in_whole_ones(
    tmp_path: Path, size: int
) -> None:
    file = _scenario(tmp_path, [(0, 1, size)], "flow", "")
    file.write_text("semantics: astra-sim\n" + file.read_text())
    assert _ends(simulate(load(file))) == [1_000 + size // 10]


def test_even_spray_divides_a_message_among_all_spines(tmp_path: Path) -> None:
    """Four uplinks of 2.5 GB/s carry 10 for one message, and 5 for each of two."""
    over = _over(
        "{kind: leaf_spine, leaves: 2, ranks_per_leaf: 2, spines: 4, bandwidth: 10 GB/s,"
        " latency: 1 us, uplink_bandwidth: 2.5 GB/s}",
        "even_spray",
    )
    result = simulate(load(_scenario(tmp_path, [(0, 2, MB)], "flow", over)))
    assert _ends(result) == [4_000 + 100_000]
    assert _ends(result, "send") == [100_000]
    result = simulate(load(_scenario(tmp_path, [(0, 2, MB), (1, 3, MB)], "flow", over)))
    assert _ends(result) == [204_000, 204_000]
    links = result.links.as_dict()
    up = [at for at, label in enumerate(links["dimension"]) if links["bytes"][at] == MB // 2]
    assert len(up) == 8
    assert {links["messages"][at] for at in up} == {2}


def test_two_messages_to_one_rank_share_its_link_until_the_smaller_is_through(
    tmp_path: Path,
) -> None:
    posts = [(0, 2, MB), (1, 2, MB)]
    result = simulate(load(_scenario(tmp_path, posts, "flow", _over(STAR))))
    assert _ends(result) == [202_000, 202_000]
    # The first is through at 5 GB/s, then the second has 10 for its other half.
    posts = [(0, 2, MB // 2), (1, 2, MB)]
    result = simulate(load(_scenario(tmp_path, posts, "flow", _over(STAR))))
    assert _ends(result) == [102_000, 152_000]


def test_a_send_ends_when_its_data_has_left_however_long_the_links_are(tmp_path: Path) -> None:
    switch = f"  fabric: {STAR}\n".replace("1 us", "1 ms")
    posts = [(source, 0, MB) for source in (1, 2, 3)]
    result = simulate(load(_scenario(tmp_path, posts, "flow", switch)))
    assert _ends(result, "send") == [300_000] * 3
    assert _ends(result) == [2_300_000] * 3


def test_whole_messages_over_a_fabric_take_every_link_in_turn(tmp_path: Path) -> None:
    posts = [(0, 2, MB), (1, 2, MB)]
    result = simulate(load(_scenario(tmp_path, posts, "store_and_forward", _over(STAR))))
    assert _ends(result) == [202_000, 302_000]


def test_a_sprayed_message_reaches_the_sum_of_four_planes(tmp_path: Path) -> None:
    """In 64 parts by hash, so nearly four times one plane, and never more."""
    planes = "{kind: multi_plane, planes: 4, leaves: 1, ranks_per_leaf: 4, bandwidth: 10 GB/s,"
    over = _over(planes + " latency: 1 us}", "spray")
    file = _scenario(tmp_path, [(0, 1, 64 * MB)], "{kind: flow, options: {parts: 1024}}", over)
    took = _ends(simulate(load(file)))[0] - 2_000
    assert 1.6e6 <= took <= 1.6e6 * 1.15


def test_shares_are_by_round_trip_where_that_is_asked_for(tmp_path: Path) -> None:
    """Over a ring, 3 to 1 is two hops and 0 to 1 one: 1/3 and 2/3 of the link of 0 to 1."""
    posts = [(0, 1, MB), (3, 1, MB)]
    network = "{kind: flow, options: {rtt_fairness: 1}}"
    result = simulate(load(_scenario(tmp_path, posts, network, "")))
    # The second begins 1 us later; until then the first has the link, 10,000 bytes.
    first = 2_000 + (MB - 10_000) / (10 * 2 / 3)
    assert _ends(result)[0] == pytest.approx(first, abs=0.002)
    assert _ends(result)[1] == pytest.approx(2_000 + (2 * MB - 10_000) / 10, abs=0.002)


def test_removing_bandwidth_or_latency_of_a_fabric_leaves_the_other(tmp_path: Path) -> None:
    model = compile(load(_scenario(tmp_path, [(0, 3, MB)], "flow", _over(STAR))))
    assert _ends(run(compile_without(model, ["bandwidth"]))) == [2_000]
    assert _ends(run(compile_without(model, ["latency"]))) == [100_000]
    assert _ends(run(compile_without(model, ["bandwidth of dimension 0"]))) == [102_000]
    with pytest.raises(UnsupportedError, match="no network without it runs over a fabric"):
        compile_without(model, ["contention"])


def test_links_that_hide_behind_each_other_bound_a_run_together(tmp_path: Path) -> None:
    result = simulate(load(_scenario(tmp_path, [(0, 3, MB)], "flow", _over(STAR))))
    assert result.bound_by.text.startswith(
        "bound by the network, bandwidth of all links: with infinite bandwidth of all links it "
        "would be 98.0 % shorter"
    )
    assert what_if(result).bound_by == result.bound_by


def test_a_label_that_gains_nearly_as_much_as_all_links_is_told_beside_them(
    tmp_path: Path,
) -> None:
    """Three messages to one rank, whose link down is a tenth as fast as theirs up.

    They take 3 MB / 1 GB/s and two hops, without links down 1 MB / 10 GB/s and two hops.
    """
    posts = [(rank, 3, MB) for rank in range(3)]
    narrow = tmp_path / "narrow.csv"
    links = [f"{at},leaf,10 GB/s,1 us,up,yes" for at in range(4)]
    links += [f"leaf,{at},1 GB/s,1 us,down,yes" for at in range(4)]
    narrow.write_text("\n".join(["from,to,bandwidth,latency,label,one_way", *links]) + "\n")
    result = simulate(load(_scenario(tmp_path, posts, "flow", _over("narrow.csv"))))
    assert result.makespan_ns == 3_002_000
    assert result.bound_by.text == (
        "bound by the network, bandwidth of all links: with infinite bandwidth of all links it "
        "would be 99.9 % shorter (96.6 % with infinite bandwidth of links down alone)"
    )
    assert what_if(result).bound_by == result.bound_by


@pytest.mark.parametrize(
    ("network", "routing"),
    [
        *product(("flow", "store_and_forward"), ("ecmp", "valiant", "up_down", "spray")),
        ("flow", "adaptive"),
    ],
)
def test_a_recorded_run_over_a_fabric_adds_up(tmp_path: Path, network: str, routing: str) -> None:
    trace = TraceBuilder()
    trace.collective("all_reduce", MB)
    for rank in range(16):
        trace.build().write(str(tmp_path / f"job.{rank}.et"))
    file = tmp_path / "job.yaml"
    fabric = "{kind: fat_tree, k: 4, bandwidth: 10 GB/s, latency: 1 us}"
    topology = "topology: [{kind: ring, size: 16, bandwidth: 10 GB/s, latency: 1 us}]"
    cluster = f"cluster:\n  {topology}\n  fabric: {fabric}\n  routing: {routing}\n"
    file.write_text(f"{HEAD}network: {network}\n{cluster}")
    result = run(compile(load(file)), record=True)
    identities.hold(result)
    assert [use.kind for use in result.dimension_uses][:2] == ["rank up", "rank down"]
    sent = 16 * 2 * 15 * MB // 16
    assert result.dimension_uses[0].bytes == result.dimension_uses[1].bytes == sent


def _changing(folder: Path, rows: str, delay: str = "10 us", network: str = "flow") -> Result:
    (folder / "changes.csv").write_text(f"at_ns,from,to,bandwidth\n{rows}")
    more = f"  link_changes: changes.csv\n  reroute_delay: {delay}\n"
    fabric = "{kind: leaf_spine, leaves: 2, ranks_per_leaf: 2, spines: 2, bandwidth: 10 GB/s,"
    over = _over(fabric + " latency: 1 us, uplink_bandwidth: 10 GB/s}")
    return simulate(load(_scenario(folder, [(0, 2, MB)], network, over + more)))


def test_a_link_that_fails_sends_what_is_left_round_after_the_delay(tmp_path: Path) -> None:
    """4 us of latency, then 46 us at 10 GB/s; down at 50 us, and on by the other spine at 60 us."""
    assert _ends(_changing(tmp_path, "50000,leaf 0,spine 0,0 GB/s\n")) == [60_000 + 54_000]
    back = "50000,leaf 0,spine 0,0 GB/s\n55000,leaf 0,spine 0,10 GB/s\n"
    assert _ends(_changing(tmp_path, back)) == [55_000 + 54_000]
    assert _ends(_changing(tmp_path, "50000,leaf 0,spine 0,5 GB/s\n")) == [50_000 + 108_000]
    # Its own link is the only one: it waits for it.
    back = "50000,0,leaf 0,0 GB/s\n90000,0,leaf 0,10 GB/s\n"
    assert _ends(_changing(tmp_path, back)) == [90_000 + 54_000]


def test_bytes_that_went_round_are_counted_where_they_went(tmp_path: Path) -> None:
    result = _changing(tmp_path, "50000,leaf 0,spine 0,0 GB/s\n")
    assert [use.bytes for use in result.dimension_uses] == [MB] * 4
    up = [row[3] for row in result.links.rows() if row[0] == 2]
    assert up == [460_000, 540_000]
    identities.hold(run(result.model, record=True))


def test_changes_of_links_are_refused_where_nothing_would_come_of_them(tmp_path: Path) -> None:
    row = "50000,leaf 0,spine 0,0 GB/s\n"
    trust.allow_program(("sh",))
    program = "{kind: external, options: {command: [sh]}}"
    with pytest.raises(ConfigError, match="links of the network external do not change"):
        _changing(tmp_path, row, network=program)
    with pytest.raises(ConfigError, match="line 2, to: no device is called 'spine 7'"):
        _changing(tmp_path, "50000,leaf 0,spine 7,0 GB/s\n")
    with pytest.raises(ConfigError, match="only with fabric, and there is none"):
        load(_scenario(tmp_path, [(0, 2, MB)], "flow", "  link_changes: changes.csv\n"))
    with pytest.raises(ConfigError, match="only with link_changes or failures"):
        load(_scenario(tmp_path, [(0, 2, MB)], "flow", _over(STAR) + "  reroute_delay: 1 us\n"))
    with pytest.raises(DeadlockError, match="does link_changes let each of them return"):
        _changing(tmp_path, "50000,0,leaf 0,0 GB/s\n")


def test_a_recording_knows_whose_messages_leave_late(tmp_path: Path) -> None:
    posts = [(1, 3, MB), (1, 3, MB)]
    result = run(compile(load(_scenario(tmp_path, posts, "flow", _over(STAR)))), record=True)
    identities.hold(result)
    assert _ends(result) == [102_000, 202_000]
    assert _ends(result, "send") == [100_000, 200_000]
