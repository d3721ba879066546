"""What every command of click has in common: `--json`, and examples at the end of its help.

An example is a command line as it is typed, `\\` and a line break included. The tests run each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import click


class WithExamples(click.Command):
    """A command whose help ends with the section "Examples"."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **more: Any) -> None:
        names = {"help_option_names": ["--help", "-h"]}
        more["context_settings"] = names | (more.get("context_settings") or {})
        super().__init__(*args, **more)
        self.examples = tuple(examples)

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; code that its options name, or an argument alone, may run."""
        from yantra.base.trust import allow_typed

        for parameter in self.params:
            is_named = isinstance(parameter, click.Option) or parameter.nargs == 1
            given = ctx.params.get(parameter.name or "") if is_named else None
            for text in given if isinstance(given, tuple) else (given,):
                if isinstance(text, str):
                    allow_typed(text)
        return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, not wrapped, then the epilog."""
        write_examples(self.examples, formatter)
        super().format_epilog(ctx, formatter)


def write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    """Write the section, if there are any."""
    if not examples:
        return
    with formatter.section("Examples"):
        for example in examples:
            for line in example.splitlines():
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


def json_option(help: str = "Print it as JSON.") -> Callable[[Callable[..., Any]], Any]:
    """Return the option `--json`, which a command takes as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=help)


def print_json(form: object) -> None:
    """Print a value as JSON, indented by one space."""
    from json import dumps

    sys.stdout.write(dumps(form, ensure_ascii=False, indent=1) + "\n")
