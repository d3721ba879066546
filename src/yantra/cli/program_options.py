"""Options that name the program of the network `external`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import click

if TYPE_CHECKING:
    from yantra.network import Level
    from yantra.network.external import Options


def program_options(command: Any) -> Any:
    command = click.option(
        "--external",
        multiple=True,
        metavar="NAME=VALUE",
        help="With --network external: routes=own, or timeout=5min for one answer.",
    )(command)
    return click.option(
        "--command",
        "program",
        metavar="PROGRAM",
        help="With --network external: the program and its arguments; no shell reads them.",
    )(command)


def refuse(option: str, network: str, level: Level, what: str = "") -> NoReturn:
    from yantra.base.errors import ConfigError

    raise ConfigError(option, f"{what}goes with the network {network}; this is {level.name}")


def program_of(level: Level, program: str | None, options: tuple[str, ...]) -> Options | None:
    import shlex

    from yantra.base.errors import ConfigError, expected_got
    from yantra.base.fields import read_options
    from yantra.base.trust import allow_program
    from yantra.network.external import External

    if level.flow_lists != "program":
        for name, given in {"--command": program, "--external": options}.items():
            if given:
                refuse(name, "external", level)
        return None
    try:
        words = shlex.split(program or "")
    except ValueError as error:
        raise ConfigError("--command", f"{error} in {program}") from None
    if not words:
        raise ConfigError("--command", "missing; the network external is a program, so give one")
    allow_program(tuple(words))
    tree: dict[str, Any] = {"command": words}
    for text in options:
        name, equals, value = text.partition("=")
        if not equals or name == "command":
            raise ConfigError("--external", expected_got("routes=own or timeout=5min", text))
        tree[name] = value
    read: Options = read_options(External.options, tree, "--external", "")
    External.check_options(read, "--command")
    return read
