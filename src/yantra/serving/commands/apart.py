"""Pools of prefill and decode: a script for each, a router before them, and their deployment.

KV moves over NIXL. A StatefulSet gives each replica a name, which the router is told; trade-off: it
does not learn of further ones. Sources: vllm-project/router and sglang-router, `router_args.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from yantra.base.errors import ConfigError
from yantra.serving.commands.hosts import leader_worker_set, spread
from yantra.serving.commands.kubernetes import controller, service
from yantra.serving.commands.roles import ROLES
from yantra.serving.commands.write import IMAGES, PORTS, script_of, words_of
from yantra.serving.pools import Asked

_ROUTERS = {
    "vllm": ("vllm-router", "vllm-router --vllm-pd-disaggregation"),
    "sglang": ("sglang-router", "python3 -m sglang_router.launch_router --pd-disaggregation"),
}
"""The package of each, and the command."""
_ADDRESS = (
    "env:",
    "- name: VLLM_NIXL_SIDE_CHANNEL_HOST",
    "  valueFrom: {fieldRef: {fieldPath: status.podIP}}",
)
_PORT = 10_001
_BOOTSTRAP = 8998


def emit_apart(
    pools: Mapping[str, Asked], model: str, *, most_devices: int = 8
) -> Mapping[str, str]:
    """Files that start pools of prefill and decode. Raises ConfigError as `emit`."""
    engine = pools["prefill"].engine
    if pools["decode"].engine != engine:
        raise ConfigError("engine", f"{engine} takes no KV from {pools['decode'].engine}")
    scripts = {
        role: script_of(pools[role], model, role=role, most_devices=most_devices) for role in ROLES
    }
    parts = [_pool(role, pools[role], scripts[role], most_devices) for role in ROLES]
    return {
        **{f"{role}.sh": scripts[role] for role in ROLES},
        "route.sh": _route(engine),
        "kubernetes.yaml": "---\n".join((*parts, _router(pools))),
    }


def _route(engine: str) -> str:
    loops = ""
    for role in ROLES:
        more = ""
        if (engine, role) == ("sglang", "prefill"):
            more = f" $((${{one##*:}} - {PORTS[engine] - _BOOTSTRAP}))"
        loops += f"for one in ${{{role.upper()}:?}}; do given+=(--{role} http://$one{more}); done\n"
    return f"""#!/bin/bash
# PREFILL and DECODE are addresses: host:{PORTS[engine]}, and one more for each task of an array.
given=()
{loops}exec {_ROUTERS[engine][1]} "${{given[@]}}" --host 0.0.0.0 --port {_PORT} "$@"
"""


def _pool(role: str, pool: Asked, script: str, most_devices: int) -> str:
    name = f"{pool.engine}-{role}"
    image, nodes = IMAGES[pool.engine], spread(pool, most_devices)
    if nodes.nodes > 1:  # which has a headless service of its own
        return leader_worker_set(name, image, script, pool.replicas, nodes, *_ADDRESS)
    headless = ("clusterIP: None", "publishNotReadyAddresses: true", f"selector: {{app: {name}}}")
    return service(name, *headless) + controller(
        "StatefulSet", name, image, words_of(script),
        spec=[
            f"replicas: {pool.replicas}", f"serviceName: {name}", "podManagementPolicy: Parallel",
        ],
        container=_ADDRESS,
        devices=pool.plan.ranks,
    )  # fmt: skip


def _router(pools: Mapping[str, Asked]) -> str:
    engine = pools["prefill"].engine
    package, command = _ROUTERS[engine]
    hosts = [
        f"--{role} http://{engine}-{role}-{at}.{engine}-{role}:{PORTS[engine]}"
        + (f" {_BOOTSTRAP}" if (engine, role) == ("sglang", "prefill") else "")
        for role in ROLES
        for at in range(pools[role].replicas)
    ]
    own = " ".join((*hosts, "--host 0.0.0.0", f"--port {_PORT}"))
    name = f"{engine}-router"
    start = f'[bash, -c, "pip install {package} && exec {command} {own}"]'
    return service(name, f"selector: {{app: {name}}}", f"ports: [{{port: {_PORT}}}]") + controller(
        "Deployment", name, "python:3.12", start, container=[f"ports: [{{containerPort: {_PORT}}}]"]
    )
