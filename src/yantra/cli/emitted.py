"""Writes what `--emit` makes into a folder, and says how it starts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yantra.explore.answers.best import Answer
    from yantra.fabric.clusters.types import Cluster
    from yantra.serving.search import Found


def write_training(
    framework: str, model: str, machine: Cluster, answer: Answer, folder: str, *, quiet: bool
) -> None:
    from yantra.workloads.frameworks import emit
    from yantra.workloads.job_file import described_by

    best = answer.ranked[0]
    start = emit(
        framework, described_by(model), best.plan, answer.sequence, _node(machine),
        any_layout=machine.any_layout,
    )  # fmt: skip
    write(start.files, folder)
    if not quiet:
        click.echo(f"{folder}: {', '.join(start.files)}, read back as the same plan")
        click.echo(f"  start: {start.command}; sbatch slurm.sh; kubectl apply -f kubernetes.yaml")
        reads = os.path.join(folder, start.reads)
        click.echo(f"  ask:   yantra run {reads} --cluster {machine.name}")


def write_serving(model: str, found: Found, folder: str, *, quiet: bool) -> None:
    """Write the cheapest. Raises ConfigError where none keeps the promises."""
    from yantra.base.errors import ConfigError
    from yantra.serving.commands import emit, emit_apart
    from yantra.serving.commands.weights import id_of

    if not found.kept:
        raise ConfigError("--emit", "nothing keeps the promises, so nothing is written")
    best = found.kept[0]
    cluster = best.pools[0][2].cluster
    pools = {role: one.pool._replace(replicas=count) for count, role, one in best.pools}
    most = _node(cluster)
    if len(pools) == 1:
        (pool,) = pools.values()
        files = emit(pool, id_of(model), most_devices=most)
        own = "bash serve.sh" if pool.plan.ranks <= most else "HEAD=... RANK=0 bash serve.sh, ..."
        start = f"{own}; sbatch serve.sh (all {pool.replicas})"
        asked = f"--engine {os.path.join(folder, 'serve.sh')}"
    else:
        files = emit_apart(pools, id_of(model), most_devices=most)
        start = "sbatch prefill.sh; sbatch decode.sh; PREFILL=... DECODE=... bash route.sh"
        asked = " ".join(f"--{role} {os.path.join(folder, role)}.sh" for role in pools)
    write(files, folder)
    if not quiet:
        click.echo(f"{folder}: {', '.join(files)}, read back as the same deployment")
        click.echo(f"  start: {start}; kubectl apply -f kubernetes.yaml")
        click.echo(f"  ask:   yantra serve {asked} --cluster {cluster.name} --requests ...")


def write(files: Mapping[str, str], folder: str) -> None:
    from yantra.base.errors import ConfigError
    from yantra.base.output import write_text

    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise ConfigError(folder, f"no folder can be made here: {error.strerror}") from None
    for name, text in files.items():
        write_text(os.path.join(folder, name), text)


def _node(machine: Cluster) -> int:
    """Devices of a host: those of the innermost network, or 4 as in racks of larger ones."""
    members = machine.network[0].members
    inner = 8 if members is None else int(members.value)
    return inner if inner <= 8 else 4
