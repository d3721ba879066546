"""What every command of click has in common: `--memory-limit`, `--json`, `--set`, examples.

An example is a command line as it is typed, `\\` and a line break included. The tests run each.
The help of `yantra` describes the options that most commands have; theirs only names them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from yantra.cli.memory_option import memory_option
from yantra.cli.seldom import Seldom

COMMON = {
    "--json": "Print the result as JSON.",
    "--plugin FILE": "A Python file whose plug-in may run in this command, and is known by its "
    "name; may be repeated.",
    "--memory-limit SIZE": "The most memory that the command may take, such as 8GiB; by default "
    "nine tenths of what is free.",
}
"""Options of most commands, as `yantra --help` describes them."""


class WithExamples(click.Command):
    """A command whose help ends with the section "Examples", and that takes `--memory-limit`.

    `seldom`: names of its options that help leaves to `--set NAME=VALUE`. `limited`: it keeps to
    nine tenths of the free memory where the option is not given. That is not for a command that
    starts a GPU, whose driver reserves far more than it takes.
    """

    def __init__(
        self,
        *args: Any,
        examples: Sequence[str] = (),
        seldom: Sequence[str] = (),
        limited: bool = True,
        **more: Any,
    ) -> None:
        names = {"help_option_names": ["--help", "-h"]}
        more["context_settings"] = names | (more.get("context_settings") or {})
        super().__init__(*args, **more)
        self.examples = tuple(examples)
        is_own = any("--memory-limit" in one.opts for one in self.params)
        if not isinstance(self, click.Group) and not is_own:
            self.params.append(memory_option(by_default=limited))
        self.seldom = Seldom(self.params, seldom) if seldom else None
        if self.seldom and not self.seldom.is_shared:
            self.params.append(self.seldom.option)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; code that an option names, or an argument, may run.

        Not that of a list of files to read, which may come from a shell that lists a folder.
        """
        if self.seldom and not ctx.resilient_parsing:
            args = self.seldom.spelled_out(args, ctx)
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

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what this command alone has, then the names of what most commands have."""
        super().format_options(ctx, formatter)
        self.format_common(formatter)

    def format_common(self, formatter: click.HelpFormatter) -> None:
        """Write the names of the options that `yantra --help` describes."""
        if common := common_options(self):
            formatter.write_paragraph()
            formatter.write_text(f"Also {', '.join(common)}: see yantra --help.")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, not wrapped, then the epilog."""
        write_examples(self.examples, formatter)
        super().format_epilog(ctx, formatter)


def common_options(command: click.Command) -> list[str]:
    """Return those of `COMMON` that a command has and its help does not describe."""
    hidden = {
        name
        for one in command.params
        if isinstance(one, click.Option) and one.hidden
        for name in one.opts
    }
    seldom = getattr(command, "seldom", None)
    own = set() if seldom is None else {f"--{name.replace('_', '-')}" for name in seldom.options}
    return [shown for shown in COMMON if shown.partition(" ")[0] in hidden - own]


def write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    """Write the section, if there are any."""
    if not examples:
        return
    with formatter.section("Examples"):
        for example in examples:
            for line in example.splitlines():
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


json_option = click.option("--json", "as_json", is_flag=True, hidden=True)
"""The option `--json`, which a command takes as `as_json`."""


def print_json(form: object) -> None:
    """Print a value as JSON, indented by one space."""
    from json import dumps

    sys.stdout.write(dumps(form, ensure_ascii=False, indent=1) + "\n")
