"""Several jobs on one cluster: how they share links, against max-min solutions by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from yantra.base.errors import ConfigError, DeadlockError, TraceError, UnsupportedError
from yantra.chakra import TraceBuilder
from yantra.cli import main
from yantra.run.simulate import simulate as simulate_one
from yantra.run.together import Together, simulate
from yantra.scenario import load as load_scenario
from yantra.scenario.jobs import load

MB = 1_000_000
HOP = 1_000  # ns
ACROSS = 4 * HOP  # from a rank over its leaf, the spine and the other leaf
Posts = list[tuple[int, int, int]]
"""Messages of a job: source and destination as ranks of the job, and bytes; all sent at once."""


class Case(NamedTuple):
    """Jobs as (ranks, messages or bytes of a ring all-reduce, at, compute first) in ns.

    `expected` has for each the time together and alone, less the latency of its last message (ring:
    of each of its 2 (n - 1) steps).
    """

    jobs: list[tuple[str, Posts | int, int, int]]
    expected: list[tuple[float, float]]
    ranks_per_leaf: int = 2
    uplink: int = 10


# Ranks 0 and 1 are on the first leaf, 2 and 3 on the second, and so on; links have 10 GB/s.
ONE = [(0, 1, MB)]
INCAST = [(0, 1, MB), (2, 1, MB), (3, 1, MB)]
US = 1_000
CASES = {
    # Each step of a ring of 4 moves 1 MB over every uplink, which both rings use: 5 GB/s each.
    "two rings share all uplinks": Case(
        [("0,2,4,6", 4 * MB, 0, 0), ("1,3,5,7", 4 * MB, 0, 0)],
        [(6 * 200 * US, 6 * 100 * US)] * 2,
    ),
    "two rings share uplinks that are narrow": Case(
        [("0,2,4,6", 4 * MB, 0, 0), ("1,3,5,7", 4 * MB, 0, 0)],
        [(6 * 400 * US, 6 * 200 * US)] * 2,
        uplink=5,
    ),
    "two rings have uplinks that are wide enough for both": Case(
        [("0,2,4,6", 4 * MB, 0, 0), ("1,3,5,7", 4 * MB, 0, 0)],
        [(6 * 100 * US, 6 * 100 * US)] * 2,
        uplink=20,
    ),
    # Both at 5 GB/s until the first is through; then the second has 10 for its other 2 MB.
    "a small message beside a large one": Case(
        [("0,2", ONE, 0, 0), ("1,3", [(0, 1, 3 * MB)], 0, 0)],
        [(200 * US, 100 * US), (400 * US, 300 * US)],
    ),
    # The first has moved 1 of 2 MB when the second comes; 5 GB/s for each from then on.
    "a job that comes later": Case(
        [("0,2", [(0, 1, 2 * MB)], 0, 0), ("1,3", ONE, 100 * US, 0)],
        [(300 * US, 200 * US), (200 * US, 100 * US)],
    ),
    "a job that comes when the other is over": Case(
        [("0,2", ONE, 0, 0), ("1,3", ONE, 200 * US, 0)],
        [(100 * US, 100 * US)] * 2,
    ),
    # Four flows go down to the second leaf, 2.5 GB/s each; alone three, 10 / 3 each.
    "a message beside an incast": Case(
        [("0,2", ONE, 0, 0), ("1,3,5,7", INCAST, 0, 0)],
        [(400 * US, 100 * US), (400 * US, 300 * US)],
    ),
    # The incast has the link for 10 us; all four flows until 410 us; then it has it again.
    "a step that computes first, beside an incast": Case(
        [("0,2", ONE, 0, 10 * US), ("1,3,5,7", [(a, b, 3 * n // 2) for a, b, n in INCAST], 0, 0)],
        [(410 * US, 110 * US), (550 * US, 450 * US)],
    ),
    # 10 / 3 GB/s until 300 us, then 5 until 500 us, then 10.
    "three jobs, of 1, 2 and 3 MB": Case(
        [(f"{at},{at + 3}", [(0, 1, (at + 1) * MB)], 0, 0) for at in range(3)],
        [(300 * US, 100 * US), (500 * US, 200 * US), (600 * US, 300 * US)],
        ranks_per_leaf=3,
    ),
    "two messages in opposite ways": Case(
        [("0,2", ONE, 0, 0), ("1,3", [(1, 0, MB)], 0, 0)],
        [(100 * US, 100 * US)] * 2,
    ),
}


def _members(ranks: str) -> int:
    return len(ranks.split(","))


def _write_job(folder: Path, name: str, ranks: int, what: Posts | int, compute_ns: int = 0) -> None:
    traces = [TraceBuilder(rank=rank) for rank in range(ranks)]
    first = [
        [trace.compute(duration_micros=compute_ns // US)] if compute_ns else [] for trace in traces
    ]
    if isinstance(what, int):
        for trace, after in zip(traces, first, strict=True):
            trace.collective("all_reduce", what, after=after)
    else:
        for tag, (source, to, size) in enumerate(what):
            traces[source].send(to, size, tag=tag, after=first[source])
            traces[to].recv(source, size, tag=tag)
    for rank, trace in enumerate(traces):
        trace.build().write(str(folder / f"{name}.{rank}.et"))
    (folder / f"{name}.yaml").write_text(f'workload: {{traces: "{name}.{{rank}}.et"}}\n')


def _pod(ranks_per_leaf: int = 2, uplink: int = 10, leaves: int = 4) -> str:
    return (
        f"topology: [{{kind: switch, size: {leaves * ranks_per_leaf}, bandwidth: 10 GB/s,"
        " latency: 1 us}]\n"
        f"fabric: {{kind: leaf_spine, leaves: {leaves}, ranks_per_leaf: {ranks_per_leaf}, "
        f"spines: 1, bandwidth: 10 GB/s, latency: 1 us, uplink_bandwidth: {uplink} GB/s}}\n"
    )


REST = "cluster: pod.yaml\nnetwork: flow\ncollectives: {all_reduce: [ring], endpoint_delay: 0 ns}\n"


def _tenants(folder: Path, jobs: str, rest: str = REST, pod: str = "") -> Path:
    (folder / "pod.yaml").write_text(pod or _pod())
    file = folder / "tenants.yaml"
    file.write_text(f"jobs: {jobs}\n{rest}")
    return file


def _bytes(done: Together) -> tuple[int, int]:
    alone = sum(link.use.bytes for result in done.alone for link in result.outcome.links)
    return sum(link.use.bytes for link in done.result.outcome.links), alone


@pytest.mark.parametrize("name", CASES)
def test_jobs_take_what_the_max_min_solution_by_hand_says(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    entries = []
    for at, (ranks, what, begins, compute) in enumerate(case.jobs):
        _write_job(tmp_path, f"job{at}", _members(ranks), what, compute)
        entries.append(f'{{scenario: job{at}.yaml, ranks: "{ranks}", at: {begins} ns}}')
    pod = _pod(case.ranks_per_leaf, case.uplink)
    done = simulate(load(_tenants(tmp_path, f"[{', '.join(entries)}]", pod=pod)))
    for one, (ranks, what, _, _), (together, alone) in zip(
        done.times, case.jobs, case.expected, strict=True
    ):
        latency = ACROSS * (2 * (_members(ranks) - 1) if isinstance(what, int) else 1)
        assert one.together_ns == pytest.approx(together + latency, rel=1e-9)
        assert one.alone_ns == pytest.approx(alone + latency, rel=1e-9)
        assert one.slowdown == one.together_ns / one.alone_ns
    together_bytes, alone_bytes = _bytes(done)
    assert together_bytes == alone_bytes > 0


def test_jobs_that_outlast_the_clock_end_with_the_moment_and_the_rank(tmp_path: Path) -> None:
    _write_job(tmp_path, "job", 8, MB)
    slow = _pod().splitlines()[0].replace("1 us", "9007199254740993 ns")
    rest = "cluster: pod.yaml\ncollectives: {all_reduce: [ring]}\n"
    file = _tenants(tmp_path, "[job.yaml]", rest, f"{slow}\n")
    with pytest.raises(UnsupportedError, match=r"^at 10 ns, rank 0: a duration of"):
        simulate(load(file))


@pytest.mark.parametrize("network", ["analytical", "store_and_forward", "flow"])
@pytest.mark.parametrize("algorithm", ["ring", "halving_doubling", "double_binary_tree", "direct"])
def test_a_job_with_the_whole_cluster_takes_what_its_scenario_takes(
    algorithm: str, network: str, tmp_path: Path
) -> None:
    _write_job(tmp_path, "job", 8, MB)
    fabric = "" if network == "analytical" else _pod().splitlines()[1]
    pod = f"{_pod().splitlines()[0]}\n{fabric}\n"
    rest = f"network: {network}\ncollectives: {{all_reduce: [{algorithm}], chunks: 2}}\n"
    file = _tenants(tmp_path, "[job.yaml]", f"cluster: pod.yaml\n{rest}", pod)
    (one,) = simulate(load(file)).times
    inline = "".join(f"  {line}\n" for line in pod.splitlines())
    alone = tmp_path / "alone.yaml"
    alone.write_text(f'workload: {{traces: "job.{{rank}}.et"}}\ncluster:\n{inline}{rest}')
    result = simulate_one(load_scenario(alone))
    assert one.together_ns == one.alone_ns == result.makespan_ns
    assert one.slowdown == 1


@pytest.mark.parametrize("algorithm", ["ring", "halving_doubling", "double_binary_tree", "direct"])
def test_jobs_that_share_no_link_do_nothing_to_each_other(algorithm: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        _write_job(tmp_path, name, 4, MB)
    rest = f"cluster: pod.yaml\nnetwork: flow\ncollectives: {{all_reduce: [{algorithm}]}}\n"
    file = _tenants(tmp_path, "[a.yaml, b.yaml]", rest, _pod(ranks_per_leaf=4, leaves=2))
    first, second = simulate(load(file)).times
    assert first.slowdown == second.slowdown == 1
    assert first.together_ns == second.together_ns > 0


def test_groups_and_tags_of_jobs_stay_their_own(tmp_path: Path) -> None:
    """Both have a group 1 and a tag 0; on disjoint leaves each takes what it takes alone."""
    for name in ("a", "b"):
        for rank in range(4):
            trace = TraceBuilder(rank=rank)
            if rank in (0, 2):
                trace.collective("all_reduce", MB, group="1")
            elif rank == 1:
                trace.send(3, MB, tag=0)
            else:
                trace.recv(1, MB, tag=0)
            trace.build().write(str(tmp_path / f"{name}.{rank}.et"))
        text = f'workload: {{traces: "{name}.{{rank}}.et", groups: {{1: [0, 2]}}}}\n'
        (tmp_path / f"{name}.yaml").write_text(text)
    file = _tenants(tmp_path, "[a.yaml, b.yaml]", pod=_pod(ranks_per_leaf=4, leaves=2))
    done = simulate(load(file))
    # A ring of two: two steps of half the bytes. The message takes as long less one latency.
    assert [one.together_ns for one in done.times] == [2 * (MB / 2 / 10 + 2 * HOP)] * 2
    assert [one.slowdown for one in done.times] == [1, 1]


def test_the_command_prints_the_times_of_each_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        _write_job(tmp_path, name, 4, 4 * MB)
    file = _tenants(tmp_path, '[{scenario: a.yaml, ranks: "0,2,4,6"}, b.yaml]')
    assert main(["run", str(file)]) == 0
    assert "1.962" in capsys.readouterr().out
    assert main(["run", str(file), "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert form["jobs"][1]["ranks"] == [1, 3, 5, 7]
    assert form["jobs"][1]["slowdown"] == 1_224_000 / 624_000
    assert form["end_ns"] == 1_224_000


def test_files_and_the_report_have_the_slowdown_of_each_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        _write_job(tmp_path, name, 4, 4 * MB)
    file = _tenants(tmp_path, '[{scenario: a.yaml, ranks: "0,2,4,6"}, b.yaml]')
    written, page = tmp_path / "jobs.json", tmp_path / "jobs.html"
    assert main(["run", str(file), "-o", str(written), "--report", str(page)]) == 0
    capsys.readouterr()
    assert main(["run", str(file), "--json"]) == 0
    form = json.loads(written.read_text())
    assert form == json.loads(capsys.readouterr().out)
    assert [job["slowdown"] for job in form["jobs"]] == [1_224_000 / 624_000] * 2
    carried = sum(use["bytes"] for use in form["dimensions"])
    assert carried == 2 * 4 * 6 * 4 * MB  # two rings of 4, 6 steps of 1 MB over 4 links
    text = page.read_text()
    assert text.startswith("<!doctype html>")
    assert "a is slowed down most: 1.962 times its time alone" in text
    assert text.count("624.000 us") >= 2


def test_jobs_beside_failures_and_background_say_what_those_cost_all(tmp_path: Path) -> None:
    """Each has the uplink at 5 GB/s; a quarter of it for 4 ms, less what the incast takes."""
    for name in ("a", "b"):
        _write_job(tmp_path, name, 4, [(0, 1, 4 * MB)])
    jobs = '[{scenario: a.yaml, ranks: "0,2,4,6"}, b.yaml]'
    failing = _pod() + "failures: [{switch: spine 0, at: 104 us, keeps: 0.5}]\n"
    done = simulate(load(_tenants(tmp_path, jobs, pod=failing)))
    # 0.5 MB each in 100 us, 3.5 MB at 2.5 GB/s; without 800 us.
    assert done.end_ns == pytest.approx(ACROSS + 100 * US + 1400 * US)
    assert done.disturbed is not None
    assert done.disturbed.without_failures_ns == pytest.approx(ACROSS + 800 * US)
    rest = REST + "background: {kind: incast, size: 8 MB, hosts: '0,2'}\n"
    beside = simulate(load(_tenants(tmp_path, jobs, rest)))
    # 2 sends 8 MB to 0: the other way. Alone and together nothing changes.
    assert beside.end_ns == pytest.approx(ACROSS + 800 * US)
    rest = REST + "background: {kind: incast, size: 8 MB, hosts: '2,4'}\n"
    crossed = simulate(load(_tenants(tmp_path, jobs, rest)))
    # 4 sends 8 MB to 2, whose leaf takes the messages of both jobs: a third each.
    assert crossed.end_ns == pytest.approx(ACROSS + 1200 * US)
    assert crossed.disturbed is not None
    assert crossed.disturbed.without_background_ns == pytest.approx(ACROSS + 800 * US)


@pytest.mark.parametrize(
    ("jobs", "rest", "where", "problem"),
    [
        ("[]", REST, "jobs", "a list of scenarios"),
        ("[a.yaml, gone.yaml]", REST, "gone.yaml", "No such file"),
        ("[{scenario: a.yaml, rank: 1}]", REST, "jobs[0].rank", "ranks"),
        ("[{scenario: a.yaml, ranks: 0-2}]", REST, "jobs[0].ranks", "expected 4 ranks"),
        ("[{scenario: a.yaml, ranks: 6-9}]", REST, "jobs[0].ranks", "from 0 to 7, got 8"),
        (
            "[{scenario: a.yaml, ranks: 0-3}, {scenario: a.yaml, ranks: 3-6}]",
            REST,
            "jobs[1].ranks",
            "rank 3 already belongs to jobs[0]",
        ),
        ("[a.yaml, a.yaml, a.yaml]", REST, "jobs[2]", "on the cluster of 8; free: none"),
        ("[a.yaml, chunked.yaml]", "cluster: pod.yaml\n", "collectives", "share it"),
        ("[a.yaml, exact.yaml]", "cluster: pod.yaml\n", "semantics", "share it"),
        ("[a.yaml]", f"{REST}semantics: astra-sim\n", "semantics", "only yantra"),
        ("[a.yaml]", f"{REST}fold: auto\n", "fold", "only with one job"),
        ("[a.yaml]", f"{REST}netwrok: flow\n", "netwrok", "network"),
        ("[a.yaml]", "network: flow\n", "cluster", "missing"),
        ("[tenants.yaml]", REST, "jobs[0]", "a list of jobs"),
    ],
)
def test_what_cannot_be_shared_is_refused_by_name(
    jobs: str, rest: str, where: str, problem: str, tmp_path: Path
) -> None:
    _write_job(tmp_path, "a", 4, MB)
    text = (tmp_path / "a.yaml").read_text()
    (tmp_path / "chunked.yaml").write_text(f"{text}collectives: {{chunks: 3}}\n")
    (tmp_path / "exact.yaml").write_text(f"{text}semantics: astra-sim\n")
    file = _tenants(tmp_path, jobs, rest)
    with pytest.raises(ConfigError) as error:
        load(file)
    assert where in error.value.where
    assert problem in error.value.problem


def test_a_job_that_never_ends_is_named(tmp_path: Path) -> None:
    _write_job(tmp_path, "a", 4, MB)
    _write_job(tmp_path, "b", 4, ONE)
    waits = TraceBuilder(rank=2)
    waits.recv(3, MB)
    waits.build().write(str(tmp_path / "b.2.et"))
    with pytest.raises(DeadlockError, match="never ends: b;"):
        simulate(load(_tenants(tmp_path, "[a.yaml, b.yaml]")))


def test_a_group_that_only_another_job_has_is_refused(tmp_path: Path) -> None:
    _write_job(tmp_path, "a", 4, MB)
    for rank in range(4):
        trace = TraceBuilder(rank=rank)
        trace.collective("all_reduce", MB, group="1")
        trace.build().write(str(tmp_path / f"b.{rank}.et"))
    (tmp_path / "b.yaml").write_text('workload: {traces: "b.{rank}.et"}\n')
    with pytest.raises(TraceError, match=r"b: trace of rank 0: node 0 .*no group '1'"):
        simulate(load(_tenants(tmp_path, "[a.yaml, b.yaml]")))


@pytest.mark.parametrize("option", ["--csv=x.csv", "--trace=x.pftrace", "--cluster=hgx-h100"])
def test_options_of_one_job_are_refused(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write_job(tmp_path, "a", 4, MB)
    assert main(["run", str(_tenants(tmp_path, "[a.yaml]")), option]) == 2
    assert f"{option.partition('=')[0]} goes with one job" in capsys.readouterr().err
