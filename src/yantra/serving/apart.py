"""Attention and feed-forward layers on devices of their own: what an iteration of decoding takes.

The sequences of a replica go round as m micro-batches: while one is at attention, others are at the
feed-forward devices, or on the way. With A and F what a layer takes at each side for one of them, C
for the way of its tokens and X the larger of A and F, an iteration of L layers takes

    max(A + F + 2 C + (m L - 1) X, L (A + F + 2 C) + (m - 1) X)

(Zhu et al., "MegaScale-Infer", SIGCOMM 2025, section 4.1, whose case is the first).

Trade-off: layers count by their mean.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.errors import CapacityError, UnsupportedError
from yantra.base.text import format_bytes
from yantra.workloads.models.experts import experts_a_token, experts_of
from yantra.workloads.serving.plan import InferencePlan
from yantra.workloads.serving.stages import Stages

if TYPE_CHECKING:
    from yantra.fabric.clusters.types import Cluster
    from yantra.serving.iteration import Predictor, Tables

USUAL = 3
"""Micro-batches: while messages take less than half of a side's time, nobody waits with three."""
_MESSAGES = ("moe.dispatch", "moe.combine")
_ELSEWHERE = ("moe.router", "moe.top_k", *_MESSAGES)


class Apart(NamedTuple):
    devices: int
    micro_batches: int = USUAL


def is_feed_forward(name: str) -> bool:
    inside = name.split(".", 2)[-1] if name.startswith("layers.") else ""
    return inside.startswith(("mlp.", "moe.")) and not inside.startswith(_ELSEWHERE)


def plan_of(model: Any, plan: InferencePlan, devices: int) -> InferencePlan:
    if experts_of(model) is None:
        return plan.replace(tp=devices, dp=1, ep=1, etp=1, sequence_parallel=False)
    return plan.replace(tp=1, dp=devices, ep=devices, etp=1, sequence_parallel=False)


def check_sides(model: Any, cluster: Cluster, plan: InferencePlan, apart: Apart) -> None:
    if plan.pp > 1 or plan.ep > 1:
        raise UnsupportedError(
            "ffn_devices: takes a plan of attention alone, with pp=1 and ep=1; experts are spread "
            "over all feed-forward devices"
        )
    need = _weights(model, plan_of(model, plan, apart.devices), is_feed_forward)
    if need > cluster.memory_bytes - cluster.reserve_bytes:
        raise CapacityError(
            "memory",
            f"feed-forward layers of {model.name} need {format_bytes(need)} on each of "
            f"{apart.devices} devices of {format_bytes(cluster.memory_bytes)}; "
            "give more ffn_devices",
        )


def feed_forward_bytes(model: Any, plan: InferencePlan) -> int:
    return _weights(model, plan, is_feed_forward)


def _weights(model: Any, plan: InferencePlan, chosen: Any) -> int:
    return Stages(model, plan).chosen_bytes(0, chosen)


def tables_apart(near: Predictor, far: Predictor, tables: Tables, apart: Apart) -> Tables:
    layers = _Layers(near, far, apart)
    n, context = (
        one.ravel() for one in np.meshgrid(tables.decode_n, tables.decode_context, indexing="ij")
    )
    attention = near.form.decode_of(_split(n, apart), context, (0,)).whole_ns
    decode = _rising(layers.iteration(n, attention), tables.decode_ns)
    new, past = (
        one.ravel()
        for one in np.meshgrid(tables.prefill_tokens, tables.prefill_past, indexing="ij")
    )
    core = near.form.prompt_of(np.maximum(_split(new, apart), 2), past, (0,)).whole_ns
    prompt = _rising(layers.iteration(new, core), tables.prefill_ns)
    ends = near.form.chosen(tables.dense_tokens, lambda name: not name.startswith("layers."))
    return replace(
        tables,
        dense_ns=ends.whole_ns,
        dense_parts=ends.ns,
        decode_ns=decode,
        decode_parts=_shares(tables.decode_parts, decode),
        prefill_ns=prompt,
        prefill_parts=_shares(tables.prefill_parts, prompt),
        prefill_ns_per_iteration=0.0,
    )


def _split(tokens: np.ndarray, apart: Apart) -> np.ndarray:
    return np.asarray(np.maximum(-(-tokens // apart.micro_batches), 1))


def _rising(ns: np.ndarray, like: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum.accumulate(ns.reshape(like.shape), axis=0))


def _shares(parts: np.ndarray, whole: np.ndarray) -> np.ndarray:
    from yantra.serving.iteration.walk import PARTS

    found = np.minimum(parts, whole / len(parts))
    found[PARTS.index("collectives")] += whole - found.sum(axis=0)
    return np.asarray(found)


class _Layers:
    def __init__(self, near: Predictor, far: Predictor, apart: Apart) -> None:
        self._near, self._far, self._plan, self._apart = near.form, far.form, near.plan, apart
        self._message_ns = near.to_others(apart.devices)
        model = near.form.model
        self._count = len(model.layers)
        self._hidden = model.hidden
        self._copies = min(experts_a_token(model) or 1, apart.devices)

    def iteration(self, tokens: np.ndarray, attention: np.ndarray) -> np.ndarray:
        m, layers = self._apart.micro_batches, self._count
        few = _split(tokens, self._apart)
        beside = self._near.chosen(few, _is_near).whole_ns
        near = (beside + attention) / layers
        together = few * self._plan.dp
        each = together if self._far.plan.ep == 1 else -(-together // self._apart.devices)
        far = self._far.chosen(each, is_feed_forward).whole_ns / layers
        way = self._way(few, together)
        round_ns, most = near + far + 2 * way, np.maximum(near, far)
        return np.asarray(
            np.maximum(round_ns + (m * layers - 1) * most, layers * round_ns + (m - 1) * most)
        )

    def _way(self, few: np.ndarray, together: np.ndarray) -> np.ndarray:
        token = 2 * self._hidden * self._copies
        sent = few * token / self._plan.tp
        received = together * token / self._apart.devices
        return np.asarray(self._message_ns(np.maximum(sent, received)))


def _is_near(name: str) -> bool:
    is_message = name.split(".", 2)[-1].startswith(_MESSAGES)
    return name.startswith("layers.") and not is_message and not is_feed_forward(name)
