"""Megatron-LM's arguments by subject: the model, the plan, or neither.

Trade-off: free ones are known by their beginnings (`--adam-*`), so a misspelt one passes.

Source: `megatron/training/arguments.py`.
"""

from __future__ import annotations

FLAG, NUMBER, REAL, WORD, WORDS = "flag", "number", "real", "word", "words"

MODEL = {
    "add-qkv-bias": FLAG,
    "disable-bias-linear": FLAG,
    "ffn-hidden-size": NUMBER,
    "group-query-attention": FLAG,
    "hidden-size": NUMBER,
    "kv-channels": NUMBER,
    "kv-lora-rank": NUMBER,
    "make-vocab-size-divisible-by": NUMBER,
    "max-position-embeddings": NUMBER,
    "moe-ffn-hidden-size": NUMBER,
    "moe-layer-freq": WORD,
    "moe-router-enable-expert-bias": FLAG,
    "moe-router-group-topk": NUMBER,
    "moe-router-num-groups": NUMBER,
    "moe-router-topk": NUMBER,
    "moe-shared-expert-intermediate-size": NUMBER,
    "mtp-num-layers": NUMBER,
    "multi-latent-attention": FLAG,
    "no-position-embedding": FLAG,
    "normalization": WORD,
    "num-attention-heads": NUMBER,
    "num-experts": NUMBER,
    "num-layers": NUMBER,
    "num-query-groups": NUMBER,
    "padded-vocab-size": NUMBER,
    "position-embedding-type": WORD,
    "q-lora-rank": NUMBER,
    "qk-head-dim": NUMBER,
    "qk-layernorm": FLAG,
    "qk-pos-emb-head-dim": NUMBER,
    "quick-geglu": FLAG,
    "seq-length": NUMBER,
    "swiglu": FLAG,
    "untie-embeddings-and-output-weights": FLAG,
    "use-rotary-position-embeddings": FLAG,
    "v-head-dim": NUMBER,
    "vocab-size": NUMBER,
    "window-attn-skip-freq": WORD,
    "window-size": WORD,
}

PLAN = {
    "accumulate-allreduce-grads-in-fp32": FLAG,
    "bf16": FLAG,
    "context-parallel-size": NUMBER,
    "cp-comm-type": WORD,
    "cpu-offloading": FLAG,
    "ddp-bucket-size": NUMBER,
    "decoder-first-pipeline-num-layers": NUMBER,
    "decoder-last-pipeline-num-layers": NUMBER,
    "expert-model-parallel-size": NUMBER,
    "expert-tensor-parallel-size": NUMBER,
    "fp16": FLAG,
    "fp4-format": WORD,
    "fp8-format": WORD,
    "global-batch-size": NUMBER,
    "grad-reduce-in-bf16": FLAG,
    "micro-batch-size": NUMBER,
    "moe-expert-capacity-factor": REAL,
    "no-overlap-p2p-communication": FLAG,
    "num-distributed-optimizer-instances": NUMBER,
    "num-virtual-stages-per-pipeline-rank": NUMBER,
    "optimizer": WORD,
    "optimizer-cpu-offload": FLAG,
    "pipeline-model-parallel-layout": WORD,
    "pipeline-model-parallel-size": NUMBER,
    "recompute-activations": FLAG,
    "recompute-granularity": WORD,
    "tensor-model-parallel-size": NUMBER,
    "use-distributed-optimizer": FLAG,
    "use-torch-fsdp2": FLAG,
}
"""Arguments that a plan knows by the same name."""

PLAN_TOGETHER = {
    "attention-backend": WORD,
    "attention-dropout": REAL,
    "data-parallel-sharding-strategy": WORD,
    "hidden-dropout": REAL,
    "megatron-fsdp-grad-comm-dtype": WORD,
    "num-layers-per-virtual-pipeline-stage": NUMBER,
    "overlap-grad-reduce": FLAG,
    "overlap-param-gather": FLAG,
    "recompute-method": WORD,
    "recompute-modules": WORDS,
    "recompute-num-layers": NUMBER,
    "sequence-parallel": FLAG,
    "use-flash-attn": FLAG,
    "use-megatron-fsdp": FLAG,
    "use-tp-pp-dp-mapping": FLAG,
}
"""Arguments that set plan fields only together with others."""

LAUNCH = {
    "nnodes": "nnodes",
    "nodes": "nnodes",
    "nproc-per-node": "nproc-per-node",
}
"""Of `torchrun`, before the training script."""

_STATE = "the optimizer's state is in fp32"
NOT_MODELLED = {
    "ddp-average-in-collective": "the division by the number of replicas costs nothing",
    "exp-avg-dtype": _STATE,
    "exp-avg-sq-dtype": _STATE,
    "delay-wgrad-compute": "weight gradients are delayed by schedules that say so, such as zb-h1",
    "high-priority-a2a-comm-stream": "communicators have no priorities",
    "main-grads-dtype": _STATE,
    "main-params-dtype": _STATE,
    "megatron-fsdp-main-grads-dtype": _STATE,
    "megatron-fsdp-main-params-dtype": _STATE,
    "moe-enable-deepep": "experts are exchanged by all-to-all",
    "moe-flex-dispatcher-backend": "experts are exchanged by all-to-all",
    "moe-shared-expert-overlap": "dependencies alone decide what overlaps",
    "moe-token-dispatcher-type": "experts are exchanged by all-to-all",
    "overlap-moe-expert-parallel-comm": "micro-batches overlap in schedules that say so",
    "rampup-batch-size": "the step is one of the full batch",
    "step-batch-size-schedule": "the step is one of the full batch",
    "tp-comm-overlap": "a collective and the product it belongs to do not overlap",
    "use-precision-aware-optimizer": _STATE,
    "use-nccl-ub": "collectives need no copies",
}
"""Arguments that change only what the plan does not distinguish, and what it assumes."""

REFUSED = {
    "apply-residual-connection-post-layernorm": "residuals that leave from behind the norm",
    "attention-output-gate": "a gate behind attention",
    "decoder-num-layers": "an encoder beside the decoder",
    "encoder-num-layers": "an encoder beside the decoder",
    "experimental-attention-variant": "attention of another kind",
    "heterogeneous-layers-config-encoded-json": "layers that differ one by one",
    "heterogeneous-layers-config-path": "layers that differ one by one",
    "hybrid-layer-pattern": "layers of several kinds",
    "hybrid-override-pattern": "layers of several kinds",
    "is-hybrid-model": "layers of several kinds",
    "linear-attention-freq": "attention of another kind",
    "moe-latent-size": "experts on a smaller hidden size",
    "moe-shared-expert-gate": "a gate on the shared experts",
    "qk-l2-norm": "a norm without weights over queries and keys",
    "spec": "layers given by Python code",
    "use-checkpoint-args": "a model described by its checkpoint",
    "yaml-cfg": "arguments in another file",
}
"""Arguments that change the model or the plan in a way not covered."""
