"""SGLang's engine: agreement with a slow oracle of its rules, laws, then worked cases."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.serving.requests.golden import requests_of
from tests.serving.requests.samples import SHARED
from tests.serving.sglang_cases import (
    COST,
    LINEAR,
    case_of,
    crowded_of,
    in_golden_terms,
    options_of,
    served,
)
from tests.serving.sglang_oracle import serve
from yantra.serving.fleet import Fleet, Pool
from yantra.serving.links import Line

ROOMY = {
    "kv_tokens": 65536, "page_size": 1, "max_running_requests": 256,
    "max_prefill_tokens": 16384, "chunked_prefill_size": 8192, "mixed_chunk": False,
    "schedule_policy": "fcfs", "radix_cache": True,
}  # fmt: skip
GOLDEN = SHARED / "golden" / "serving" / "sglang_schedules.json"
ALL = 10**6


def assert_as_said(case: dict[str, Any], expected: dict[str, Any], found: dict[str, Any]) -> None:
    """Say where a schedule is another one."""
    for row, other in zip(expected["requests"], found["requests"], strict=True):
        names = row.keys() & other.keys()
        assert {name: row[name] for name in names} == {name: other[name] for name in names}, case
    ended = all(row["finish_ns"] is not None for row in expected["requests"])
    for name in ("iterations", "evicted_tokens", *(["end_ns"] if ended else [])):
        assert found[name] == expected[name], (name, case)
    if expected.get("log") and found["log"]:
        for at, (theirs, ours) in enumerate(zip(expected["log"], found["log"], strict=True)):
            assert ours == theirs, (at, case)


@pytest.mark.parametrize("first", range(0, 160, 20))
def test_schedules_are_those_of_the_rules(first: int) -> None:
    for seed in range(first, first + 20):
        case = case_of(seed)
        expected = serve(case)
        for logged in (0, ALL):
            assert_as_said(case, expected, in_golden_terms(served(case, logged=logged)))


@pytest.mark.parametrize("page", [1, 16])
@pytest.mark.parametrize("overlap", [False, True])
def test_schedules_with_retractions_are_those_of_the_rules(page: int, overlap: bool) -> None:
    retractions = 0
    for seed in range(30):
        case = crowded_of(seed, page, overlap=overlap)
        expected = serve(case)
        retractions += sum(row["retractions"] for row in expected["requests"])
        assert_as_said(case, expected, in_golden_terms(served(case, logged=ALL)))
    assert retractions > 20


@pytest.mark.skipif(not GOLDEN.exists(), reason=f"{GOLDEN} is not there")
def test_all_recorded_schedules_are_exact() -> None:
    for case in json.loads(GOLDEN.read_text()):
        for logged in (0, ALL):
            found = in_golden_terms(served(case, logged=logged))
            found["log"] = found["log"][: len(case["expected"].get("log", []))]
            assert_as_said(case, case["expected"], found)
        if len(case["requests"]) <= 60:  # the oracle is slow
            assert_as_said(case, case["expected"], serve(case))


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_iterations_that_are_alike_are_as_one_by_one(first: int) -> None:
    columns = (
        "first_token", "second_token", "finish", "restarts", "emissions", "cached", "recomputed",
        "spent", "behind",
    )  # fmt: skip
    planned = 0
    for seed in range(first, first + 50):
        case = case_of(seed)
        lanes = 1 + seed % 2
        fails = {} if seed % 5 else {"until_s": served(case).end / 2e12}
        at_once, singly = (
            served(case, lanes=lanes, singly=singly, **fails) for singly in (False, True)
        )
        iterations = [int(np.asarray(ran.replica_iterations).sum()) for ran in (at_once, singly)]
        plans = [int((np.asarray(ran.sample_batch_tokens) > 0).sum()) for ran in (at_once, singly)]
        assert iterations[0] == iterations[1] <= plans[1]
        planned += plans[1] - plans[0]
        for name in columns:
            ours, theirs = np.asarray(getattr(at_once, name)), np.asarray(getattr(singly, name))
            assert ours.tolist() == theirs.tolist(), (name, case)
        for name in ("end", "tokens", "emitted", "evicted"):
            assert getattr(at_once, name) == getattr(singly, name), (name, case)
    assert planned > 1000  # that were not events of their own


def assert_time_adds_up(ran: Any) -> None:
    """Phases add up to a request's time, and what held it to the time it was queued."""
    number = len(np.asarray(ran.finish))
    spent = np.asarray(ran.spent).reshape(number, -1)[:, 1:]
    behind = np.asarray(ran.behind).reshape(number, -1)
    over = np.asarray(ran.finish) >= 0
    whole = np.asarray(ran.finish) - np.asarray(ran.arrival)
    assert (spent.sum(axis=1)[over] == whole[over]).all()
    assert (spent >= 0).all()
    assert (behind[over] >= 0).all()
    assert (behind.sum(axis=1)[over] == spent[over, 0]).all()


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_no_token_is_lost_and_times_add_up(first: int) -> None:
    for seed in range(first, first + 50):
        case = case_of(seed, overlap=False)
        ran = served(case)
        assert_time_adds_up(ran)
        if ran.finished == len(case["requests"]):
            asked = sum(prompt + output - 1 for _, prompt, output, *_ in case["requests"])
            again = int(np.asarray(ran.recomputed).sum() - np.asarray(ran.cached).sum())
            assert ran.tokens == asked + again, case


@pytest.mark.parametrize("overlap", [False, True])
def test_what_a_failed_replica_had_begins_anew_on_another(overlap: bool) -> None:
    for seed in range(40):
        case = case_of(seed, overlap=overlap, kv_tokens=4800)
        whole = served(case).end / 1e12
        ran = served(case, until_s=whole / 3)
        assert ran.finished == len(case["requests"]), case
        assert_time_adds_up(ran)


@pytest.mark.parametrize("overlap", [0.0, 1.0])
def test_prompts_and_decodes_on_engines_of_their_own(overlap: bool) -> None:
    """The decode pool gets KV and the first token; one of one token does not go there."""
    options = options_of(ROOMY) | {"overlap": overlap}
    rows = [[0, 1000, 3], [0, 500, 1], [0, 200, 3]]
    pools = [Pool("sglang", options, LINEAR, role=role) for role in ("prefill", "decode")]
    ran = Fleet(pools, line=Line(1, 1e9)).run(
        requests_of(rows), most_logged=9
    )  # a token takes 1 ns
    prompts = 100_000 + 1000 * 1700 + 10 * 1700
    assert (ran.column("first_token") == prompts * 1000).all()
    assert ran.column("moved").tolist() == [(prompts + 1000) * 1000, -1, (prompts + 1200) * 1000]
    alone = 100_000 + 1000 + 10 * 1001  # the first decode of the first does not wait for the last
    assert ran.column("second_token")[0] == (prompts + 1000 + alone) * 1000
    assert_time_adds_up(ran.core)


def test_all_end_where_prompts_and_decodes_are_apart_and_kv_is_short() -> None:
    for seed in range(40):
        case = case_of(seed)
        options = options_of(case["config"] | {"kv_tokens": 1280, "max_running_requests": 3})
        pools = [Pool("sglang", options, LINEAR, role=role) for role in ("prefill", "decode")]
        ran = Fleet(pools, line=Line(1000, 1e9)).run(requests_of(case["requests"]))
        assert_time_adds_up(ran.core)
        if not case["config"]["overlap"]:
            asked = sum(prompt + output - 1 for _, prompt, output, *_ in case["requests"])
            again = int(ran.column("recomputed").sum() - ran.column("cached").sum())
            assert ran.core.tokens == asked + again


def test_a_new_prompt_stalls_every_decode_by_its_own_time() -> None:
    case = {"requests": [[0, 10, 20], [500_000, 3000, 1]], "config": ROOMY, "cost": COST}
    log = in_golden_terms(served(case, logged=ALL))["log"]
    alone = [begin for begin, _, items in log if items == [[1, 3000]]]
    assert len(alone) == 1
    gaps = np.diff([end for _, end, items in log if [0, 1] in items])
    assert sorted(gaps)[-1] - sorted(gaps)[-2] > 100_000 + 3000 * 1010 - 2000


def test_a_retracted_request_waits_behind_those_that_came_before() -> None:
    config = ROOMY | {
        "kv_tokens": 220,
        "schedule_conservativeness": 0.05,
        "max_running_requests": 2,
    }
    rows = [[0, 60, 60], [1, 70, 60], [2, 40, 5]]
    found = in_golden_terms(served({"requests": rows, "config": config, "cost": COST}, logged=ALL))
    taken_back = [row["request"] for row in found["requests"] if row["retractions"]]
    assert taken_back == [1]
    prompts = [items[0][0] for _, _, items in found["log"] if items[0][1] > 1]
    assert prompts == [0, 1, 2, 1]


def test_with_long_limits_few_run_until_the_estimate_has_shrunk() -> None:
    """Real outputs are a tenth of the limits: what is expected of them falls by each decode."""
    rows = [[0, 50, 200, None, 0, 2000] for _ in range(6)]
    config = ROOMY | {"kv_tokens": 3000, "radix_cache": False}
    log = in_golden_terms(served({"requests": rows, "config": config, "cost": COST}, logged=ALL))[
        "log"
    ]
    at_once = [len(items) for _, _, items in log if items[0][1] == 1]
    assert at_once[0] == 1
    assert max(at_once) > 1
