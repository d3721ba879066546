"""Small models as chunks of operator graphs, split in every way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from yantra.workloads.models.blocks import MLA, MLP, Attention, Block, Embedding, Head, Layer, MoE
from yantra.workloads.operators.graph import Batch, Setting
from yantra.workloads.operators.operations import Operation, StageWork
from yantra.workloads.training.stage import Chunk

HIDDEN, VOCAB = 1024, 32000

DENSE = Layer(
    hidden=HIDDEN,
    attention=Attention(heads=16, kv_heads=8, head_dim=64, qk_norm=True),
    mlp=MLP(intermediate=4096),
)
GPT = Layer(
    hidden=HIDDEN,
    attention=Attention(
        heads=16, kv_heads=16, head_dim=64, rope=False, qkv_bias=True, out_bias=True
    ),
    mlp=MLP(intermediate=4 * HIDDEN, gated=False, bias=True),
    norm="layer",
)
ROUTED = Layer(
    hidden=HIDDEN,
    attention=MLA(heads=16, q_lora=256, kv_lora=128, qk_nope=64, qk_rope=32, v_dim=64),
    mlp=MoE(experts=16, top_k=4, intermediate=512, shared=1),
)


class Small(NamedTuple):
    layers: tuple[Block, ...]
    front: Block = Embedding(vocab=VOCAB, hidden=HIDDEN)
    tail: Block = Head(vocab=VOCAB, hidden=HIDDEN)


def chunk(layer: Block, setting: Setting, *, ends: bool = True, count: int = 2) -> Chunk:
    return Chunk(Small((layer,) * count), setting, (0, count), ends, ends)


def setting(sequences: int = 2, length: int = 1024, **fields: Any) -> Setting:
    axes = {name: fields.pop(name, 1) for name in ("tp", "cp", "ep", "etp")}
    fields.setdefault("sequence_parallel", axes["tp"] > 1)
    return Setting(batch=Batch.of(sequences, length), axes=axes, **fields)


def every_setting(*, experts: bool) -> Iterator[Setting]:
    ranks = ((1, 2), (1, 4)) if experts else ((1,), (1,))
    for tp, cp, etp, ep in product((1, 2, 4), (1, 2), *ranks):
        for kind, recompute, fused in product(
            ("p2p", "all_gather", "a2a") if cp > 1 else ("p2p",),
            ("none", "selective", "operators", "full"),
            (True, False),
        ):
            if recompute == "operators" and not fused:
                continue  # no plan is allowed to be so
            yield setting(
                tp=tp, cp=cp, ep=ep, etp=etp, cp_kind=kind, recompute=recompute,
                flash_attention=fused,
            )  # fmt: skip


def operations(work: StageWork) -> tuple[Operation, ...]:
    return work.forward.operations + work.backward.operations


def traffic(items: tuple[Operation, ...], *phases: str) -> Counter[tuple[str, str, int]]:
    return Counter(
        (item.kind, item.group or item.peer, item.size_bytes)
        for item in items
        if item.communicates and (not phases or item.phase in phases)
    )
