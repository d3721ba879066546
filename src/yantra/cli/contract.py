"""`yantra contract`: checks a plug-in against the laws of its kind."""

from __future__ import annotations

import sys

import click

from yantra.base.contract import Contract, check
from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.text import article
from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.complete import contracts as offered
from yantra.kinds import get, kinds
from yantra.network.core_contracts import CONTRACTS as OF_THE_CORE


@click.command(
    cls=WithExamples,
    examples=[
        "yantra contract topology my_mesh.py",
        "yantra contract collective halving_doubling",
        "yantra contract schedule zb-h1",
        "yantra contract model llama3-8b --json",
        "yantra contract queue_discipline drr",
        "yantra contract routing ecmp",
        "yantra contract cluster my-cluster.yaml",
    ],
    help=f"""Check PLUGIN, a name or a Python file, against the laws of its KIND.

    KIND is one of {", ".join(kinds.names())}; cluster, of which PLUGIN is a YAML file; or, of
    what is built into the core, {", ".join(OF_THE_CORE)}. The exit status is 0 if every law
    holds over all examples, else 2, and the error names the law and the first example that
    breaks it.
    """,
)
@click.argument("kind", shell_complete=offered)
@click.argument("plugin", type=click.Path())
@json_option
def command(kind: str, plugin: str, as_json: bool) -> int:
    """Check it, and say what holds."""
    contract = _contract_of(kind)
    verdict = check(contract, plugin)
    if verdict.broken:
        what = f"{article(contract.kind)} {contract.kind}"
        raise ConfigError(plugin, f"breaks the contract of {what}: {verdict.broken}")
    if as_json:
        print_json({"kind": kind, "plugin": plugin, "holds": verdict.summary.splitlines()})
    else:
        sys.stdout.write(verdict.summary + "\n")
    return 0


def _contract_of(kind: str) -> Contract:
    if kind == "cluster":
        from yantra.kinds.cluster_laws import CONTRACT

        return CONTRACT
    if kind in OF_THE_CORE:
        return OF_THE_CORE[kind]
    if kind not in kinds.names():
        known = names()
        problem = expected_got(f"one of {', '.join(known)}", kind) + did_you_mean(kind, known)
        raise ConfigError("KIND", problem)
    return get(kind, "KIND").contract()


def names() -> tuple[str, ...]:
    return (*kinds.names(), "cluster", *OF_THE_CORE)
