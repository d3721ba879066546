"""Laws of a fleet: time adds up, KV that moves takes its time, replicas come, go and fail."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.base.errors import ConfigError, DeadlockError
from yantra.fabric.clusters import load as load_cluster
from yantra.serving.fleet import Fleet, Linear, Pool, Ran
from yantra.serving.links import Line, Links
from yantra.serving.requests import Requests, load
from yantra.serving.scaling import Scaling

COST = Linear(5e-3, 20e-6, 1e-7)
SOME = "poisson:rate=30/s,count=300,isl=lognormal:300:2000,osl=lognormal:40:200,seed=3"
ROUTINGS = (
    "round_robin", "least_outstanding", "waiting_first", "random", "two_choices", "prefix_aware",
    "sticky",
)  # fmt: skip


def pool(**options: float) -> Pool:
    return Pool("vllm", {"num_blocks": 2000, "max_num_seqs": 64} | options, COST)


def assert_times_add_up(ran: Ran) -> None:
    spent = ran.column("spent").reshape(len(ran.requests), -1)
    whole = ran.column("finish") - ran.column("arrival")
    assert (spent[:, 1:].sum(axis=1) == whole).all()
    behind = ran.column("behind").reshape(len(ran.requests), -1)
    assert (behind.sum(axis=1) == spent[:, 1]).all()


def assert_tokens_are_conserved(ran: Ran) -> None:
    asked = ran.requests.prompt + ran.requests.output - 1
    worked = asked.sum() + ran.column("recomputed").sum() - ran.column("cached").sum()
    assert int(ran.core.tokens) == int(worked)


@given(
    blocks=st.integers(400, 2000),
    seats=st.integers(1, 40),
    budget=st.integers(16, 4096),
    cached=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_times_add_up_and_tokens_are_conserved(
    blocks: int, seats: int, budget: int, cached: bool, seed: int
) -> None:
    requests = load(f"{SOME.removesuffix('3')}{seed}").take(np.arange(60))
    ran = Fleet(
        (
            pool(
                num_blocks=blocks, max_num_seqs=seats, max_num_batched_tokens=budget,
                enable_prefix_caching=cached,
            ),
        )
    ).run(requests)  # fmt: skip
    assert_times_add_up(ran)
    assert_tokens_are_conserved(ran)


@pytest.mark.parametrize("routing", ROUTINGS)
def test_every_routing_ends_all_requests_and_equal_runs_are_equal(routing: str) -> None:
    requests = load(SOME)
    replicas = Pool("vllm", {"num_blocks": 2000}, COST, replicas=3)
    runs = [Fleet((replicas,), routing).run(requests) for _ in range(2)]
    assert_times_add_up(runs[0])
    assert (runs[0].column("finish") == runs[1].column("finish")).all()
    assert set(runs[0].column("target").tolist()) == {0, 1, 2}


def test_more_iterations_logged_change_nothing() -> None:
    requests = load(SOME)
    plain, logged = (Fleet((pool(),)).run(requests, most_logged=most) for most in (0, 10**6))
    assert (plain.column("finish") == logged.column("finish")).all()
    tokens = logged.column("item_tokens").sum()
    assert tokens == logged.core.tokens


def test_gaps_are_those_between_tokens() -> None:
    ran = Fleet((pool(),)).run(load(SOME))
    gaps, weights = ran.gaps_s
    took = ran.column("finish") - ran.column("first_token")
    assert (gaps * weights).sum() == pytest.approx(took.sum() / 1e12, rel=1e-9)
    assert weights.sum() == (ran.requests.output - 1).sum()


@pytest.mark.parametrize("factor", [2.0, 4.0])
def test_half_the_bandwidth_moves_the_second_token_by_the_transfer(factor: float) -> None:
    requests = load("constant:rate=0.5/s,count=20,isl=1000,osl=5")
    bytes_per_token, rate = 327_680, 50e9

    def second(bytes_per_s: float) -> np.ndarray:
        pools = (
            Pool("vllm", {}, COST, role="prefill"),
            Pool("vllm", {}, COST, role="decode"),
        )
        ran = Fleet(pools, line=Line(bytes_per_token, bytes_per_s)).run(requests)
        return (ran.column("second_token") - ran.column("first_token")) / 1e12

    moved = second(rate / factor) - second(rate)
    expected = 1000 * bytes_per_token / rate * (factor - 1)
    assert moved == pytest.approx(expected, rel=1e-6)


def test_kv_sent_by_layers_leaves_only_the_last_for_afterwards() -> None:
    requests = load("constant:rate=0.5/s,count=4,isl=1000,osl=3")
    pools = (Pool("vllm", {}, COST, role="prefill"), Pool("vllm", {}, COST, role="decode"))

    def transfer(layers: int) -> np.ndarray:
        ran = Fleet(pools, line=Line(327_680, 50e9, layers=layers)).run(requests)
        return (ran.column("moved") - ran.column("first_token")) / 1e12

    whole = 1000 * 327_680 / 50e9
    assert transfer(1) == pytest.approx(whole, rel=1e-6)
    assert transfer(80) == pytest.approx(whole / 80, rel=1e-3)  # the prompt takes longer than it


def test_one_move_over_a_clusters_links_takes_its_bytes_by_their_rate() -> None:
    cluster = load_cluster("hgx-h100")
    inner = cluster.network[0].device_bytes_per_s()
    outer = cluster.network[-1].device_bytes_per_s()
    requests = load("constant:rate=0.5/s,count=3,isl=4000,osl=3")
    for devices, rate in ((4, 4 * inner), (8, 8 * outer)):
        pools = (
            Pool("vllm", {"num_blocks": 9000}, COST, role="prefill", devices=devices),
            Pool("vllm", {"num_blocks": 9000}, COST, role="decode", devices=devices),
        )
        ran = Fleet(pools, line=Links(327_680, cluster)).run(requests)
        took = (ran.column("moved") - ran.column("first_token")) / 1e12
        assert took == pytest.approx(4000 * 327_680 / rate, rel=0.01)


def test_moves_that_share_a_link_take_longer_than_alone() -> None:
    cluster = load_cluster("hgx-h100")
    requests = load("at_once:count=8,isl=4000,osl=3")
    pools = (
        Pool("vllm", {"num_blocks": 9000}, COST, replicas=8, role="prefill", devices=8),
        Pool("vllm", {"num_blocks": 9000}, COST, role="decode", devices=8),
    )
    ran = Fleet(pools, "round_robin", line=Links(327_680, cluster)).run(requests)
    took = (ran.column("moved") - ran.column("first_token")) / 1e12
    alone = 4000 * 327_680 / (8 * cluster.network[-1].device_bytes_per_s())
    assert took.max() == pytest.approx(8 * alone, rel=0.05)


def test_a_tier_without_time_is_as_good_as_memory() -> None:
    requests = load("sessions:count=40,turns=5,rate=2/s,isl=400,osl=60,delay=5s,seed=2")
    small = {"num_blocks": 400, "max_num_batched_tokens": 4096}
    large = Fleet((pool(num_blocks=100_000),)).run(requests).column("cached").sum()
    none = Fleet((pool(**small),)).run(requests).column("cached").sum()
    host = Fleet((pool(**small, host_blocks=1e6, host_block_us=1e-3),)).run(requests)
    assert none < host.column("cached").sum()
    assert host.column("cached").sum() >= 0.98 * large
    assert_times_add_up(host)


def test_a_replica_that_fails_hands_its_requests_to_others() -> None:
    requests = load(SOME)
    pools = (Pool("vllm", {"num_blocks": 2000}, COST, replicas=2, ends_s=(3.0,)),)
    ran = Fleet(pools).run(requests)
    assert_times_add_up(ran)
    late = ran.column("arrival") > 3e12
    assert set(ran.column("target")[late].tolist()) == {1}


def test_requests_that_waited_at_a_replica_that_fails_wait_on_elsewhere() -> None:
    requests = load("poisson:rate=60/s,count=300,isl=400,osl=60,seed=4")
    seats = {"num_blocks": 2000, "max_num_seqs": 4}
    ran = Fleet((Pool("vllm", seats, COST, replicas=2, ends_s=(2.0,)),)).run(requests)
    assert_times_add_up(ran)
    assert (ran.spent_s[:, 5] > 0).any()


def test_requests_wait_while_nobody_is_up() -> None:
    requests = load("constant:rate=10/s,count=5,isl=10,osl=2")
    ran = Fleet((Pool("vllm", {}, COST, starts_s=(2.0,)),)).run(requests)
    assert (ran.column("start") == 2_000_000_000_000).all()


def test_replicas_come_when_requests_wait_and_go_when_they_do_not() -> None:
    requests = load("poisson:rate=60/s,count=1500,isl=500,osl=50,seed=1")
    scaling = Scaling.of("1 to 6, waiting 2, delay 1 s, idle 4 s", "scale")
    starts = (0.0, *(inf,) * 5)
    seats = {"num_blocks": 2000, "max_num_seqs": 8}
    scaled = Fleet((Pool("vllm", seats, COST, 6, starts_s=starts, scaling=scaling),)).run(requests)
    alone = Fleet((Pool("vllm", seats, COST),)).run(requests)
    whole = Fleet((Pool("vllm", seats, COST, 6),)).run(requests)
    assert whole.ttft_s.mean() < scaled.ttft_s.mean() < alone.ttft_s.mean()
    up = scaled.column("replica_up")
    assert up[0] == scaled.core.end
    assert (up[1:] < scaled.core.end).all()


def test_fewer_under_way_is_a_longer_wait_outside_and_none_inside() -> None:
    requests = load("at_once:count=50,isl=100,osl=20")
    ran = Fleet((pool(),), most_under_way=1).run(requests)
    assert ran.queue_s.max() == 0
    alone = Fleet((pool(),)).run(requests.take([0])).makespan_s
    assert ran.makespan_s == pytest.approx(50 * alone, rel=1e-9)


def test_engines_that_step_together_wait_for_the_slowest() -> None:
    requests = Requests.of([0, 0], [1000, 10], [5, 5])
    ran = Fleet((Pool("vllm", {}, COST, lanes=2),), "round_robin").run(requests)
    assert ran.column("first_token")[0] == ran.column("first_token")[1]


def test_a_pipeline_is_as_quick_for_one_and_quicker_for_many() -> None:
    few = load("constant:rate=0.2/s,count=3,isl=300,osl=20")
    many = load("at_once:count=64,isl=300,osl=100")
    seats = {"num_blocks": 4000, "max_num_seqs": 64, "max_num_batched_tokens": 512}

    def ran(requests: Requests, stages: int) -> Ran:
        return Fleet((Pool("vllm", seats, COST, stages=stages, devices=stages),)).run(requests)

    assert (ran(few, 4).column("finish") == ran(few, 1).column("finish")).all()
    for stages in (2, 4):
        assert_times_add_up(ran(many, stages))
        assert_tokens_are_conserved(ran(many, stages))
        quicker = ran(many, 1).makespan_s / ran(many, stages).makespan_s
        assert 1 < quicker <= stages


def test_a_request_that_never_fits_is_told() -> None:
    with pytest.raises(ConfigError, match=r"requests\[1\]: 100 tokens .* than an engine has, 32"):
        Fleet((pool(num_blocks=2),)).run(Requests.of([0, 0], [10, 100], [5, 5]))


def test_a_request_that_never_starts_is_told() -> None:
    options = {"max_num_batched_tokens": 64, "enable_chunked_prefill": 0}
    with pytest.raises(DeadlockError, match="1 request can never end, first number 0"):
        Fleet((pool(**options),)).run(Requests.of([0], [100], [5]))


def test_an_unknown_routing_is_told_with_what_was_meant() -> None:
    with pytest.raises(ConfigError, match=r"nothing is named 'sticki'.*did you mean 'sticky'"):
        Fleet((pool(),), "sticki").run(Requests.of([0], [10], [5]))
