"""Traffic of experts."""

from __future__ import annotations

from tests.workloads.graph.chunks import HIDDEN, chunk, setting, traffic
from yantra.workloads.models.blocks import Attention, Layer, MoE

ROUTED = Layer(
    hidden=HIDDEN,
    attention=Attention(heads=16, kv_heads=8, head_dim=64),
    mlp=MoE(experts=16, top_k=4, intermediate=512),
)


def test_a_rank_routes_its_own_tokens_without_gathering_others() -> None:
    tokens, tp = 2 * 1024, 2
    work = chunk(ROUTED, setting(tp=tp, ep=4), ends=False, count=1).work()
    gather = ("all_gather", "tp", 2 * tokens * HIDDEN // tp)
    scatter = ("reduce_scatter", "tp", 2 * tokens * HIDDEN)
    exchange = ("all_to_all", "ep", 2 * tokens // tp * 4 * HIDDEN)
    assert traffic(work.forward.operations) == {gather: 1, scatter: 1, exchange: 2}
