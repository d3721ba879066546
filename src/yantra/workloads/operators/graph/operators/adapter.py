"""Low-rank adapters beside frozen products: y = x W + (x A) B.

A maps the input to `rank` columns, B maps these to what is adapted. Where the product is split by
columns, A is whole on every rank and B is split likewise; where it is split by rows, A is split
likewise, its small result is summed, and B is whole. The collectives that this needs follow from
the placements; they are `rank` columns wide.

Weights without an adapter have no gradients; the gradients of activations go back to the first
layer, as with gradient checkpointing (`enable_input_require_grads` of PEFT). The factor alpha /
rank costs an operation per element; dropout of adapters is not counted.

Source: Hu et al., "LoRA", ICLR 2022, section 4.1; the split as in vLLM and Megatron-Bridge
(`peft/lora.py`).
"""

from __future__ import annotations

from yantra.workloads.operators.adapters import PRODUCTS
from yantra.workloads.operators.graph.graph import Graph
from yantra.workloads.operators.graph.operators.elementwise import elementwise, settle
from yantra.workloads.operators.graph.operators.linear import Split, linear
from yantra.workloads.operators.graph.tensor import Tensor

_SCALED_SUM = 2
"""Operations of an element: times alpha / rank, and the sum."""


def adapted(
    g: Graph, x: Tensor, name: str, made: tuple[Tensor, ...], split: Split, axis: str
) -> tuple[Tensor, ...]:
    """Return the results of a frozen product, those of targets with their adapters added."""
    results = {tensor.sizes[-1][0]: tensor for tensor in made}
    for target, outputs in PRODUCTS.get(name, {}).items():
        if target not in g.setting.lora_targets or not results.keys() >= set(outputs):
            continue
        g.in_adapter = True
        with g.scope(target):
            sizes = {output: results[output].sizes[-1][1] for output in outputs}
            for output, delta in zip(outputs, _delta(g, x, sizes, split, axis), strict=True):
                where = g.tokens() if split == "in" else None
                results[output] = elementwise(
                    g, f"add_{output}", [results[output], delta], flops=_SCALED_SUM,
                    kind="residual", placement=where, costless_gradient=(0, 1),
                )  # fmt: skip
        g.in_adapter = False
    return tuple(results.values())


def _delta(
    g: Graph, x: Tensor, sizes: dict[str, int], split: Split, axis: str
) -> tuple[Tensor, ...]:
    rank = {"rank": g.setting.lora_rank}
    if split == "in":
        (small,) = linear(g, x, "lora_a", rank, split="in", axis=axis)
        small = settle(g, small, "lora_a_sum", g.tokens())
        return linear(g, small, "lora_b", sizes)
    (small,) = linear(g, x, "lora_a", rank)
    return linear(g, small, "lora_b", sizes, split=split, axis=axis)
