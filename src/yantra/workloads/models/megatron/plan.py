"""What Megatron-LM's arguments say about the plan, in its own names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from yantra.base.errors import expected_got
from yantra.workloads.models.megatron.arguments import PLAN
from yantra.workloads.models.megatron.given import Given
from yantra.workloads.schedules.layout import layers_of, modules_of

_DROPOUT = 0.1  # default of hidden and attention dropout


def plan(given: Given, launch: dict[str, int]) -> dict[str, Any]:
    fields = {name.replace("-", "_"): given.values[name] for name in PLAN if given.flag(name)}
    tensor = given.number("tensor-model-parallel-size", 1)
    fields["sequence_parallel"] = given.flag("sequence-parallel") and tensor > 1
    fields["overlap_grad_reduce"] = given.flag("overlap-grad-reduce")
    if given.flag("use-distributed-optimizer") or given.flag("use-megatron-fsdp"):
        fields["overlap_param_gather"] = given.flag("overlap-param-gather")
    rates = (given.values.get(f"{kind}-dropout", _DROPOUT) for kind in ("hidden", "attention"))
    fields["dropout"] = any(rate > 0 for rate in rates)
    if not given.flag("bf16") and not given.flag("fp16"):
        fields["dtype"] = "fp32"
    fields |= _narrow(given)
    is_own = given.flag("use-precision-aware-optimizer") and given.flag("bf16")
    if is_own and not given.flag("optimizer-cpu-offload"):  # whose host keeps fp32
        kind = given.values.get("main-params-dtype", "fp32")
        fields["master_dtype"] = "remainder" if kind == "fp32" else kind
    if given.flag("fp16") and not given.flag("accumulate-allreduce-grads-in-fp32"):
        fields["gradient_dtype"] = "fp16"
    if given.values.get("attention-backend") in ("unfused", "local"):
        fields["flash_attention"] = False
    if given.flag("use-tp-pp-dp-mapping"):
        fields["order"] = "tp-cp-ep-pp-dp"
    if given.flag("no-async-tensor-model-parallel-allreduce"):
        fields["overlap_tensor"] = False
    if given.flag("enable-zbh1-pipeline"):
        fields["schedule"] = "zb-h1"
    if given.flag("deepspeed"):
        fields["zero"] = given.number("zero-stage")
    if given.flag("use-megatron-fsdp"):
        kind = given.values.get("data-parallel-sharding-strategy", "optim_grads_params")
        fields["data_parallel_sharding_strategy"] = kind
        if given.values.get("megatron-fsdp-grad-comm-dtype", "auto") != "auto":
            fields["gradient_dtype"] = given.values["megatron-fsdp-grad-comm-dtype"]
    if given.flag("num-experts"):
        fields.setdefault("expert_tensor_parallel_size", tensor)
    if len(launch) == 2:
        fields["world_size"] = launch["nnodes"] * launch["nproc-per-node"]
    if given.flag("tp-comm-overlap") and fields["sequence_parallel"]:
        fields["overlap_products"] = True
    if graphs := _graphs(given):
        fields["cuda_graphs"] = graphs
    if given.flag("fine-grained-activation-offloading"):
        if not given.flag("offload-modules"):
            problem = "names no modules; give --offload-modules"
            raise given.wrong("fine-grained-activation-offloading", problem)
        fields["offload_modules"] = given.values["offload-modules"]
    if unfused := tuple(_unfused(given)):
        fields["unfused_kernels"] = unfused
    return fields | _virtual_stages(given) | _recompute(given)


def _narrow(given: Given) -> dict[str, Any]:
    """Scaling is `delayed` unless asked, and weights stay in 16 bits.

    Source: megatron/core/transformer/transformer_config.py (`fp8_recipe`).
    """
    if not given.flag("fp8-format"):
        return {}
    recipe = given.values.get("fp8-recipe", "delayed")
    if recipe == "blockwise":
        found: dict[str, Any] = {"fp8_format": None, "dtype": "fp8_block"}
    else:
        found = {"scaling": recipe}
    narrow = given.flag("fp8-param-gather") or given.flag("fp8-param")
    found["narrow_weights"] = narrow
    if narrow and recipe == "mxfp8":
        found["reuse_gradients"] = given.flag("reuse-grad-buf-for-mxfp8-param-ag")
    return found


def _unfused(given: Given) -> Iterator[str]:
    """Those of experts are fused where asked, the others unless asked."""
    activation = "swiglu" if given.flag("swiglu") else "gelu"
    for switch, kernel in (
        ("no-rope-fusion", "rope"),
        (f"no-bias-{activation}-fusion", "bias_activation"),
        ("no-bias-dropout-fusion", "bias_dropout_add"),
        ("no-masked-softmax-fusion", "softmax_masks"),
    ):
        if given.flag(switch):
            yield kernel
    for kernel in ("router", "permute") if given.flag("num-experts") else ():
        if not given.flag(f"moe-{kernel}-fusion"):
            yield kernel


def _graphs(given: Given) -> tuple[str, ...]:
    scope = tuple(given.values.get("cuda-graph-scope", ()))
    switches = given.flag("enable-cuda-graph") or given.flag("external-cuda-graph")
    kind = given.values.get("cuda-graph-impl", "local" if switches else "none")
    if kind == "full_iteration" or (kind != "none" and "full_iteration" in scope):
        return ("full_iteration",)
    if kind == "none":
        return ()
    return tuple(one for one in scope if one != "full") or ("attn", "mlp", "moe")


def _virtual_stages(given: Given) -> dict[str, Any]:
    stages = given.number("num-virtual-stages-per-pipeline-rank", 1)
    layout = "pipeline-model-parallel-layout"
    if given.flag(layout):
        counts = layers_of(given.values[layout], f"{given.where}: --{layout}")
        devices = given.number("pipeline-model-parallel-size", 1)
        if devices < 1 or len(counts) % devices:
            raise given.wrong(layout, f"{len(counts)} stages are no multiple of {devices} devices")
        stages = len(counts) // devices
        modules, placed = given.number("mtp-num-layers"), modules_of(given.values[layout])
        if modules != placed:
            problem = f"has {placed} layers m, and --mtp-num-layers is {modules}"
            raise given.wrong(layout, problem)
    name = "num-layers-per-virtual-pipeline-stage"
    if given.flag(name) and not given.flag(layout):
        chunk = given.number(name) * given.number("pipeline-model-parallel-size", 1)
        if not (layers := given.number("num-layers")):
            return {}  # which are left open
        if chunk < 1 or layers % chunk:
            raise given.wrong(name, f"{layers} layers do not make whole virtual stages of it")
        stages = layers // chunk
    if stages == 1:
        return {}
    return {"num_virtual_stages_per_pipeline_rank": stages, "schedule": "interleaved"}


def _recompute(given: Given) -> dict[str, Any]:
    kind = given.values.get("recompute-granularity")
    if kind == "selective":
        return {"recompute_modules": given.values.get("recompute-modules", ("core_attn",))}
    if kind != "full":
        return {}
    method = given.values.get("recompute-method")
    if method not in ("uniform", "block"):
        raise given.wrong("recompute-method", expected_got("uniform or block", method or ""))
    layers = given.number("recompute-num-layers", 1)
    if (method, layers) == ("uniform", 1):
        return {}
    return {"recompute_layers": layers, "recompute_method": method}
