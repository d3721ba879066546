"""What each pipeline stage of a transformer communicates in one training step, in closed form.

From the formulas of the papers alone, in their letters: b micro-batch, s sequence, h hidden size, L
layers, a heads, g key-value heads, d head width, f feed-forward width, V vocabulary, E experts, k
experts per token, t, c, p, D tensor, context, pipeline and data parallelism, e expert parallelism,
m micro-batches. Bytes per rank: of an all-gather the shard, of a reduce-scatter, all-reduce and
all-to-all the whole input.

Sources: Shoeybi et al. 2019 (tensor parallelism, vocabulary-parallel loss); Korthikanti et al. 2023
(sequence parallelism and its third all-gather); Rajbhandari et al. 2020 (ZeRO); Zhao et al. 2023
(FSDP, HSDP); Liu et al. 2023 (ring attention); Dubey et al. 2024 (all-gather of keys and values);
Jacobs et al. 2023 (Ulysses); Lepikhin et al. 2020 and Liu et al. 2025 (experts).
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

Bytes = Counter[tuple[str, str]]
"""Bytes by (collective, group)."""


class Shape(NamedTuple):
    """A transformer: SwiGLU, or experts of it in every layer where E is not 0."""

    h: int
    L: int
    a: int
    g: int
    d: int
    f: int
    V: int
    s: int
    E: int = 0
    k: int = 0
    tied: bool = False


class Split(NamedTuple):
    """How the step is spread; sp is sequence parallelism, w and w_g bytes of values, gradients.

    `joined`: a tied embedding and head are one tensor, on one device.
    """

    t: int = 1
    sp: bool = False
    c: int = 1
    cp_kind: str = "p2p"
    stages: int = 1
    D: int = 1
    e: int = 1
    b: int = 1
    m: int = 1
    zero: int = 0
    shard: int = 0
    reshard: bool = True
    joined: bool = False
    w: int = 2
    w_g: int = 4


def dense_weights(shape: Shape, split: Split, stage: int) -> int:
    h, t = shape.h, split.t
    attention = (h * (shape.a + 2 * shape.g) * shape.d + shape.a * shape.d * h) // t
    mlp = h * shape.E if shape.E else 3 * h * shape.f // t
    count = shape.L // split.stages * (attention + mlp + 2 * h)
    words = shape.V * h // t
    if stage == 0:
        count += words
    if stage == split.stages - 1:
        count += h + (0 if shape.tied and split.joined else words)
    return count


def expert_weights(shape: Shape, split: Split) -> int:
    return shape.L // split.stages * (shape.E // split.e) * 3 * shape.h * shape.f


def layer_bytes(shape: Shape, split: Split) -> Bytes:
    moved: Bytes = Counter()
    t, w = split.t, split.w
    tokens = split.b * shape.s // split.c
    x = w * tokens * shape.h
    columns = 1 if shape.E else 2  # blocks split by columns and rows: attention, and a dense MLP
    if t > 1 and split.sp:
        moved["all_gather", "tp"] += columns * 3 * x // t
        moved["reduce_scatter", "tp"] += columns * 2 * x
    elif t > 1:
        moved["all_reduce", "tp"] += columns * 2 * x
    if shape.E and split.e > 1:
        own = tokens // t if split.sp else tokens
        moved["all_to_all", "ep"] += 4 * w * own * shape.k * shape.h
    moved.update(_context_bytes(shape, split))
    return moved


def _context_bytes(shape: Shape, split: Split) -> Bytes:
    moved: Bytes = Counter()
    if split.c == 1:
        return moved
    chunk = split.w * split.b * shape.s // split.c * shape.d // split.t
    kv = 2 * shape.g * chunk
    if split.cp_kind == "p2p":
        moved["send", "cp"] += 3 * (split.c - 1) * kv
    elif split.cp_kind == "all_gather":
        moved["all_gather", "cp"] += 2 * kv
        moved["reduce_scatter", "cp"] += kv * split.c
    else:
        moved["all_to_all", "cp"] += 2 * chunk * (2 * shape.a + 2 * shape.g)
    return moved


def end_bytes(shape: Shape, split: Split, stage: int) -> Bytes:
    """Embedding and head, one micro-batch."""
    moved: Bytes = Counter()
    t = split.t
    tokens = split.b * shape.s // split.c
    x = split.w * tokens * shape.h
    if t == 1:
        return moved
    if stage == 0 and split.sp:
        moved["reduce_scatter", "tp"] += x
        moved["all_gather", "tp"] += x // t
    elif stage == 0:
        moved["all_reduce", "tp"] += x
    if stage == split.stages - 1:
        moved["all_reduce", "tp"] += 3 * 4 * tokens
        if split.sp:
            moved["all_gather", "tp"] += 2 * x // t
            moved["reduce_scatter", "tp"] += x
        else:
            moved["all_reduce", "tp"] += x
    return moved


def border_bytes(shape: Shape, split: Split, stage: int) -> int:
    x = split.w * split.b * shape.s // split.c * shape.h
    if split.sp:
        x //= split.t
    return x * ((stage > 0) + (stage < split.stages - 1))


def replica_bytes(
    weights: int, replicas: int, group: str, split: Split, only_forward: int = 0
) -> Bytes:
    """Gradients and weights of one domain over its replicas, one step.

    `only_forward` of the weights are not read by the backward pass: the table of the embedding.
    """
    moved: Bytes = Counter()
    inside = split.shard or replicas
    if split.shard and group == "dp_cp" and inside < replicas:
        group = "fsdp"
    reduce, gather = split.w_g * weights, split.w * weights // inside
    if replicas == 1 or not weights:
        return moved
    if split.zero == 0:
        moved["all_reduce", group] += reduce
    elif inside > 1:
        every = split.m if split.zero >= 2 else 1
        moved["reduce_scatter", group] += every * reduce
        if split.zero < 3:
            moved["all_gather", group] += gather
        else:
            again = gather - split.w * only_forward // inside if split.reshard else 0
            moved["all_gather", group] += split.m * (gather + again)
    if inside < replicas:
        moved["all_reduce", "replica"] += reduce // inside
    return moved


def stage_bytes(shape: Shape, split: Split, stage: int) -> Bytes:
    moved: Bytes = Counter()
    for one, times in ((layer_bytes(shape, split), shape.L // split.stages),
                       (end_bytes(shape, split, stage), 1)):  # fmt: skip
        for key, size in one.items():
            moved[key] += split.m * times * size
    replicas = split.D * split.c
    words = shape.V * shape.h // split.t
    table = 0 if stage or (shape.tied and split.joined) else words
    weights = dense_weights(shape, split, stage)
    moved.update(replica_bytes(weights, replicas, "dp_cp", split, table))
    if shape.E:
        edp = split.D * split.c * split.t // split.e
        moved.update(replica_bytes(expert_weights(shape, split), edp, "edp", split))
    if split.t > 1 and split.sp:
        norms = shape.L // split.stages * (2 * shape.h + shape.h * shape.E)
        norms += shape.h if stage == split.stages - 1 else 0
        moved["all_reduce", "tp"] += split.w_g * _kept(norms, replicas, split)
    if shape.tied and not split.joined and stage in (0, split.stages - 1):
        moved["all_reduce", "embedding"] += split.w_g * _kept(words, replicas, split)
    return +moved


def _kept(weights: int, replicas: int, split: Split) -> int:
    return weights // (split.shard or replicas) if split.zero >= 2 else weights
