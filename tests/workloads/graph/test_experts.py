"""Traffic of experts."""

from __future__ import annotations

from math import prod

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


def test_products_of_experts_have_the_operations_of_their_shapes() -> None:
    work = chunk(ROUTED, setting(ep=4), ends=False, count=1).work()
    products = [
        operation
        for operation in (*work.forward.operations, *work.backward.operations)
        if operation.kind in ("gemm", "grouped_gemm")
    ]
    phases = {operation.phase for operation in products if operation.kind == "grouped_gemm"}
    assert phases == {"forward", "dgrad", "wgrad"}
    for operation in products:
        assert operation.tensor_flops == 2 * prod(operation.shape), operation


def test_a_router_stays_in_16_bits_where_experts_do_not() -> None:
    work = chunk(ROUTED, setting(ep=4, dtype="fp8"), ends=False, count=1).work()
    types = {(op.name.split(".")[-1], op.dtype) for op in work.forward.operations if op.shape}
    assert ("router", "bf16") in types
    assert ("up", "fp8") in types and ("proj", "fp8") in types
