"""Every engine keeps the laws, event by event as iteration by iteration; queues are as in books."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

from yantra import _core
from yantra.kinds.engine_laws import (
    COST,
    LAWS,
    Case,
    random_case,
    serve,
    the_same_is_done_twice,
)
from yantra.serving import batching

SEEDS = 200
MS = 10**6  # in ns
PS = 1000  # to a ns


class Variant(NamedTuple):
    """An engine and options of it."""

    engine: str
    given: Mapping[str, Any] = {}

    def __str__(self) -> str:
        return "-".join((self.engine, *map(str, self.given.values())))


UNCACHED = {"enable_prefix_caching": "off"}
VARIANTS = (
    Variant("vllm", UNCACHED),
    Variant("vllm", {"max_num_batched_tokens": 64, **UNCACHED}),
    Variant("vllm", {"scheduling_policy": "priority", **UNCACHED}),
    Variant("vllm", {"scheduling_policy": "fair", **UNCACHED}),
    Variant("vllm"),
    Variant("sarathi"),
    Variant("sarathi", {"chunk_size": 64}),
    Variant("tensorrt_llm"),
    Variant("tensorrt_llm", {"max_num_tokens": 64, "context_chunking_policy": "EQUAL_PROGRESS"}),
    Variant("tensorrt_llm", {"capacity_scheduler_policy": "MAX_UTILIZATION"}),
    Variant("tensorrt_llm", {"capacity_scheduler_policy": "STATIC_BATCH"}),
    Variant(
        "tensorrt_llm",
        {"capacity_scheduler_policy": "MAX_UTILIZATION", "enable_chunked_context": "off"},
    ),
)
EVERY = (*VARIANTS, *(Variant(name) for name in batching.built_in() if name not in str(VARIANTS)))


@pytest.mark.parametrize("name", batching.built_in())
def test_every_engine_keeps_the_laws_on_random_requests(name: str) -> None:
    variants = [variant for variant in EVERY if variant.engine == name]
    for seed in range(SEEDS):
        variant = variants[seed % len(variants)]
        ran = serve(name, random_case(seed), variant.given)
        for law in LAWS:
            assert law(name, ran) is None, (str(variant), seed, law.__name__)


@pytest.mark.parametrize("variant", EVERY, ids=str)
def test_iterations_that_are_alike_are_as_if_planned_singly(variant: Variant) -> None:
    """Also on a replica of two engines, where the longer iteration counts, and where one fails."""
    for seed in range(0, SEEDS, 4):
        case = random_case(seed)
        lanes = 1 + seed // 4 % 2
        until = -1 if seed % 3 else int(np.max(_fleet(variant, case, lanes=lanes).finish)) // 2
        at_once, singly = (
            _fleet(variant, case, singly=singly, lanes=lanes, until=until)
            for singly in (False, True)
        )
        for name in COLUMNS:
            ours, theirs = np.asarray(getattr(at_once, name)), np.asarray(getattr(singly, name))
            assert np.array_equal(ours, theirs), (seed, name)


COLUMNS = (
    "first_token", "finish", "restarts", "emissions", "spent", "behind", "cached", "recomputed",
    "replica_iterations", "replica_worked",
)  # fmt: skip


def _fleet(
    variant: Variant, case: Case, *, singly: bool = False, lanes: int = 1, until: int = -1
) -> Any:
    plain = serve(variant.engine, case, variant.given, most_logged=0)
    columns = np.array(case.requests, np.int64).T.copy()
    columns[0] *= PS
    count = len(case.requests)
    nobody, zero, none = np.full(count, -1), np.zeros(count, np.int64), np.zeros(0, np.int64)
    requests = _core.serving_requests(
        *columns[:3], columns[2], *columns[3:], zero, zero, nobody, zero,
        np.zeros(count + 1, np.int64), none, none, none, none,
    )  # fmt: skip
    fleet = _core.Fleet(requests, singly=singly)
    for end in (until, -1) if until >= 0 else (-1,):
        fleet.add("both", variant.engine, dict(plain.options), COST.core(), lanes, until_ps=end)
    fleet.route("both", "round_robin", 0)
    return fleet.run()


@pytest.mark.parametrize("variant", EVERY, ids=str)
def test_the_same_requests_get_the_same_answer(variant: Variant) -> None:
    assert the_same_is_done_twice(variant.engine, random_case(3)) is None


def test_with_room_for_all_vllm_is_sarathi_with_a_large_chunk() -> None:
    for seed in range(0, SEEDS, 5):
        case = random_case(seed)._replace(blocks=1 << 20, seats=4096, tokens=1 << 20)
        vllm, sarathi = (serve(*of, most_logged=0) for of in (("vllm", case), ("sarathi", case)))
        assert np.array_equal(vllm["finish"], sarathi["finish"])


def test_littles_law_holds_in_a_long_run() -> None:
    rows = _poisson(6000, 40 * MS, seed=5)
    case = Case("little", rows, 4096, 16, 64, 2048)
    ran = serve("vllm", case, UNCACHED, most_logged=0)
    begin, end = ran["arrival"][600], ran["arrival"][5400]
    inside = np.minimum(ran["finish"], end) - np.maximum(ran["arrival"], begin)
    mean = np.maximum(inside, 0).sum() / (end - begin)
    counted = (ran["arrival"] >= begin) & (ran["arrival"] < end)
    rate = counted.sum() / (end - begin)
    took = (ran["finish"] - ran["arrival"])[counted].mean()
    assert mean == pytest.approx(rate * took, rel=0.02)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
@pytest.mark.parametrize("name", ["static_batch", "vllm"])
def test_the_wait_of_a_server_with_one_seat_is_that_of_m_d_1(name: str, load: float) -> None:
    """rho s / (2 (1 - rho)): Pollaczek and Khinchine's formula with a fixed service time s."""
    count, service = 200_000, 10 * MS * PS
    gaps = np.random.default_rng(11).exponential(service / load, count)
    arrival = np.cumsum(gaps).astype(np.int64)
    one, zero, none = np.ones(count, np.int64), np.zeros(count, np.int64), np.zeros(0, np.int64)
    nobody = np.full(count, -1)
    requests = _core.serving_requests(
        arrival, one, one, one, zero, zero, zero, nobody, nobody, zero,
        np.zeros(count + 1, np.int64), none, none, none, none,
    )  # fmt: skip
    fleet = _core.Fleet(requests)
    seat = {"max_batch_size": 1.0, "max_num_seqs": 1.0, "enable_prefix_caching": 0.0}
    fleet.add("both", name, seat, _core.linear_cost(service, 0, 0))
    fleet.route("both", "round_robin", 0)
    ran = fleet.run()
    wait = (np.asarray(ran.start) - np.asarray(ran.arrival)).mean()
    assert wait == pytest.approx(load * service / (2 * (1 - load)), rel=0.05)


def test_a_static_batch_waits_for_others_so_long_and_leaves_seats_empty() -> None:
    rows = ((0, 10, 2, 0, 0), (3 * MS, 10, 4, 0, 0), (9 * MS, 10, 1, 0, 0))
    case = Case("static", rows, 100, 16, 2, 512)
    delay = {"max_queue_delay_microseconds": 5000}
    full = serve("static_batch", case, delay)
    assert full["start"].tolist()[:2] == [3 * MS * PS] * 2  # the second fills the batch
    assert full["start"][2] == full["finish"][1]  # though a seat is empty from the first's end
    assert full["finish"][0] < full["finish"][1]
    alone = serve("static_batch", case._replace(requests=rows[:1]), delay)
    assert alone["start"].tolist() == [5 * MS * PS]


def test_the_least_served_user_goes_first_by_the_fair_queue() -> None:
    """One user asks for all at once, the other a little later for one."""
    rows = (*[(0, 100, 20, 0, 0)] * 20, (MS, 100, 20, 0, 1))
    case = Case("fair", rows, 4096, 16, 2, 4096)
    by_arrival, fair = (
        serve("vllm", case, {"scheduling_policy": policy}) for policy in ("fcfs", "fair")
    )
    assert by_arrival["start"][20] == by_arrival["start"].max()
    assert fair["start"][20] <= np.sort(fair["start"])[3]


def test_two_users_who_always_ask_are_served_alike_by_the_fair_queue() -> None:
    """Sheng et al., theorem 4.4: the difference is at most twice the largest batch or request."""
    rows = tuple((0, 50, 40, 0, 0) for _ in range(200)) + tuple(
        (0, 200, 10, 0, 1) for _ in range(200)
    )
    ran = serve("vllm", Case("backlog", rows, 4096, 16, 8, 4096), {"scheduling_policy": "fair"})
    served = {0: 0.0, 1: 0.0}
    worst = 0.0
    for _, _, items in ran.iterations[: len(ran.iterations) // 2]:
        for request, tokens, context in items.tolist():
            _, prompt, _, _, user = case_row = rows[request]
            served[user] += (prompt if context == 0 else 0) + 2 * (context + tokens >= case_row[1])
        worst = max(worst, abs(served[0] - served[1]))
    assert worst <= 2 * max(200, 2 * 8 * 40)


@pytest.mark.parametrize("seed", range(0, SEEDS, 20))
def test_reserves_keep_tensorrt_llm_from_pausing_anyone(seed: int) -> None:
    case = random_case(seed)
    kept = serve("tensorrt_llm", case)
    assert not kept["restarts"].any()
    packed = serve("tensorrt_llm", case, {"capacity_scheduler_policy": "MAX_UTILIZATION"})
    assert packed["start"].sum() <= kept["start"].sum()


def test_tensorrt_llm_pauses_the_last_and_reads_it_anew() -> None:
    """Two prompts of 4 blocks in 9: the second begins anew, with what it had said."""
    rows = ((0, 64, 40, 0, 0), (0, 64, 40, 0, 0))
    case = Case("pause", rows, 9, 16, 2, 512)
    ran = serve("tensorrt_llm", case, {"capacity_scheduler_policy": "MAX_UTILIZATION"})
    assert ran["restarts"].tolist() == [0, 1]
    assert ran["recomputed"].tolist() == [0, 64]
    assert ran["finish"][0] < ran["finish"][1]


def _poisson(count: int, gap: int, seed: int) -> tuple[tuple[int, int, int, int, int], ...]:
    draw = np.random.default_rng(seed)
    arrival = np.cumsum(draw.exponential(gap, count)).astype(int).tolist()
    prompt, output = (draw.integers(1, most, count).tolist() for most in (200, 100))
    return tuple((at, p, o, 0, 0) for at, p, o in zip(arrival, prompt, output, strict=True))
