"""How a script of a framework starts on many nodes: under Slurm, and on Kubernetes.

Each node runs the same script, which torchrun joins. Sources: slurm.schedmd.com/sbatch.html;
kubernetes.io/docs/concepts/workloads/controllers/job (indexed jobs).
"""

from __future__ import annotations

from typing import NamedTuple

PORT = 29_500


class Nodes(NamedTuple):
    """Nodes and the devices of each."""

    nodes: int
    devices: int


def nodes_of(ranks: int, most: int) -> Nodes:
    """As few nodes as have equally many devices, at most `most` each."""
    devices = next(size for size in range(min(ranks, most), 0, -1) if ranks % size == 0)
    return Nodes(ranks // devices, devices)


def torchrun(nodes: Nodes, program: str) -> str:
    """The command line of one node, without the program's arguments."""
    return f"""NNODES=${{NNODES:-{nodes.nodes}}}
GPUS_PER_NODE=${{GPUS_PER_NODE:-{nodes.devices}}}
torchrun --nnodes $NNODES --nproc-per-node $GPUS_PER_NODE --node-rank ${{NODE_RANK:-0}} \\
  --master-addr ${{MASTER_ADDR:-localhost}} --master-port ${{MASTER_PORT:-{PORT}}} \\
  {program}"""


def slurm(name: str, nodes: Nodes, script: str) -> str:
    """A batch script that runs `script`, which is beside it, on every node."""
    return f"""#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --nodes={nodes.nodes}
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node={nodes.devices}
#SBATCH --exclusive
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun bash -c 'NODE_RANK=$SLURM_NODEID bash {script}'
"""


def kubernetes(name: str, nodes: Nodes, files: dict[str, str], script: str) -> str:
    """An indexed job with a headless service; `IMAGE` is yours, with the framework in it."""
    held = "\n".join(f"  {path}: |\n{_indented(text)}" for path, text in files.items())
    return f"""apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}}}
data:
{held}
---
apiVersion: v1
kind: Service
metadata: {{name: {name}}}
spec: {{clusterIP: None, selector: {{job-name: {name}}}}}
---
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}}}
spec:
  completionMode: Indexed
  completions: {nodes.nodes}
  parallelism: {nodes.nodes}
  backoffLimit: 0
  template:
    spec:
      subdomain: {name}
      restartPolicy: Never
      containers:
      - name: train
        image: IMAGE
        command: [bash, -c, "NODE_RANK=$JOB_COMPLETION_INDEX bash /job/{script}"]
        env: [{{name: MASTER_ADDR, value: {name}-0.{name}}}]
        resources: {{limits: {{nvidia.com/gpu: {nodes.devices}}}}}
        volumeMounts: [{{name: job, mountPath: /job}}]
      volumes: [{{name: job, configMap: {{name: {name}}}}}]
"""


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.splitlines())
