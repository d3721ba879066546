"""Pipelines of every engine that has one: laws, and SGLang's against its slow oracle."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

from tests.serving.sglang_cases import case_of, in_golden_terms, served
from tests.serving.sglang_oracle import serve_in_stages
from tests.serving.test_fleet import assert_times_add_up, assert_tokens_are_conserved
from tests.serving.test_sglang import ALL, assert_as_said
from yantra.kinds.engine_laws import random_case
from yantra.serving import batching
from yantra.serving.fleet import Fleet, Linear, Pool, Ran
from yantra.serving.requests import Requests, load

COST = Linear(4e-3, 16e-6, 16e-9)
ENGINES = tuple(kind.name for kind in batching.built_in().values() if kind.has_pipelines)
SMALL = {
    "num_blocks": 90, "block_size": 16, "max_num_seqs": 6, "max_batch_size": 6,
    "max_running_requests": 6, "kv_tokens": 1440, "max_num_batched_tokens": 512,
    "chunk_size": 64, "max_tokens": 256, "max_num_tokens": 512, "chunked_prefill_size": 128,
}  # fmt: skip


def options_of(engine: str, **more: float) -> dict[str, float]:
    known = {option.name for option in batching.built_in()[engine].options}
    return {name: value for name, value in (SMALL | more).items() if name in known}


def asked(seed: int) -> Requests:
    columns = np.array(random_case(seed).requests).T
    return Requests.of(columns[0], np.minimum(columns[1], 180), np.minimum(columns[2], 70))


def ran(engine: str, requests: Requests, stages: int, lanes: int = 1, **more: float) -> Ran:
    options = options_of(engine, **more)
    pool = Pool(engine, options, COST, stages=stages, lanes=lanes, devices=stages * lanes)
    return Fleet((pool,), "round_robin").run(requests, most_logged=ALL)


@pytest.mark.parametrize("engine", ENGINES)
def test_times_add_up_and_no_token_is_lost(engine: str) -> None:
    for seed in range(24):
        found = ran(engine, asked(seed), 2 + seed % 3, 1 + seed % 2)
        assert_times_add_up(found)
        assert_tokens_are_conserved(found)
        assert found.column("item_tokens").sum() == found.core.tokens


@pytest.mark.parametrize("engine", ENGINES)
def test_what_decodes_is_in_one_batch_at_a_time_and_batches_leave_in_order(engine: str) -> None:
    for seed in range(8):
        stages = 2 + seed % 3
        found = ran(engine, asked(seed), stages)
        begin, end = found.column("log_begin"), found.column("log_end")
        assert (np.diff(begin) >= 0).all() or sorted(end.tolist()) == end.tolist()
        spans = defaultdict(list)
        first = found.column("log_first")
        for at, (a, b) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
            for item in range(first[at], first[at + 1]):
                if found.column("item_decodes")[item]:
                    spans[int(found.column("item_request")[item])].append((a, b))
        for of in spans.values():
            assert all(a[1] <= b[0] for a, b in pairwise(sorted(of)))
        under_way = [(at, 1) for at in begin.tolist()] + [(at, -1) for at in end.tolist()]
        assert max(np.cumsum([step for _, step in sorted(under_way)])) <= stages


@pytest.mark.parametrize("engine", ENGINES)
def test_a_pipeline_is_as_quick_for_one_and_quicker_for_many(engine: str) -> None:
    seats = 16 if engine in ("orca", "faster_transformer", "tensorrt_llm") else 64  # of a batch
    room = {"num_blocks": 4000, "kv_tokens": 64_000, "max_num_seqs": seats, "max_batch_size": seats,
            "max_running_requests": seats}  # fmt: skip
    few = load("constant:rate=0.2/s,count=3,isl=100,osl=20")
    many = load("at_once:count=64,isl=100,osl=60")
    one, four = (ran(engine, few, stages, **room).column("finish") for stages in (1, 4))
    assert (one == four).all()
    for stages in (2, 4):
        quicker = (
            ran(engine, many, 1, **room).makespan_s / ran(engine, many, stages, **room).makespan_s
        )
        assert 1 < quicker <= stages


@pytest.mark.parametrize("engine", ENGINES)
def test_a_rank_without_requests_changes_nothing(engine: str) -> None:
    requests = asked(5)
    alone = ran(engine, requests, 3)
    pool = Pool(engine, options_of(engine), COST, stages=3, lanes=2, devices=6)
    at_first = Requests.of(
        requests.arrival_ns,
        requests.prompt,
        requests.output,
        session=np.zeros(len(requests), np.int64),
    )
    beside = Fleet((pool,), "sticky").run(at_first)
    assert (alone.column("finish") == beside.column("finish")).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_failed_pipeline_had_begins_anew_on_another(engine: str) -> None:
    requests = asked(11)
    end = ran(engine, requests, 3).makespan_s / 3
    pool = Pool(engine, options_of(engine), COST, replicas=2, stages=3, ends_s=(end,))
    found = Fleet((pool,), "round_robin").run(requests)
    assert_times_add_up(found)
    assert_tokens_are_conserved(found)


@pytest.mark.parametrize("first", range(0, 24, 8))
def test_sglangs_micro_batches_are_those_of_the_rules(first: int) -> None:
    for seed in range(first, first + 8):
        case, stages = case_of(seed, overlap=False), 2 + seed % 3
        case["cost"] = {name: value * 12 for name, value in case["cost"].items()}
        expected = serve_in_stages(case, stages)
        assert_as_said(case, expected, in_golden_terms(served(case, stages=stages, logged=ALL)))


def test_a_batch_in_a_pipeline_has_its_share_of_seats() -> None:
    requests = load("at_once:count=24,isl=20,osl=10")
    for engine in ("vllm_v0", "sarathi", "sglang"):
        found = ran(engine, requests, 3, max_num_batched_tokens=4096, chunk_size=4096)
        assert np.diff(found.column("log_first")).max() == 6 // 3
    whole = ran("tensorrt_llm", requests, 3)
    assert np.diff(whole.column("log_first")).max() == 6
