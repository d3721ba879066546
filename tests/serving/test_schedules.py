"""Recorded schedules: first tokens, ends, restarts and iterations are exact.

`schedules.json` has the small cases: those of vLLM are what the Scheduler class of vLLM 0.33.0 does
with a linear cost, those of Vidur what its scheduler classes (7d47513) do, those of pools follow
their definition in `docs/reference/serving.md`. Larger sets outside the repository are checked too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.serving.requests.golden import requests_of
from tests.serving.requests.samples import SHARED
from yantra import _core
from yantra.serving.fleet import Fleet, Linear, Pool, Ran
from yantra.serving.links import Line

OWN = Path(__file__).parent / "schedules.json"
SETS = ("schedules", "speculative", "disaggregated")
ENGINES = {"vllm-v1": "vllm", "vidur-vllm": "vllm_v0"}
COLUMNS = {
    "first_token_ns": "first_token",
    "second_token_ns": "second_token",
    "kv_arrives_ns": "moved",
    "finish_ns": "finish",
    "restarts": "restarts",
    "cached_tokens": "cached",
    "emissions": "emissions",
}
MANY = 10**6


def engine_of(scheduler: str) -> str:
    plain = scheduler.removeprefix("vidur-").replace("-", "_")
    return ENGINES.get(scheduler, plain)


def small_cases() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(OWN.read_text())
    return found


def options_of(config: dict[str, Any], engine: str) -> dict[str, float]:
    options = {name: float(value) for name, value in config.items()}
    if engine == "vllm":
        options.setdefault("enable_prefix_caching", 0.0)
    return options


def cost_of(case: dict[str, Any]) -> Linear:
    cost = case["cost"]
    names = ("per_iteration_ns", "per_token_ns", "per_context_token_ns")
    return Linear(*(cost[name] / 1e9 for name in names))


def run(case: dict[str, Any], kind: str, most_logged: int) -> Ran:
    cost, config = cost_of(case), case["config"]
    if kind == "disaggregated":
        link = config["link"]
        pools = [
            Pool("vllm", options_of(config[role], "vllm"), cost, role=role)
            for role in ("prefill", "decode")
        ]
        line = Line(link["bytes_per_token"], link["bytes_per_ns"] * 1e9, link["latency_ns"] / 1e9)
        return Fleet(tuple(pools), line=line).run(
            requests_of(case["requests"]), most_logged=most_logged
        )
    engine = engine_of(case.get("scheduler", "vllm-v1"))
    rows, given = case["requests"], None
    if kind == "speculative":
        given = [row[3] for row in rows]
        rows = [row[:3] for row in rows]
    fleet = Fleet((Pool(engine, options_of(config, engine), cost),), acceptance=given)
    return fleet.run(requests_of(rows), most_logged=most_logged)


def assert_exact(case: dict[str, Any], kind: str) -> None:
    expected = case["expected"]
    for most_logged in (0, MANY):
        ran = run(case, kind, most_logged)
        assert int(ran.column("replica_iterations").sum()) == expected["iterations"], case["name"]
        for row in expected["requests"]:
            for key, value in row.items():
                if key in COLUMNS and value is not None:
                    got = int(ran.column(COLUMNS[key])[row["request"]])
                    scale = 1000 if key.endswith("_ns") else 1
                    assert got == value * scale, (case["name"], row["request"], key)
        if "evicted_blocks" in expected:
            assert ran.core.evicted == expected["evicted_blocks"], case["name"]


@pytest.mark.parametrize("case", small_cases(), ids=lambda case: f"{case['kind']}-{case['name']}")
def test_small_schedules_are_exact(case: dict[str, Any]) -> None:
    assert_exact(case, case["kind"])


@pytest.mark.parametrize("kind", SETS)
def test_all_recorded_schedules_are_exact(kind: str) -> None:
    path = SHARED / "golden" / "serving" / f"{kind}.json"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    for case in json.loads(path.read_text()):
        assert_exact(case, kind)


def test_logs_are_exact_iteration_by_iteration() -> None:
    path = SHARED / "golden" / "serving" / "schedules.json"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    for case in json.loads(path.read_text()):
        ran = run(case, "schedules", MANY)
        begin, end, first = (ran.column(f"log_{name}") for name in ("begin", "end", "first"))
        request, tokens = ran.column("item_request"), ran.column("item_tokens")
        for at, row in enumerate(case["expected"].get("log", [])):
            items = range(first[at], first[at + 1])
            got = [begin[at] // 1000, end[at] // 1000, [[request[i], tokens[i]] for i in items]]
            assert got == row, (case["name"], at)


def test_every_engine_has_a_recorded_schedule_or_is_said_to_have_none() -> None:
    recorded = {engine_of(case.get("scheduler", "vllm-v1")) for case in small_cases()}
    without = {"fair", "outside", "sglang", "static_batch", "tensorrt_llm"}  # other tests hold them
    assert {name for name, *_ in _core.serving_engines()} <= recorded | without


def test_what_drafts_emit_is_the_closed_form() -> None:
    requests = requests_of([[0, 16, 20_000]])
    pool = Pool("vllm", {"num_speculative_tokens": 3, "num_blocks": 65536}, Linear(1e-3))
    ran = Fleet((pool,), acceptance=0.7).run(requests)
    mean = (1 - 0.7**4) / 0.3
    steps = int(ran.column("emissions")[0]) - 1
    assert 19_999 / steps == pytest.approx(mean, rel=0.15)  # 64 draws in a circle
