"""`yantra calibrate`: files of your machines and frameworks from measurements."""

from __future__ import annotations

import json
import sys
from math import exp
from typing import TYPE_CHECKING

import click

from yantra.cli.command import WithExamples, json_option

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from yantra.accuracy.own_fit import Moved
    from yantra.accuracy.own_stack import Rank
    from yantra.accuracy.user_collectives import Curve
    from yantra.accuracy.user_kernels import Best
    from yantra.fabric.stacks import Stack


@click.command(
    cls=WithExamples,
    examples=[
        "yantra calibrate steps.csv",
        "yantra calibrate steps.csv --stack my-megatron",
        "yantra calibrate steps.csv --stack megatron-2022 -o mine.yaml",
        "yantra calibrate steps.csv --stack my-megatron --json",
        "yantra run --workload step.yw --cluster hgx-h100 --stack ./my-megatron.yaml",
        "yantra calibrate node.csv --device my-gpu -o my-gpu.yaml",
        "yantra run --workload step.yw --cluster hgx-h100 --stack ./my-gpu.yaml",
        "yantra calibrate nccl.log --cluster hgx-h100 -o my-cluster.yaml",
        "yantra run --workload step.yw --cluster ./my-cluster.yaml",
        "yantra calibrate nccl.log --cluster my-node -o my-node.yaml",
        "yantra run --workload step.yw --cluster hgx-h100 --stack ./my-node.yaml",
        "yantra calibrate requests.csv --model llama3-8b --cluster rtx-4090 \\\n"
        "    --set max_num_seqs=128 -o my-engine.yaml",
    ],
    epilog="steps.csv has the columns model, cluster, plan, seconds, and optionally dtype, profile "
    "and framework: llama3-8b,hgx-h100,tp=8 dp=2 global_batch=32,4.31. node.csv is what yantra "
    "microbench writes: op,phase,dtype,shape,us. nccl.log is what the programs of nccl-tests "
    "print, such as all_reduce_perf, in one run or several.",
)
@click.argument("file", type=click.Path())
@click.option(
    "--stack",
    help="FILE has training steps: a stack to start from, by name or file, or the name of a "
    "new one, which starts from the nearest.",
)
@click.option("--device", help="FILE has kernels: the name of the machine.")
@click.option(
    "--cluster",
    help="FILE has output of nccl-tests: the named cluster of the machine, or a name "
    "for the machine.",
)
@click.option(
    "--model",
    help="FILE has requests that an engine served (yantra serve --log): the model; with --cluster.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="With --model: what else yantra serve is told, such as tp=2 or engine=sglang.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    help="The file to write; NAME.yaml if left out, my-stack.yaml without a name.",
)
@json_option
def command(
    file: str,
    stack: str | None,
    device: str | None,
    cluster: str | None,
    model: str | None,
    settings: tuple[str, ...],
    output: str | None,
    as_json: bool,
) -> int:
    """Make a stack of measured steps, a profile of kernels, or a file of measured collectives.

    Without an option or with --stack, FILE has steps: named stacks are ranked, and the nearest is
    moved to them. --device: its kernels correct the tables. --cluster: it has times of nccl-tests
    or rccl-tests, for a copy of a named cluster or a file of collectives. --model and --cluster: it
    has requests with times, for an engine (yantra serve --engine).
    """
    if model is not None:
        from yantra.cli import calibrate_requests

        if cluster is None or device is not None or stack is not None:
            raise click.UsageError("--model NAME (requests) goes with --cluster NAME alone")
        path = output or "my-engine.yaml"
        return calibrate_requests.make(file, model, cluster, settings, path, as_json=as_json)
    if settings:
        raise click.UsageError("--set goes with --model NAME (requests)")
    known = {"device": (device, _kernels), "cluster": (cluster, _nccl)}
    given = [(name, make) for name, make in known.values() if name is not None]
    if len(given) + (stack is not None) > 1:
        expected = "--stack NAME (steps), --device NAME (kernels) or --cluster NAME (nccl-tests)"
        raise click.UsageError(f"expected one of {expected}")
    for name, make in given:
        return make(file, name, output or f"{name}.yaml", as_json)
    return _steps(file, stack, output, as_json)


def _steps(file: str, named: str | None, output: str | None, as_json: bool) -> int:
    from yantra.accuracy.mixture import shipped
    from yantra.accuracy.own_stack import best_of, own_stack, run_of
    from yantra.accuracy.user_steps import read_steps
    from yantra.base.output import write_text
    from yantra.base.seals import seal_yaml
    from yantra.base.text import count
    from yantra.cli.stack.find import forms, ranking, table_of

    rows = read_steps(file)
    start, name = _start(named)
    path = output or f"{name}.yaml"
    where = path if "/" in path else f"./{path}"
    found = [] if start else ranking(rows)
    start = start or best_of(found, shipped())
    title = f"{name}: {start.name} moved by {count(len(rows), 'measured step')}"
    own = own_stack(rows, start, title, path)
    write_text(path, seal_yaml(own.text))
    before, after = ([run_of(row, stack) for row in rows] for stack in (start, own.stack))
    if as_json:
        form = {
            "file": path,
            "started_from": start.name,
            "ranking": forms(found),
            "moves": [_move(one) for one in own.moves],
            "steps": [
                {
                    "step": one.row.name,
                    "measured_s": one.row.seconds,
                    "before_s": one.seconds,
                    "with_s": other.seconds,
                }
                for one, other in zip(before, after, strict=True)
            ],
        }
        sys.stdout.write(json.dumps(form, indent=1) + "\n")
        return 0
    lines = [*table_of(found), f"started from {start.name}{_why(found)}"]
    lines += [_moved_line(one) for one in own.moves]
    lines += [
        f"{one.row.name}: measured {one.row.seconds:.4g} s, with {start.name} {one.seconds:.4g} s, "
        f"with yours {other.seconds:.4g} s ({other.error:+.1%})"
        for one, other in zip(before, after, strict=True)
    ]
    sys.stdout.write("\n".join([*lines, f"wrote {path}; use it with --stack {where}"]) + "\n")
    return 0


def _start(named: str | None) -> tuple[Stack | None, str]:
    from os import path as paths

    from yantra.base.named_files import ENDING
    from yantra.fabric import stacks

    if named is None:
        return None, "my-stack"
    is_file = "/" in named or named.endswith(ENDING)
    if is_file or named in stacks.names():
        name = paths.basename(named).removesuffix(ENDING)
        return stacks.load(named, where="--stack"), f"my-{name}" if is_file else name
    return None, named


def _why(found: Sequence[Rank]) -> str:
    return ", the nearest" if found else ""


def _move(one: Moved) -> dict[str, Any]:
    names = ("products", "attention", "rest")
    times = {name: exp(move) for name, move in zip(names, one.moves, strict=True)}
    return times | {"scatter": one.scatter, "weight": one.weight, "interval": one.interval}


def _moved_line(one: Moved) -> str:
    by = ", ".join(f"{name} x {value:.2f}" for name, value in list(_move(one).items())[:3])
    return (
        f"moved {by}: {one.weight:.0%} of the way to your steps, which scatter by "
        f"{one.scatter:.1%}; 90 % within {exp(-one.interval) - 1.0:+.0%} "
        f"{exp(one.interval) - 1.0:+.0%}"
    )


def _kernels(file: str, device: str, path: str, as_json: bool) -> int:
    from yantra.accuracy.user_kernels import profile_text, summary
    from yantra.base.output import write_text
    from yantra.base.seals import seal_yaml

    text, rows = profile_text(file, device)
    write_text(path, seal_yaml(text))
    found = summary(rows)
    if as_json:
        form = {
            "file": path,
            "kernels": [one._asdict() for one in found],
            "launch_us": rows.launch_us or None,
            "host_bytes_per_s": rows.host_bytes_per_s or None,
        }
        sys.stdout.write(json.dumps(form, indent=1) + "\n")
        return 0
    lines = [_line(one) for one in found]
    if rows.launch_us:
        lines.append(f"an empty kernel takes {rows.launch_us:.3g} us")
    if rows.host_bytes_per_s:
        lines.append(f"copies to the host reach {rows.host_bytes_per_s / 1e9:.3g} GB/s")
    where = path if "/" in path else f"./{path}"
    lines.append(f"wrote {path}; use it with --stack {where}")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _nccl(file: str, cluster: str, path: str, as_json: bool) -> int:
    from yantra.accuracy.user_collectives import collectives_text
    from yantra.base.output import write_text
    from yantra.base.seals import seal_yaml
    from yantra.base.text import count
    from yantra.cli import warn

    made = collectives_text(file, cluster)
    write_text(path, seal_yaml(made.text))
    warn(made.log.notes)
    if as_json:
        fits = [_form(one) for one in made.curves]
        sys.stdout.write(json.dumps({"file": path, "collectives": fits}, indent=1) + "\n")
        return 0
    for one in made.curves:
        place = "in a node" if one.where == "node" else "over nodes"
        fit = one.fit
        sys.stdout.write(
            f"{one.collective} {place}: {count(fit.points, 'time')} on up to {fit.most_ranks} "
            f"ranks, off by {fit.mean_error:.1%} on average; 90 % of sizes left out within "
            f"{exp(-fit.interval) - 1.0:+.0%} {exp(fit.interval) - 1.0:+.0%}\n  {_runs(one.runs)}\n"
        )
    where = path if "/" in path else f"./{path}"
    use = "--cluster" if made.is_cluster else "--stack"
    sys.stdout.write(f"wrote {path}; use it with {use} {where}\n")
    return 0


def _form(one: Curve) -> dict[str, Any]:
    fit = one.fit._asdict() | {"terms": [term._asdict() for term in one.fit.terms]}
    return {"collective": one.collective, "where": one.where, "runs": one.runs} | fit


def _runs(runs: Sequence[tuple[int, str]]) -> str:
    from yantra.base.units import format_size

    ends = [*(start for start, _ in runs[1:]), 0]
    return ", ".join(
        f"{name} to {format_size(end)}" if end else f"{name} above" if len(runs) > 1 else name
        for (_, name), end in zip(runs, ends, strict=True)
    )


def _line(one: Best) -> str:
    from yantra.base.text import count

    name = f"{one.family} {one.dtype}".strip()
    return f"{name}: {count(one.kernels, 'kernel')}, the best at {one.rate / 1e12:.3g} T{one.unit}"
