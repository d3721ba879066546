"""`yantra serve` as it is typed: what it prints and writes, and what it refuses."""

from __future__ import annotations

import csv
import json
from math import exp
from pathlib import Path

import pytest

from yantra.cli import main

Captured = pytest.CaptureFixture[str]
RULE = "poisson:rate=10/s,count=200,isl=100,osl=20,seed=1"
SERVE = ("serve", "--set", "cost=5 ms, 20 us, 0.1 us", "--requests", RULE)


def printed(capsys: Captured, *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_the_answer_names_engine_times_and_what_they_rest_on(capsys: Captured) -> None:
    said = printed(capsys, *SERVE, "--replicas", "2", "--ttft", "p99 1 s")
    for part in ("2 x vllm", "TTFT", "E2E", "goodput", "a request's time", "the given cost"):
        assert part in said


def test_json_has_the_same_figures_and_the_promise(capsys: Captured) -> None:
    form = json.loads(printed(capsys, *SERVE, "--tpot", "50 ms", "--json"))
    assert form["requests"] == 200
    assert form["seconds"]["tpot"]["p99"] == form["objectives_s"]["TPOT p99 50.000 ms"]
    assert form["goodput_requests_per_s"] == pytest.approx(form["requests_per_s"])


def test_a_folder_gets_a_row_for_each_request_and_the_answer(
    tmp_path: Path, capsys: Captured
) -> None:
    printed(capsys, *SERVE, "-o", f"{tmp_path}/run/")
    rows = list(csv.DictReader((tmp_path / "run" / "requests.csv").open()))
    assert len(rows) == 200
    phases = ("queued", "prefill", "transfer", "admission", "decode", "preempted", "recompute")
    for row in rows:
        whole = float(row["finish_s"]) - float(row["arrival_s"])
        assert sum(float(row[f"{phase}_s"]) for phase in phases) == pytest.approx(whole, abs=1e-6)
    assert json.loads((tmp_path / "run" / "answer.json").read_text())["requests"] == 200


def test_twice_the_rate_is_half_the_time(capsys: Captured) -> None:
    took = [
        json.loads(printed(capsys, *SERVE, "--rate", rate, "--json"))["makespan_s"]
        for rate in ("1x", "2x")
    ]
    assert took[1] == pytest.approx(took[0] / 2, rel=0.02)


def test_the_most_that_keeps_a_promise_is_told(capsys: Captured) -> None:
    said = printed(capsys, *SERVE, "--ttft", "p99 100 ms", "--rate", "max")
    assert "is the most that keeps every promise" in said


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("serve",), "--requests: expected a trace"),
        ((*SERVE, "--rate", "fast"), "--rate: expected a factor such as 2x"),
        ((*SERVE, "--rate", "max"), "no promise to keep"),
        ((*SERVE, "--set", "max_num_seq=4"), "did you mean 'max_num_seqs'"),
        ((*SERVE, "--set", "seed=one"), "--set seed: expected a whole number"),
        ((*SERVE, "--set", "transfer"), "--set: expected NAME=VALUE"),
        ((*SERVE, "--engine", "vlm"), "did you mean 'vllm'"),
        ((*SERVE, "--ttft", "soon"), "--ttft"),
        ((*SERVE, "--prefill", "1x tp=1"), "pools of prefill and decode go together"),
        ((*SERVE, "--log", "log.csv"), "--log: stands in place of --requests"),
        ((*SERVE, "--set", "check=2"), "check: needs a model and a cluster"),
        (("serve", "--model", "llama3-8b", "--requests", RULE), "cluster: expected a model"),
        (
            ("serve", "plan", "--model", "llama3-8b", "--cluster", "hgx-h100", "--ttft", "1 s"),
            "expected --rate, --isl and --osl",
        ),
        (
            ("serve", "plan", "--model", "llama3-8b", "--cluster", "hgx-h100", "--rate", "1"),
            "no promise to keep",
        ),
    ],
)
def test_a_mistake_is_one_line_with_status_2(
    arguments: tuple[str, ...], told: str, capsys: Captured
) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1


def test_a_promise_that_nothing_keeps_is_the_models_answer(capsys: Captured) -> None:
    asked = ("--model", "llama3-8b", "--cluster", "hgx-h100", "--rate", "5", "--isl", "99")
    assert main(["serve", "plan", *asked, "--osl", "9", "--tpot", "p99 1 us"]) == 3
    assert "none keeps the promises" in capsys.readouterr().out


def test_more_domains_are_tried_before_narrower_weights(capsys: Captured) -> None:
    asked = ("--model", "llama3-405b", "--cluster", "hgx-h100", "--rate", "0.2", "--isl", "500")
    more = ("--osl", "20", "--tpot", "p99 1 s", "--set", "engine=vllm")
    best = json.loads(printed(capsys, "serve", "plan", *asked, *more, "--json"))["best"]
    assert {one["devices"] for one in best} >= {16}
    assert {pool["plan"]["dtype"] for one in best for pool in one["pools"]} == {"bf16"}


def test_a_plan_tells_how_sure_it_is_and_what_the_slow_end_takes() -> None:
    from yantra.cli.serve import promises
    from yantra.fabric import clusters
    from yantra.serving.requests import load
    from yantra.serving.search import search
    from yantra.serving.search.words import as_dict, lines
    from yantra.serving.words import short
    from yantra.workloads.models.catalogue import find

    objectives = promises("p99 1 s", "p99 50 ms")
    requests = load("poisson:rate=20/s,count=300,isl=1000,osl=100,seed=1")
    machines, choices = [clusters.load("hgx-h100")], {"engines": ("vllm",), "dtypes": ("bf16",)}
    found = search(find("llama3-8b"), machines, requests, objectives, **choices)
    best, sure = found.kept[0], found.sure
    assert sure is not None and best.width > 0.05
    assert [one for *_, one in sure.pools] == [one for *_, one in best.pools]
    assert sure.devices >= best.devices
    fast, slow = best.ends()
    assert fast.tpot_s.mean() < best.ran.tpot_s.mean() < slow.tpot_s.mean()
    longest = sure.fleet.run(requests, factor=exp(best.width))
    assert (sure.ran.ttft_s == longest.ttft_s).all()
    assert all(one.value(longest) <= one.seconds for one in objectives)
    if sure.devices > best.devices:
        assert any(one.value(slow) > one.seconds for one in objectives)
    shown = as_dict(found, 1)["best"][0]
    said = "\n".join(lines(found, "m", requests, objectives, 1))
    low, high = shown["interval_90"]["tpot_p99_s"]
    assert low < shown["tpot_p99_s"] < high
    assert f"({short(low)} to {short(high)})" in said
    assert "with iterations at the slow end of their 90 % interval the first keeps" in said


def test_a_plan_names_what_keeps_the_promise_and_why_others_lose(capsys: Captured) -> None:
    asked = ("--rate", "8", "--isl", "500", "--osl", "50", "--ttft", "1 s", "--tpot", "30 ms")
    more = ("--set", "engine=vllm", "--json")
    form = json.loads(
        printed(
            capsys, "serve", "plan", "--model", "llama3-8b", "--cluster", "hgx-h100", *asked, *more
        )
    )
    best = form["best"][0]
    assert best["ttft_p99_s"] <= 1
    assert best["tpot_p99_s"] <= 0.03
    assert all(one["usd_per_h"] >= best["usd_per_h"] for one in form["best"])
    assert form["considered"] > len(form["best"])


def test_a_stream_writes_its_rows_and_says_the_same(tmp_path: Path, capsys: Captured) -> None:
    whole = json.loads(printed(capsys, *SERVE, "--json"))
    stream = (*SERVE, "--set", "stream=on")
    said = json.loads(printed(capsys, *stream, "-o", f"{tmp_path}/run/", "--json"))
    for name in ("requests", "iterations", "makespan_s", "cached_tokens"):
        assert said[name] == whole[name]
    assert said["seconds"]["ttft"] == pytest.approx(whole["seconds"]["ttft"])
    assert len(list(csv.DictReader((tmp_path / "run" / "requests.csv").open()))) == 200
    assert json.loads((tmp_path / "run" / "answer.json").read_text())["requests"] == 200
    for option, value in (("--report", "x.html"), ("--rate", "12/s"), ("--set", "check=2")):
        assert main((*stream, option, value)) == 2
        assert "stream=on" in capsys.readouterr().err


def test_a_replica_takes_several_domains_where_none_holds_it() -> None:
    from yantra.fabric import clusters
    from yantra.serving.measures import Objective
    from yantra.serving.requests import load
    from yantra.serving.search import NO_ROOM, search
    from yantra.workloads.models.catalogue import find

    requests = load("poisson:rate=1/s,count=20,isl=100,osl=8,seed=1")
    promise = [Objective.of("ttft", "p99 1 s", "--ttft")]
    of = {"engines": ("sglang",), "dtypes": ("fp8_block",)}
    model, machine = find("deepseek-v3"), [clusters.load("hgx-h100")]
    alone = search(model, machine, requests, promise, **of)  # type: ignore[arg-type]
    assert not alone.kept
    assert {one.why_not for one in alone.lost} == {NO_ROOM}
    several = search(model, machine, requests, promise, domains=(2,), **of)  # type: ignore[arg-type]
    plans = {one.pools[0][2].pool.plan for one in several.kept}
    assert {(plan.tp, plan.pp, plan.dp) for plan in plans} <= {(8, 2, 1), (1, 1, 16)}
    assert {one.devices for one in several.kept if len(one.pools) == 1} == {16}
