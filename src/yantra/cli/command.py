"""What every command of click has in common: `--memory-limit`, `--json`, examples in its help.

An example is a command line as it is typed, `\\` and a line break included. The tests run each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from yantra.cli.memory_option import memory_option


class WithExamples(click.Command):
    """A command whose help ends with the section "Examples", and that takes `--memory-limit`.

    `limited`: it keeps to nine tenths of the free memory where the option is not given. That is not
    for a command that starts a GPU, whose driver reserves far more than it takes.
    """

    def __init__(
        self, *args: Any, examples: Sequence[str] = (), limited: bool = True, **more: Any
    ) -> None:
        names = {"help_option_names": ["--help", "-h"]}
        more["context_settings"] = names | (more.get("context_settings") or {})
        super().__init__(*args, **more)
        self.examples = tuple(examples)
        is_own = any("--memory-limit" in one.opts for one in self.params)
        if not isinstance(self, click.Group) and not is_own:
            self.params.append(memory_option(by_default=limited))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; code that an option names, or an argument, may run.

        Not that of a list of files to read, which may come from a shell that lists a folder.
        """
        if not ctx.resilient_parsing and any(".py" in word for word in args):
            from yantra.base.trust import allow_typed

            given = self.make_parser(ctx).parse_args(list(args))[0]
            for parameter in self.params:
                value = given.get(parameter.name or "")
                is_named = (
                    isinstance(parameter, click.Option)
                    or parameter.nargs == 1
                    or parameter.type is click.STRING  # names of models, of fabrics
                )
                for text in value if isinstance(value, list | tuple) else (value,):
                    if is_named and isinstance(text, str):
                        allow_typed(text)
        return super().parse_args(ctx, args)

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
