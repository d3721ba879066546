"""`yantra chakra convert msccl`: proves an MSCCL program and writes it as Chakra traces."""

from __future__ import annotations

import sys
from typing import cast

import click

from yantra.chakra.msccl import Program, Sizes, prove, read_program, traces, upstream_traces
from yantra.chakra.msccl.conditions import COLLECTIVES
from yantra.chakra.msccl.traces import MEMORY_BYTES_PER_S, write
from yantra.chakra.msccl.upstream import Form
from yantra.cli import warn
from yantra.errors import ConfigError
from yantra.units import parse

_FORMS = ("upstream-head", "upstream-sized")


@click.command()
@click.argument("program", type=click.Path())
@click.option("-o", "--output", help="Write OUTPUT.0.et, OUTPUT.1.et, ...")
@click.option("--size", help="Size of the collective, such as 1MiB; without it traces have none.")
@click.option("--collective", help=f"What to prove it is: {', '.join(COLLECTIVES)}.")
@click.option("--memory-bandwidth", help="What reductions of a given --size run at; 50 GB/s.")
@click.option("--check-only", is_flag=True, help="Prove the program and write nothing.")
@click.option("--compat", type=click.Choice(_FORMS), help="Write what upstream's converter does.")
def command(
    program: str,
    output: str | None,
    size: str | None,
    collective: str | None,
    memory_bandwidth: str | None,
    check_only: bool,
    compat: str | None,
) -> int:
    """Prove the MSCCL program in the XML file PROGRAM, and turn it into a trace per GPU.

    The traces run as a collective of their own: `{custom: "OUTPUT.{position}.et"}` in a scenario,
    `"all-reduce-implementation-custom": ["OUTPUT"]` in ASTRA-sim's system file.
    """
    if (output is None) is not check_only:
        raise click.UsageError("expected either -o OUTPUT or --check-only")
    sizes = _sizes(size, memory_bandwidth, compat)
    read = read_program(program)
    try:
        proof = prove(read, collective)
    except ConfigError as error:
        if compat is None or check_only:
            raise
        warn([f"not proven: {error}"])
    else:
        _print(read, proof.collective, proof.lines)
    if output is None:
        return 0
    if compat is None:
        made = traces(proof, sizes)
    else:
        made = upstream_traces(read, cast(Form, compat), sizes.size_bytes or 0)
    paths = write(made, output)
    nodes = sum(len(trace) for trace in made)
    sys.stdout.write(f"wrote: {paths[0]} to {paths[-1]}, {nodes} nodes\n")
    return 0


def _print(program: Program, collective: str, lines: tuple[str, ...]) -> None:
    sys.stdout.write(f"{program.name}: {collective} over {len(program.gpus)} GPUs\n")
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _sizes(size: str | None, memory_bandwidth: str | None, compat: str | None) -> Sizes:
    if compat == "upstream-head" and size is not None:
        raise click.UsageError("--compat upstream-head writes no sizes; leave --size out")
    if compat == "upstream-sized" and size is None:
        raise click.UsageError("--compat upstream-sized needs a --size")
    if memory_bandwidth is not None and (size is None or compat is not None):
        raise click.UsageError("--memory-bandwidth counts with --size and without --compat only")
    rate = MEMORY_BYTES_PER_S
    if memory_bandwidth is not None:
        rate = parse(memory_bandwidth, "bandwidth", "B/s", "--memory-bandwidth")
        if rate != 0 and not 1 <= rate < float("inf"):
            problem = f"expected 0 or at least 1 B/s, got {memory_bandwidth!r}"
            raise ConfigError("--memory-bandwidth", problem)
    if size is None:
        return Sizes(None, rate)
    size_bytes = parse(size, "size", "B", "--size")
    if not (size_bytes.is_integer() and 1 <= size_bytes < 2**62):
        raise ConfigError("--size", f"expected whole bytes, 1 or more, got {size!r}")
    return Sizes(int(size_bytes), rate)
