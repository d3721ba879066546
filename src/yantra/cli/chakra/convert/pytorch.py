"""`yantra chakra convert pytorch`: linked PyTorch traces -> Chakra traces."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from yantra.cli.command import WithExamples, json_option, print_json

if TYPE_CHECKING:
    from yantra.tracing.pytorch.convert import ConvertOptions
    from yantra.tracing.pytorch.replicate import Gathered

_ALL_RECORDED = 0


@click.command(
    cls=WithExamples,
    seldom=(
        "compat",
        "no_gaps",
        "reduce",
        "gathered",
        "exact_collectives",
        "split_all_to_alls",
        "memory_nodes",
        "communication_names",
    ),
    examples=[
        "yantra chakra convert pytorch linked.0.json linked.1.json -o job",
        "yantra chakra convert pytorch 'linked.{rank}.json' -o job",
        "yantra chakra convert pytorch linked.0.json -o one.et",
        "yantra chakra convert pytorch linked.0.json --replicate 8 -o job --json",
        "yantra chakra convert pytorch linked.0.json --replicate 512 -o job.yw",
    ],
)
@click.argument("traces", nargs=-1, required=True, type=click.Path())
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    required=True,
    help="OUTPUT.<rank>.et, or one file: name.et; with --replicate also name.yw.",
)
@click.option("--compat", type=click.Choice(["upstream"]), help="Write what upstream writes.")
@click.option("--no-gaps", is_flag=True, help="Leave out the delays that fill unexplained time.")
@click.option("--reduce", is_flag=True, help="Leave out dependencies that follow from others.")
@click.option(
    "--replicate",
    type=click.IntRange(0),
    is_flag=False,
    flag_value=_ALL_RECORDED,
    help="Let one rank stand for RANKS ranks (default: as many as recorded).",
    metavar="[RANKS]",
)
@click.option(
    "--gathered",
    type=click.Choice(["shards", "copies"]),
    help="With --replicate: all-gathers collect shards of one whole, or a copy of each rank's.",
)
@click.option(
    "--step",
    type=click.IntRange(0),
    metavar="K",
    help="Convert the step ProfilerStep#K alone.",
)
@click.option(
    "--exact-collectives",
    is_flag=True,
    help="Write reduce, gather, scatter and barrier, which ASTRA-sim does not run, as such.",
)
@click.option(
    "--split-all-to-alls",
    is_flag=True,
    help="Write uneven all-to-alls as the sends and receives of their pairs.",
)
@click.option(
    "--memory-nodes", is_flag=True, help="Write copies to and from the host as MEM nodes."
)
@click.option(
    "--communication-names",
    type=click.Path(),
    metavar="FILE",
    help="YAML of operators and kernels that communicate without NCCL, RCCL or gloo.",
)
@json_option
def command(
    traces: tuple[str, ...],
    output: str,
    compat: str | None,
    no_gaps: bool,
    reduce: bool,
    replicate: int | None,
    gathered: Gathered | None,
    step: int | None,
    exact_collectives: bool,
    split_all_to_alls: bool,
    memory_nodes: bool,
    communication_names: str | None,
    as_json: bool,
) -> int:
    """Convert TRACES: linked traces, or the profiler's own, of the ranks of one job.

    A name with {rank} stands for all files with a number there. Give all ranks at once, so that
    messages and groups agree. Writes OUTPUT.<rank>.et, and OUTPUT.groups.json for
    --comm-group-configuration. With --replicate OUTPUT may be a workload file, name.yw: one trace
    for all ranks.
    """
    from yantra.base.errors import ConfigError
    from yantra.tracing.pytorch.sources import Recordings

    ranks = len(Recordings(traces).given)
    _check_output(output, ranks, replicate)
    if compat:
        flags = (no_gaps, reduce, exact_collectives, split_all_to_alls, memory_nodes)
        others = (*flags, communication_names, gathered)
        if replicate is not None or step is not None or any(others):
            raise ConfigError("--compat", "upstream's converter has none of the other options")
        _upstream(traces, output)
        if as_json:
            print_json({"output": output, "ranks": ranks})
        return 0
    from yantra.tracing.pytorch.communication_names import CommunicationNames, read_names
    from yantra.tracing.pytorch.convert import ConvertOptions

    names = read_names(communication_names) if communication_names else CommunicationNames()
    options = ConvertOptions(
        gaps=not no_gaps,
        reduce=reduce,
        replicate=replicate,
        gathered=gathered,
        step=step,
        exact_collectives=exact_collectives,
        split_all_to_alls=split_all_to_alls,
        memory_nodes=memory_nodes,
        names=names,
    )
    return _convert(traces, output, options, as_json)


def _check_output(output: str, traces: int, replicate: int | None) -> None:
    from yantra.base.errors import ConfigError

    if output.endswith(".yw"):
        if traces > 1 or replicate is None:
            problem = "a workload file has one rank for all; give one trace and --replicate RANKS"
            raise ConfigError("-o", problem)
    elif output.endswith((".et", ".et.gz")) and (traces > 1 or replicate is not None):
        raise ConfigError("-o", f"several traces are written; give a prefix, not {output}")


def _upstream(traces: tuple[str, ...], output: str) -> None:
    from yantra.cli.progress import progress
    from yantra.tracing.pytorch.files import trace_name
    from yantra.tracing.pytorch.ranks import given
    from yantra.tracing.pytorch.upstream.convert import convert

    paths = [one.path for one in given(traces)]
    with progress("converting", counted=True) as report:
        for place, path in enumerate(paths):
            if report:
                report(place, len(paths))
            convert(path).write(trace_name(output, place))


def _convert(traces: tuple[str, ...], output: str, options: ConvertOptions, as_json: bool) -> int:
    from yantra.cli import warn
    from yantra.cli.progress import progress
    from yantra.tracing.pytorch.files import convert_files
    from yantra.workloads.importers.recorded import one_for_all

    with progress("converting", counted=True) as report:
        if output.endswith(".yw"):
            workload, done = one_for_all(traces, options)
            workload.save(output)
        else:
            done = convert_files(traces, output, options, report)
    warn([*done.remarks, *done.problems])
    if as_json:
        print_json({"output": output} | done.as_dict())
    else:
        sys.stderr.write(done.summary())
    return 0
