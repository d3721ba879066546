"""A program and its arguments, each its own text. No shell reads it."""

from __future__ import annotations

from os import path as paths
from typing import TYPE_CHECKING, Any

from yantra.base import trust
from yantra.base.errors import ConfigError, expected_got
from yantra.base.fields.lists import Many
from yantra.base.fields.scalars import Schema, Text

if TYPE_CHECKING:
    from collections.abc import Sequence


def command_of(words: Sequence[str], folder: str) -> tuple[str, ...]:
    """Return a program and its arguments; a program with a `/` is relative to `folder`."""
    program, *arguments = words
    if folder and "/" in program:
        program = paths.normpath(paths.join(folder, program))
        program = program if "/" in program else f"./{program}"
    return (program, *arguments)


class Command(Many):
    """A program and its arguments, held as a tuple; with a `/` the program is a path.

    Paths are relative to the scenario's folder. A text alone has no arguments. A file's command
    must be trusted (`yantra.base.trust`).
    """

    expected = "a list: the program, then each argument"

    def __init__(self) -> None:
        super().__init__(Text())

    def read(self, tree: Any, where: str, folder: str) -> tuple[str, ...]:
        given: tuple[str, ...] = super().read([tree] if isinstance(tree, str) else tree, where, "")
        if not given:
            raise ConfigError(where, expected_got(self.expected, tree))
        command = command_of(given, folder)
        trust.require_program(command, where)
        return command

    def check(self, value: Any, where: str) -> None:
        super().check(value, where)
        if not value:
            raise ConfigError(where, expected_got(self.expected, []))

    def write(self, value: Any, folder: str) -> Any:
        program, *arguments = value
        if folder and "/" in program and not paths.isabs(program):
            program = paths.join(".", paths.relpath(program, folder))
        return [program, *arguments]

    def files(self, value: Any) -> tuple[str, ...]:
        return tuple(text for text in value if "/" in text and paths.isfile(text))

    def schema(self) -> Schema:
        texts = {"type": "array", "minItems": 1, "items": Text().schema()}
        return {"anyOf": [Text().schema(), texts]}

    def describe(self) -> str:
        return self.expected
