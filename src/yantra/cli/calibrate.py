"""`yantra calibrate`: files of your own machines and frameworks from what you measured."""

from __future__ import annotations

import json
import sys
from math import exp
from typing import TYPE_CHECKING

import click

from yantra.cli.command import WithExamples

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from yantra.accuracy.user_collectives import Curve
    from yantra.accuracy.user_kernels import Best


@click.command(
    cls=WithExamples,
    examples=[
        "yantra calibrate steps.csv --stack my-megatron",
        "yantra calibrate steps.csv --stack my-megatron -o mine.yaml",
        "yantra calibrate steps.csv --stack my-megatron --json",
        "yantra run --workload step.yw --cluster hgx-h100 --stack ./my-megatron.yaml",
        "yantra calibrate node.csv --device my-gpu -o my-gpu.yaml",
        "yantra run --workload step.yw --cluster hgx-h100 --profile ./my-gpu.yaml",
        "yantra calibrate nccl.log --cluster hgx-h100 -o my-cluster.yaml",
        "yantra run --workload step.yw --cluster ./my-cluster.yaml --speeds measured",
        "yantra calibrate nccl.log --cluster my-node -o my-node.yaml",
        "yantra run --workload step.yw --cluster hgx-h100 --collectives my-node.yaml",
    ],
    epilog="steps.csv has the columns model, cluster, plan, seconds, and optionally dtype and "
    "profile: llama3-8b,hgx-h100,tp=8 dp=2 global_batch=32,4.31. node.csv is what yantra "
    "microbench writes: op,phase,dtype,shape,us. nccl.log is what the programs of nccl-tests "
    "print, such as all_reduce_perf, in one run or several.",
)
@click.argument("file", type=click.Path())
@click.option("--stack", help="FILE has training steps: the name of the stack.")
@click.option("--device", help="FILE has kernels: the name of the machine.")
@click.option(
    "--cluster",
    help="FILE has output of nccl-tests: the named cluster of the machine, or a name "
    "for the machine.",
)
@click.option("-o", "--output", type=click.Path(), help="The file to write; NAME.yaml if left out.")
@click.option("--json", "as_json", is_flag=True, help="Print what was fitted as JSON.")
def command(
    file: str,
    stack: str | None,
    device: str | None,
    cluster: str | None,
    output: str | None,
    as_json: bool,
) -> int:
    """Make a stack of measured steps, a profile of kernels, or a file of measured collectives.

    With --stack, factors of products, attention and the rest are fitted to the steps of FILE, and
    drawn toward 1 where they rest on few. With --device, the kernels of FILE correct the tables of
    measured kernels. With --cluster, FILE has the times of nccl-tests or rccl-tests: for a named
    cluster the new file is a copy of it with these times, else a file of collectives alone.
    """
    known = {"stack": (stack, _steps), "device": (device, _kernels), "cluster": (cluster, _nccl)}
    given = [(name, make) for name, make in known.values() if name is not None]
    if len(given) != 1:
        expected = "--stack NAME (steps), --device NAME (kernels) or --cluster NAME (nccl-tests)"
        raise click.UsageError(f"expected one of {expected}")
    [(name, make)] = given
    return make(file, name, output or f"{name}.yaml", as_json)


def _steps(file: str, name: str, path: str, as_json: bool) -> int:
    from yantra.accuracy.user_steps import read_steps, seconds_with, stack_text
    from yantra.base.output import write_text
    from yantra.base.seals import seal_yaml
    from yantra.base.text import count
    from yantra.fabric import stacks

    rows = read_steps(file, name)
    text, parts = stack_text(rows, f"{name}, from {count(len(rows), 'measured step')}")
    write_text(path, seal_yaml(text))
    made = stacks.load(path if "/" in path else f"./{path}")
    steps: list[dict[str, Any]] = [
        {
            "step": one.row.name,
            "measured_s": one.row.seconds,
            "without_s": one.seconds,
            "with_s": seconds_with(made, one.row),
        }
        for one in parts
    ]
    if as_json:
        sys.stdout.write(json.dumps({"file": path, "steps": steps}, indent=1) + "\n")
        return 0
    for step in steps:
        off = step["with_s"] / step["measured_s"] - 1.0
        sys.stdout.write(
            f"{step['step']}: measured {step['measured_s']:.4g} s, without the stack "
            f"{step['without_s']:.4g} s, with it {step['with_s']:.4g} s ({off:+.1%})\n"
        )
    where = path if "/" in path else f"./{path}"
    sys.stdout.write(f"wrote {path}; use it with --stack {where}\n")
    return 0


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
    lines.append(f"wrote {path}; use it with --profile {where}")
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
    use = f"--cluster {where}" if made.is_cluster else f"--collectives {path}"
    sys.stdout.write(f"wrote {path}; use it with {use}\n")
    return 0


def _form(one: Curve) -> dict[str, Any]:
    """Return a fit for JSON."""
    fit = one.fit._asdict() | {"terms": [term._asdict() for term in one.fit.terms]}
    return {"collective": one.collective, "where": one.where, "runs": one.runs} | fit


def _runs(runs: Sequence[tuple[int, str]]) -> str:
    """Return in words which algorithm and protocol runs up to which size."""
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
