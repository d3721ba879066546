"""Megatron-LM's arguments that change no weight, operation or byte of a training step."""

from __future__ import annotations

_OPTIMISING = """
data-impl distributed-backend DDP-impl
adam-* apply-wd-to-qk-layernorm clip-grad decoupled-* decrease-batch-size-if-needed
end-weight-decay freeze-all-layers head-lr-mult hysteresis initial-loss-scale lion-*
loss-scale loss-scale-window lr lr-* min-loss-scale min-lr muon-*
no-weight-decay-cond-type optimizer-cuda-graph override-* sgd-momentum start-weight-decay
use-checkpoint-opt* warmup wd-incr-steps weight-decay
weight-decay-incr-style wsd-decay-steps
"""
_NUMERICS = """
activation-func-clamp-value apply-layernorm-1p apply-query-key-layer-scaling autocast-dtype
attention-softmax-in-fp32 batch-invariant-* calculate-per-token-loss check-* deterministic-mode
disable-attention-softmax-in-fp32 disable-bf16-* disable-check-* embedding-init-method-std
enable-autocast first-last-layers-bf16 fp16-lm-cross-entropy fp32-residual-connection fp8-amax-*
fp8-interval fp8-margin glu-linear-offset init-method* layernorm-*
log-max-attention-logit moe-apply-probs-on-input moe-aux-loss-coeff moe-input-jitter-eps
moe-router-bias-update-rate moe-router-dtype moe-router-force-* moe-router-load-balancing-type
moe-router-pre-softmax moe-router-quantile-* moe-router-score-function
moe-router-topk-scaling-factor moe-token-drop-policy moe-use-upcycling moe-upcycling-*
moe-z-loss-coeff mscale mscale-all-dim mtp-detach-heads mtp-loss-scaling-factor mup-*
no-attention-softmax-in-fp32 no-check-* no-clone-scatter-* no-initialization norm-epsilon
num-layers-at-* onnx-safe openai-gelu output-logit-dtype qk-clip* seed softmax-scale softmax-type
squared-relu test-mode tp-only-amax-red use-cpu-initialization use-mup
"""
_ROTATING = """
beta-* mrope-section no-rope-freq no-yarn-* original-max-position-embeddings rope-*
rotary-* use-flashinfer-fused-rope use-rope-scaling yarn-*
"""
_READING = """
allow-ambiguous-pad-tokens chat-template create-attention-mask-* data-args-path data-cache-path
data-parallel-random-init data-path dataloader-* decoder-seq-length disable-tokenizer-*
encoder-seq-length eod-mask-loss fim-* mask-prob merge-file metadata-path mid-level-dataset-surplus
mock-data no-create-attention-mask-* no-data-sharding no-mmap-bin-files no-tokenizer-*
null-tokenizer-* num-dataset-builder-threads num-workers object-storage-cache-path
per-dataset-sequences-path per-split-data-args-path phase-transition-iterations reset-* sample-rate
sft sft-* short-seq-prob special-tokens split test-data-path tiktoken-* tokenizer-* train-data-path
trust-remote-code use-gigatoken valid-data-path vocab-extra-ids
"""
_RUNNING = """
adlr-* app-tag-* async-* auto-detect-ckpt-format calc-ft-timeouts ckpt-* config-logger-dir
disable-ckpt-* disable-filter-warnings disable-flight-* disable-gloo-* disable-load-* disable-log-*
disable-manual-* disable-msc disable-offset-* disable-save-* disable-straggler-* disable-strict-*
disable-use-tokenizer-* dist-ckpt-* distrib-optim-* distributed-* dump-param-* enable-experimental
enable-ft-package enable-msc error-injection-* eval-* exit-* fault-* finetune flight-recorder-* ft-*
full-validation gpu-sniff-* hetereogenous-dist-checkpoint inprocess-* iterations-to-skip
lazy-mpu-init load load-* local-rank log-* logging-level logits-* manual-gc manual-gc-* memory-keys
memory-snapshot-path modules-to-filter moe-enable-routing-replay moe-per-layer-logging
moe-routing-trace-* most-recent-k multiple-validation-sets no-barrier-* no-ckpt-* no-filter-*
no-flight-* no-load-* no-log-* no-manual-* no-offset-* no-one-logger no-save-* no-strict-*
no-use-tokenizer-* non-persistent-* nvtx-ranges one-logger-* otel-* persistent-save-interval
pretrained-checkpoint profile profile-* pytorch-profiler-* rank record-* replication replication-*
rerun-* result-* run-workload-* runtime-time-unit save save-* set-level-* skip-train start-eval-*
straggler-* tensorboard-* throughput-window-size timing-log-* train-iters train-samples
train-sync-interval use-dist-ckpt use-mp-args-* use-persistent-ckpt-worker use-pytorch-profiler
use-same-sampling-* use-tokenizer-* validation-* verify-integrity wandb-*
"""
_OTHER_PROGRAMS = """
bert-* biencoder-* block-data-path classes-fraction data-per-class-fraction decode-only-* dino-*
embedding-path enable-chunked-prefill evidence-data-path flash-decode grpo-* ict-* img-h img-w
indexer-* inference-* iter-per-epoch langrl-* mask-factor mask-type max-tokens-to-oom
mlp-chunks-for-prefill moe-pad-experts-* nccl-all-reduce-* num-channels num-classes
num-speculative-tokens output-bert-embeddings patch-dim perform-rl-step query-in-block-prob
refit-method retriever-* return-log-probs rl-* skip-prompt-* swin-* titles-data-path
use-inference-* use-legacy-static-engine use-one-sent-docs vision-*
"""
_KERNELS = """
apply-rope-fusion bias-* create-all-gather-group cross-entropy-* cuda-graph-modules
cuda-graph-retain-* cuda-graph-share-* cuda-graph-use-* cuda-graph-warmup-* ddp-pad-*
ddp-reduce-scatter-* deallocate-pipeline-outputs disable-align-* disable-batch-p2p-*
disable-jit-fuser disable-mamba-* disable-symmetric-registration disable-tp-comm-*
empty-unused-memory-level export-force-local-attention flash-attention-version
fsdp-double-buffer fsdp-manual-registration fused-*
gradient-accumulation-fusion high-priority-stream-groups init-model-with-meta-device
keep-fp8-transpose-cache masked-softmax-fusion megatron-fsdp-version memory-efficient-layer-norm
mla-down-proj-fusion moe-deepep-* moe-flex-dispatcher-num-sms moe-grouped-gemm moe-hybridep-*
moe-mlp-glu-* moe-ncclep-* moe-permute-fusion-* moe-router-padding-*
moe-shared-expert-glu-* moe-single-* moe-use-grouped-tensor nccl-communicator-config-path no-align-*
no-batch-p2p-* no-cuda-graph-* no-gradient-*
no-persist-layer-norm no-pin-* no-tp-comm-* overlap-cpu-optimizer-*
overlap-p2p-communication-warmup-flush persist-layer-norm sharp-*
suggested-communication-unit-size te-* tp-comm-atomic-* tp-comm-bootstrap-backend tp-comm-overlap-*
transformer-impl use-fused-* use-grouped-* use-mcore-models use-sharp use-te-*
use-torch-optimizer-* use-transformer-engine-op-fuser variable-seq-lengths
"""

_DEEPSPEED = """
aml-data-download-path checkpoint-in-cpu compression-training contigious-checkpointing
create-moe-param-group curriculum-learning data-efficiency-* deepspeed-activation-checkpointing
deepspeed-mpi deepscale deepscale-config disable-mem-efficient-ln ds-inference
enable-expert-tensor-parallelism kd-* moe-eval-capacity-factor moe-loss-coeff moe-min-capacity
moe-top2-2nd-expert-sampling no-pipeline-parallel no-query-key-layer-scaling num-*-teacher
hidden-size-teacher load-teacher partition-activations profile-backward repeated-dataloader
return-data-index scattered-embeddings split-transformers synchronize-each-layer train-tokens
universal-checkpoint use-flash-attn-builder use-legacy-models use-pin-memory
zero-allgather-bucket-size zero-contigious-gradients zero-reduce-*
"""

_PAI = """
causal-lm dataset epochs keep-last max-padding-length patch-tokenizer-type reduce-bucket-size
test-data train-data transformer-type use-mpi valid-data
"""
"""Of alibaba/Pai-Megatron-Patch and Megatron-LLaMA, and of llm-jp."""

_NAMES = " ".join(
    (
        _OPTIMISING,
        _NUMERICS,
        _ROTATING,
        _READING,
        _RUNNING,
        _OTHER_PROGRAMS,
        _KERNELS,
        _DEEPSPEED,
        _PAI,
    )
).split()
_EXACT = frozenset(name for name in _NAMES if "*" not in name)
_BEGINNINGS = tuple(name.removesuffix("*") for name in _NAMES if name.endswith("*"))


_ENDS = ("-id", "-name", "-path", "-dir", "-file", "-interval", "-entity", "-project", "-prefix")
"""Of forks' arguments that say where, how often or under which name."""


def is_ignored(name: str) -> bool:
    return name in _EXACT or name.startswith(_BEGINNINGS) or name.endswith(_ENDS)
