"""The commands of `yantra`, found by walking the tree, so that none is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import click

from yantra.cli.group import yantra


class Found(NamedTuple):
    words: tuple[str, ...]
    command: click.Command
    context: click.Context

    @property
    def name(self) -> str:
        return " ".join(("yantra", *self.words))

    @property
    def is_group(self) -> bool:
        return isinstance(self.command, click.Group)

    @property
    def examples(self) -> tuple[str, ...]:
        examples: tuple[str, ...] = getattr(self.command, "examples", ())
        return examples

    def has_option(self, option: str) -> bool:
        return any(option in parameter.opts for parameter in self.command.params)


def walk(
    command: click.Command = yantra, words: tuple[str, ...] = (), above: click.Context | None = None
) -> Iterator[Found]:
    context = click.Context(command, parent=above, info_name=words[-1] if words else "yantra")
    yield Found(words, command, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None, f"{words} lists {name}, which is not there"
            yield from walk(below, (*words, name), context)


EVERY = list(walk())
COMMANDS = [found for found in EVERY if not found.is_group]


def name(found: Found) -> str:
    return found.name
