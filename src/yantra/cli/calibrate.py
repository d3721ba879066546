"""`yantra calibrate`: a stack fitted to a few measured training steps."""

from __future__ import annotations

import json
import sys
from math import exp

import click

from yantra.cli.command import WithExamples


@click.command(
    cls=WithExamples,
    examples=[
        "yantra calibrate steps.csv --stack my-megatron",
        "yantra calibrate steps.csv --stack my-megatron -o mine.yaml",
        "yantra calibrate steps.csv --stack my-megatron --json",
        "yantra run --workload step.yw --cluster hgx-h100 --stack ./my-megatron.yaml",
    ],
    epilog="steps.csv has the columns model, cluster, plan, seconds and perhaps dtype: "
    "llama3-8b,hgx-h100,tp=8 dp=2 global_batch=32,4.31",
)
@click.argument("file", type=click.Path())
@click.option("--stack", "name", required=True, help="How the stack is called.")
@click.option("-o", "--output", type=click.Path(), help="The file to write; NAME.yaml if left out.")
@click.option("--json", "as_json", is_flag=True, help="Print what was fitted as JSON.")
def command(file: str, name: str, output: str | None, as_json: bool) -> int:
    """Fit a stack to the measured training steps of FILE, and write its file.

    Factors of products, attention and the rest are drawn toward 1 by how little they rest on.
    """
    from yantra.accuracy.fit import Factors, residual
    from yantra.accuracy.user_steps import read_steps, stack_text
    from yantra.base.output import write_text
    from yantra.fabric import stacks

    rows = read_steps(file, name)
    text, parts = stack_text(rows, f"{name}, from {len(rows)} measured steps")
    path = output or f"{name}.yaml"
    write_text(path, text)
    terms = stacks.load(path if "/" in path else f"./{path}").terms(parts[0].row.cluster)[1]
    fitted = Factors(terms.products.value, terms.attention.value, terms.rest.value)
    steps = [
        {
            "step": one.row.name,
            "measured_s": one.row.seconds,
            "without_s": one.seconds,
            "with_s": fitted.of(one),
        }
        for one in parts
    ]
    if as_json:
        sys.stdout.write(json.dumps({"file": path, "steps": steps}, indent=1) + "\n")
        return 0
    for step, one in zip(steps, parts, strict=True):
        off = exp(-residual(fitted, one)) - 1.0
        sys.stdout.write(
            f"{step['step']}: measured {step['measured_s']:.4g} s, without the stack "
            f"{step['without_s']:.4g} s, with it {step['with_s']:.4g} s ({off:+.1%})\n"
        )
    sys.stdout.write(f"wrote {path}; use it with --stack ./{path}\n")
    return 0
