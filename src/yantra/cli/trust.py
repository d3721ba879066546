"""`yantra trust`: what may run though only a file names it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from yantra.base.errors import ConfigError, show
from yantra.base.text import count
from yantra.cli.command import WithExamples, json_option, print_json

if TYPE_CHECKING:
    from yantra.base.trusted import Trusted


@click.command(
    cls=WithExamples,
    examples=[
        "yantra trust .",
        "yantra trust my_mesh.py step.yaml --json",
        "yantra trust --list",
    ],
)
@click.argument("paths", nargs=-1, type=click.Path(), metavar="FOLDER|FILE...")
@click.option("--list", "as_list", is_flag=True, help="List what is trusted, and how it is now.")
@click.option("--forget", is_flag=True, help="Trust FOLDER or FILE no longer.")
@json_option
def command(paths: tuple[str, ...], as_list: bool, forget: bool, as_json: bool) -> int:
    """Let the code in FOLDER run, as it is now, when a scenario, study or result names it.

    Digests are in your configuration ($XDG_CONFIG_HOME/yantra/trusted.json); changed or new files
    are asked about again. Files that are code (.py, executables) or may name a program (.yaml,
    .json) count.
    """
    from yantra.base.trusted import Trusted

    if as_list and (paths or forget):
        raise click.UsageError("--list goes alone")
    if not as_list and not paths:
        raise click.UsageError("expected a folder or a file, or --list")
    trusted = Trusted.read()
    if as_list:
        return _list(trusted, as_json)
    files = {path: _forget(trusted, path) if forget else trusted.add(path) for path in paths}
    trusted.write()
    if as_json:
        print_json({"forgotten" if forget else "trusted": files})
        return 0
    for path, found in files.items():
        if forget:
            sys.stdout.write(f"{_shown(path)} is not trusted any more\n")
            continue
        sys.stdout.write("".join(f"{_shown(file)}\n" for file in found))
        are = "is trusted as it is" if len(found) == 1 else "are trusted as they are"
        sys.stdout.write(f"{count(len(found), 'file')} {are} now\n")
    return 0


def _forget(trusted: Trusted, path: str) -> list[str]:
    if not trusted.remove(path):
        raise ConfigError(path, "is not trusted by itself; yantra trust --list shows what is")
    return []


def _list(trusted: Trusted, as_json: bool) -> int:
    changed = {entry: trusted.changed(entry) for entry in trusted.entries}
    if as_json:
        print_json({entry: {"changed": files} for entry, files in changed.items()})
        return 0
    for entry, files in changed.items():
        lines = [f"{_shown(entry)}: {count(len(trusted.entries[entry]), 'file')}"]
        lines += [f"  {_shown(file)}: changed since, so not trusted" for file in files]
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _shown(path: str) -> str:
    return path if path.isprintable() else show(path)
