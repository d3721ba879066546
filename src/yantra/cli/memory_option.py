"""The option `--memory-limit`, which every command has."""

from __future__ import annotations

from typing import Any

import click


def memory_option(*, by_default: bool) -> click.Option:
    def limit(context: click.Context, _parameter: click.Parameter, text: str | None) -> None:
        if not context.resilient_parsing and (by_default or text is not None):
            from yantra.base.memory import limited, read_limit

            context.with_resource(limited(None if text is None else read_limit(text)))

    more: dict[str, Any] = {"expose_value": False, "callback": limit, "hidden": True}
    return click.Option(["--memory-limit"], metavar="SIZE", **more)
