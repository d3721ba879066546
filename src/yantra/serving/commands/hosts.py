"""A replica over several hosts: what each host runs, and what starts all of them.

Ranks are joined over the first host, `$HEAD`; a host's number is `$RANK`. Slurm copies the batch
script to every host; a LeaderWorkerSet gives both as `LWS_LEADER_ADDRESS`, `LWS_WORKER_INDEX`.
Trade-off: vLLM's data-parallel ranks are whole on a host. Sources: docs.vllm.ai,
serving/parallelism_scaling, data_parallel_deployment and deployment/frameworks/lws; docs.sglang.ai,
references/multi_node_deployment; slurm.schedmd.com/sbcast.html; lws.sigs.k8s.io/docs/reference.
"""

from __future__ import annotations

import json
import re

from yantra.base.errors import ConfigError
from yantra.serving.commands.kubernetes import pod
from yantra.serving.pools import Asked
from yantra.workloads.frameworks.launch import Nodes, nodes_of

_PORT = 20_000
_ON_ALL = """if [ -n "$SLURM_JOB_ID" ] && [ -z "$HEAD" ]; then
  export HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
  sbcast "$0" "/tmp/.serve.$SLURM_JOB_ID" && exec srun bash "/tmp/.serve.$SLURM_JOB_ID" "$@"
fi
"""
FIRST = 'leaderworkerset.sigs.k8s.io/worker-index: "0"'
"""The label of a group's first pod."""
_RANK = "RANK=${RANK:-${SLURM_NODEID:-0}}\n"


def spread(pool: Asked, most_devices: int) -> Nodes:
    """The hosts of a replica. Raises ConfigError for what the engine cannot divide so."""
    nodes = nodes_of(pool.plan.ranks, most_devices)
    if pool.engine == "vllm" and nodes.nodes > 1 < pool.plan.dp:
        each = pool.plan.ranks // pool.plan.dp
        if nodes.devices % each:
            problem = f"a rank of {each} devices is on one host of {nodes.devices}"
            raise ConfigError("dp", f"{problem}; bound it by --set devices={most_devices}")
    return nodes


def head_of(nodes: Nodes) -> str:
    """What Slurm is asked for, and how it starts all hosts."""
    asked = f"#SBATCH --nodes={nodes.nodes} --gpus-per-node={nodes.devices}"
    return f"{asked}\n" if nodes.nodes == 1 else f"{asked} --ntasks-per-node=1 --exclusive\n"


def started(pool: Asked, nodes: Nodes) -> tuple[str, list[str]]:
    """What precedes a host's command, and flags that join it to the others."""
    if nodes.nodes == 1:
        return "", []
    begin = f"{_ON_ALL}{_RANK}"
    if pool.engine == "sglang":
        joined = [f"--nnodes {nodes.nodes}", "--node-rank $RANK"]
        return begin, [*joined, f"--dist-init-addr $HEAD:{_PORT}"]
    others, joined = "--headless", [f"--master-addr $HEAD --master-port {_PORT}"]
    joined = [f"--nnodes {nodes.nodes}", "--node-rank $RANK", *joined]
    if pool.plan.dp > 1:
        local = pool.plan.dp // nodes.nodes
        others += f" --data-parallel-start-rank $((RANK * {local}))"
        joined = [f"--data-parallel-size-local {local}", "--data-parallel-address $HEAD"]
        joined.append(f"--data-parallel-rpc-port {_PORT}")
    return f'{begin}[ "$RANK" = 0 ] || set -- {others} "$@"\n', joined


def leader_worker_set(
    name: str, image: str, script: str, replicas: int, nodes: Nodes, *container: str
) -> str:
    """Groups of pods, one a host; the first of a group is `NAME-GROUP.NAME`."""
    body = script.partition(_ON_ALL)[2]
    plain = re.sub(r"\$\(\((\d+) \+ [^)]*SLURM[^)]*\)\)", r"\1", body)
    own = f"HEAD=$LWS_LEADER_ADDRESS RANK=$LWS_WORKER_INDEX\n{plain.partition(_RANK)[2]}"
    command = json.dumps(["bash", "-c", own, name])
    return f"""apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: {name}}}
spec:
  replicas: {replicas}
  leaderWorkerTemplate:
    size: {nodes.nodes}
    restartPolicy: RecreateGroupOnPodRestart
    workerTemplate:
{pod(name, image, command, container=container, devices=nodes.devices, indent=6)}"""
