"""`yantra new`: writes the skeleton of a plug-in, one that works as it stands."""

from __future__ import annotations

import re
import sys
from os import path as paths

import click

from yantra.base.errors import ConfigError, expected_got
from yantra.base.output import make_executable, make_folder, write_text
from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.complete import kinds as offered
from yantra.kinds import get, kinds
from yantra.kinds.kind import Kind

_IN_THE_CORE = {
    "routing": "add-a-routing",
    "queue_discipline": "add-a-queue-discipline",
    "congestion_control": "add-a-congestion-control",
    "router": "add-to-the-noc",
}
"""Kinds that are a file of the core, by the guide's name."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")


@click.command(
    cls=WithExamples,
    examples=[
        "yantra new topology my_torus",
        "yantra new collective my_doubling -o plugins/my_doubling.py",
        "yantra new schedule my_schedule --json",
    ],
    help=f"""Write NAME.py, a plug-in of KIND that works as it stands, to begin your own with.

    KIND is one of {", ".join(kinds.names())}. An existing file is not overwritten. The file is
    trusted as it is written (yantra trust); once you have changed it, it is asked about again.
    """,
)
@click.argument("kind", shell_complete=offered)
@click.argument("name")
@click.option("-o", "--output", type=click.Path(), help="The file to write, in place of NAME.py.")
@json_option
def command(kind: str, name: str, output: str | None, as_json: bool) -> int:
    if (guide := _IN_THE_CORE.get(kind.replace("-", "_"))) is not None:
        problem = f"a {kind} is one file of the core, not a plug-in; see docs/guides/{guide}.md"
        raise ConfigError("KIND", problem)
    chosen = get(kind, "KIND")
    path = output or f"{name.replace('-', '_')}.py"
    _check(chosen, name, path)
    if paths.dirname(path):
        make_folder(paths.dirname(path))
    write_text(path, _text(chosen, name, path))
    if chosen.is_program:
        make_executable(path)
    _trust(path)
    as_typed = path if paths.dirname(path) else f"./{path}"
    check, use = f"yantra contract {kind} {path}", chosen.use(as_typed)
    if as_json:
        form = {"output": path, "kind": kind, "name": name, "contract": check}
        print_json(form | {"run": use.command, "before": use.before})
        return 0
    lines = [f"{path} is written. Check it, and run it:", "", f"  {check}"]
    lines += [f"  {use.command}"]
    if use.before:
        lines += ["", f"Before it runs: {use.before}"]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _trust(path: str) -> None:
    from yantra.base.trusted import Trusted

    try:
        trusted = Trusted.read()
        trusted.add(path)
        trusted.write()
    except ConfigError as error:
        from yantra.cli import warn

        warn([f"{path} is not trusted yet (yantra trust {path}): {error}"])


def _check(kind: Kind, name: str, path: str) -> None:
    if not _NAME.fullmatch(name):
        expected = "a name of letters, digits, - and _ that begins with a letter"
        raise ConfigError("NAME", expected_got(expected, name))
    taken = kind.taken_by(name)
    if taken:
        raise ConfigError("NAME", f"'{name}' is already given by {taken}; choose another")
    if not path.endswith(".py") or paths.basename(path) == ".py":
        raise ConfigError("--output", expected_got("a path that ends in .py", path))
    if paths.lexists(path):
        raise ConfigError(path, "exists already; choose another name, or another file with -o")


def _text(kind: Kind, name: str, path: str) -> str:
    text = kind.text(name)
    if kind.is_program or paths.splitext(paths.basename(path))[0] == name:
        return text
    before, line, after = text.rpartition("\n\nPLUGIN = ")
    return f'{before}\n\nPLUGIN_NAME = "{name}"{line.removeprefix(chr(10))}{after}'
