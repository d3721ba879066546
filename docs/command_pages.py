"""The commands' pages, from their help.

Trade-off: mkdocs-click 0.9 would lack examples and show `Sentinel.UNSET`.
"""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc

import click

from yantra.cli.command import COMMON, common_options
from yantra.cli.group import yantra

_HEAD = "| option | what it does |\n|---|---|\n"


def pages() -> dict[str, str]:
    context = click.Context(yantra, info_name="yantra")
    made = {"README.md": _overview(context)}
    for name in yantra.list_commands(context):
        command = yantra.get_command(context, name)
        assert command is not None
        made[f"{name}.md"] = "".join(_sections(command, f"yantra {name}", context, level=1))
    return made


def _overview(context: click.Context) -> str:
    rows = []
    for name in yantra.list_commands(context):
        command = yantra.get_command(context, name)
        assert command is not None
        rows.append(f"| [`{name}`]({name}.md) | {_text(command.get_short_help_str(limit=200))} |\n")
    return (
        "# Commands\n\nThe `--help` of each command.\n"
        "[The command line](../reference/command-line.md) has what all have in common, such as "
        "`--json`, progress and exit status.\n"
        "\n| command | what it does |\n|---|---|\n"
        + "".join(rows)
        + f"\n## Options of most commands\n\n{_HEAD}"
        + "".join(f"| `{name}` | {_cell(about)} |\n" for name, about in COMMON.items())
    )


def _sections(command: click.Command, name: str, above: click.Context, level: int) -> Iterator[str]:
    """Yield a command's section, then those below."""
    context = click.Context(command, parent=above, info_name=name.rpartition(" ")[2])
    yield f"{'#' * min(level, 3)} {name}\n\n"
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"```text\n{name} {usage}\n```\n\n"
    yield f"{_prose(command.help or '')}\n\n"
    yield _options(command, context)
    yield _examples(command)
    if isinstance(command, click.Group):
        for word in command.list_commands(context):
            below = command.get_command(context, word)
            assert below is not None
            yield from _sections(below, f"{name} {word}", context, level + 1)


def _options(command: click.Command, context: click.Context) -> str:
    records = [
        parameter.get_help_record(context)
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option)
    ]
    rows = [
        f"| `{record[0].replace('|', ' or ')}` | {_cell(record[1])} |\n"
        for record in records
        if record
    ]
    seldom = getattr(command, "seldom", None)
    more = (
        [f"| `{name}` | {_cell(seldom.about(name))} |\n" for name in seldom.options]
        if seldom
        else []
    )
    by_set = f"| by `--set` | what it is |\n|---|---|\n{''.join(more)}\n" if more else ""
    also = ", ".join(f"`{name}`" for name in common_options(command))
    told = (
        f"Also {also}, as in [all commands](README.md#options-of-most-commands).\n\n"
        if also
        else ""
    )
    return _HEAD + "".join(rows) + "\n" + by_set + told


def _examples(command: click.Command) -> str:
    examples: tuple[str, ...] = getattr(command, "examples", ())
    text = "".join(f"{example}\n" for example in examples)
    return f"```sh\n{text}```\n\n" if examples else ""


def _prose(help_text: str) -> str:
    """Return a help's paragraphs; a backspace keeps lines."""
    parts = []
    for part in cleandoc(help_text).split("\n\n"):
        if part.startswith("\b\n"):
            lines = "\n".join(line.strip() for line in part.splitlines()[1:])
            parts.append(f"```text\n{lines}\n```")
        else:
            parts.append(_text(part))
    return "\n\n".join(parts)


def _text(text: str) -> str:
    for mark in ("\\", "*", "_", "<", "[", "`"):
        text = text.replace(mark, f"\\{mark}")
    return text


def _cell(text: str) -> str:
    return _text(text).replace("|", "\\|")
