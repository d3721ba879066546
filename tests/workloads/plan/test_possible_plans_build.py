"""What the check lets pass, the operator graph can build."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.base.records import Record
from yantra.workloads.models import zoo
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.blocks import MLA, MLP, Attention, Block, Embedding, Head, Layer, MoE
from yantra.workloads.plan.check import check, facts_of
from yantra.workloads.plan.nearest import nearest
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.stage import stage_work

HIDDEN = 96
SEQUENCE = 288


class Sizes(Record):
    name: str
    front: Block
    layers: tuple[Block, ...]
    tail: Block
    sequence: int = SEQUENCE
    fixed_sequence: bool = False


def model(attention: Block, mlp: Block) -> Sizes:
    layer = Layer(hidden=HIDDEN, attention=attention, mlp=mlp)
    return Sizes(
        name="small",
        front=Embedding(vocab=1001, hidden=HIDDEN),
        layers=(layer,) * 2,
        tail=Head(vocab=1001, hidden=HIDDEN),
    )


GROUPED = Attention(heads=12, kv_heads=4, head_dim=8, qk_norm=True)
LATENT = MLA(heads=12, q_lora=36, kv_lora=24, qk_nope=8, qk_rope=6, v_dim=8)
WINDOW = Attention(heads=8, kv_heads=8, head_dim=12, window=64, qkv_bias=True)
BOTH_WAYS = Attention(heads=6, kv_heads=6, head_dim=16, causal=False)
MODELS = [
    model(GROUPED, MLP(intermediate=144)),
    model(LATENT, MoE(experts=12, top_k=2, intermediate=24, shared=1, shared_intermediate=48)),
    model(GROUPED, MoE(experts=8, top_k=2, intermediate=36)),
    model(WINDOW, MLP(intermediate=60, gated=False, bias=True)),
    model(BOTH_WAYS, MLP(intermediate=96)),
]
AXIS = st.sampled_from([1, 2, 3, 4, 6])
PLANS = st.builds(
    Plan,
    tp=AXIS,
    cp=AXIS,
    cp_kind=st.sampled_from(["p2p", "all_gather", "a2a"]),
    dp=AXIS,
    ep=AXIS,
    etp=AXIS,
    sequence_parallel=st.sampled_from([None, False]),
    micro_batch=st.integers(1, 2),
    recompute=st.sampled_from(["none", "selective", "operators", "full"]),
)


@pytest.mark.parametrize("number", range(len(MODELS)))
@given(plan=PLANS)
def test_a_possible_plan_gives_whole_shares_everywhere(number: int, plan: Plan) -> None:
    which = MODELS[number]
    possible = nearest(plan, facts_of(which), SEQUENCE)
    assert possible is not None
    work = stage_work(which, possible, layers=(0, 2), front=True, tail=True, sequence=SEQUENCE)
    assert work.forward.operations
    assert all(operation.size_bytes >= 0 for operation in work.backward.operations)


@given(name=st.sampled_from(zoo.names()), plan=PLANS)
def test_every_known_model_has_a_possible_plan_that_builds(name: str, plan: Plan) -> None:
    which = model_of(zoo.get(name))
    possible = nearest(plan, facts_of(which), which.sequence)
    assert possible is not None
    assert possible.ranks == plan.ranks
    last = len(which.layers) - 1
    for at in {0, last}:
        work = stage_work(
            which,
            possible,
            layers=(at, at + 1),
            front=at == 0,
            tail=at == last,
            sequence=which.sequence,
        )
        assert work.forward.operations


def test_a_block_that_cannot_be_split_says_why() -> None:
    with pytest.raises(ConfigError) as raised:
        check(Plan(tp=4, dp=2), model_of(zoo.get("resnet-50")))
    assert str(raised.value) == (
        "tp: convolutions are split over data alone; expected 1\n"
        "  also sequence_parallel: 1 tokens are not divisible by tp x cp = 4 x 1 = 4\n"
        "  the nearest possible plan on 8 ranks: tp=1 dp=8"
    )
