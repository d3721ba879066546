"""`yantra compare`: what changed from one result to another, and what explains it."""

from __future__ import annotations

import sys

import click

_EXAMPLES = """\b
Examples:
  yantra run now.yaml -o now.json
  yantra run faster.yaml -o faster.json
  yantra compare now.json faster.json
  yantra compare now.json faster.json --json
"""


@click.command(epilog=_EXAMPLES)
@click.argument("a", type=click.Path())
@click.argument("b", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def command(a: str, b: str, as_json: bool) -> int:
    """Tell what changed from result A to result B, both in JSON.

    By how much, in which kinds, phases and nodes of the critical path, and what differs in the
    scenarios. The parts of the critical path add up to the change.
    """
    from json import dumps

    from yantra.insight import compare

    comparison = compare(a, b)
    text = dumps(comparison.data, indent=1, ensure_ascii=False) if as_json else comparison.text()
    sys.stdout.write(text + "\n")
    return 0
