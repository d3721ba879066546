"""Replays the communication of a suite's traces on this machine: gloo, or NCCL where its GPUs are.

A trace of more ranks or bytes than fit is left out, with the reason.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import NamedTuple

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.suites.choose import Suite
from yantra.suites.run import files_of
from yantra.tracing.replay.communication import replay_communication

DEVICES = {"gloo": "cpu", "nccl": "cuda"}


class Replay(NamedTuple):
    """Of a trace: calls of all ranks and the mean ns that a rank communicates, or why not."""

    name: str
    ranks: int
    calls: int
    ns: float
    problem: str


def replay_suite(
    suite: Suite, backend: str, progress: Callable[[float, int | None], None] | None = None
) -> list[Replay]:
    """Raises ConfigError without PyTorch, or for NCCL without GPUs."""
    _check_device(backend)
    found = []
    with TemporaryDirectory() as folder:
        for name, file in files_of(suite, folder).items():
            found.append(_one(name, file, DEVICES[backend], os.path.join(folder, "ranks", name)))
            if progress is not None:
                progress(len(found), len(suite.chosen))
    return found


def _check_device(backend: str) -> None:
    from yantra.base.pytorch import torch_for

    torch = torch_for("--replay")
    if backend == "nccl" and not torch.cuda.is_available():
        problem = "NCCL needs GPUs, and PyTorch finds none here; take --replay gloo"
        raise ConfigError("--replay", problem)


def _one(name: str, file: str, device: str, folder: str) -> Replay:
    from yantra.workloads.templates import load

    try:
        if "{rank}" not in file:
            load(file).expand(folder)
            file = os.path.join(folder, "workload.{rank}.et")
        made = replay_communication((file,), iterations=1, device=device)
    except (ConfigError, UnsupportedError) as error:
        return Replay(name, 0, 0, 0.0, str(error))
    rows = [row for row in made.rows if not row.reason]
    calls = sum(row.calls for row in rows)
    return Replay(
        name, made.ranks, calls, sum(r.calls * r.measured_ns for r in rows) / made.ranks, ""
    )
