"""What the passes keep equals the table of Korthikanti et al. (2022), to the byte."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.oracles import transformer_forms as forms
from tests.workloads.graph.chunks import Small, operations, setting
from yantra.workloads.models.blocks import MLP, Attention, Layer
from yantra.workloads.training.stage import Chunk


class Sizes(NamedTuple):
    """Sequence, micro-batch, hidden size and heads of a model of the paper's table 3."""

    s: int
    b: int
    h: int
    a: int


MODELS = {
    "22B": Sizes(2048, 4, 6144, 64),
    "175B": Sizes(2048, 1, 12288, 96),
    "530B": Sizes(2048, 1, 20480, 128),
    "1T": Sizes(2048, 1, 25600, 160),
}
COLUMNS = {
    "none": (1, False, "none"),
    "tensor parallel": (8, False, "none"),
    "and sequence parallel": (8, True, "none"),
    "selective": (8, False, "selective"),
    "sequence parallel and selective": (8, True, "selective"),
    "full": (8, False, "full"),
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("name", MODELS)
def test_a_layer_keeps_what_the_paper_says(name: str, column: str) -> None:
    s, b, h, a = MODELS[name]
    tp, sequence_parallel, recompute = COLUMNS[column]
    layer = Layer(
        hidden=h,
        attention=Attention(heads=a, kv_heads=a, head_dim=h // a, rope=False),
        mlp=MLP(intermediate=4 * h, gated=False, bias=True),
        norm="layer",
    )
    split = setting(
        b, s, tp=tp, sequence_parallel=sequence_parallel, recompute=recompute,
        flash_attention=False, dropout=True,
    )  # fmt: skip
    work = Chunk(Small((layer,)), split, (0, 1), False, False).work()
    kept = sum(operation.saves for operation in work.forward.operations)
    assert kept == forms.activation_bytes(s, b, h, a, tp, sequence_parallel, recompute)  # type: ignore[arg-type]
    both = operations(work)
    assert sum(i.saves for i in both) == sum(i.frees for i in both)
