"""Flags of vLLM and SGLang, and what they are here.

Sources: vllm-project/vllm, vllm/engine/arg_utils.py; sgl-project/sglang,
python/sglang/srt/server_args.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Flag(NamedTuple):
    """A flag, its short names, and the field of a plan or option of the engine that it is.

    `on` is what a switch sets; None where a value follows.
    """

    name: str
    field: str
    short: tuple[str, ...] = ()
    on: str | None = None
    values: Mapping[str, str] | None = None


class Engine(NamedTuple):
    """`starts` are words that a launch has, one of the tuples; the model follows the first."""

    starts: tuple[tuple[str, ...], ...]
    model: tuple[str, ...]
    flags: tuple[Flag, ...]
    ignored: str
    refused: Mapping[str, str]
    left_out: Mapping[str, str] = {}
    """What is assumed in place of flags that are not covered, and of little weight."""


_TYPES = {"bfloat16": "bf16", "bf16": "bf16", "float16": "fp16", "half": "fp16", "auto": ""}
_INT4 = (
    "awq",
    "awq_marlin",
    "gptq_marlin",
    "moe_wna16",
    "gptq",
    "mxfp4",
    "bitsandbytes",
    "auto-round",
    "marlin",
)
_FP8 = ("fp8", "modelopt", "modelopt_fp8", "w8a8_fp8", "fbgemm_fp8", "ptpc_fp8")
_IN_HOST = "weights in the host's memory are not covered"
_EAGER = (
    "without CUDA graphs the host may not keep up with small batches; what that adds is left out, "
    "so times are bounds from below"
)
_HOST_KV = "KV that the host keeps is left out"
_MEMORY = "memory for KV is that of --set gpu_memory_utilization"
PUBLISHED = "published"
"""The type is that of the checkpoint, which its id says."""
_AS_PUBLISHED = ("compressed-tensors",)
_QUANTISED = {
    "none": "",
    "None": "",
    "petit_nvfp4": "nvfp4",
    "modelopt_fp4": "nvfp4",
    "nvfp4": "nvfp4",
    **dict.fromkeys(_FP8, "fp8"),
    **dict.fromkeys(_INT4, "int4"),
    **dict.fromkeys(_AS_PUBLISHED, PUBLISHED),
}
_CACHE = {"auto": "", "fp8": "fp8", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "bfloat16": "bf16"}
_DTYPE = Flag("dtype", "dtype", values=_TYPES)
_QUANTIZATION = Flag("quantization", "dtype", ("q",), values=_QUANTISED)
_KV = Flag("kv-cache-dtype", "kv_cache_dtype", values=_CACHE)

VLLM = Engine(
    starts=(
        ("vllm", "serve"),
        ("-m", "vllm.entrypoints.openai.api_server"),
        ("-m", "vllm.entrypoints.api_server"),
        ("vllm/vllm-openai",),
    ),
    model=("model",),
    flags=(
        Flag("tensor-parallel-size", "tp", ("tp",)),
        Flag("pipeline-parallel-size", "pp", ("pp",)),
        Flag("data-parallel-size", "dp", ("dp",)),
        Flag("enable-expert-parallel", "expert_parallel", ("ep",), on="on"),
        _DTYPE,
        _QUANTIZATION,
        _KV,
        Flag("max-num-seqs", "max_num_seqs"),
        Flag("max-num-batched-tokens", "max_num_batched_tokens"),
        Flag("block-size", "block_size"),
        Flag("gpu-memory-utilization", "gpu_memory_utilization"),
        Flag("long-prefill-token-threshold", "long_prefill_token_threshold"),
        Flag("scheduling-policy", "scheduling_policy"),
        Flag("max-loras", "max_loras"),
        Flag("enable-chunked-prefill", "enable_chunked_prefill", on="on"),
        Flag("no-enable-chunked-prefill", "enable_chunked_prefill", on="off"),
        Flag("enable-prefix-caching", "enable_prefix_caching", on="on"),
        Flag("no-enable-prefix-caching", "enable_prefix_caching", on="off"),
    ),
    ignored="""
        host port uds served-model-name trust-remote-code api-key tokenizer tokenizer-*
        download-dir chat-template chat-template-* default-chat-template-kwargs tool-call-parser
        tool-parser-* enable-auto-tool-choice reasoning-parser reasoning-parser-* enable-reasoning
        seed revision code-revision uvicorn-* disable-log-* no-enable-log-* enable-log-*
        disable-uvicorn-* generation-config override-generation-config limit-mm-per-prompt
        media-io-kwargs load-format max-model-len allowed-* response-role lora-modules max-log-len
        disable-frontend-multiprocessing distributed-executor-backend compilation-config
        cuda-graph-sizes max-seq-len-to-capture swap-space disable-custom-all-reduce
        model-loader-extra-config guided-decoding-backend structured-outputs-config
        collect-detailed-traces otlp-* mm-* max-lora-rank enable-lora attention-backend task runner
        skip-mm-profiling async-scheduling stream-interval ssl-* root-path middleware
        enable-request-id-headers enable-prompt-tokens-details enable-force-include-usage
        language-model-only no-enable-flashinfer-autotune moe-backend safetensors-load-strategy
        renderer-num-workers api-server-count data-parallel-address data-parallel-rpc-port
        data-parallel-backend data-parallel-hybrid-lb max-parallel-loading-workers io-processor-*
        numa-bind show-hidden-metrics-for-version interleave-mm-strings override-attention-dtype
        rope-scaling hf-overrides logprobs-mode preemption-mode device nnodes node-rank master-addr
        master-port headless data-parallel-start-rank data-parallel-size-local no-async-scheduling
        no-disable-* gdn-prefill-backend enable-flashinfer-* kernel-config enable-sleep-mode
        kv-cache-metrics profiler-config video-pruning-rate max-cudagraph-capture-size
        all2all-backend config-format logits-processors enable-server-load-tracking
        performance-mode optimization-level cc tool-server disable-cascade-attn O*
        aggregate-engine-logging allow-deprecated-* attention-config convert cp-kv-*
        cpu-distributed-* cudagraph-* custom-histogram-* data-parallel-external-lb
        data-parallel-multi-* data-parallel-rank default-mm-loras device-ids
        disable-async-output-proc disable-chunked-mm-input disable-hybrid-kv-cache-manager
        disable-mm-* disable-nccl-* distributed-timeout-* dp-sync-* enable-cumem-* enable-fault-*
        enable-layerwise-* enable-logging-* enable-mfu-* enable-mm-* enable-prompt-embeds
        enable-return-* enable-tower-* enable-trace-* engine-use-ray expert-placement-strategy
        fail-on-* fault-tolerance-config fully-sharded-loras guided-decoding-* hf-config-path
        hf-token ignore-patterns ir-op-* jit-* kda-* kv-events-config kv-sharing-* limit-mm-*
        linear-backend log-* logging-config long-lora-* lora-* mamba-* max-context-len-*
        max-cpu-loras max-logprobs max-parallel-* model-impl multi-step-* numa-*
        num-lookahead-slots per-request-* pooler-config prefix-caching-hash-algo prompt-adapter-*
        pt-load-* quantization-param-path ray-workers-* reasoning-config return-* rope-*
        safetensors-* scheduler-cls served-model-names shutdown-timeout skip-tokenizer-init sleep-*
        sparse-indexer-* task-* tokens-only tokenizer-pool-* use-tqdm-* use-v2-* video-* watchdog-*
        weight-transfer-config worker-*
    """,
    refused={
        "cpu-offload-gb": _IN_HOST,
        "offload-backend": _IN_HOST,
        "offload-group-size": _IN_HOST,
        "enable-dbo": "two batches at once are not covered",
        "decode-context-parallel-size": "context over devices while decoding is not covered",
        "dcp": "context over devices while decoding is not covered",
        "prefill-context-parallel-size": "context over devices is not covered",
        "enable-eplb": "copies of busy experts are not covered; see --set imbalance",
    },
    left_out={
        "enforce-eager": _EAGER,
        "additional-config": "what a platform's plugin makes of it is left out",
        "disable-sliding-window": "layers keep their windows here",
        "kv-cache-memory-bytes": _MEMORY,
        "num-gpu-blocks-override": _MEMORY,
        "kv-cache-dtype-skip-layers": "all layers keep KV in one type here",
        "kv-offloading-size": "KV that the host keeps is left out",
        "kv-offloading-backend": "KV that the host keeps is left out",
        "num-scheduler-steps": "each step is planned by itself",
        "max-num-partial-prefills": "prompts are cut one at a time",
        "max-long-partial-prefills": "prompts are cut one at a time",
        "scheduler-delay-factor": "prompts wait for no others",
        "watermark": "no blocks are kept free",
    },
)
SGLANG = Engine(
    starts=(("-m", "sglang.launch_server"), ("sglang", "serve")),
    model=("model-path", "model"),
    flags=(
        Flag("tp-size", "tp", ("tp", "tensor-parallel-size")),
        Flag("pp-size", "pp", ("pp", "pipeline-parallel-size")),
        Flag("dp-size", "dp", ("dp", "data-parallel-size")),
        Flag("ep-size", "ep", ("ep", "expert-parallel-size")),
        Flag("enable-dp-attention", "dp_attention", on="on"),
        _DTYPE,
        _QUANTIZATION,
        _KV,
        Flag("mem-fraction-static", "gpu_memory_utilization"),
        Flag("max-running-requests", "max_running_requests"),
        Flag("max-prefill-tokens", "max_prefill_tokens"),
        Flag("chunked-prefill-size", "chunked_prefill_size"),
        Flag("schedule-policy", "schedule_policy"),
        Flag("schedule-conservativeness", "schedule_conservativeness"),
        Flag("page-size", "page_size"),
        Flag("enable-mixed-chunk", "mixed_chunk", on="on"),
        Flag("disable-radix-cache", "radix_cache", on="off"),
        Flag("disable-overlap-schedule", "overlap", on="off"),
    ),
    ignored="""
        host port served-model-name trust-remote-code api-key tokenizer-* skip-tokenizer-init
        tool-call-parser reasoning-parser chat-template completion-template log-* random-seed
        revision download-dir load-format context-length device watchdog-timeout
        decode-log-interval enable-metrics enable-cache-report warmups skip-server-warmup
        cuda-graph-max-bs cuda-graph-bs disable-cuda-graph-padding stream-interval
        attention-backend moe-runner-backend sampling-backend grammar-backend enable-torch-compile
        torch-compile-max-bs nccl-init-addr dist-init-addr dist-timeout nccl-port nnodes node-rank
        is-embedding enable-multimodal mm-attention-backend enable-flashinfer-* fp8-gemm-*
        disable-shared-experts-fusion disable-custom-all-reduce enable-symm-mem enable-nccl-nvls
        enable-deterministic-inference base-gpu-id gpu-id-step model-impl preferred-sampling-params
        json-model-override-args file-storage-path enable-p2p-check enable-mscclpp
        prefill-attention-backend decode-attention-backend moe-a2a-backend deepep-mode
        moe-dense-tp-size enable-dp-lm-head scheduler-recv-interval crash-dump-folder
        show-time-cost bucket-* tokenizer-worker-num hicache-* enable-lmcache mamba-*
        disaggregation-* disable-flashinfer-autotune flashinfer-autotune-* nsa-* dsa-*
        speculative-attention-mode speculative-moe-* model-loader-extra-config weight-version
        enable-memory-saver enable-weights-cpu-backup tokenizer-backend use-message-queue-*
        keep-mm-feature-on-device skip-mm-* enable-piecewise-cuda-graph piecewise-cuda-graph-*
        enable-return-routed-experts tool-server constrained-json-* sampling-defaults
        enable-custom-logit-processor custom-sigquit-handler moe-* enable-dp-lm-* mm-*
        language-only enable-priority-scheduling abort-on-* admin-api-key allow-auto-* allowed-*
        asr-* aux-hidden-* batch-notify-size bf16-gemm-* boundary-reduction c128-*
        checkpoint-engine-* context-bucket cuda-graph-* custom-weight-loader debug-* decrypted-*
        deepep-* default-* delete-ckpt-* detokenizer-* disable-aiter-* disable-attn-tp-*
        disable-chunked-prefix-cache disable-fast-image-* disable-flashinfer-* disable-hybrid-*
        disable-outlines-* disable-piecewise-* disable-priority-* disable-tokenizer-* dsv4-*
        dynamic-batch-* elastic-ep-* enable-adaptive-* enable-aiter-* enable-amd-* enable-attn-tp-*
        enable-broadcast-* enable-cudagraph-gc enable-dense-* enable-dp-attention-local-*
        enable-draft-* enable-dynamic-batch-* enable-ep-moe enable-fp32-* enable-fused-*
        enable-forward-* enable-http* enable-int8-* enable-layer* enable-lora enable-lora-*
        enable-metrics-* enable-mfu-* enable-mis enable-mm-* enable-multi-layer-* enable-nan-*
        enable-nvidia-* enable-precise-* enable-prefill-delayer enable-prefix-mm-* enable-profile-*
        enable-request-* enable-response-* enable-return-* enable-session-* enable-ssl-*
        enable-streaming-* enable-strict-* enable-tf32-* enable-tokenizer-* enable-torch-*
        enable-tp-lm-* enable-trace enable-unified-* encoder-* enforce-* engine-info-*
        ep-dispatch-* expert-distribution-* expert-balancedness-* export-metrics-* extra-metric-*
        fastapi-* flashinfer-* forward-* fp4-gemm-* gated-launch-* gc-* generation-tokens-* grpc-*
        hf-* http2-* image-processor-* incremental-* instance-id int8-* kv-canary* kv-events-config
        language-model-only limit-mm-* linear-attn-* linear-replayssm-* lmcache-* load-* lora-*
        max-loaded-loras max-lora-* max-loras-* max-queued-* media-* metrics-* mlx-* model-checksum
        model-config-* modelexpress-* modelopt-* mooncake-* msprobe-* num-reserved-* numa-*
        optimistic-* otlp-* prefill-delayer-* pre-warm-nccl priority-* prompt-tokens-*
        quantization-param-path radix-cache-backend radix-eviction-* remote-instance-* retraction-*
        return-* rl-* rpc-* sampling-mask-* schedule-low-* scheduler-input-* sidecar* sleep-on-idle
        sm-group-num smg-* soft-watchdog-* spec-trace-dir ssl-* startup-* stat-loggers stream-*
        strip-* swa-prefix-* trace-* triton-* trust-* unified-* use-ray uvicorn-* watermark-*
        weight-cache-* weight-loader-* speculative-accept-* speculative-adaptive*
        speculative-draft-* speculative-eagle-topk speculative-ngram-* speculative-num-*
        speculative-token-map speculative-use-* speculative-enable-* speculative-dsa-*
        speculative-boundary-*
    """,
    refused={
        "cpu-offload-gb": _IN_HOST,
        "offload-group-size": _IN_HOST,
        "offload-mode": _IN_HOST,
        "enable-paged-experts": _IN_HOST,
        "kt-method": _IN_HOST,
        "kt-weight-path": _IN_HOST,
        "kt-num-gpu-experts": _IN_HOST,
        "dllm-algorithm": "models that fill in many tokens at once are not covered",
        "dcp-size": "context over devices while decoding is not covered",
        "decode-context-parallel-size": "context over devices while decoding is not covered",
        "enable-prefill-cp": "context over devices is not covered",
        "attention-context-parallel-size": "context over devices is not covered",
        "enable-pdmux": "prompts beside decodes on parts of a device are not covered",
        "enable-eplb": "copies of busy experts are not covered; see --set imbalance",
        "enable-two-batch-overlap": "two batches at once are not covered",
        "attn-cp-size": "context over devices is not covered",
    },
    left_out={
        "enable-hierarchical-cache": _HOST_KV,
        "enable-hicache": _HOST_KV,
        "enable-flexkv": _HOST_KV,
        "disable-cuda-graph": _EAGER,
        "disable-decode-cuda-graph": _EAGER,
        "disable-prefill-cuda-graph": "prompts are taken to be launched in time",
        "enable-single-batch-overlap": "dependencies alone decide what overlaps",
        "lora-paths": "adapters are given as --set lora_rank and max_loras",
        "max-total-tokens": _MEMORY,
        "max-mamba-cache-size": _MEMORY,
        "swa-full-tokens-ratio": "windows and whole contexts share one pool of KV here",
        "num-continuous-decode-steps": "each step is planned by itself",
        "prefill-max-requests": "prompts are bounded by their tokens alone",
        "pp-max-micro-batch-size": "micro-batches of a pipeline are even",
        "enable-dynamic-chunking": "pieces of prompts have one size",
    },
)
ENGINES: Mapping[str, Engine] = {"vllm": VLLM, "sglang": SGLANG}
