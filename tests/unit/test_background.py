"""A job beside background traffic, against the max-min solution by hand.

Over a switch of 10 GB/s and 1 us a link a message takes 2 us of latency. All times are exact to
the picosecond, which is less than 1e-9 of them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import identities
from yantra.base.errors import ConfigError
from yantra.chakra import TraceBuilder
from yantra.compile import compile
from yantra.result import Result
from yantra.run.simulate import run, simulate
from yantra.scenario import load, to_yaml

MB = 1_000_000
STAR = "{kind: switch, ranks: 8, bandwidth: 10 GB/s, latency: 1 us}"
LEAVES = (
    "{kind: leaf_spine, leaves: 2, ranks_per_leaf: 4, spines: 1, bandwidth: 10 GB/s,"
    " latency: 1 us, uplink_bandwidth: 10 GB/s}"
)


def _write(folder: Path, background: str, *, fabric: str = STAR, network: str = "flow") -> Path:
    traces = [TraceBuilder(rank=rank) for rank in range(4)]
    traces[0].send(1, 20 * MB, tag=0, name="send")
    traces[1].recv(0, 20 * MB, tag=0, name="receive")
    for rank, trace in enumerate(traces):
        trace.build().write(str(folder / f"job.{rank}.et"))
    file = folder / "job.yaml"
    file.write_text(
        f'workload: {{traces: "job.{{rank}}.et"}}\nnetwork: {network}\nbackground: {background}\n'
        "collectives: {endpoint_delay: 0 ns}\ncluster:\n"
        "  topology: [{kind: ring, size: 4, bandwidth: 10 GB/s, latency: 1 us}]\n"
        f"  fabric: {fabric}\n"
    )
    return file


def _end(result: Result) -> float:
    rows = result.nodes.as_dict()
    return dict(zip(rows["name"], rows["end_ns"], strict=True))["receive"]


ALONE = 2_002_000
"""20 MB at 10 GB/s, in ns."""


@pytest.mark.parametrize(
    ("background", "end_ns"),
    [
        # three of 4 MB into its receiver: a quarter each for 1.6 ms, then 16 MB of its own
        ("{kind: incast, size: 4 MB, hosts: '1,5-7'}", 1_602_000 + 1_600_000),
        # into host 2, the second of these
        ("{kind: incast, size: 4 MB, receiver: 1, hosts: '1-2,5-6', at: 1 ms}", ALONE),
        # the first again, 1 ms later: 6 MB of its own are left behind it
        ("{kind: incast, size: 4 MB, hosts: '1,4-6', at: 1 ms}", 2_602_000 + 600_000),
        # one of 2 MB into another host, from the sender's: half for 0.4 ms
        ("{kind: file, path: flows.csv}", 402_000 + 1_800_000),
        # among others: over links of their own
        ("{kind: all_to_all, size: 1 MB, hosts: 4-7}", ALONE),
        # one 1 MB into the receiver every 4 ms, twice: the second never begins
        ("{kind: incast, size: 1 MB, hosts: '1,6', every: 4 ms, times: 2}", 202_000 + 1_900_000),
        # twice within it: 1 MB of background each
        ("{kind: incast, size: 1 MB, hosts: '1,6', every: 1 ms, times: 2}", ALONE + 200_000),
        # two kinds at once: a third each for 0.3 ms, half for 0.2
        (
            "[{kind: incast, size: 1 MB, hosts: '1,6'}, {kind: incast, size: 2 MB, hosts: '1,7'}]",
            302_000 + 200_000 + 1_800_000,
        ),
    ],
)
def test_a_message_beside_background_takes_its_max_min_share(
    tmp_path: Path, background: str, end_ns: float
) -> None:
    (tmp_path / "flows.csv").write_text("src,dst,bytes,start_ns\n0,5,2000000,0\n")
    result = simulate(load(_write(tmp_path, background)))
    assert _end(result) == pytest.approx(end_ns, rel=1e-9)
    told = result.disturbed
    assert told is not None
    assert told.without_background_ns == ALONE
    assert told.slowdown_by_background == result.makespan_ns / ALONE
    identities.hold(run(result.model, record=True))


def test_a_step_beside_an_incast_takes_its_max_min_share(tmp_path: Path) -> None:
    """Three stages, 20 MB each to the next; two flows go to the last one meanwhile."""
    file = _write(tmp_path, "{kind: incast, size: 130 MB, hosts: '2,5-6'}")
    for rank, micros in enumerate((500, 300, 200)):
        trace = TraceBuilder(rank=rank)
        before = [trace.recv(rank - 1, 20 * MB, tag=0)] if rank else []
        kernel = trace.compute(duration_micros=micros, after=before)
        if rank < 2:
            trace.send(rank + 1, 20 * MB, tag=0, after=[kernel])
        trace.build().write(str(tmp_path / f"job.{rank}.et"))
    result = simulate(load(file))
    alone = 500_000 + ALONE + 300_000 + ALONE + 200_000
    assert result.makespan_ns == pytest.approx(alone + 4_000_000, rel=1e-9)
    assert result.disturbed is not None
    assert result.disturbed.without_background_ns == alone
    assert result.disturbed.slowdown_by_background == result.makespan_ns / alone


def test_without_a_fabric_hosts_are_the_ranks(tmp_path: Path) -> None:
    file = _write(tmp_path, "{kind: incast, size: 4 MB, receiver: 1, hosts: '0-1'}")
    text = file.read_text().replace(f"  fabric: {STAR}\n", "")
    file.write_text(text)
    assert _end(simulate(load(file))) == 801_000 + 1_600_000
    file.write_text(text.replace("0-1", "0-5"))
    with pytest.raises(ConfigError, match=r"hosts: expected hosts from 0 to 3, got 5"):
        compile(load(file))


@pytest.mark.parametrize("routing", ["ecmp", "spray", "adaptive"])
def test_bytes_of_the_background_are_conserved_whatever_the_routing(
    tmp_path: Path, routing: str
) -> None:
    background = "{kind: permutation, size: 3 MB, seed: 4}"
    file = _write(tmp_path, background, fabric=LEAVES)
    file.write_text(file.read_text() + f"  routing: {routing}\n")
    result = simulate(load(file))
    assert [use.bytes for use in result.dimension_uses][:2] == [44 * MB, 44 * MB]
    identities.hold(run(result.model, record=True))


def test_background_is_drawn_anew_each_time_and_the_same_each_run(tmp_path: Path) -> None:
    poisson = "{kind: poisson, load: 0.4, bandwidth: 10 GB/s, duration: 500 us, sizes: hadoop"
    once = compile(load(_write(tmp_path, poisson + ", seed: 3}"))).background
    again = compile(load(_write(tmp_path, poisson + ", seed: 3}"))).background
    twice = f"{poisson}, seed: 3, every: 500 us, times: 2}}"
    longer = compile(load(_write(tmp_path, twice))).background
    assert once is not None
    assert again is not None
    assert longer is not None
    assert [column.tolist() for column in once] == [column.tolist() for column in again]
    count = len(once.src)
    assert longer.src[:count].tolist() == once.src.tolist()
    assert longer.src[count:].tolist() != once.src.tolist()


def test_what_background_cost_is_said_in_words_and_in_files(tmp_path: Path) -> None:
    result = simulate(load(_write(tmp_path, "{kind: incast, size: 4 MB, hosts: '1,5-7'}")))
    text = " ".join(result.summary().split())
    assert (
        "3 flows of 12 MB in the background; the run takes 59.9 % longer than without (2.002 ms)"
        in text
    )
    result.to_json(tmp_path / "result.json")
    told = json.loads((tmp_path / "result.json").read_text())["disturbed"]
    assert told["background_bytes"] == 12 * MB
    assert told["slowdown_by_background"] == 3_202_000 / ALONE
    assert "without_failures_ns" not in told


def test_a_result_with_background_runs_again(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("src,dst,bytes,start_ns\n0,5,2000000,0\n")
    scenario = load(_write(tmp_path, "{kind: file, path: flows.csv, at: 2 us}"))
    result = simulate(scenario)
    result.to_json(tmp_path / "result.json")
    assert any(
        "flows.csv" in name for name in json.loads((tmp_path / "result.json").read_text())["inputs"]
    )
    assert simulate(load(tmp_path / "result.json")).makespan_ns == result.makespan_ns
    written = tmp_path / "again.yaml"
    written.write_text(to_yaml(scenario, tmp_path))
    assert load(written).background == scenario.background


@pytest.mark.parametrize(
    ("background", "problem"),
    [
        ("{kind: incats, size: 1 MB}", "did you mean 'incast'"),
        ("{kind: incast}", r"background\.size: missing"),
        ("{kind: incast, size: 1 MB, sise: 2}", "unknown key; did you mean 'size'"),
        (
            "{kind: incast, size: 1 MB, receiver: 9}",
            r"receiver: expected a host from 0 to 7, got 9",
        ),
        ("{kind: incast, size: 1 MB, hosts: 3}", "expected at least 2 hosts"),
        ("{kind: incast, size: 1 MB, times: 3}", "every and times together"),
        ("[{kind: file, path: none.csv}]", r"none\.csv"),
        ("3", "expected traffic such as"),
    ],
)
def test_what_cannot_be_in_the_background_is_refused_at_its_field(
    tmp_path: Path, background: str, problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        compile(load(_write(tmp_path, background)))


def test_background_is_refused_where_the_network_carries_none(tmp_path: Path) -> None:
    file = _write(tmp_path, "{kind: incast, size: 1 MB}", network="store_and_forward")
    with pytest.raises(ConfigError, match="carries none; take one of flow"):
        compile(load(file))


@pytest.mark.parametrize("size", ["1 MB", "30 MB", "900 MB"])
@pytest.mark.parametrize("record", [False, True])
def test_no_link_is_used_for_longer_than_the_job_takes(
    tmp_path: Path, size: str, record: bool
) -> None:
    file = _write(tmp_path, f"{{kind: incast, size: {size}, hosts: '1,4-6', at: 1 ms}}")
    result = simulate(load(file), record=record)
    shares = [*result.links.as_dict()["busy"], *result.dimensions.as_dict()["busy"]]
    assert max(shares) <= 1.0
    assert max(shares) > 0.4
    assert max(result.dimensions.as_dict()["utilisation"]) <= 1.0
    if record:
        for name in ("utilisation", "link_utilisation"):
            table = getattr(result.recording, name)(bins=7).as_dict()
            for column, values in table.items():
                if "utili" in column or "busy" in column:
                    assert max(values) <= 1.0 + 1e-6  # whole bytes
