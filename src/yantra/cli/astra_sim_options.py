"""click's options of `yantra astra-sim`, for completion and docs;

the command reads its line itself, without click.
"""

from __future__ import annotations

from typing import Any

import click

from yantra.astra_sim.flags import CHOICES, FILES, OPTIONS, UNLISTED
from yantra.cli import astra_sim
from yantra.cli.command import WithExamples
from yantra.cli.complete import quirks


class _AstraSim(WithExamples):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.args = list(args)
        return ctx.args

    def invoke(self, ctx: click.Context) -> int:
        return astra_sim.main(ctx.args)

    def get_help(self, ctx: click.Context) -> str:
        return astra_sim.help_text().rstrip("\n")


def _option(name: str) -> click.Option:
    _, _, meaning = OPTIONS[name]
    more: dict[str, Any] = {"help": meaning, "hidden": name in UNLISTED}
    if name in ("json", "help"):
        return click.Option([f"--{name}"], is_flag=True, **more)
    if name in CHOICES:
        return click.Option([f"--{name}"], type=click.Choice(CHOICES[name]), **more)
    more["shell_complete"] = quirks if name == "semantics-quirk" else None
    kind = click.Path() if name in FILES else click.STRING
    return click.Option([f"--{name}"], type=kind, **more)


command = _AstraSim(
    "astra-sim",
    params=[_option(name) for name in OPTIONS],
    help="Run ASTRA-sim's inputs and print ASTRA-sim's lines.",
    examples=astra_sim.EXAMPLES,
    add_help_option=False,
)
