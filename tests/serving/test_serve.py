"""Models served on clusters: iterations, memory, pools, search, hooks and a log of one's own."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from math import exp
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from yantra.base.errors import CapacityError, ConfigError, UnsupportedError
from yantra.fabric.clusters import load as load_cluster
from yantra.serving import engines
from yantra.serving.answer import Served
from yantra.serving.blocks import bytes_per_token, room_of
from yantra.serving.check import checked
from yantra.serving.fit import Terms, fitted, run
from yantra.serving.fitted_file import text_of
from yantra.serving.fleet import Linear
from yantra.serving.hooks import vllm
from yantra.serving.hooks.sglang_simulator import YantraTimePredictor
from yantra.serving.iteration import Predictor
from yantra.serving.measures import Objective
from yantra.serving.own_log import judged
from yantra.serving.requests import load
from yantra.serving.search import search
from yantra.serving.serve import serve
from yantra.workloads.models.catalogue import find
from yantra.workloads.serving.plan import InferencePlan

ASKED = "poisson:rate=10/s,count=300,isl=800,osl=60,seed=1"


@cache
def served(**fields: Any) -> Served:
    return serve("llama3-8b", "hgx-h100", ASKED, **fields)


def test_times_lie_within_their_interval_and_faster_ends_are_faster() -> None:
    of = served()
    for measure in ("ttft", "tpot", "itl", "e2e"):
        span = of.interval(measure)
        assert span is not None
        assert span[0] < getattr(of, measure).mean < span[1]


def test_the_interval_of_a_lone_request_is_the_engine_s() -> None:
    requests = load("constant:rate=0.1/s,count=3,isl=700,osl=20")
    of = serve("llama3-8b", "hgx-h100", requests)
    width = exp(engines.load("vllm").interval.value)
    span, mean = of.interval("e2e"), of.e2e.mean
    assert span is not None
    assert span == pytest.approx((mean / width, mean * width), rel=1e-6)


def test_time_is_the_loop_s_and_the_predictor_s() -> None:
    requests = load("constant:rate=0.5/s,count=2,isl=700,osl=2")
    of = serve("llama3-8b", "hgx-h100", requests, intervals=False)
    predictor = Predictor(
        find("llama3-8b"), "hgx-h100", InferencePlan(), engine="vllm",
        max_tokens=8192, max_sequences=256, max_context=702,
    )  # fmt: skip
    assert of.ran.ttft_s[0] == pytest.approx(predictor.iteration([(700, 0)]).seconds, rel=1e-6)
    assert of.ran.tpot_s[0] == pytest.approx(predictor.iteration([(1, 700)]).seconds, rel=1e-6)


def test_states_of_a_run_take_what_the_simulated_iteration_takes() -> None:
    for one in checked(served(), 4):
        assert abs(one.off) < 0.01, one.state.words()


def test_memory_adds_up_to_the_share() -> None:
    cluster, plan = load_cluster("hgx-h100"), InferencePlan(tp=4)
    room = room_of(find("llama3-70b"), cluster, plan, 8192)
    held = room.weights + room.activations + room.reserve + room.tokens * room.per_token
    assert held <= room.share * room.capacity < held + room.block_size * room.per_token


def test_kv_of_a_token_is_the_published_one() -> None:
    assert bytes_per_token(find("llama3-70b"), InferencePlan(tp=8)) == 327_680


def test_a_model_that_does_not_fit_is_told() -> None:
    with pytest.raises(CapacityError, match="no KV fits"):
        serve("llama3-70b", "hgx-h100", ASKED)


def test_energy_and_cost_follow_the_devices() -> None:
    one, two = served(), served(replicas=2)
    assert one.energy_j is not None
    assert two.energy_j is not None
    assert one.energy_j < two.energy_j < 2 * one.energy_j
    power = load_cluster("hgx-h100").power
    assert power is not None
    assert one.energy_j <= power.value * one.device_s
    assert one.cost_usd is not None
    price = load_cluster("hgx-h100").price
    assert price is not None
    assert one.cost_usd == pytest.approx(price.value * one.ran.makespan_s / 3600, rel=1e-6)
    assert two.cost_usd == pytest.approx(2 * one.cost_usd, rel=0.05)


def test_pools_of_unequal_parallelism_move_kv() -> None:
    of = serve("llama3-8b", "hgx-h100", ASKED, prefill="1x tp=2", decode="2x tp=1")
    moved = of.ran.spent_s[:, 2]
    assert (moved > 0).all()
    layered = serve(
        "llama3-8b", "hgx-h100", ASKED, prefill="1x tp=2", decode="2x tp=1", layerwise=True
    )
    assert layered.ran.spent_s[:, 2].mean() < moved.mean()


def test_a_tier_slower_than_working_out_again_is_left_out_and_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from yantra.base.notes import notes_to

    told: list[str] = []
    with notes_to(told.append):
        serve("llama3-8b", "hgx-h100", ASKED, disk_kv="1 TiB @ 100 MB/s", intervals=False)
    assert "it is not used" in told[0]
    with pytest.raises(ConfigError, match="a size and its rate"):
        serve("llama3-8b", "hgx-h100", ASKED, disk_kv="1 TiB")


def test_drafts_that_are_right_make_a_token_quicker() -> None:
    quick = served(num_speculative_tokens=3, acceptance=0.8)
    useless = served(num_speculative_tokens=3, acceptance=0.0)
    with pytest.raises(ConfigError, match="acceptance: drafts need it, such as --set"):
        served(num_speculative_tokens=3)
    assert quick.tpot.mean < served().tpot.mean < useless.tpot.mean


def test_experts_of_unequal_load_take_longer() -> None:
    fields = {"tp": 2, "ep": 2, "intervals": False}
    even, uneven = (
        serve("qwen3-30b-a3b", "hgx-h100", ASKED, **fields, **more)
        for more in ({}, {"imbalance": "1.5"})
    )
    assert even.tpot.mean < uneven.tpot.mean
    with pytest.raises(ConfigError, match="no routed experts"):
        serve("llama3-8b", "hgx-h100", ASKED, imbalance="1.2")


def test_a_pipeline_that_an_engine_does_not_have_is_refused() -> None:
    for engine, more, expected in (
        ("static_batch", {}, "pp: static_batch has no pipeline"),
        ("tensorrt_llm", {"capacity_scheduler_policy": "MAX_UTILIZATION"}, "MAX_UTILIZATION"),
    ):
        with pytest.raises(UnsupportedError, match=expected):
            serve("llama3-8b", "hgx-h100", ASKED, engine=engine, pp=2, **more)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt_llm"])
def test_a_pipeline_has_ranks_that_share_its_stages_and_requests(engine: str) -> None:
    fields = {"engine": engine, "tp": 1, "intervals": False}
    one = serve("llama3-8b", "hgx-h100", ASKED, **fields)
    more = serve("llama3-8b", "hgx-h100", ASKED, **fields, pp=2, dp=2)
    assert more.devices == 4 * one.devices
    assert more.ran.column("target").max() == 1
    assert more.e2e.mean < 1.2 * one.e2e.mean


def test_sglang_orders_by_uncached_tokens_only_with_a_tree() -> None:
    with pytest.raises(ConfigError, match=r"shortest-prefill-first.*radix_cache=on"):
        serve(
            requests=ASKED, engine="sglang", cost=Linear(5e-3, 20e-6, 1e-7),
            schedule_policy="shortest-prefill-first", radix_cache="off",
        )  # fmt: skip


def test_the_best_deployment_keeps_its_promise_and_costs_least() -> None:
    promises = [Objective.of("ttft", "p99 500 ms", "ttft"), Objective.of("tpot", "20 ms", "tpot")]
    asked = load("poisson:rate=30/s,count=400,isl=1000,osl=100,seed=1")
    clusters = [load_cluster("hgx-h100")]
    found = search(
        find("llama3-8b"), clusters, asked, promises, engines=("vllm",), dtypes=("bf16",)
    )
    best = found.kept[0]
    used = [
        (one.usd_per_h, max(promise.value(one.ran) / promise.seconds for promise in promises))
        for one in found.kept
        if one.ran is not None
    ]
    assert used == sorted(used) and max(share for _, share in used) <= 1
    assert {one.devices for one in found.kept if one.usd_per_h == best.usd_per_h} == {best.devices}
    assert found.considered >= len(found.kept)
    for one in found.lost:
        assert one.why_not


def test_what_a_search_finds_is_served_as_it_was_found() -> None:
    promise = Objective.of("tpot", "20 ms", "tpot")
    found = search(
        find("llama3-8b"), [load_cluster("hgx-h100")], load(ASKED), [promise],
        engines=("vllm",), dtypes=("bf16",), most_devices=1,
    )  # fmt: skip
    for one in found.kept[:2]:
        ((replicas, _, candidate),) = one.pools
        again = served(replicas=replicas, tp=candidate.pool.plan.tp, **candidate.pool.options)
        assert one.ran is not None
        assert np.array_equal(again.ran.tpot_s, one.ran.tpot_s)
        assert np.array_equal(again.ran.ttft_s, one.ran.ttft_s)


@pytest.mark.parametrize(
    ("cluster", "says"),
    [
        ("hgx-b200", "measured kernels and collectives, vLLM"),
        ("mi355x", "GB200, scaled by the data sheets, of a device like none measured; collectives"),
        ("gaudi3", "H100 SXM, scaled by the data sheets, of a device like none measured; coll"),
    ],
)
def test_kernels_of_another_device_are_named_and_widen_the_interval(
    cluster: str, says: str
) -> None:
    plan = InferencePlan(tp=2)
    stated = engines.load("vllm").interval.value
    found = Predictor("llama3-8b", cluster, plan, engine="vllm").interval
    of = serve("llama3-8b", cluster, "constant:rate=1/s,count=2,isl=99,osl=9", tp=2)
    assert says in of.rests_on
    assert (found == stated) if cluster == "hgx-b200" else (found > 1.5 * stated)


def test_the_roofline_states_no_interval() -> None:
    of = Predictor("llama3-8b", "gaudi3", InferencePlan(tp=2), engine="vllm", stack="roofline")
    assert of.interval == 0
    of.iteration([(1, 100)])
    assert of.rests_on == "kernels by the roofline; collectives simulated"


def test_a_search_asks_once_whether_a_plan_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def full(question: Any) -> Any:
        ((_, pool),) = question.pools
        asked.append((pool.engine, pool.plan))
        raise CapacityError("memory", "no block fits")

    monkeypatch.setattr(import_module("yantra.serving.search.search"), "fleet_of", full)
    found = search(
        find("llama3-8b"), [load_cluster("hgx-h100")], load(ASKED),
        [Objective.of("tpot", "20 ms", "tpot")], engines=("vllm", "sglang"), dtypes=("bf16",),
    )  # fmt: skip
    assert not found.kept and len(found.lost) > len(asked) == len(set(asked))


def test_terms_that_made_a_log_are_found_again() -> None:
    of = serve("llama3-8b", "hgx-h100", "poisson:rate=25/s,count=200,isl=800,osl=80,seed=2")
    truth = Terms(host=1.4, products=1.2, attention=0.8)
    ran = run(of.fleet, of.question.requests, truth)
    assert ran is not None
    log = {"ttft_s": ran.ttft_s, "tpot_s": ran.tpot_s, "end_to_end_s": ran.e2e_s}
    found = fitted(of.fleet, of.question.requests, log)
    assert found.after < 0.03 < found.before
    own = judged(of.fleet, of.question.requests, log, of.ran)
    assert [name for name, _, _ in own.what_ifs][:2] == ["as it is", "twice the replicas"]
    for row in own.rows:
        assert row.with_terms == pytest.approx(row.measured, rel=0.1)


def test_a_fitted_engine_serves_as_the_log_had_it(tmp_path: Path) -> None:
    of = serve("llama3-8b", "hgx-h100", ASKED)
    ran = run(of.fleet, of.question.requests, Terms(products=1.3))
    assert ran is not None
    log = {"tpot_s": ran.tpot_s, "ttft_s": ran.ttft_s, "end_to_end_s": ran.e2e_s}
    found = fitted(of.fleet, of.question.requests, log)
    path = tmp_path / "mine.yaml"
    path.write_text(text_of(of.question.pools[0][1], found, of.question, "log.csv", 300))
    mine = serve("llama3-8b", "hgx-h100", ASKED, engine=str(path))
    assert mine.tpot.mean == pytest.approx(float(np.mean(ran.tpot_s)), rel=0.03)


@cache
def small() -> Predictor:
    return Predictor("llama3-8b", "hgx-h100", InferencePlan(), engine="vllm")


def test_sglang_s_simulator_asks_with_its_own_batches() -> None:
    hook = YantraTimePredictor(None, None, None, predictor=small())
    rows = [(1, 500), (128, 0)]
    batch = SimpleNamespace(
        reqs=[SimpleNamespace(extend_length=new, past_kv_length=past) for new, past in rows]
    )
    whole = small().iteration(rows)
    assert hook.predict_infer_time(batch) == whole.seconds - whole.parts["host"]
    assert hook.predict_infer_time(SimpleNamespace(reqs=[])) == 0
    assert hook.get_metrics() == {"calls": 2}
    hook.reset_metrics()
    assert hook.get_metrics() == {"calls": 0}


def test_what_vllm_scheduled_is_read_from_its_output() -> None:
    output = SimpleNamespace(
        num_scheduled_tokens={"new": 128, "old": 1},
        scheduled_new_reqs=[SimpleNamespace(req_id="new", num_computed_tokens=32)],
        scheduled_cached_reqs=SimpleNamespace(
            req_ids=["old", "idle"], num_computed_tokens=[500, 9]
        ),
    )
    assert list(vllm.sequences(output)) == [(128, 32), (1, 500)]
    whole = small().iteration([(128, 32), (1, 500)])
    assert vllm.seconds(small(), output, with_host=True) == whole.seconds
