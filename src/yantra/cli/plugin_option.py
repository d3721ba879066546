"""The option `--plugin` of every command that reads a scenario."""

from __future__ import annotations

import click


def _plug_in(context: click.Context, _parameter: click.Parameter, files: tuple[str, ...]) -> None:
    if files and not context.resilient_parsing:
        from yantra.kinds import plugged_in

        context.with_resource(plugged_in(files))


option = click.option(
    "--plugin",
    multiple=True,
    type=click.Path(),
    metavar="FILE",
    expose_value=False,
    is_eager=True,  # before options that take its name
    callback=_plug_in,
    help="A Python file whose plug-in is known by its name in this command; may be repeated.",
)
