"""`yantra chakra convert msccl`: proves a program of MSCCL or a plan of MSCCL++, writes traces."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

import click

from yantra.base.errors import ConfigError
from yantra.cli import warn
from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.complete import msccl_collectives

if TYPE_CHECKING:
    from yantra.chakra.trace import Trace
    from yantra.collectives.msccl import Program, Proof, Sizes
    from yantra.collectives.msccl.upstream import Form

_FORMS = ("upstream-head", "upstream-sized")


@click.command(
    cls=WithExamples,
    seldom=(
        "compat",
        "memory_bandwidth",
        "check_only",
    ),
    examples=[
        "yantra chakra convert msccl allreduce.xml --check-only",
        "yantra chakra convert msccl allreduce.xml --size 1MiB -o allreduce",
        "yantra chakra convert msccl plan.json --size 1MiB -o allreduce",
        "yantra chakra convert msccl allreduce.xml -o allreduce --json",
    ],
)
@click.argument("program", type=click.Path())
@click.option("-o", "--output", type=click.Path(), help="Write OUTPUT.0.et, OUTPUT.1.et, ...")
@click.option("--size", help="Size of the collective, such as 1MiB; without it traces have none.")
@click.option(
    "--collective",
    shell_complete=msccl_collectives,
    help="The collective to prove it against: allreduce, ...",
)
@click.option("--memory-bandwidth", help="With --size: the rate of reductions, by default 50 GB/s.")
@click.option("--check-only", is_flag=True, help="Prove the program and write nothing.")
@click.option("--compat", type=click.Choice(_FORMS), help="Write what upstream's converter writes.")
@json_option
def command(
    program: str,
    output: str | None,
    size: str | None,
    collective: str | None,
    memory_bandwidth: str | None,
    check_only: bool,
    compat: str | None,
    as_json: bool,
) -> int:
    """Prove the MSCCL program (XML) or MSCCL++ plan (JSON) PROGRAM, and turn it into traces.

    There is a trace for each GPU. They run as a collective of their own:
    `{custom: "OUTPUT.{position}.et"}` in a scenario, `"all-reduce-implementation-custom":
    ["OUTPUT"]` in ASTRA-sim's system file.
    """
    from yantra.collectives.msccl import prove, read_program
    from yantra.collectives.mscclpp import is_plan

    if (output is None) is not check_only:
        raise click.UsageError("expected either -o OUTPUT or --check-only")
    sizes = _sizes(size, memory_bandwidth, compat)
    if is_plan(program):
        if compat is not None:
            raise click.UsageError("--compat is for programs in XML; PROGRAM is a plan of MSCCL++")
        return _plan(program, collective, sizes, output, as_json)
    read = read_program(program)
    form: dict[str, Any] = {"program": read.name, "gpus": len(read.gpus)}
    proof = None
    try:
        proof = prove(read, collective)
    except ConfigError as error:
        if compat is None or check_only:
            raise
        warn([f"not proven: {error}"])
    if proof is not None:
        form |= {"collective": proof.collective, "proof": list(proof.lines)}
        if not as_json:
            _print(read, proof.collective, proof.lines)
    if output is not None:
        from yantra.base.text import count

        paths, nodes = _write(read, proof, sizes, compat, output)
        form |= {"traces": paths, "nodes": nodes}
        if not as_json:
            sys.stdout.write(f"wrote: {paths[0]} to {paths[-1]}, {count(nodes, 'node')}\n")
    if as_json:
        print_json(form)
    return 0


def _plan(
    path: str, collective: str | None, sizes: Sizes, output: str | None, as_json: bool
) -> int:
    from yantra.base.text import count
    from yantra.collectives.msccl.traces import write
    from yantra.collectives.mscclpp import prove, read_plan, traces

    plan = read_plan(path, sizes.size_bytes, collective)
    proof = prove(plan, collective)
    form: dict[str, Any] = {"program": plan.name, "gpus": len(plan.gpus)}
    form |= {"collective": proof.collective, "proof": list(proof.lines)}
    if not as_json:
        gpus = count(len(plan.gpus), "GPU")
        lines = (f"{plan.name}: {proof.collective} over {gpus}", *proof.lines)
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    if output is not None:
        made: list[Trace] = traces(proof, sizes)
        form |= {"traces": list(write(made, output)), "nodes": sum(map(len, made))}
        if not as_json:
            paths, nodes = form["traces"], count(form["nodes"], "node")
            sys.stdout.write(f"wrote: {paths[0]} to {paths[-1]}, {nodes}\n")
    if as_json:
        print_json(form)
    return 0


def _write(
    program: Program, proof: Proof | None, sizes: Sizes, compat: str | None, output: str
) -> tuple[list[str], int]:
    from yantra.collectives.msccl import traces, upstream_traces
    from yantra.collectives.msccl.traces import write

    if proof is not None and compat is None:
        made = traces(proof, sizes)
    else:
        made = upstream_traces(program, cast("Form", compat), sizes.size_bytes or 0)
    return list(write(made, output)), sum(len(trace) for trace in made)


def _print(program: Program, collective: str, lines: tuple[str, ...]) -> None:
    from yantra.base.text import count

    sys.stdout.write(f"{program.name}: {collective} over {count(len(program.gpus), 'GPU')}\n")
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _sizes(size: str | None, memory_bandwidth: str | None, compat: str | None) -> Sizes:
    from yantra.base.units import parse
    from yantra.collectives.msccl import Sizes
    from yantra.collectives.msccl.traces import MEMORY_BYTES_PER_S

    if compat == "upstream-head" and size is not None:
        raise click.UsageError("--compat upstream-head writes no sizes; leave --size out")
    if compat == "upstream-sized" and size is None:
        raise click.UsageError("--compat upstream-sized needs a --size")
    if memory_bandwidth is not None and (size is None or compat is not None):
        raise click.UsageError("--memory-bandwidth goes with --size, and without --compat")
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
