"""The option `--memory-limit` of every command that runs something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def _limit(context: click.Context, _parameter: click.Parameter, text: str | None) -> None:
    if not context.resilient_parsing:
        from yantra.base.memory import limited, read_limit

        context.with_resource(limited(None if text is None else read_limit(text)))


option: Callable[[Callable[..., Any]], Any] = click.option(
    "--memory-limit",
    metavar="SIZE",
    expose_value=False,
    callback=_limit,
    help="The most memory that the command may take, such as 8GiB; by default nine tenths of what "
    "is free.",
)
