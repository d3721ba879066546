"""A scheduler's day: conservation, order, worked cases, traces in all forms."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import yantra
from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.lives.days.day import POLICIES, slowdowns_of
from yantra.lives.days.hosts import Hosts
from yantra.lives.days.play import Day, Rules, play
from yantra.lives.days.traces import Asked, read

DAY_S = 86_400.0


def ran(jobs: list[tuple[float, int, float]], hosts: int, pod: int = 0, **rules: Any) -> Day:
    """Jobs of (submitted, gpus, work) of owners a, b, ... on hosts of 8."""
    asked = [Asked(str(at), "abcdefgh"[at % 8], *job[1::-1], job[2]) for at, job in enumerate(jobs)]
    slow = rules.pop("slowdown", lambda _gpus, _share: 1.0)
    return play(asked, Hosts(hosts, 8, pod), Rules(**rules), DAY_S, slow)


def drawn(seed: int, number: int, largest: int) -> list[tuple[float, int, float]]:
    source = random.Random(seed)
    sizes = [2**power for power in range(10) if 2**power <= largest]
    return sorted(
        (source.uniform(0, DAY_S), source.choice(sizes), source.lognormvariate(8, 1))
        for _ in range(number)
    )


DAYS = st.builds(drawn, st.integers(0, 10**6), st.integers(1, 60), st.just(64))


@settings(max_examples=30, deadline=None)
@given(DAYS, st.sampled_from(POLICIES), st.booleans(), st.sampled_from([0, 2]))
def test_time_is_conserved_and_every_job_ends(
    jobs: list[tuple[float, int, float]], policy: Any, quotas: bool, pod: int
) -> None:
    limits = {"a": 32, "b": 16} if quotas else {}
    day = ran(
        jobs, 8, pod, policy=policy, quotas=limits, uplinks=2.0,
        slowdown=lambda _gpus, share: 1.0 / share,
    )  # fmt: skip
    for one in day.ran:
        assert one.held == pytest.approx(one.job.work + one.redone + one.slowed)
        assert one.waited >= 0.0
        assert one.ended - one.started >= one.held * (1 - 1e-9)
        assert one.slowed == 0.0 or one.crosses
        assert bool(one.redone) == bool(one.preempted)
    assert 0.0 <= day.busy <= 64 * DAY_S * (1 + 1e-12)
    assert 0.0 <= day.fragmented <= 64 * DAY_S - day.busy + 1.0


@settings(max_examples=30, deadline=None)
@given(DAYS, st.sampled_from(POLICIES))
def test_no_more_gpus_are_held_than_there_are(
    jobs: list[tuple[float, int, float]], policy: Any
) -> None:
    day = ran(jobs, 8, policy=policy)
    moves = sorted(
        move
        for one in day.ran
        for move in ((one.started, one.job.gpus), (one.ended, -one.job.gpus))
    )
    held = 0
    for _, gpus in moves:
        held += gpus
        assert held <= 64
    assert held == 0


@settings(max_examples=30, deadline=None)
@given(DAYS)
def test_fifo_starts_jobs_in_their_order(jobs: list[tuple[float, int, float]]) -> None:
    starts = [one.started for one in ran(jobs, 8, policy="fifo").ran]
    assert all(first <= second for first, second in pairwise(starts))


@settings(max_examples=20, deadline=None)
@given(DAYS, st.sampled_from(POLICIES))
def test_nobody_waits_where_there_is_room_for_all(
    jobs: list[tuple[float, int, float]], policy: Any
) -> None:
    day = ran(jobs, 8 * len(jobs), policy=policy)
    assert all(one.waited == 0.0 for one in day.ran)
    assert not day.fragmented


def test_backfill_passes_jobs_that_end_before_the_first_could_start() -> None:
    jobs = [(0.0, 4, 100.0), (1.0, 8, 10.0), (2.0, 4, 50.0), (3.0, 4, 500.0)]
    fifo = [one.started for one in ran(jobs, 1, policy="fifo").ran]
    passed = [one.started for one in ran(jobs, 1, policy="backfill").ran]
    assert fifo == [0.0, 100.0, 110.0, 110.0]
    assert passed == [0.0, 100.0, 2.0, 110.0]


def test_the_least_work_is_first() -> None:
    jobs = [(0.0, 8, 100.0), (1.0, 8, 50.0), (2.0, 8, 10.0)]
    assert [one.started for one in ran(jobs, 1, policy="shortest").ran] == [0.0, 110.0, 100.0]


def test_an_owner_within_its_quota_preempts_one_beyond() -> None:
    jobs = [(0.0, 8, 5000.0), (2500.0, 8, 100.0)]
    day = ran(jobs, 1, quotas={"b": 8}, checkpoint=1000.0, restart=60.0)
    first, second = day.ran
    assert (second.started, second.ended) == (2500.0, 2600.0)
    assert (first.preempted, first.redone) == (1, 560.0)
    assert first.ended == 2600.0 + 2500.0 + 560.0


def test_a_job_takes_one_pod_if_one_has_room_and_else_the_least_it_can() -> None:
    jobs = [(0.0, 16, 60.0)] * 3
    day = ran(jobs, 6, 3, uplinks=3.0, slowdown=lambda _gpus, share: 1.0 / share)
    assert [one.crosses for one in day.ran] == [False, False, True]
    assert [one.slowed for one in day.ran] == [0.0, 0.0, 0.0]  # a host is its pod's uplinks' worth


def test_jobs_that_cross_a_pod_slow_each_other_while_both_run() -> None:
    jobs = [(0.0, 24, 30.0), (0.0, 24, 60.0)]  # over pods of two hosts, one of them shared
    day = ran(jobs, 6, 2, uplinks=1.0 + 1e-9, slowdown=lambda _gpus, share: 1.0 / share)
    assert [one.ended for one in day.ran] == pytest.approx([30.0, 60.0])
    day = ran(jobs, 6, 2, uplinks=2.0, slowdown=lambda _gpus, share: 1.0 / share)
    assert [one.ended for one in day.ran] == pytest.approx([60.0, 120.0])


def test_a_share_of_the_uplinks_lengthens_the_step() -> None:
    day = ran([(0.0, 32, 60.0)], 4, 2, uplinks=2.0, slowdown=lambda _gpus, share: 1.0 / share)
    (one,) = day.ran
    assert (one.ended, one.slowed) == (120.0, 60.0)


FORMS = {
    "helios.csv": "job_id,user,vc,gpu_num,cpu_num,node_num,state,queue,submit_time,start_time,"
    "end_time,duration\n"
    "1,u,v,8,1,1,COMPLETED,0,2020-09-01 00:00:10,2020-09-01 00:00:10,2020-09-01 00:01:10,60\n"
    "2,u,v,0,1,1,COMPLETED,0,2020-09-01 00:00:11,2020-09-01 00:00:11,2020-09-01 00:01:11,60\n"
    "3,u,w,16,1,2,FAILED,5,2020-09-01 00:01:10,2020-09-01 00:01:15,2020-09-01 00:03:15,120\n",
    "alibaba.csv": "name,num_gpu,qos,creation_time,deletion_time,scheduled_time\n"
    "1,8,v,10,80,20\n2,0,v,11,30,20\n3,16,w,70,220,100\n",
    "philly.json": json.dumps(
        [
            {
                "jobid": name, "vc": vc, "submitted_time": f"2017-10-09 00:0{at}:10",
                "status": "Pass", "user": "u",
                "attempts": [
                    {"start_time": "2017-10-09 01:00:00", "end_time": "None", "detail": []},
                    {
                        "start_time": f"2017-10-09 01:0{at}:00",
                        "end_time": f"2017-10-09 01:0{at + minutes}:00",
                        "detail": [{"ip": "m1", "gpus": ["g"] * 8}] * hosts,
                    }
                ],
            }
            for name, vc, at, minutes, hosts in (("1", "v", 0, 1, 1), ("2", "v", 0, 0, 1),
                                                 ("3", "w", 1, 2, 2))
        ]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_all_forms_of_traces_have_the_same_jobs(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(FORMS[name])
    found = read(path, 24.0)
    assert found.jobs == (Asked("1", "v", 8, 0.0, 60.0), Asked("3", "w", 16, 60.0, 120.0))
    assert found.left_out == 1


def test_a_day_begins_after_some_hours(tmp_path: Path) -> None:
    path = tmp_path / "helios.csv"
    path.write_text(FORMS["helios.csv"])
    assert read(path, 1.0, 30.0 / 3600.0).jobs == (Asked("3", "w", 16, 30.0, 120.0),)
    with pytest.raises(ConfigError, match="nothing is submitted in 1 hours after 2"):
        read(path, 1.0, 2.0)


def test_a_day_of_2000_jobs_on_4096_gpus_takes_seconds(tmp_path: Path) -> None:
    jobs = drawn(1, 2000, 512)
    begun = process_time()
    day = ran(jobs, 512, policy="backfill")
    assert process_time() - begun < 10.0
    assert len(day.ran) == 2000


def test_interference_is_that_of_two_runs(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("model: llama3-8b\nplan: {tp: 2, zero: 1, global_batch: 64}\n")
    found = slowdowns_of(job, "hgx-h100", [16, 24], 4.0)
    assert set(found) == {16}  # 12 replicas do not share 64 sequences
    assert found[16] > 1.0


def test_the_command_says_who_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "helios.csv"
    path.write_text(FORMS["helios.csv"])
    line = ["day", str(path), "--cluster", "hgx-h100", "--gpus", "16", "--set", "hours=1"]
    assert main(line) == 0
    text = capsys.readouterr().out
    assert "2 jobs of Helios on 16 GPUs of hgx-h100, backfill" in text
    assert "1 job: 0 of more GPUs than there are, the rest without a GPU" in text
    assert main([*line, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    held = (8 * 60 + 16 * 120) / (16 * 3600)
    assert (told["utilisation"], told["goodput"]) == pytest.approx((held, held))


@pytest.mark.parametrize(
    ("given", "where", "problem"),
    [
        ({"policy": "fair"}, "--policy", "fifo, backfill, shortest"),
        ({"gpus": 12}, "--gpus", "whole hosts of 8"),
        ({"gpus": 8, "hours": 0.001}, "", ""),
        ({"oversubscription": 2.0}, "--set oversubscription", "pod=32"),
        ({"hours": -1}, "--set hours", "a number from"),
    ],
)
def test_a_wrong_question_is_refused(
    given: dict[str, Any], where: str, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "helios.csv"
    path.write_text(FORMS["helios.csv"])
    asked: dict[str, Any] = {"cluster": "hgx-h100", "gpus": 16, **given}
    if not where:
        assert len(yantra.day(path, **asked).day.ran) == 1
        return
    with pytest.raises(ConfigError) as caught:
        yantra.day(path, **asked)
    assert caught.value.where == where
    assert problem in caught.value.problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a,b\n1,2\n", "expected columns job_id"),
        (FORMS["helios.csv"].replace("60\n2", "long\n2"), "no job of Helios"),
        (FORMS["helios.csv"].rstrip()[: -len("60")].rpartition(",")[0], "is the file cut off\\?"),
        ("{}", "a list of Philly's jobs"),
        ("[", "is not JSON"),
        ("job_id,gpu_num,submit_time,duration\n", "has no job"),
    ],
)
def test_a_wrong_trace_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    path.write_text(text)
    with pytest.raises(ConfigError, match=problem):
        read(path, 24.0)


@settings(max_examples=20, deadline=None)
@given(DAYS, st.integers(0, 700))
def test_energy_of_held_free_and_around_adds_up(
    jobs: list[tuple[float, int, float]], held_w: int
) -> None:
    from yantra.fabric import clusters
    from yantra.lives.days.energy import drawn as energy_of
    from yantra.lives.days.energy import usd_of

    day, machine = ran(jobs, 8), clusters.load("hgx-h100")
    found = energy_of(day, machine, held_w)
    assert found is not None
    assert found.kwh is not None
    free, each = 64 * DAY_S - day.busy, DAY_S / 3.6e6
    inside = day.busy * held_w + free * 0.22 * 700
    assert found.kwh == pytest.approx(inside / 3.6e6 + 64 * 350 * each)
    assert found.least_kwh == pytest.approx(64 * (350 + 0.22 * 700) * each)
    assert found.most_kwh - found.least_kwh == pytest.approx(day.busy * 0.78 * 700 / 3.6e6)
    assert 0 < day.most <= 64
    assert day.busy <= day.most * DAY_S * (1 + 1e-12)
    assert found.peak_w == pytest.approx(64 * 350 + 154 * 64 + day.most * 546)
    assert found.unknown == ("switch power", "pue")
    assert usd_of(day, machine) == pytest.approx(64 * 24 * 6.155)


def test_held_gpus_draw_what_the_jobs_step_does(tmp_path: Path) -> None:
    trace, job = tmp_path / "jobs.csv", tmp_path / "job.yaml"
    head = "job_id,vc,gpu_num,submit_time,duration"
    trace.write_text(f"{head}\n1,a,8,2020-09-01 08:00:00,3600\n2,a,3,2020-09-01 08:00:00,3600\n")
    job.write_text("model: llama3-8b\nplan: {tp: 2, zero: 1, global_batch: 16}\n")
    found = yantra.day(trace, cluster="hgx-h100", gpus=16, hours=2, job=job)
    step = yantra.predict("llama3-8b", cluster="hgx-h100", ranks=8, tp=2, zero=1, global_batch=16)
    of = step.result.energy
    assert of is not None
    assert found.drawn is not None
    assert found.drawn.kwh is not None
    held = of.device_j / of.seconds / 8
    expected = found.drawn.least_kwh + 11 * 3600 * (held - 154) / 3.6e6
    assert found.drawn.kwh == pytest.approx(expected)


@pytest.mark.parametrize(
    ("quota", "said"),
    [
        ("zz=8", "--quota: no job is of zz; owners: "),
        ("v=99", "--quota: v may have 99 GPUs"),
    ],
)
def test_a_quota_is_of_an_owner_and_of_gpus_there_are(
    quota: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "helios.csv"
    path.write_text(FORMS["helios.csv"])
    line = ["day", str(path), "--cluster", "hgx-h100", "--gpus", "16", "--quota", quota]
    assert main(line) == 2
    assert said in capsys.readouterr().err
