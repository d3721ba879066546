"""`yantra workload show`: what a workload holds, and what models weigh."""

from __future__ import annotations

import json
import sys
from typing import Any
from zipfile import is_zipfile

import click

from yantra.cli.command import WithExamples, json_option
from yantra.cli.complete import models as model_names


@click.command(
    cls=WithExamples,
    examples=[
        "yantra workload show",
        "yantra workload show step.yw --json",
        "yantra workload show llama3-70b deepseek-v3",
        "yantra workload show config.json",
    ],
)
@click.argument("named", nargs=-1, metavar="[WORKLOAD|MODEL...]", shell_complete=model_names)
@json_option
def command(named: tuple[str, ...], as_json: bool) -> None:
    """Show what WORKLOAD holds, or count what each MODEL weighs; without either, list the models.

    WORKLOAD is a .yw file. MODEL is a name, a Python file, a Hugging Face config.json, or YAML
    sizes. The KV cache holds bf16.
    """
    workloads = [name for name in named if name.endswith(".yw") or is_zipfile(name)]
    if workloads and len(named) > 1:
        raise click.UsageError(f"expected one workload alone, or models, got {' '.join(named)}")
    if workloads:
        _workload(workloads[0], as_json)
    else:
        _models(named, as_json)


def _workload(name: str, as_json: bool) -> None:
    from yantra.workloads.describe import as_dict, report
    from yantra.workloads.templates import load

    opened = load(name)
    if as_json:
        _print_forms(as_dict(opened))
    else:
        sys.stdout.write(report(opened))


def _models(named: tuple[str, ...], as_json: bool) -> None:
    from yantra.base.text import table
    from yantra.cli import warn
    from yantra.workloads.models import catalogue
    from yantra.workloads.models.overview import HEAD, overview, row

    found = [catalogue.find(name) for name in named or catalogue.names()]
    if as_json:
        _print_forms([overview(model) for model in found])
        return
    sys.stdout.write("\n".join(table(HEAD, [row(model) for model in found])) + "\n")
    if named:
        warn([note for model in found for note in model.notes])


def _print_forms(forms: Any) -> None:
    sys.stdout.write(json.dumps(forms, ensure_ascii=False, indent=1) + "\n")
