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
_INT4 = ("awq", "awq_marlin", "gptq_marlin", "moe_wna16")
PUBLISHED = "published"
"""The type is that of the checkpoint, which its id says."""
_AS_PUBLISHED = ("compressed-tensors", "gptq", "mxfp4")
_QUANTISED = {
    "fp8": "fp8",
    "modelopt": "fp8",
    "modelopt_fp4": "nvfp4",
    "nvfp4": "nvfp4",
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
        host port uds served-model-name trust-remote-code api-key tokenizer tokenizer-* download-dir
        chat-template chat-template-* default-chat-template-kwargs tool-call-parser tool-parser-*
        enable-auto-tool-choice reasoning-parser reasoning-parser-* enable-reasoning seed revision
        code-revision uvicorn-* disable-log-* no-enable-log-* enable-log-* disable-uvicorn-*
        generation-config override-generation-config limit-mm-per-prompt media-io-kwargs
        load-format max-model-len allowed-* response-role lora-modules max-log-len
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
        all2all-backend config-format logits-processors enable-server-load-tracking performance-mode
        optimization-level cc tool-server disable-cascade-attn
    """,
    refused={
        "cpu-offload-gb": "weights in the host's memory are not covered",
        "enforce-eager": "launches without CUDA graphs are not covered",
        "decode-context-parallel-size": "context over devices while decoding is not covered",
        "dcp": "context over devices while decoding is not covered",
        "prefill-context-parallel-size": "context over devices is not covered",
        "speculative-model": "drafts by another model are not covered",
        "enable-eplb": "copies of busy experts are not covered; see --set imbalance",
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
        revision download-dir load-format context-length device watchdog-timeout decode-log-interval
        enable-metrics enable-cache-report warmups skip-server-warmup cuda-graph-max-bs
        cuda-graph-bs disable-cuda-graph-padding stream-interval attention-backend
        moe-runner-backend sampling-backend grammar-backend enable-torch-compile
        torch-compile-max-bs nccl-init-addr dist-init-addr dist-timeout nccl-port nnodes node-rank
        is-embedding enable-multimodal
        mm-attention-backend enable-flashinfer-* fp8-gemm-* disable-shared-experts-fusion
        disable-custom-all-reduce enable-symm-mem enable-nccl-nvls enable-deterministic-inference
        base-gpu-id gpu-id-step model-impl preferred-sampling-params json-model-override-args
        file-storage-path enable-p2p-check enable-mscclpp prefill-attention-backend
        decode-attention-backend moe-a2a-backend deepep-mode moe-dense-tp-size enable-dp-lm-head
        scheduler-recv-interval crash-dump-folder show-time-cost bucket-* tokenizer-worker-num
        hicache-* enable-lmcache mamba-* disaggregation-* disable-flashinfer-autotune
        flashinfer-autotune-* nsa-* dsa-*
        speculative-attention-mode speculative-moe-* model-loader-extra-config weight-version
        enable-memory-saver enable-weights-cpu-backup tokenizer-backend use-message-queue-*
        keep-mm-feature-on-device skip-mm-* enable-piecewise-cuda-graph piecewise-cuda-graph-*
        enable-return-routed-experts tool-server constrained-json-* sampling-defaults
        enable-custom-logit-processor custom-sigquit-handler moe-* enable-dp-lm-* mm-* language-only
        enable-priority-scheduling
    """,
    refused={
        "disable-cuda-graph": "launches without CUDA graphs are not covered",
        "cpu-offload-gb": "weights in the host's memory are not covered",
        "speculative-algorithm": "drafts are not covered for this engine",
        "speculative-algo": "drafts are not covered for this engine",
        "speculative-draft-model-path": "drafts are not covered for this engine",
        "dllm-algorithm": "models that fill in many tokens at once are not covered",
        "lora-paths": "adapters are given as --set lora_rank and max_loras",
        "enable-eplb": "copies of busy experts are not covered; see --set imbalance",
        "enable-two-batch-overlap": "two batches at once are not covered",
        "attn-cp-size": "context over devices is not covered",
    },
    left_out={
        "enable-hierarchical-cache": "KV that the host keeps is left out",
    },
)
ENGINES: Mapping[str, Engine] = {"vllm": VLLM, "sglang": SGLANG}
