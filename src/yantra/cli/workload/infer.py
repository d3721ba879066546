"""`yantra workload infer`: makes a workload file of iterations of inference."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

from yantra.base.errors import ConfigError, expected_got
from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.complete import clusters as cluster_names
from yantra.cli.complete import models as model_names
from yantra.cli.plugin_option import option as plugin_option
from yantra.cli.typed import as_typed

_SIZES = {
    "tp": "Ranks that share every layer (tensor parallelism).",
    "pp": "Stages of the pipeline.",
    "dp": "Replicas; with --ep as many as that takes.",
    "ep": "Ranks that share the experts.",
    "etp": "Ranks that share each expert.",
    "micro_batches": "Batches in flight in the pipeline; by default one per stage.",
    "block_size": "Tokens of a block of the cache; by default 16.",
}
_TEXTS = {
    "stage_layers": "Layers of each stage, such as 6,9,9,6; as even as they can be if left out.",
    "dtype": "Type of activations and products: bf16, fp16, fp32, fp8, fp8_block.",
    "weight_dtype": "Type or format weights are stored in, such as int4; by default --dtype.",
    "kv_cache_dtype": "Type of the cache; by default --dtype, bf16 for fp8.",
    "order": "Order of the axes, the fastest first; by default tp-cp-ep-dp-pp.",
}
_SWITCHES = {
    "sequence_parallel": "Share tokens between layers over tp.",
    "low_latency": "Exchange rows of experts by kernels of low latency.",
}
_FOREIGN_SIZES = (
    *("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"),
    *("tensor_model_parallel_size", "pipeline_model_parallel_size"),
    *("expert_model_parallel_size", "expert_tensor_parallel_size"),
)
_CHUNK = 2048
"""Tokens of an iteration where chunks are wanted and no number is given: vLLM's
`SchedulerConfig.DEFAULT_MAX_NUM_BATCHED_TOKENS`."""


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _plan_options(function: Callable[..., Any]) -> Callable[..., Any]:
    options = [
        *(click.option(_flag(n), type=int, help=text) for n, text in _SIZES.items()),
        click.option("--gpu-memory-utilization", type=float, help="By default 0.9."),
        *(click.option(_flag(n), help=text) for n, text in _TEXTS.items()),
        *(
            click.option(f"{_flag(n)}/{_flag('no_' + n)}", default=None, help=text)
            for n, text in _SWITCHES.items()
        ),
        click.option(
            "--enable-expert-parallel/--no-enable-expert-parallel",
            default=None,
            help="Experts over all tp x dp ranks.",
        ),
        *(click.option(_flag(n), type=int, hidden=True) for n in _FOREIGN_SIZES),
        click.option("--all2all-backend", hidden=True),
        click.option("--quantization", hidden=True),
        click.option("--lora-rank", type=int, help="Rank of low-rank adapters beside products."),
        click.option("--lora-targets", help="Products that have one; by default q_proj,v_proj."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


@click.command(
    cls=WithExamples,
    seldom=(
        "max_num_seqs",
        "prompts",
        "iterations",
        "max_num_batched_tokens",
        "etp",
        "micro_batches",
        "block_size",
        "gpu_memory_utilization",
        "stage_layers",
        "weight_dtype",
        "order",
        "sequence_parallel",
        "low_latency",
        "lora_rank",
        "lora_targets",
        "enable_expert_parallel",
        "transfer",
        "decode",
        "memory",
    ),
    examples=[
        "yantra workload infer --model llama3-8b --tp 8 --prompt 512 --batch 4 -o p.yw",
        "yantra workload infer --model deepseek-v3 --phase decode --batch 256 \\\n"
        "    --context 4096 --ep 64 --json",
        "yantra workload infer --model llama3-70b --phase mixed --tp 8 --batch 64 \\\n"
        "    --prompts 4 --max-num-batched-tokens 2048",
        "yantra workload infer --model llama3-70b --phase disaggregated --tp 4 \\\n"
        "    --decode tp=8 --batch 8",
    ],
)
@click.option(
    "--model",
    metavar="NAME",
    shell_complete=model_names,
    help="A known model, or a file that describes one.",
)
@click.option(
    "--hf-config",
    type=click.Path(),
    metavar="FILE",
    help="A Hugging Face config.json, or its folder.",
)
@click.option(
    "--phase",
    type=click.Choice(["prefill", "decode", "mixed", "disaggregated"]),
    default="prefill",
    show_default=True,
    help="What the iterations do.",
)
@click.option("--batch", type=int, help="Sequences over all replicas; by default one each.")
@click.option("--max-num-seqs", type=int, help="Sequences of one replica, instead of --batch.")
@click.option("--prompt", type=int, help="Tokens of a prompt.")
@click.option("--context", type=int, help="Tokens in the cache before.")
@click.option("--prompts", type=int, help="Prompts of a mixed phase, over all replicas.")
@click.option(
    "--iterations", type=int, help="Number of iterations; by default until prompts are done, or 1."
)
@click.option("--max-num-batched-tokens", type=int, help="Most tokens of an iteration (chunks).")
@click.option("--enable-chunked-prefill/--no-enable-chunked-prefill", default=None, hidden=True)
@_plan_options
@click.option(
    "--decode", metavar="PLAN", help="Disaggregated: the other grid's plan, such as tp=1,ep=64."
)
@click.option(
    "--transfer",
    type=click.Choice(["layer", "end"]),
    default="layer",
    show_default=True,
    help="Disaggregated: when keys and values leave.",
)
@click.option("--memory", metavar="SIZE", help="Memory of a device, such as 80GiB, to fit into.")
@click.option(
    "--cluster",
    metavar="NAME",
    shell_complete=cluster_names,
    help="A named cluster whose devices it must fit into.",
)
@click.option("-o", "--output", type=click.Path(), help="The workload file (.yw).")
@plugin_option
@json_option
def command(
    *,
    model: str | None,
    hf_config: str | None,
    batch: int | None,
    max_num_seqs: int | None,
    max_num_batched_tokens: int | None,
    enable_chunked_prefill: bool | None,
    decode: str | None,
    memory: str | None,
    cluster: str | None,
    output: str | None,
    as_json: bool,
    **rest: Any,
) -> None:
    """Make a workload file of iterations of inference; without -o only print what they do.

    The names of vLLM are read too: --tensor-parallel-size, --enable-expert-parallel, ...
    """
    from yantra.cli import warn
    from yantra.workloads.describe import as_dict, report
    from yantra.workloads.serving import InferencePlan, infer

    found = _model(model, hf_config)
    asked = {name: rest.pop(name) for name in ("phase", "prompt", "context", "prompts")}
    asked |= {name: rest.pop(name) for name in ("iterations", "transfer")}
    plan = InferencePlan.of({_flag(name): value for name, value in rest.items()})
    names = {*asked, "max_num_batched_tokens", "batch", "cluster", "memory"}
    if decode is None:  # else a field may be the other plan's
        names |= set(plan.field_names)
    flags = {name: _flag(name) for name in names}
    if memory is None:
        flags["memory"] = "--cluster"
    with as_typed(flags):
        capacity, reserve = _room(memory, cluster)
        workload = infer(
            found,
            plan,
            batch=_batch(batch, max_num_seqs, plan.dp),
            max_num_batched_tokens=_chunk(max_num_batched_tokens, enable_chunked_prefill),
            decode_plan=None if decode is None else _decode_plan(decode),
            memory_bytes=capacity,
            reserve_bytes=reserve,
            **asked,
        )
    warn(found.notes)
    if output:
        workload.save(output)
    if as_json:
        print_json({"output": output} | as_dict(workload))
        return
    click.echo(report(workload), nl=False)
    if output:
        click.echo(f"\nwrote {output}: {os.path.getsize(output) / 1e6:.2f} MB")


def _model(name: str | None, config: str | None) -> Any:
    from yantra.workloads.models import catalogue, hf
    from yantra.workloads.models.assemble import model_of

    if (name is None) == (config is None):
        raise ConfigError("--model", "expected either a known model or --hf-config FILE")
    return catalogue.find(name, "--model") if name is not None else model_of(hf.load(config or ""))


def _batch(batch: int | None, per_replica: int | None, replicas: int) -> int | None:
    if per_replica is None:
        return batch
    if batch is not None:
        raise ConfigError(
            "--max-num-seqs", "says for one replica what --batch says for all; give one of the two"
        )
    return per_replica * replicas


def _chunk(tokens: int | None, is_on: bool | None) -> int | None:
    if is_on and tokens is None:
        return _CHUNK
    if is_on is False and tokens is not None:
        problem = "without chunks an iteration takes whole prompts; leave one of the two out"
        raise ConfigError("--no-enable-chunked-prefill", problem)
    return tokens


def _decode_plan(text: str) -> Any:
    from yantra.workloads.serving import InferencePlan

    try:
        return InferencePlan.of(_fields(text))
    except ConfigError as error:
        where = error.where if error.where == "--decode" else f"--decode: {error.where}"
        raise type(error)(where, error.problem) from None


def _fields(text: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for part in text.split(","):
        name, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or not name or name in fields:
            raise ConfigError("--decode", expected_got("fields such as tp=1,ep=64", text))
        fields[name] = _value(value)
    return fields


def _value(text: str) -> int | float | bool | str:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _room(memory: str | None, cluster: str | None) -> tuple[int | None, int]:
    if memory is not None and cluster is not None:
        raise ConfigError("--memory", "is given by --cluster, too; give one of the two")
    if memory is not None:
        from yantra.base.units import parse

        return int(parse(memory, "size", "B", "--memory")), 0
    if cluster is not None:
        from yantra.fabric import clusters

        machine = clusters.load(cluster)
        return machine.memory_bytes, machine.reserve_bytes
    return None, 0
