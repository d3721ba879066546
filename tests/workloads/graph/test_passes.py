"""Laws of the passes of a stage, for every way to split small models."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.workloads.graph.chunks import (
    DENSE,
    GPT,
    HIDDEN,
    ROUTED,
    VOCAB,
    chunk,
    every_setting,
    operations,
    setting,
    traffic,
)
from yantra.workloads.models.blocks import Block
from yantra.workloads.operators.graph import Setting
from yantra.workloads.operators.operations import Operation

SPLITS = [
    pytest.param(layer, split, id=f"{name}-{number}")
    for name, layer in (("dense", DENSE), ("routed", ROUTED))
    for number, split in enumerate(every_setting(experts=layer is ROUTED))
]


def model_flops(items: tuple[Operation, ...]) -> int:
    return sum(i.tensor_flops - i.repeated_flops for i in items if i.phase != "recompute")


@pytest.mark.parametrize(("layer", "split"), SPLITS)
def test_a_split_changes_nothing_but_where(layer: Block, split: Setting) -> None:
    one = model_flops(operations(chunk(layer, setting()).work()))
    work = chunk(layer, split).work()
    both = operations(work)
    assert model_flops(both) * split.ways("tp") * split.ways("cp") == one
    kept = 0
    for operation in both:
        kept += operation.saves - operation.frees
        assert kept >= 0
    assert kept == 0
    for passed in (work.forward, work.backward):
        for at, operation in enumerate(passed.operations):
            assert all(before < at for before in operation.after)
            of = {passed.operations[before].phase for before in operation.after}
            assert operation.phase == "wgrad" or "wgrad" not in of


@pytest.mark.parametrize(("layer", "split"), SPLITS[::7])
def test_ring_messages_are_sent_and_received_once(layer: Block, split: Setting) -> None:
    work = chunk(layer, split).work()
    for passed in (work.forward, work.backward):
        sent = Counter((i.tag, i.size_bytes) for i in passed.operations if i.kind == "send")
        received = Counter((i.tag, i.size_bytes) for i in passed.operations if i.kind == "recv")
        assert sent == received
        assert all(count == 1 for count in sent.values())


def test_weights_of_all_ranks_are_the_model_s() -> None:
    one = {w.name: w for w in chunk(ROUTED, setting()).graph.weights}
    for split in every_setting(experts=True):
        for weight in chunk(ROUTED, split).graph.weights:
            whole = one[weight.name].elements
            ways = whole // weight.elements
            assert whole % weight.elements == 0
            tp, experts = split.ways("tp"), split.ways("ep") * split.ways("etp")
            assert ways in ({1, tp} if weight.domain == "dense" else {experts})


def test_tensor_parallelism_without_sequence_parallelism_sums_four_times() -> None:
    """Megatron-LM's f and g: two all-reduces forward, two backward, of all tokens."""
    split = setting(tp=4, sequence_parallel=False)
    work = chunk(DENSE, split, ends=False, count=1).work()
    size = 2 * 2048 * HIDDEN
    assert traffic(work.forward.operations) == {("all_reduce", "tp", size): 2}
    assert traffic(work.backward.operations) == {("all_reduce", "tp", size): 2}


def test_sequence_parallelism_gathers_and_scatters_and_gathers_again_for_weights() -> None:
    work = chunk(DENSE, setting(tp=4), ends=False, count=1).work()
    size = 2 * 2048 * HIDDEN
    pair = {("all_gather", "tp", size // 4): 2, ("reduce_scatter", "tp", size): 2}
    assert traffic(work.forward.operations) == pair
    assert traffic(work.backward.operations, "dgrad") == pair
    assert traffic(work.backward.operations, "wgrad") == {("all_gather", "tp", size // 4): 2}


def test_context_parallelism_moves_what_its_kind_says() -> None:
    """Keys and values of 8 heads x 64 over 4 ranks; bytes of W2 x tokens x width."""
    kv = 2 * 2048 * 8 * 64
    queries = 2 * 2048 * 16 * 64
    ring = chunk(DENSE, setting(cp=4), ends=False, count=1).work()
    assert traffic(ring.forward.operations)["send", "cp+1", 2 * kv // 4] == 3
    assert traffic(ring.backward.operations)["send", "cp+1", 2 * kv // 4] == 6
    gathered = chunk(DENSE, setting(cp=4, cp_kind="all_gather"), ends=False, count=1).work()
    assert traffic(gathered.forward.operations) == {("all_gather", "cp", kv // 4): 2}
    assert traffic(gathered.backward.operations) == {
        ("all_gather", "cp", kv // 4): 2,
        ("reduce_scatter", "cp", kv): 2,
    }
    exchanged = chunk(DENSE, setting(cp=4, cp_kind="a2a"), ends=False, count=1).work()
    once = {("all_to_all", "cp", queries // 4): 2, ("all_to_all", "cp", kv // 4): 2}
    assert traffic(exchanged.forward.operations) == once
    assert traffic(exchanged.backward.operations) == once


def test_experts_exchange_rows_twice_each_way() -> None:
    work = chunk(ROUTED, setting(tp=2, ep=4), ends=False, count=1).work()
    rows = 2 * (2048 // 2) * 4 * HIDDEN
    for passed in (work.forward, work.backward):
        assert traffic(passed.operations)["all_to_all", "ep", rows] == 2


def test_skewed_routing_loses_no_row_and_waits_for_the_busiest() -> None:
    rows, sizes = 0, set()
    for rank in range(4):
        split = setting(ep=4, routing="zipf:1.0", expert_rank=rank)
        work = chunk(ROUTED, split, ends=False, count=1).work()
        products = [i for i in work.forward.operations if i.name.endswith("experts.up")]
        rows += products[0].tensor_flops // (2 * HIDDEN * 2 * 512)
        sizes |= {i.size_bytes for i in work.forward.operations if i.kind == "all_to_all"}
    assert rows == 4 * 2048 * 4
    assert len(sizes) == 1
    assert min(sizes) > 2 * 2048 * 4 * HIDDEN


def test_the_vocabulary_is_split_and_its_loss_sums_three_numbers_a_token() -> None:
    work = chunk(DENSE, setting(tp=4), count=1).work()
    sums = {key: count for key, count in traffic(work.forward.operations).items() if key[2] == 8192}
    assert sums == {("all_reduce", "tp", 4 * 2048): 3}
    of_head = [w.elements for w in work.weights if w.name == "head.logits.weight"]
    assert of_head == [VOCAB * HIDDEN // 4]


def test_full_recomputation_repeats_the_layers_collectives_included() -> None:
    split = setting(tp=4, recompute="full")
    work = chunk(DENSE, split).work()
    again = [i for i in work.backward.operations if i.phase == "recompute"]
    first = [i for i in work.forward.operations if i.unit.startswith("layers.")]
    assert [(i.name, i.tensor_flops, i.size_bytes) for i in again] == [
        (i.name, i.tensor_flops, i.size_bytes)
        for i in sorted(first, key=lambda i: -int(i.unit[7:]))
    ]


def test_norms_under_sequence_parallelism_have_partial_gradients() -> None:
    for weight in chunk(GPT, setting(tp=4), ends=False).graph.weights:
        is_seen_in_part = "norm" in weight.name or weight.name.endswith(("proj.bias", "down.bias"))
        assert weight.partial_over == (("tp",) if is_seen_in_part else ()), weight.name


def test_borders_are_what_a_stage_sends() -> None:
    work = chunk(DENSE, setting(tp=4, cp=2), ends=False).work()
    assert work.input_bytes == work.output_bytes == 2 * 2048 * HIDDEN // 8
    assert work.forward.exit == len(work.forward.operations) - 1
    assert work.backward.entries[0] == 0
    assert chunk(DENSE, setting()).work().forward.exit is None


def test_steps_of_a_ring_are_zig_zag_kernels_whose_results_are_added() -> None:
    """4 ranks of 1,024 tokens: 256 queries on own keys, then 128 on each other rank's 256."""
    work = chunk(DENSE, setting(cp=4), ends=False, count=1).work()
    forward, backward = work.forward.operations, work.backward.operations
    steps = [dict(one.sizes) for one in forward if one.kind == "attention"]
    assert [(one["queries"], one["keys"]) for one in steps] == [(256, 256), *[(128, 256)] * 3]
    queries, message = 2 * 512 * 16 * 64, 2 * 2 * 512 * 8 * 64
    (combined,) = (one for one in forward if one.name.endswith("combine"))
    assert combined.bytes_written == queries * (4 + 3 * 3) // 4
    added = [one.bytes_written for one in backward if "dgrad.add" in one.name]
    assert added == [queries * 3 // 4 + message] * 3
