"""`yantra chakra convert profile`: profiles of JAX, Nsight Systems, rocprofv3 -> Chakra traces."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json


@click.command(
    cls=WithExamples,
    seldom=("replicate", "step", "sizes"),
    examples=[
        "yantra chakra convert profile host0.xplane.pb -o 'job.{rank}.et'",
        "yantra chakra convert profile report.sqlite -o job --sizes all_reduce=64MiB",
        "yantra chakra convert profile results.db -o job --json",
    ],
)
@click.argument("profiles", nargs=-1, required=True, type=click.Path(), metavar="PROFILE...")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    required=True,
    help="OUTPUT.<rank>.et, or a name with {rank}, or one file: name.et.",
)
@click.option("--no-gaps", is_flag=True, help="Leave out the delays that fill unexplained time.")
@click.option(
    "--replicate",
    type=click.IntRange(1),
    metavar="RANKS",
    help="Let the one rank of a profile stand for RANKS ranks; OUTPUT may then be name.yw.",
)
@click.option("--step", type=click.IntRange(0), help="Convert the step ProfilerStep#K alone.")
@click.option(
    "--sizes",
    multiple=True,
    metavar="KIND=SIZE",
    help="Bytes of the collectives of a kind whose size was not recorded; may be repeated.",
)
@json_option
def command(
    profiles: tuple[str, ...],
    output: str,
    no_gaps: bool,
    replicate: int | None,
    step: int | None,
    sizes: tuple[str, ...],
    as_json: bool,
) -> int:
    """Convert PROFILE..., one file a host: each device becomes a rank.

    Reads, by content, profiles of XLA (JAX, TensorFlow: .xplane.pb), SQLite exports of Nsight
    Systems, databases and JSON of rocprofv3, events of MPI calls, and GOAL. Give the files of one
    job in the order of its hosts. Also writes OUTPUT.groups.json if there are groups.
    """
    from yantra.cli import warn
    from yantra.cli.progress import progress
    from yantra.tracing.sources import convert
    from yantra.tracing.sources.nccl import given_sizes

    known = given_sizes(sizes)
    if output.endswith(".yw"):
        return _for_all(profiles, output, (not no_gaps, step, replicate), known, as_json)
    with progress("converting", counted=True) as report:
        done = convert(
            profiles,
            output,
            gaps=not no_gaps,
            step=step,
            replicate=replicate,
            sizes=known,
            progress=report,
        )
    warn(done.problems)
    if as_json:
        print_json({"output": output} | done.form)
    else:
        sys.stderr.write(done.summary)
    return 0


def _for_all(
    profiles: tuple[str, ...],
    output: str,
    how: tuple[bool, int | None, int | None],
    sizes: dict[str, int],
    as_json: bool,
) -> int:
    from yantra.base.errors import ConfigError
    from yantra.cli import warn
    from yantra.tracing.pytorch.convert import ConvertOptions
    from yantra.tracing.sources import launching
    from yantra.workloads.importers.recorded import one_for_all

    gaps, step, replicate = how
    if replicate is None:
        launching(profiles, replicate=1)  # else it could not be given
        problem = "a workload file has one rank for all; give --replicate RANKS, too"
        raise ConfigError("-o", problem)
    options = ConvertOptions(gaps=gaps, step=step, replicate=replicate)
    workload, done = one_for_all(profiles, options, sizes=sizes)
    workload.save(output)
    warn([*done.remarks, *done.problems])
    if as_json:
        print_json({"output": output} | done.as_dict())
    else:
        sys.stderr.write(done.summary())
    return 0
