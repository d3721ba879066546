"""Laws of an iteration's time, and its agreement with the simulated iteration."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from yantra.base.errors import ConfigError
from yantra.explore.closed_form.scale import Scale
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.serving import engines
from yantra.serving.iteration import Batch, Predictor, Tables
from yantra.serving.iteration.layers import few_of
from yantra.serving.iteration.tables import bilinear
from yantra.workloads.models.catalogue import find
from yantra.workloads.serving import InferencePlan, infer

CASES = {
    "dense": ("llama3-8b", "hgx-h100", InferencePlan(tp=2)),
    "latent": ("deepseek-v3", "hgx-h200", InferencePlan(tp=8, dtype="fp8_block")),
    "experts": ("qwen3-30b-a3b", "hgx-h100", InferencePlan(tp=2, ep=2)),
    "data-parallel": ("deepseek-v3", "hgx-h200", InferencePlan(ep=8, dp=8, dtype="fp8_block")),
    "stages": ("llama3-8b", "hgx-h100", InferencePlan(tp=2, pp=2, micro_batches=1)),
    "scan": ("mamba2-2.7b", "hgx-h100", InferencePlan()),
}

WITHIN = {"latent": 0.01, "data-parallel": 0.01, "scan": 0.015}
"""Where 1 % of states are further than 0.5 % off: rows of prompt and cache expanded together; times
that are not rising."""


@cache
def predictor(case: str, engine: str | None = None) -> Predictor:
    model, cluster, plan = CASES[case]
    most = {"max_tokens": 4096, "max_sequences": 256, "max_context": 8192}
    return Predictor(model, cluster, plan, engine=engine, **most)


@cache
def tables(case: str) -> Tables:
    return predictor(case).tables(4096, 256, 8192)


def simulated(case: str, **phase: int | str) -> float:
    model, cluster, plan = CASES[case]
    workload = infer(model, plan, **phase)  # type: ignore[arg-type]
    parts = cluster_parts(cluster, plan.ranks, workload.dtype, stack="unknown")
    result = simulate(Scenario(workload=Templates(workload=workload), **parts))
    return float(result.finish_ns.max())


@pytest.mark.parametrize("case", CASES)
def test_decoding_takes_what_a_run_of_it_takes(case: str) -> None:
    form, dp = predictor(case).form, CASES[case][2].dp
    stages = range(form.stages)
    sequences, context = np.array([1, 48]), np.array([500, 3000])
    made = form.dense_of(sequences, stages).plus(form.decode_of(sequences, context, stages))
    made = made.plus(form.emit_of(sequences, stages))
    for at, (n, past) in enumerate(zip(sequences.tolist(), context.tolist(), strict=True)):
        run = simulated(case, phase="decode", batch=n * dp, context=past)
        assert made.whole_ns[at] == pytest.approx(run, rel=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_a_prompt_takes_what_a_run_of_it_takes(case: str) -> None:
    form, dp = predictor(case).form, CASES[case][2].dp
    stages = range(form.stages)
    tokens, past = np.array([700, 1024]), np.array([0, 2000])
    made = form.dense_of(tokens, stages).plus(form.prompt_of(tokens, past, stages))
    made = made.plus(form.emit_of(np.ones_like(tokens), stages))
    for at, (new, before) in enumerate(zip(tokens.tolist(), past.tolist(), strict=True)):
        run = simulated(case, phase="prefill", batch=dp, prompt=new, context=before)
        assert made.whole_ns[at] == pytest.approx(run, rel=1e-5)


@pytest.mark.parametrize("case", ["dense", "latent", "experts"])
def test_a_mixed_iteration_takes_what_a_run_of_it_takes(case: str) -> None:
    errors = []
    for sequences, context, tokens in ((1, 500, 800), (16, 2000, 512), (64, 1000, 2048)):
        found = predictor(case).iteration([(1, context)] * sequences + [(tokens, 0)]).seconds
        run = simulated(
            case, phase="mixed", batch=sequences, context=context, prompts=1, prompt=tokens,
            iterations=1,
        )  # fmt: skip
        errors.append(abs(found * 1e9 / run - 1))
    assert np.median(errors) <= 0.005
    assert max(errors) <= 0.01


@pytest.mark.parametrize("case", CASES)
def test_tables_rise_with_every_count(case: str) -> None:
    made = tables(case)
    for curve in (made.dense_ns, made.emit_ns):
        assert (np.diff(curve) >= 0).all()
    for grid in (made.decode_ns, made.prefill_ns):
        assert (np.diff(grid, axis=0) >= 0).all()
        assert (np.diff(grid, axis=1) >= 0).all()


@pytest.mark.parametrize("case", CASES)
def test_parts_sum_to_the_tables(case: str) -> None:
    made = tables(case)
    for whole, parts in (
        (made.dense_ns, made.dense_parts),
        (made.decode_ns, made.decode_parts),
        (made.prefill_ns, made.prefill_parts),
        (made.emit_ns, made.emit_parts),
    ):
        assert np.allclose(parts.sum(axis=0), whole, rtol=1e-12)
        assert len(parts) == len(made.parts)


@pytest.mark.parametrize("case", CASES)
def test_lines_between_knots_are_near_the_closed_form(case: str) -> None:
    made = tables(case)
    assert made.checked == 512
    assert made.error_median <= 0.001
    assert made.error_p99 <= WITHIN.get(case, 0.005)


def test_an_iteration_is_the_sum_of_its_parts_and_reads_the_tables() -> None:
    one, made = predictor("dense", "vllm"), tables("dense")
    batch = Batch.of([(1, 1000)] * 30 + [(512, 100), (300, 0)])
    found = one.iteration(batch)
    assert found.seconds == pytest.approx(sum(found.parts.values()), rel=1e-12)
    assert found.low < found.seconds < found.high
    lists = predictor("dense")
    dense = np.interp(batch.tokens, made.dense_tokens, made.dense_ns)
    emit = np.interp(batch.emitted, made.emit_n, made.emit_ns)
    grid = made.decode_n, made.decode_context, made.decode_ns
    decode = bilinear(*grid, np.array([30.0]), np.array([1000.0]))[0]
    grid = made.prefill_tokens, made.prefill_past, made.prefill_ns
    chunks = bilinear(*grid, np.array([512.0, 300.0]), np.array([100.0, 0.0])).sum()
    whole = dense + emit + decode + chunks + made.prefill_ns_per_iteration
    assert lists.iteration(batch).seconds == pytest.approx(whole / 1e9, rel=1e-9)


def test_the_host_adds_what_its_engine_states() -> None:
    host = predictor("dense", "vllm").host
    found = predictor("dense", "vllm").iteration(Batch(8, 8000, (), 8))
    expected = host.ns_per_iteration + 8 * (host.ns_per_sequence + host.ns_per_token)
    assert found.parts["host"] == pytest.approx(expected / 1e9)
    assert predictor("dense").iteration(Batch(8, 8000, (), 8)).parts["host"] == 0.0


def test_faster_memory_shortens_decoding_and_a_faster_peak_does_not() -> None:
    model, cluster, plan = CASES["dense"]
    batch = Batch(4, 4000, (), 4)
    times = [
        Predictor(model, cluster, plan, engine="vllm", scale=scale, max_tokens=512)
        .iteration(batch)
        .seconds
        for scale in (Scale(), Scale(memory=1.25), Scale(peak=1.25))
    ]
    assert 0.75 * times[0] < times[1] < 0.95 * times[0]
    assert times[2] == pytest.approx(times[0], rel=0.02)


@pytest.mark.parametrize("name", engines.names())
def test_every_engine_adds_its_host_to_each_iteration(name: str) -> None:
    engine = engines.load(name)
    assert engine.host.ns_per_iteration > 0
    assert engine.interval.value > 0
    assert engine.kernels in name


def test_energy_is_within_the_power_of_the_device() -> None:
    for batch in (Batch(1, 100, (), 1), Batch(128, 128_000, (), 128), Batch.of([(4096, 0)])):
        found = predictor("dense").iteration(batch)
        assert found.joules is not None
        assert 0.22 * 700 * found.seconds <= found.joules <= 700 * found.seconds
        assert found.joules_low is not None and found.joules_high is not None
        assert found.joules_low < found.joules < found.joules_high


def test_operations_that_run_fill_the_tiles_of_experts_and_no_others() -> None:
    tokens = np.array([8, 16_384])
    dense = predictor("dense").form.dense(tokens, 0)
    assert (dense.ran == dense.flops).all()
    model, plan = "qwen3-235b-a22b", InferencePlan(tp=4, ep=4, dtype="fp8_block")
    for engine, rows in (("vllm", 64), ("sglang", 16)):
        work = Predictor(model, "hgx-h100", plan, engine=engine).form.chosen(
            tokens, lambda name: ".experts." in name
        )
        products = work.ran / work.flops
        assert products == pytest.approx([rows, 1.0], rel=0.01)  # a row of 16 experts; many rows


def test_a_query_has_the_same_bits_in_any_order() -> None:
    batches = [Batch(n, n * 700, ((64 * n, n),), n) for n in (1, 7, 30)]
    model, cluster, plan = CASES["dense"]
    most = {"max_tokens": 4096, "max_sequences": 256, "max_context": 8192}
    others = Predictor(model, cluster, plan, **most)
    backwards = [others.iteration(one) for one in reversed(batches)]
    assert [predictor("dense").iteration(one) for one in batches] == backwards[::-1]


def test_experts_at_few_tokens_take_no_longer_than_reading_all_of_them() -> None:
    form = predictor("experts", "vllm").form
    at = form.dense(np.array([1, 2, 4, 8, 16, 32, 64, 4096]), 0).ns[3]
    assert (np.diff(at) >= 0).all()
    all_of_them = form.dense(np.array([128]), 0).ns[3][0]
    assert (at[:6] <= all_of_them).all()
    # of 128 experts 8 a token: 8 tokens have chosen two fifths
    assert at[3] / all_of_them == pytest.approx(0.4, abs=0.12)


def test_a_batch_beyond_the_tables_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"max_tokens: expected an iteration of at most 4096"):
        predictor("dense").iteration([(5000, 0)])
    with pytest.raises(ConfigError, match=r"new tokens of at least 1"):
        predictor("dense").iteration([(0, 3)])


def test_each_pair_of_neighbours_is_kept_once_and_all_layers_count() -> None:
    for name in ("llama3-70b", "deepseek-v3", "mixtral-8x7b"):
        model = find(name)
        count = len(model.layers)
        few = few_of(model, 0, count, has_tail=True)
        assert sum(few.times) == count
        assert len(few.layers) <= 4
