"""Manifests of Kubernetes: a service, and what keeps the pods behind it.

Source: kubernetes.io/docs/concepts/workloads/controllers (Deployment, StatefulSet).
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

_OF_GPUS = """
    resources: {{limits: {{nvidia.com/gpu: {devices}}}}}
    volumeMounts: [{{name: memory, mountPath: /dev/shm}}]
  volumes: [{{name: memory, emptyDir: {{medium: Memory}}}}]"""


def service(name: str, *spec: str) -> str:
    """The service of pods of a name."""
    return f"""apiVersion: v1
kind: Service
metadata: {{name: {name}}}
spec: {{{", ".join(spec)}}}
---
"""


def controller(
    kind: str,
    name: str,
    image: str,
    command: str,
    *,
    spec: Sequence[str] = (),
    container: Sequence[str] = (),
    devices: int = 0,
) -> str:
    """What keeps pods of one container; `spec` and `container` are further lines of these."""
    own = "".join(f"\n  {line}" for line in spec)
    return f"""apiVersion: apps/v1
kind: {kind}
metadata: {{name: {name}}}
spec:{own}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
{pod(name, image, command, container=container, devices=devices, indent=4)}"""


def pod(
    name: str, image: str, command: str, *, container: Sequence[str], devices: int, indent: int
) -> str:
    """A template of pods, so far to the right."""
    more = "".join(f"\n    {line}" for line in container)
    text = f"""metadata: {{labels: {{app: {name}}}}}
spec:
  containers:
  - name: {name}
    image: {image}
    command: {command}{more}{_OF_GPUS.format(devices=devices) if devices else ""}
"""
    return textwrap.indent(text, " " * indent)
