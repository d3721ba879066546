"""`yantra explain`: why a run takes as long as it does, in words."""

from __future__ import annotations

import sys

import click

_EXAMPLES = """\b
Examples:
  yantra run step.yaml -o result.json
  yantra explain result.json
  yantra explain step.yaml              run it, then explain it
  yantra explain result.json --no-runs  only what the file holds
  yantra explain result.json --json     the same as data
"""


@click.command(epilog=_EXAMPLES)
@click.argument("file", type=click.Path())
@click.option("--no-runs", is_flag=True, help="Run nothing: explain what a result holds.")
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON.")
def command(file: str, no_runs: bool, as_json: bool) -> int:
    """Say what bounds the run of FILE, a result in JSON or a scenario.

    The critical path by kind and phase, and what the run would gain at most if a cause of time were
    gone. A result is run again for that, once recorded and once without each cause.
    """
    from json import dumps

    from yantra.cli.show import progress
    from yantra.insight import explain

    with progress("running without each cause") as report:
        explanation = explain(file, runs=not no_runs, progress=report)
    text = dumps(explanation.data, indent=1, ensure_ascii=False) if as_json else explanation.text()
    sys.stdout.write(text + "\n")
    return 0
