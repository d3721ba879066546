"""Low-rank adapters beside frozen products: y = x W + (x A) B.

A maps the input to `rank` columns, B maps these to what is adapted. Where the product is split by
columns, A is whole on every rank and B is split likewise; where it is split by rows, A is split
likewise, its small result is summed, and B is whole. The collectives that this needs follow from
the placements; they are `rank` columns wide. Each expert has an A and a B of its own, as each is a
module of its own in PEFT.

Weights without an adapter have no gradients; the gradients of activations go back to the first
layer, as with gradient checkpointing (`enable_input_require_grads` of PEFT). The factor alpha /
rank costs an operation per element; dropout of adapters is not counted.

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
"""Operations of an element: times alpha / rank, and the sum."""


class Beside(NamedTuple):
    """The frozen product: its name for `PRODUCTS`, and how its weights are split and copied."""

    product: str
    split: Split
    axis: str
    domain: Domain
    copies: int

    @property
    def others(self) -> Mapping[str, Any]:
        """What the products of an adapter have of it."""
        return {"axis": self.axis, "domain": self.domain, "copies": self.copies}


def adapted(g: Graph, x: Tensor, made: tuple[Tensor, ...], beside: Beside) -> tuple[Tensor, ...]:
    """Return the results of a frozen product, those of targets with their adapters added."""
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
    """Return where the results of a product split by rows are whole; None for other splits."""
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
