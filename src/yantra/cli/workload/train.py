"""`yantra workload train`: a workload file of one training step."""

from __future__ import annotations

import os
from time import perf_counter
from typing import TYPE_CHECKING

import click

from yantra.base.errors import ConfigError
from yantra.cli.command import json_option, print_json
from yantra.cli.complete import clusters as cluster_names
from yantra.cli.plugin_option import option as plugin_option
from yantra.cli.workload.job_options import job_command

if TYPE_CHECKING:
    from yantra.workloads.job_file import Request, TrainingJob


@job_command(
    examples=[
        "yantra workload train --model llama3-70b --tp 8 --pp 8 --dp 16 --zero 1 \\\n"
        "    --micro-batch 1 --global-batch 1024 --recompute selective -o llama70b.yw",
        "yantra workload train --hf-config config.json --ranks 64 --tp 4 --zero 3 \\\n"
        "    --cluster hgx-h100",
        "yantra workload train --megatron-args pretrain.sh --world-size 512 \\\n"
        "    --save-job job.yaml",
        "yantra workload train --job job.yaml --pp 4 -o other.yw --json",
    ],
)
@click.option("-o", "--output", type=click.Path(), help="The workload file (.yw).")
@click.option("--save-job", type=click.Path(), help="Write the job file that gives this workload.")
@click.option("--memory", metavar="SIZE", help="Memory of a device, such as 80GiB, to fit into.")
@click.option(
    "--cluster",
    metavar="NAME",
    shell_complete=cluster_names,
    help="A named cluster whose devices it must fit into.",
)
@plugin_option
@json_option
def command(
    request: Request,
    output: str | None,
    save_job: str | None,
    memory: str | None,
    cluster: str | None,
    as_json: bool,
) -> int:
    """Make a workload file of one training step: a template for each class of equal ranks.

    Without -o it only prints a summary. Impossible plans, and those beyond a given memory, write
    nothing.

    Names of Megatron-LM, Hugging Face, DeepSpeed, TorchTitan, vLLM and STG work:
    --tensor-model-parallel-size, ... Sizes such as --num-layers change the model, or make one.
    """
    from yantra.cli import warn
    from yantra.cli.progress import progress
    from yantra.cli.workload.summary import write_summary
    from yantra.workloads import job_file
    from yantra.workloads.describe import as_dict
    from yantra.workloads.plan.precision import for_machine
    from yantra.workloads.training.train import train

    begin = perf_counter()
    made = job_file.resolve(request)
    capacity, reserve, any_layout, said = _room(memory, cluster, made)
    made = made._replace(plan=for_machine(made.plan, any_layout=any_layout))
    flags = {field: f"--{field.replace('_', '-')}" for field in made.plan.field_names}
    made.plan.spelled(flags | dict(made.plan.spelling))
    with progress("step"):
        workload = train(
            made.model,
            made.plan,
            made.sequence,
            memory_bytes=capacity,
            reserve_bytes=reserve,
            framework=made.framework,
        )
        if save_job:
            job_file.write(save_job, made)
        if output:
            workload.save(output)
    warn(made.model.notes)
    if as_json:
        print_json({"output": output} | as_dict(workload))
        return 0
    write_summary(workload, made, capacity, reserve, said)
    if output:
        seconds = perf_counter() - begin
        size = os.path.getsize(output) if os.path.isfile(output) else 0
        click.echo(f"wrote {output}: {size / 1e6:.2f} MB in {seconds:.2f} s")
    return 0


def _room(
    memory: str | None, cluster: str | None, made: TrainingJob
) -> tuple[int | None, int, bool, str]:
    """Return the bytes of a device, None if nothing is said, and those that no job gets.

    Also whether its products read operands in any layout, and where the reserve is from.
    """
    if memory is not None and cluster is not None:
        raise ConfigError("--memory", "is given by --cluster, too; give one of the two")
    if memory is not None:
        from yantra.base.units import parse

        size = parse(memory, "size", "B", "--memory")
        if not 1 <= size < 2**62:
            raise ConfigError("--memory", f"expected at least 1 byte, got {memory!r}")
        return int(size), 0, False, ""
    if cluster is not None:
        from yantra.fabric import clusters, stacks
        from yantra.fabric.stacks.reserve import communicators, reserved
        from yantra.workloads.models.experts import experts_a_token

        machine = clusters.load(cluster)
        kind = "moe" if experts_a_token(made.model) else "dense"
        named = stacks.Named(made.framework or "", "the job", kind)
        stack = stacks.stack_for(named, machine.name, made.plan.dtype)
        sizes = {axis: getattr(made.plan, axis) for axis in ("tp", "cp", "pp", "dp", "ep", "etp")}
        machine = reserved(machine, stack, communicators(sizes))
        said = machine.reserve.source if machine.reserve else ""
        return machine.memory_bytes, machine.reserve_bytes, machine.any_layout, said
    return None, 0, False, ""
