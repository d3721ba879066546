"""Small cases for SGLang's engine, as golden files write them, and what the core makes of one."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from tests.serving.requests.golden import requests_of
from yantra import _core
from yantra.serving.fleet import Linear, core_requests

COST = {"per_iteration_ns": 100_000, "per_token_ns": 1_000, "per_context_token_ns": 10}
POLICIES = (
    "fcfs", "lpm", "lof", "dfs-weight", "hrrn", "shortest-prefill-first", "routing-key"
)  # fmt: skip
LINEAR = Linear(100e-6, 1e-6, 10e-9)


def case_of(seed: int, **config: Any) -> dict[str, Any]:
    """Return a case of few requests with little KV; `config` in place of what chance gives."""
    chance = Random(seed)
    page = chance.choice([1, 1, 4, 16])
    pool = chance.choice([120, 200, 320, 640, 1200])
    exact = chance.random() < 0.25
    rows: list[list[Any]] = []
    at = 0
    for number in range(chance.randint(2, chance.choice([6, 14, 30]))):
        at += chance.choice([0, 0, 1, 1_000, 20_000, 150_000, 1_000_000, 3_000_000])
        prompt = chance.randint(1, max(pool // chance.choice([2, 3, 6]), 3))
        output = chance.randint(1, chance.choice([3, 20, 80, pool // 2]))
        output = min(output, max(1, pool - prompt - page - 8))
        limit = (
            output if exact or chance.random() < 0.5 else output + chance.choice([1, 5, 40, 400])
        )
        limit = min(limit, max(output, pool - prompt - 2 * page - 4))
        rows.append([at, prompt, output, *_shared(chance, number, prompt, rows), limit])
    chunks = [size for size in (4, 8, 16, 32, 64, 128, 8192) if size >= page]
    chosen = {
        "kv_tokens": pool,
        "page_size": page,
        "max_running_requests": chance.choice([2, 3, 8, 256]),
        "max_prefill_tokens": chance.choice([16, 64, 256, 16384]),
        "chunked_prefill_size": chance.choice([-1, *chunks]),
        "mixed_chunk": chance.random() < 0.4,
        "schedule_policy": chance.choice(POLICIES),
        "radix_cache": chance.random() < (0.5 if exact else 0.8),
        "schedule_conservativeness": chance.choice([0.05, 0.1, 0.3, 1.0, 1.4]),
        "ignore_eos": exact,
        "overlap": chance.random() < 0.4,
    }
    if chosen["schedule_policy"] == "shortest-prefill-first":
        chosen["radix_cache"] = True
    return {"requests": rows, "cost": COST, "config": chosen | config}


def crowded_of(seed: int, page: int, *, overlap: bool) -> dict[str, Any]:
    """Return a case in which more requests enter than KV is there for their outputs."""
    chance = Random(seed)
    rows: list[list[Any]] = []
    at = 0
    for number in range(chance.randint(4, 10)):
        prompt, output = chance.randint(5, 60), chance.randint(30, 150)
        limit = output + chance.choice([0, 0, 10, 100])
        at += chance.choice([0, 1_000, 300_000])
        rows.append([at, prompt, output, *_shared(chance, number, prompt, rows), limit])
    config = {
        "kv_tokens": chance.choice([320, 480]),
        "max_running_requests": 256,
        "schedule_conservativeness": 0.05,
        "ignore_eos": False,
        "page_size": page,
        "chunked_prefill_size": 64,
    }
    return {**case_of(seed, **config, overlap=overlap), "requests": rows}


def _shared(chance: Random, number: int, prompt: int, rows: list[list[Any]]) -> tuple[Any, int]:
    kind = chance.random()
    if kind < 0.4:
        return chance.randint(0, 2), chance.randint(0, prompt)
    if kind < 0.6 and number:
        of = chance.randrange(number)
        return f"r{of}", chance.randint(0, min(prompt, rows[of][1] + rows[of][2]))
    return None, 0


def options_of(config: dict[str, Any]) -> dict[str, float]:
    """Return a golden case's config as options of the engine."""
    named = {name: float(at) for at, name in enumerate(POLICIES)}
    return {name: named.get(value, value) * 1.0 for name, value in config.items()}


def served(
    case: dict[str, Any],
    *,
    lanes: int = 1,
    singly: bool = False,
    logged: int = 0,
    until_s: float = -1.0,
    stages: int = 1,
) -> Any:
    """Run a case in the core; of two lanes all is in the first.

    With `until_s` a replica fails then, and another goes on.
    """
    requests = requests_of(case["requests"])
    requests = replace(requests, user=np.arange(len(requests)) % 3)
    if lanes > 1:
        requests = replace(requests, session=np.zeros(len(requests), np.int64))
    fleet = _core.Fleet(core_requests(requests), most_logged=logged, samples=True, singly=singly)
    ends = [-1] if until_s < 0 else [round(until_s * 1e12), -1]
    for end in ends:
        options = options_of(case["config"])
        cost = linear(case["cost"])
        fleet.add("both", "sglang", options, cost, lanes=lanes, stages=stages, until_ps=end)
    fleet.route("both", "sticky" if lanes > 1 else "round_robin", 1)
    return fleet.run()


def linear(cost: dict[str, int]) -> Any:
    """Return the cost of a golden case as the core has it."""
    return _core.linear_cost(*(1000 * cost[name] for name in COST))


def in_golden_terms(ran: Any) -> dict[str, Any]:
    """Return what the core did as golden files write it."""
    columns = {
        "first_token_ns": ran.first_token,
        "finish_ns": ran.finish,
        "retractions": ran.restarts,
        "cached_tokens": ran.cached,
    }
    rows = []
    for number in range(len(np.asarray(ran.finish))):
        row = {name: int(np.asarray(column)[number]) for name, column in columns.items()}
        for name in ("first_token_ns", "finish_ns"):
            row[name] = None if row[name] < 0 else row[name] // 1000
        rows.append({"request": number, **row})
    begin, end, first = (
        np.asarray(of).tolist() for of in (ran.log_begin, ran.log_end, ran.log_first)
    )
    items = list(
        zip(
            np.asarray(ran.item_request).tolist(), np.asarray(ran.item_tokens).tolist(), strict=True
        )
    )
    log = [
        [
            begin[at] // 1000,
            end[at] // 1000,
            [list(item) for item in items[first[at] : first[at + 1]]],
        ]
        for at in range(len(begin))
    ]
    return {
        "requests": rows,
        "iterations": int(np.asarray(ran.replica_iterations).sum()),
        "end_ns": ran.end // 1000,
        "evicted_tokens": ran.evicted,
        "log": log,
    }
