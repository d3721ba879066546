"""`yantra contract`: checks a plug-in against the laws of its kind."""

from __future__ import annotations

import sys

import click

from yantra.base.contract import check
from yantra.base.errors import ConfigError
from yantra.base.text import article
from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.complete import kinds as offered
from yantra.kinds import get, kinds
from yantra.network.core_contracts import CONTRACTS


@click.command(
    cls=WithExamples,
    examples=[
        "yantra contract topology my_mesh.py",
        "yantra contract collective halving_doubling",
        "yantra contract schedule zb-h1",
        "yantra contract model llama3-8b --json",
        "yantra contract queue_discipline drr",
    ],
    help=f"""Check PLUGIN, a name or a Python file, against the laws of its KIND.

    KIND is one of {", ".join(kinds.names())}, or, of what is built into the core,
    {", ".join(CONTRACTS)}. The exit status is 0 if every law holds over all
    examples, else 2, and the error names the law and the first example that breaks it.
    """,
)
@click.argument("kind", shell_complete=offered)
@click.argument("plugin", type=click.Path())
@json_option("Print what was checked as JSON.")
def command(kind: str, plugin: str, as_json: bool) -> int:
    """Check it, and say what holds."""
    contract = CONTRACTS.get(kind) or get(kind, "KIND").contract()
    verdict = check(contract, plugin)
    if verdict.broken:
        what = f"{article(contract.kind)} {contract.kind}"
        raise ConfigError(plugin, f"breaks the contract of {what}: {verdict.broken}")
    if as_json:
        print_json({"kind": kind, "plugin": plugin, "holds": verdict.summary.splitlines()})
    else:
        sys.stdout.write(verdict.summary + "\n")
    return 0
