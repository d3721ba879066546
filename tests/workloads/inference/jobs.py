"""Models and workloads of inference, and what their templates add up to over all ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from yantra.chakra import NodeType
from yantra.workloads.models import zoo
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.model import Model
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.serving import InferencePlan, infer
from yantra.workloads.templates import Workload

TRANSFORMERS = tuple(name for name in zoo.names() if isinstance(zoo.get(name), Transformer))

DENSE = Transformer(
    name="dense", source="", num_layers=4, hidden_size=256, num_attention_heads=8,
    num_query_groups=4, kv_channels=32, ffn_hidden_size=512, vocab_size=1024, seq_length=128,
)  # fmt: skip
LATENT = Transformer(
    name="latent", source="", num_layers=4, hidden_size=256, num_attention_heads=8,
    q_lora_rank=64, kv_lora_rank=32, qk_head_dim=16, qk_pos_emb_head_dim=8, v_head_dim=16,
    ffn_hidden_size=512, vocab_size=1024, seq_length=128,
    num_experts=8, moe_router_topk=2, moe_ffn_hidden_size=128,
    moe_shared_expert_intermediate_size=128, moe_layer_freq=(0, 1, 1, 1),
)  # fmt: skip


def known(name: str) -> Transformer:
    found = zoo.get(name)
    assert isinstance(found, Transformer)
    return found


def shortened(name: str) -> Model:
    model = model_of(known(name))
    seen: Counter[Any] = Counter()
    layers = []
    for layer in model.layers:
        seen[layer] += 1
        if seen[layer] <= 2:
            layers.append(layer)
    return model.replace(layers=tuple(layers))


def made(model: Transformer | Model, plan: InferencePlan | None = None, **job: Any) -> Workload:
    return infer(model_of(model), plan, **job)


class Node:
    def __init__(self, name: str, type: NodeType, attributes: dict[str, Any]) -> None:
        self.name = name
        self.type = type
        self.attributes = attributes

    def __getattr__(self, name: str) -> Any:
        return self.attributes.get(name)


def nodes(workload: Workload, template: str | None = None) -> Iterator[tuple[Node, int]]:
    for name, ranks in workload.ranks_of_template().items():
        if template in (None, name):
            for node in workload.template(name):
                values = {one.name: one.value for one in node.attributes}
                yield Node(node.name, NodeType(node.type), values), ranks


def total(workload: Workload, attribute: str, *kinds: str, of: str = "") -> int:
    return sum(
        ranks * getattr(node, attribute)
        for node, ranks in nodes(workload)
        if node.type == NodeType.COMP
        and (not kinds or node.op_class in kinds)
        and node.name.endswith(of)
    )


def products(workload: Workload) -> int:
    return total(workload, "flops_tensor")
