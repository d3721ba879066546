"""Attention and feed-forward layers on devices of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import yantra
from yantra.base.errors import CapacityError, ConfigError, UnsupportedError
from yantra.serving import Linear
from yantra.serving.answer import Served
from yantra.serving.apart import Apart, _Layers, plan_of, tables_apart
from yantra.serving.iteration import Predictor
from yantra.workloads.models.catalogue import find
from yantra.workloads.serving import InferencePlan

MODEL, CLUSTER = "deepseek-v2", "hgx-h100"
PLAN = InferencePlan(tp=2, dp=2)
TOKENS, NONE = np.array([6, 48, 384, 1536]), np.zeros(4)


def sides(devices: int, micro_batches: int) -> tuple[Predictor, Predictor, Apart]:
    far = plan_of(find(MODEL), PLAN, devices)
    near = Predictor(MODEL, CLUSTER, PLAN, engine="vllm")
    return near, Predictor(MODEL, CLUSTER, far, engine="vllm"), Apart(devices, micro_batches)


def test_one_micro_batch_waits_for_each_side_and_both_ways() -> None:
    near, far, apart = sides(8, 1)
    took = _Layers(near, far, apart).iteration(TOKENS, NONE)
    way = near.to_others(8)
    hidden, copies, layers = 5120, 6, 60
    message = way(
        np.maximum(TOKENS * 2 * hidden * copies / 2, TOKENS * 2 * 2 * hidden * copies / 8)
    )
    assert (took > 2 * layers * message).all()
    doubled = _Layers(near, far, apart)
    doubled._message_ns = lambda size: 2 * way(size)
    assert doubled.iteration(TOKENS, NONE) - took == pytest.approx(2 * layers * message)


def test_sides_that_split_alike_take_together_what_one_takes_without_messages() -> None:
    plan = InferencePlan(tp=2)
    near = Predictor("llama3-8b", CLUSTER, plan, engine="vllm")
    layers = _Layers(near, near, Apart(2, 1))
    layers._message_ns = np.zeros_like
    context = np.full_like(TOKENS, 1000)
    attention = near.form.decode_of(TOKENS, context, (0,)).whole_ns
    ends = near.form.chosen(TOKENS, lambda name: not name.startswith("layers.")).whole_ns
    whole = near.form.dense_of(TOKENS, (0,)).whole_ns + attention
    assert ends + layers.iteration(TOKENS, attention) == pytest.approx(whole, rel=1e-9)


def test_more_micro_batches_hide_messages_and_never_beat_a_side() -> None:
    near, far, three = sides(8, 3)
    silent = _Layers(near, far, three)
    silent._message_ns = np.zeros_like
    with_messages = _Layers(near, far, three).iteration(TOKENS, NONE)
    without = silent.iteration(TOKENS, NONE)
    assert (with_messages >= without).all()
    exposed = (with_messages - without)[-1]
    (alone,) = _Layers(near, far, Apart(8, 1)).iteration(TOKENS[-1:] // 3, NONE[:1])
    one_way = 2 * 60 * near.to_others(8)(float(TOKENS[-1] // 3) * 2 * 5120 * 6 / 2)
    assert exposed < 0.5 * one_way
    assert with_messages[-1] >= alone - one_way


def test_tables_rise_and_their_parts_sum() -> None:
    near, far, apart = sides(8, 3)
    made = tables_apart(near, far, near.tables(512, 256, 8192), apart)
    for name in ("decode", "prefill"):
        whole = getattr(made, f"{name}_ns")
        assert (np.diff(whole, axis=0) >= 0).all()
        assert getattr(made, f"{name}_parts").sum(axis=0) == pytest.approx(whole)


def serve(decode: str, **more: Any) -> Served:
    asked = {"model": MODEL, "cluster": CLUSTER, "prefill": "1x tp=8,ep=8", **more}
    return yantra.serve(
        requests="poisson:rate=2/s,count=30,isl=500,osl=50,seed=1", decode=decode, **asked
    )


def test_a_pool_of_decode_counts_both_sides() -> None:
    found = serve("1x tp=2,dp=2,ffn_devices=8")
    assert found.devices == 8 + 12
    assert found.rooms[1] is not None
    assert found.rooms[1].weights < 0.1 * found.rooms[0].weights * 8  # type: ignore[union-attr]


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="attention is apart in pools of decode alone"):
        serve("1x tp=8,ep=8", prefill="1x tp=2,ffn_devices=8")
    with pytest.raises(CapacityError, match=r"feed-forward layers .* give more ffn_devices"):
        serve("1x tp=2,dp=2,ffn_devices=2")
    with pytest.raises(ConfigError, match="ffn_devices: needs a model and a cluster"):
        yantra.serve(
            requests="constant:rate=1/s,count=2,isl=9,osl=2",
            cost=Linear(1e-3),
            prefill="1x",
            decode="1x ffn_devices=8",
        )
    with pytest.raises(UnsupportedError, match="takes a plan of attention alone"):
        serve("1x tp=8,ep=8,ffn_devices=8")
