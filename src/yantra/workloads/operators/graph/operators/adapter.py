"""Low-rank adapters beside frozen products: y = x W + (x A) B.

A maps the input to `rank` columns, B these to the output. Beside a product split by columns B is
split; by rows A is, its small result summed. Collectives are `rank` columns wide.

The factor alpha / rank costs an operation per element; adapters' dropout is not counted.

Source: Hu et al., "LoRA", ICLR 2022, section 4.1; the split as in vLLM and Megatron-Bridge
(`peft/lora.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from yantra.workloads.operators.adapters import EVERY, PRODUCTS
from yantra.workloads.operators.graph.graph import Graph
from yantra.workloads.operators.graph.operators.elementwise import elementwise, settle
from yantra.workloads.operators.graph.operators.linear import Split, linear
from yantra.workloads.operators.graph.tensor import Placement, Tensor
from yantra.workloads.operators.operations import Domain

_SCALED_SUM = 2
"""Operations per element: times alpha / rank, and the sum."""


class Beside(NamedTuple):
    """The frozen product: its name in `PRODUCTS`, how its weights are split and copied."""

    product: str
    split: Split
    axis: str
    domain: Domain
    copies: int

    @property
    def others(self) -> Mapping[str, Any]:
        return {"axis": self.axis, "domain": self.domain, "copies": self.copies}


def adapted(g: Graph, x: Tensor, made: tuple[Tensor, ...], beside: Beside) -> tuple[Tensor, ...]:
    results = {tensor.sizes[-1][0]: tensor for tensor in made}
    for target, named in PRODUCTS.get(beside.product, {}).items():
        outputs = tuple(results) if named == EVERY else named
        if target not in g.setting.lora_targets or not results.keys() >= set(outputs):
            continue
        g.in_adapter = True
        with g.scope(target):
            sizes = {output: results[output].sizes[-1][1] for output in outputs}
            for output, delta in zip(outputs, _delta(g, x, sizes, beside), strict=True):
                results[output] = elementwise(
                    g, f"add_{output}", [results[output], delta], flops=_SCALED_SUM,
                    kind="residual", placement=_rows(g, x, beside), costless_gradient=(0, 1),
                )  # fmt: skip
        g.in_adapter = False
    return tuple(results.values())


def _rows(g: Graph, x: Tensor, beside: Beside) -> Placement | None:
    if beside.split != "in":
        return None
    if beside.domain == "dense":
        return g.tokens()
    return g.split(Placement(), x.sizes[0][0], beside.axis)


def _delta(g: Graph, x: Tensor, sizes: dict[str, int], beside: Beside) -> tuple[Tensor, ...]:
    rank = {"rank": g.setting.lora_rank}
    whole = _rows(g, x, beside)
    if whole is not None:
        (small,) = linear(g, x, "lora_a", rank, split="in", **beside.others)
        small = settle(g, small, "lora_a_sum", whole)
        return linear(g, small, "lora_b", sizes, **beside.others)
    (small,) = linear(g, x, "lora_a", rank, **beside.others)
    return linear(g, small, "lora_b", sizes, split=beside.split, **beside.others)
