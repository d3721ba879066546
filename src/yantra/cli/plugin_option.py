"""The option `--plugin` of every command that reads a scenario."""

from __future__ import annotations

import click


def _plug_in(context: click.Context, _parameter: click.Parameter, files: tuple[str, ...]) -> None:
    if context.resilient_parsing:
        return
    from yantra.base import trust

    trust.say_option()
    if files:
        from yantra.kinds import plugged_in

        trust.allow(*files)
        context.with_resource(plugged_in(files))


option = click.option(
    "--plugin",
    multiple=True,
    type=click.Path(),
    metavar="FILE",
    expose_value=False,
    is_eager=True,  # before options that take its name
    callback=_plug_in,
    hidden=True,
)
