"""What ranks of one grid send each other in an iteration."""

from __future__ import annotations

from collections import Counter

from tests.workloads.inference.jobs import DENSE, LATENT, made, nodes
from yantra.chakra import CollectiveType, NodeType
from yantra.workloads.serving import InferencePlan
from yantra.workloads.templates import Workload

H, LAYERS = DENSE.hidden_size, DENSE.num_layers


def traffic(workload: Workload, template: str = "stage0") -> Counter[tuple[str, str, int]]:
    """(collective, send or receive; group or peer; bytes) -> how often."""
    found: Counter[tuple[str, str, int]] = Counter()
    for node, _ in nodes(workload, template):
        if node.type == NodeType.COMM_COLL:
            kind = CollectiveType(node.comm_type).name.lower()
            found[kind, node.pg_name, node.comm_size] += 1
        elif node.type in (NodeType.COMM_SEND, NodeType.COMM_RECV):
            kind = "send" if node.type == NodeType.COMM_SEND else "recv"
            found[kind, node.comm_peer, node.comm_size] += 1
    return found


def test_tensor_parallelism_reduces_twice_a_layer_and_gathers_logits() -> None:
    work = made(DENSE, InferencePlan(tp=4), phase="decode", batch=6, context=32)
    assert traffic(work) == {
        ("all_reduce", "tp", 2 * 6 * H): 2 * LAYERS + 1,
        ("all_gather", "tp", 2 * 6 * DENSE.vocab_size // 4): 1,
    }


def test_sequence_parallelism_scatters_and_gathers_instead() -> None:
    plan = InferencePlan(tp=4, sequence_parallel=True)
    work = made(DENSE, plan, phase="decode", batch=8, context=32)
    assert traffic(work) == {
        ("reduce_scatter", "tp", 2 * 8 * H): 2 * LAYERS + 1,
        ("all_gather", "tp", 2 * 8 * H // 4): 2 * LAYERS + 1,
        ("all_gather", "tp", 2 * 8 * DENSE.vocab_size // 4): 1,
    }


def test_tokens_are_filled_up_to_equal_shares() -> None:
    plan = InferencePlan(tp=4, sequence_parallel=True)
    work = made(DENSE, plan, phase="decode", batch=5, context=32)
    sizes = {size for kind, _, size in traffic(work) if kind == "reduce_scatter"}
    assert sizes == {2 * 8 * H}
    written = {node.bytes_written for node, _ in nodes(work) if node.op_class == "cache"}
    assert written == {2 * 5 * 2 * DENSE.kv_channels}


def test_a_pipeline_sends_tensors_ahead_and_chosen_tokens_back() -> None:
    plan = InferencePlan(pp=2)
    work = made(DENSE, plan, phase="decode", batch=6, context=32, iterations=3)
    lanes, rounds, each = 2, 3, 3
    forward = ("pp+1", 2 * each * H)
    tokens = 4 * each
    assert traffic(work, "stage0") == {
        ("send", *forward): lanes * rounds,
        ("recv", "pp-1", tokens): lanes * (rounds - 1),
    }
    assert traffic(work, "stage1") == {
        ("recv", "pp-1", 2 * each * H): lanes * rounds,
        ("send", "pp+1", tokens): lanes * (rounds - 1),
    }


def test_prompts_need_no_tokens_back() -> None:
    plan = InferencePlan(pp=2)
    work = made(DENSE, plan, phase="prefill", batch=4, prompt=64, max_num_batched_tokens=32)
    assert {peer for _, peer, _ in traffic(work, "stage0")} == {"pp+1"}


def experts(plan: InferencePlan, batch: int) -> Counter[tuple[str, str, int]]:
    work = made(LATENT, plan, phase="decode", batch=batch, context=32)
    return Counter(
        {key: n for key, n in traffic(work).items() if key[1] != "tp" or key[0] == "all_gather"}
    )


def test_experts_of_other_replicas_get_top_k_rows_of_every_token() -> None:
    per_rank, top_k, layers = 3, LATENT.moe_router_topk, sum(LATENT.moe_layer_freq)
    found = experts(InferencePlan(ep=4), 4 * per_rank)
    assert found == {("all_to_all", "ep", per_rank * top_k * H * 2): 2 * layers}


def test_kernels_of_low_latency_send_rows_in_fp8_with_scales() -> None:
    per_rank, top_k, layers = 3, LATENT.moe_router_topk, sum(LATENT.moe_layer_freq)
    found = experts(InferencePlan(ep=4, low_latency=True), 4 * per_rank)
    assert found == {
        ("all_to_all", "ep", per_rank * top_k * (16 + H + 4 * H // 128)): layers,
        ("all_to_all", "ep", per_rank * top_k * H * 2): layers,
    }


def test_tensor_parallel_ranks_share_the_tokens_they_send_to_experts() -> None:
    per_replica, top_k, layers = 8, LATENT.moe_router_topk, sum(LATENT.moe_layer_freq)
    found = experts(InferencePlan(tp=2, dp=2, ep=4), 2 * per_replica)
    half = per_replica // 2
    assert found == {
        ("all_to_all", "ep", half * top_k * H * 2): 2 * layers,
        ("all_gather", "tp", half * H * 2): layers,
        ("all_gather", "tp", per_replica * LATENT.vocab_size // 2 * 2): 1,
    }


def test_experts_within_a_tensor_parallel_group_need_no_exchange() -> None:
    for plan in (InferencePlan(tp=4), InferencePlan(tp=4, ep=4), InferencePlan(tp=4, ep=2)):
        work = made(LATENT, plan, phase="decode", batch=8, context=32)
        assert traffic(work) == {
            ("all_reduce", "tp", 2 * 8 * H): 2 * LAYERS + 1,
            ("all_gather", "tp", 2 * 8 * LATENT.vocab_size // 4): 1,
        }
