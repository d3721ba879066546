"""What click's commands share: `--memory-limit`, `--json`, `--set`, examples.

Examples are typed lines, which the tests run; `yantra --help` describes common options.
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
    """A command with examples in its help, and `--memory-limit`.

    `seldom`: options that help leaves to `--set NAME=VALUE`. `limited`: nine tenths of free memory
    by default; not with a GPU, whose driver reserves more.
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
        """Read the arguments; code that they name may run,

        except in lists of files, which a shell may have made.
        """
        if self.seldom and not ctx.resilient_parsing:
            args = self.seldom.spelled_out(args, ctx)
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        given, _, order = self.make_parser(ctx).parse_args(list(args))
        _tell_of_two_values(order)
        if any(".py" in word for word in args):
            from yantra.base.trust import allow_typed

            for parameter in self.params:
                value = given.get(parameter.name or "")
                is_named = (
                    isinstance(parameter, click.Option)
                    or parameter.nargs == 1
                    or parameter.type is click.STRING  # names of models, fabrics
                )
                for text in value if isinstance(value, list | tuple) else (value,):
                    if is_named and isinstance(text, str):
                        allow_typed(text)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        self.format_common(formatter)

    def format_common(self, formatter: click.HelpFormatter) -> None:
        if common := common_options(self):
            formatter.write_paragraph()
            formatter.write_text(f"Also {', '.join(common)}: see yantra --help.")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(self.examples, formatter)
        super().format_epilog(ctx, formatter)


def _tell_of_two_values(order: Sequence[click.Parameter]) -> None:
    from yantra.cli import warn

    seen = set()
    for one in order:
        if not isinstance(one, click.Option) or one.multiple or one.is_flag or one.count:
            continue
        if one.name in seen:
            warn([f"{max(one.opts, key=len)}: given twice; the last value counts"])
        seen.add(one.name)


def common_options(command: click.Command) -> list[str]:
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
    if not examples:
        return
    with formatter.section("Examples"):
        for example in examples:
            for line in example.splitlines():
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


json_option = click.option("--json", "as_json", is_flag=True, hidden=True)
"""The option `--json`, which a command takes as `as_json`."""


def print_json(form: object) -> None:
    from json import dumps

    sys.stdout.write(dumps(form, ensure_ascii=False, indent=1) + "\n")
