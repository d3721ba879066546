"""Mixers, split and served: equal shares, states that are kept, and sums that cross ranks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.workloads.graph.chunks import chunk, setting, traffic
from yantra.base.errors import ConfigError
from yantra.workloads.model_contract import violations
from yantra.workloads.models.blocks import MLA, MLP, Attention, Block, Embedding, Head, Layer, MoE
from yantra.workloads.models.blocks.beside import Beside
from yantra.workloads.models.blocks.gated_delta import GatedDelta
from yantra.workloads.models.blocks.kimi_delta import KimiDelta
from yantra.workloads.models.blocks.lightning import LightningAttention
from yantra.workloads.models.blocks.mamba1 import Mamba1
from yantra.workloads.models.blocks.mamba2 import Mamba2
from yantra.workloads.models.blocks.nothing import Nothing
from yantra.workloads.models.blocks.parallel_layer import ParallelLayer
from yantra.workloads.models.blocks.result_norm_layer import ResultNormLayer
from yantra.workloads.models.blocks.short_conv import ShortConv
from yantra.workloads.models.blocks.single_layer import SingleLayer
from yantra.workloads.models.blocks.sparse_index import SparseIndex
from yantra.workloads.models.blocks.two_branch_layer import TwoBranchLayer
from yantra.workloads.models.model import Model
from yantra.workloads.operators.graph import Batch, Sequences
from yantra.workloads.serving import InferencePlan, infer
from yantra.workloads.serving.stages import Stages

H = 256
SOFT = Attention(heads=8, kv_heads=8, head_dim=32)
SCAN = Mamba2(hidden=H, heads=8, head_dim=64, state=16, groups=8, chunk=32)
LATENT = MLA(
    heads=8, q_lora=64, kv_lora=32, qk_nope=16, qk_rope=8, v_dim=16, keys=48,
    index=SparseIndex(index_heads=4, width=32),
)  # fmt: skip
MIXERS: dict[str, Block] = {
    "gate": SOFT.replace(gate="elements", qk_norm="head"),
    "gates of heads, sinks, a window": SOFT.replace(gate="heads", sinks=True, window=40),
    "chunks": SOFT.replace(window=48, chunked=True, qk_norm="unweighted"),
    "one norm for all heads": SOFT.replace(qk_norm="whole"),
    "keys that are values": SOFT.replace(shared_kv=True, qk_norm="head"),
    "narrow values": SOFT.replace(value_dim=16),
    "an index": LATENT,
    "the index of another": LATENT.replace(index=None),
    "delta rule": GatedDelta(heads=16, kv_heads=8, key_dim=16, value_dim=32),
    "delta rule by channels": KimiDelta(heads=8, head_dim=32),
    "lightning": LightningAttention(heads=8, head_dim=32, chunk=32),
    "scan": SCAN,
    "scan without its norm": SCAN.replace(gated_norm=False, groups=8),
    "selective scan": Mamba1(hidden=H, heads=512, state=16, steps=16, norms=True),
    "short convolution": ShortConv(heads=H),
    "both": Beside(parts=(SOFT, SCAN)),
}
MIXTURES = {
    "gated shared expert": MoE(
        experts=8, top_k=2, intermediate=64, shared=1, shared_intermediate=128, shared_gate=True
    ),
    "biases": MoE(experts=8, top_k=2, intermediate=64, bias=True, router_bias=True),
    "latent rows": MoE(
        experts=8, top_k=2, intermediate=64, gated=False, latent=64, shared=1,
        shared_intermediate=128,
    ),
}  # fmt: skip
PLAIN = MLP(intermediate=512)


def model(*layers: Block) -> Model:
    return Model(
        name="small", hidden=H, front=Embedding(vocab=1024, hidden=H), layers=layers,
        tail=Head(vocab=1024, hidden=H), sequence=128, source="",
    )  # fmt: skip


def small(mixer: Block, mlp: Block = PLAIN) -> Model:
    return model(*[Layer(hidden=H, attention=mixer, mlp=mlp)] * 2)


@pytest.mark.parametrize("name", MIXERS)
def test_a_mixer_keeps_the_laws_of_a_model_under_every_plan(name: str) -> None:
    assert list(violations(small(MIXERS[name]))) == []


@pytest.mark.parametrize("name", MIXTURES)
def test_experts_of_every_form_keep_the_laws_of_a_model(name: str) -> None:
    assert list(violations(small(SOFT, MIXTURES[name]))) == []


def layers() -> list[Block]:
    mixture = MIXTURES["gated shared expert"]
    return [
        ResultNormLayer(hidden=H, attention=SOFT, mlp=PLAIN),
        ParallelLayer(hidden=H, attention=SOFT, mlp=PLAIN, norm="layer_gain", shared_norm=True),
        TwoBranchLayer(hidden=H, attention=SOFT, mlp=PLAIN, mixture=mixture),
        SingleLayer(hidden=H, block=mixture),
        Nothing(hidden=H),
    ]


@pytest.mark.parametrize("layer", layers(), ids=lambda one: type(one).__name__)
def test_a_layer_keeps_the_laws_of_a_model_and_can_be_served(layer: Block) -> None:
    made = model(layer, SingleLayer(hidden=H, block=SOFT))
    assert list(violations(made)) == []
    for plan in (InferencePlan(), InferencePlan(tp=2), InferencePlan(pp=2)):
        assert infer(made, plan, phase="decode", batch=4, context=50).ranks == plan.ranks


PARTS = {
    "one": ("prefill", {"prompt": 96, "batch": 2}),
    "cut": ("prefill", {"prompt": 96, "batch": 2, "max_num_batched_tokens": 64}),
    "more": ("decode", {"context": 70, "batch": 4}),
    "mixed": ("mixed", {"context": 70, "batch": 4, "prompts": 1, "prompt": 64}),
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", MIXERS)
def test_all_ranks_together_compute_what_one_does_alone(name: str, part: str) -> None:
    phase, job = PARTS[part]
    alone = infer(small(MIXERS[name]), phase=phase, **job).about["model_flops"]
    for tp in (2, 8):
        made = infer(small(MIXERS[name]), InferencePlan(tp=tp), phase=phase, **job)
        assert alone <= made.about["model_flops"] <= tp * alone
        if name not in ("an index", "the index of another", "delta rule by channels"):
            assert made.about["model_flops"] == alone


def operations(mixer: Block, *groups: Sequences, tp: int = 1) -> list[Any]:
    stages = Stages(small(mixer), InferencePlan(tp=tp))
    return list(stages.of(0, Batch(groups, all_logits=False)).forward.operations)


@pytest.mark.parametrize(
    ("name", "state", "inputs"),
    [
        ("delta rule", 16 * 16 * 32, 3 * (2 * 8 * 16 + 16 * 32)),
        ("delta rule by channels", 8 * 32 * 32, 3 * 3 * 8 * 32),
        ("lightning", 8 * 32 * 32, 0),
        ("scan", 8 * 64 * 16, 3 * (8 * 64 + 2 * 8 * 16)),
        ("selective scan", 512 * 16, 3 * 512),
        ("short convolution", 0, 2 * H),
    ],
)
def test_a_token_reads_and_writes_the_state_of_its_sequence(
    name: str, state: int, inputs: int
) -> None:
    """States of fp32 and last inputs of 16 bits, in two layers; twice the sequences, twice all."""
    kept = 2 * (4 * state + 2 * inputs)
    block = MIXERS[name]
    assert small(block).state_bytes_per_sequence() == kept
    few, many = (operations(block, Sequences(number, 1, 500)) for number in (1, 2))
    kinds = ("scan", "conv1d")
    for field in ("bytes_read", "bytes_written"):
        one, two = (
            sum(getattr(op, field) for op in made if op.kind in kinds) for made in (few, many)
        )
        tensors = (
            sum(
                getattr(op, field)
                for op in operations(block, Sequences(1, 2, 500))
                if op.kind in kinds
            )
            - one
        )
        assert two == 2 * one
        assert one == kept + tensors


@pytest.mark.parametrize("name", ["delta rule", "lightning", "scan", "selective scan", "both"])
def test_what_a_sequence_keeps_does_not_grow_with_it_but_for_its_rows(name: str) -> None:
    made = small(MIXERS[name])
    caches = [
        infer(made, phase="decode", batch=2, context=context).memory["stage0"]["cache"]
        for context in (100, 1000)
    ]
    rows = made.kv_bytes_per_token()
    states = 2 * made.state_bytes_per_sequence()
    assert caches == [2 * rows * 112 + states, 2 * rows * 1008 + states]


def test_states_have_their_own_types_whatever_that_of_the_cache_is() -> None:
    made = small(MIXERS["both"])
    plans = (InferencePlan(), InferencePlan(kv_cache_dtype="fp8"))
    wide, narrow = (
        infer(made, plan, phase="decode", batch=1, context=15).memory["stage0"]["cache"]
        for plan in plans
    )
    states = made.state_bytes_per_sequence()
    assert wide - states == 2 * (narrow - states)


def test_chunks_of_a_prompt_take_what_the_whole_takes_where_they_end_with_a_chunk_of_the_scan() -> (
    None
):
    for name in ("lightning", "scan", "delta rule"):
        size = MIXERS[name].chunk  # type: ignore[attr-defined]
        whole = operations(MIXERS[name], Sequences(1, 6 * size))
        cut = [
            *operations(MIXERS[name], Sequences(1, 2 * size, 0, emits=False)),
            *operations(MIXERS[name], Sequences(1, 4 * size, 2 * size)),
        ]
        assert sum(op.tensor_flops for op in cut) == sum(op.tensor_flops for op in whole)


def test_an_index_looks_at_all_tokens_and_attention_at_those_it_chose() -> None:
    past = 1000
    made = operations(LATENT, Sequences(3, 1, past))
    index = [op for op in made if op.kind == "index"]
    core = [op for op in made if op.kind == "attention"]
    assert len(index) == len(core) == 2
    assert index[0].tensor_flops == 3 * 2 * 4 * 32 * (past + 1)
    row = 32 + 4
    assert index[0].bytes_written == 3 * row
    queries = 2 * 3 * (4 * 32 + 32 + 4)
    assert index[0].bytes_read == queries + 3 * past * row
    assert core[0].tensor_flops == 3 * 2 * (2 * 32 + 8) * 8 * 48
    latent = 2 * (32 + 8)
    rows = 3 * (47 + 1) * latent + 3 * 8 * latent
    assert core[0].bytes_read == rows


def test_a_norm_over_all_heads_adds_its_sums_over_the_ranks() -> None:
    """A number of fp32 a token for queries, and one for keys; their gradients likewise."""
    layer = Layer(hidden=H, attention=MIXERS["one norm for all heads"], mlp=PLAIN)
    work = chunk(layer, setting(2, 64, tp=4, sequence_parallel=False), ends=False, count=1).work()
    tokens = 2 * 64
    for passed in (work.forward, work.backward):
        assert traffic(passed.operations)["all_reduce", "tp", 4 * tokens] == 2


def test_a_mixer_that_cannot_be_shared_says_what_can() -> None:
    block = GatedDelta(heads=16, kv_heads=4, key_dim=16, value_dim=32)
    with pytest.raises(ConfigError, match="4 key heads of linear attention cannot be split over 8"):
        infer(small(block), InferencePlan(tp=8), phase="decode")
    for name in ("delta rule", "lightning", "scan"):
        with pytest.raises(ConfigError, match="is not split along the sequence; expected 1"):
            chunk(
                Layer(hidden=H, attention=MIXERS[name], mlp=PLAIN), setting(2, 64, cp=2), ends=False
            )
