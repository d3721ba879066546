"""The script that starts a replica, its deployment, and their check by reading back.

Tasks of an array may share a host, so each has a port of its own.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from yantra.base.errors import ConfigError, expected_got, show
from yantra.base.notes import notes_to
from yantra.serving.commands.hosts import FIRST, head_of, leader_worker_set, spread, started
from yantra.serving.commands.kubernetes import controller, service
from yantra.serving.commands.read import of_text
from yantra.serving.commands.roles import BOTH, ROLES, flags_of
from yantra.serving.commands.table import ENGINES, Flag
from yantra.serving.commands.weights import type_of
from yantra.serving.pools import Asked, asked, options_of
from yantra.workloads.frameworks.launch import Nodes

IMAGES = {"vllm": "vllm/vllm-openai:latest", "sglang": "lmsysorg/sglang:latest"}
_STARTS = {
    "vllm": "vllm serve {model}",
    "sglang": "python3 -m sglang.launch_server --model-path {model}",
}
_SIDE = "VLLM_NIXL_SIDE_CHANNEL"
_NIXL = (
    f"export {_SIDE}_HOST=${{{_SIDE}_HOST:-$(hostname -i)}}\n"
    f"export {_SIDE}_PORT=$((5600 + 16 * ${{SLURM_ARRAY_TASK_ID:-0}}))\n"
)
_SET = {("vllm", role): _NIXL for role in ROLES}
PORTS = {"vllm": 8000, "sglang": 30000}


def emit(pool: Asked, model: str, *, most_devices: int = 8) -> Mapping[str, str]:
    """Files that start replicas of a pool; `model` is an id, or a folder with a checkpoint.

    Raises ConfigError that names the field for which the engine has no flag.
    """
    script = script_of(pool, model, most_devices=most_devices)
    nodes = spread(pool, most_devices)
    return {"serve.sh": script, "kubernetes.yaml": _kubernetes(pool, script, nodes)}


def script_of(pool: Asked, model: str, *, role: str = BOTH, most_devices: int = 8) -> str:
    """The script of a replica, with `role` if others do the rest. Raises ConfigError as `emit`."""
    if pool.engine not in ENGINES:
        raise ConfigError("--emit", expected_got(f"one of {', '.join(ENGINES)}", pool.engine))
    nodes = spread(pool, most_devices)
    before, joined = started(pool, nodes)
    flags = _flags(pool, model) + joined
    if role != BOTH:
        flags += flags_of(pool.engine, role)
    flags += ["--host 0.0.0.0", f"--port {port_of(pool.engine)}"]
    command = " \\\n  ".join((f"exec {_STARTS[pool.engine].format(model=model)}", *flags, '"$@"'))
    head = (
        f"#!/bin/bash\n#SBATCH --job-name={pool.engine}\n#SBATCH --array=1-{pool.replicas}\n"
        f"{head_of(nodes)}"
    )
    script = f"{head}{before}{_SET.get((pool.engine, role), '')}{command}\n"
    _check(script, pool, model, role)
    return script


def port_of(engine: str) -> str:
    return f"$(({PORTS[engine]} + ${{SLURM_ARRAY_TASK_ID:-0}}))"


def _flags(pool: Asked, model: str) -> list[str]:
    plan, found = pool.plan, []
    known = {flag.field: flag for flag in ENGINES[pool.engine].flags if flag.name != "dtype"}
    values: dict[str, Any] = {"tp": plan.tp, "pp": plan.pp}
    if pool.engine == "vllm":
        values |= {"dp": plan.dp, "block_size": plan.block_size}
        if plan.ep > 1:
            found.append("--enable-expert-parallel")
    elif plan.dp > 1:
        values |= {"tp": plan.tp * plan.dp, "dp": plan.dp}
        found.append("--enable-dp-attention")
    if pool.engine == "sglang" and plan.ep > 1:
        values["ep"] = plan.ep
    values["gpu_memory_utilization"] = plan.gpu_memory_utilization
    if plan.dtype in ("fp8", "nvfp4") and not type_of(model):
        names = known["dtype"].values or {}
        values["dtype"] = next(word for word, own in names.items() if own == plan.dtype)
    if plan.kv_cache_dtype == "fp8":
        values["kv_cache_dtype"] = "fp8" if pool.engine == "vllm" else "fp8_e4m3"
    if plan.dtype == "fp16":
        found.append("--dtype float16")
    usual = {"overlap": 0.0} if pool.engine == "sglang" else {}  # which SGLang has on
    values |= {name: f"{value:g}" for name, value in (usual | pool.options).items()}
    for field, value in values.items():
        if field not in known:
            raise ConfigError(field, f"{pool.engine} has no flag for it")
        found.append(_said(known[field], field, value, pool.engine))
    return [one for one in found if one]


def _said(flag: Flag, field: str, value: Any, engine: str) -> str:
    choices = options_of(engine).get(field, (0, 0, "", []))[3]
    text = choices[int(float(value))] if choices else value
    if flag.on is None:
        return f"--{flag.name} {text}"
    same = [one for one in ENGINES[engine].flags if one.field == field and one.on == text]
    return f"--{same[0].name}" if same else ""


def _check(script: str, pool: Asked, model: str, role: str) -> None:
    with notes_to(lambda _text: None):
        launch = of_text(script, "serve.sh", role=role)
    back = asked(launch.replicas, launch.engine, launch.fields, "serve.sh")
    for name in type(pool.plan).field_names:
        wanted, got = getattr(pool.plan, name), getattr(back.plan, name)
        if wanted != got:
            problem = f"{pool.engine} has no flag for {show(wanted)} of {model}"
            raise ConfigError(name, f"{problem}; what it can say is {show(got)}")
    _same(_whole(pool), _whole(back), pool.engine)
    for name in ("tiers", "scaling", "start_s", "fail_s", "acceptance", "apart", "imbalance"):
        if getattr(pool, name) != getattr(back, name):
            raise ConfigError(name, f"{pool.engine} has no flag for it")


def _whole(pool: Asked) -> dict[str, Any]:
    usual = {name: option[0] for name, option in options_of(pool.engine).items()}
    return usual | pool.options | {"replicas": pool.replicas}


def _same(wanted: dict[str, Any], got: dict[str, Any], engine: str) -> None:
    for name, value in wanted.items():
        if got[name] != value:
            raise ConfigError(name, f"{engine} has no flag for {show(value)}")


def words_of(script: str) -> str:
    """The command of a script as a list of YAML, of the first replica on its host."""
    command = script.partition("exec ")[2].replace(' \\\n  "$@"', "").replace(" \\\n ", "")
    plain = re.sub(r"\$\(\((\d+) \+ [^)]*\)\)", r"\1", command)
    return json.dumps(shlex.split(plain))


def _kubernetes(pool: Asked, script: str, nodes: Nodes) -> str:
    name, port = pool.engine, PORTS[pool.engine]
    open_ports = f"ports: [{{containerPort: {port}}}]"
    if nodes.nodes > 1:
        return service(
            f"{name}-serve", f"selector: {{{FIRST}, app: {name}}}", f"ports: [{{port: {port}}}]"
        ) + leader_worker_set(name, IMAGES[name], script, pool.replicas, nodes, open_ports)
    return service(name, f"selector: {{app: {name}}}", f"ports: [{{port: {port}}}]") + controller(
        "Deployment", name, IMAGES[name], words_of(script), spec=[f"replicas: {pool.replicas}"],
        container=[open_ports], devices=pool.plan.ranks,
    )  # fmt: skip
