"""Operator and kernel names to a few dozen classes."""

from __future__ import annotations

from functools import lru_cache

from yantra.chakra.schema import NODE_TRAITS, CollectiveType, NodeType, lane_of

_WORDS: tuple[tuple[str, str], ...] = (
    ("process_group", "process_group"),
    ("attention|flash_fwd|flash_bwd|sdpa|fmha", "attention"),
    (
        "batchnorm|layernorm|rmsnorm|_norm|bn_",
        "normalization",
    ),
    ("embedding", "embedding"),
    ("conv|winograd|fprop|dgrad|wgrad", "convolution"),
    ("gemm|matmul|addmm|baddbmm|aten::mm|aten::bmm|linear|cutlass|cublas|dot", "matrix_product"),
    ("softmax", "softmax"),
    ("dropout|bernoulli|random|uniform_|normal_|philox", "random"),
    ("relu|gelu|silu|sigmoid|tanh|swish|elu", "activation"),
    ("pool", "pooling"),
    ("loss|nll|cross_entropy|mse", "loss"),
    ("optimizer|adam|sgd|adagrad|multi_tensor_apply|foreach", "optimizer"),
    ("synchronize|streamwaitevent|eventquery|eventrecord|cudaevent|hipevent", "synchronization"),
    ("launchkernel|culaunch|hipmodule|graphlaunch", "launch"),
    ("memcpy|aten::copy_|aten::to|_to_copy|clone|contiguous", "copy"),
    ("memset|fill_|zero_|aten::zeros|aten::ones", "fill"),
    ("malloc|aten::empty|resize_|set_|new_empty", "allocation"),
    ("sort|topk|argmax|unique", "sorting"),
    ("index|gather|scatter|slice|select|narrow|masked|lookup|nonzero", "indexing"),
    (
        "view|shape|transpose|permute|squeeze|expand|as_strided|detach|aten::t|alias|flatten",
        "view",
    ),
    ("cat|stack|split|chunk|unbind", "joining"),
    ("reduce|sum|mean|max|min|norm|cumsum|prod", "reduction"),
    ("add|mul|div|sub|pow|sqrt|exp|log|neg|abs|where|clamp|eq|ne|lt|gt|elementwise", "elementwise"),
    ("backward|autograd|accumulategrad", "autograd"),
    ("profiler|step|zero_grad", "step"),
    ("dataloader|next", "input"),
    ("triton|jit|compiled|inductor", "compiled"),
)
_TABLE = tuple((tuple(words.split("|")), name) for words, name in _WORDS)
_PART = "delay"
CLASSES = frozenset(
    [
        *(name for _, name in _WORDS),
        *(type.name.lower() for type in CollectiveType),
        *(traits.word for traits in NODE_TRAITS.values()),
        *("operator", "kernel", "delay", "other"),
    ]
)
"""All names an obfuscated trace may have."""


@lru_cache(maxsize=4096)
def class_of(name: str, type: int, comm_type: int | None, is_cpu: bool, is_delay: bool) -> str:
    if type == NodeType.COMM_COLL:
        if comm_type is None or not 0 <= comm_type < len(CollectiveType):
            return "collective"
        return CollectiveType(comm_type).name.lower()
    if type != NodeType.COMP and lane_of(type) is not None:
        return NODE_TRAITS[NodeType(type)].word
    if is_delay:
        return _PART
    lower = name.lower()
    for words, found in _TABLE:
        if any(word in lower for word in words):
            return found
    if type != NodeType.COMP:
        return "other"
    return "operator" if is_cpu else "kernel"
