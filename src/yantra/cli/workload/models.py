"""`yantra workload models`: lists models, and counts what they weigh."""

from __future__ import annotations

import json
import sys

import click

from yantra.cli.command import WithExamples, json_option
from yantra.cli.complete import models as model_names


@click.command(
    cls=WithExamples,
    examples=[
        "yantra workload models",
        "yantra workload models llama3-70b deepseek-v3",
        "yantra workload models config.json --json",
    ],
)
@click.argument("models", nargs=-1, metavar="[MODEL]...", shell_complete=model_names)
@json_option
def command(models: tuple[str, ...], as_json: bool) -> None:
    """List the models that are known by name, or count each MODEL.

    MODEL is a name, a Python file that gives a model, a Hugging Face config.json, or a YAML file
    of sizes. The cache of keys and values holds bf16.
    """
    from yantra.base.text import table
    from yantra.cli import warn
    from yantra.workloads.models import catalogue
    from yantra.workloads.models.overview import HEAD, overview, row

    found = [catalogue.find(name) for name in models or catalogue.names()]
    if as_json:
        forms = [overview(model) for model in found]
        sys.stdout.write(json.dumps(forms, ensure_ascii=False, indent=1) + "\n")
        return
    sys.stdout.write("\n".join(table(HEAD, [row(model) for model in found])) + "\n")
    if models:
        warn([note for model in found for note in model.notes])
