"""`yantra completion`: prints the script that completes commands in a shell."""

from __future__ import annotations

import sys

import click

from yantra.cli import COMPLETING
from yantra.cli.command import WithExamples

SHELLS = ("bash", "zsh", "fish")


@click.command(
    cls=WithExamples,
    examples=[f"yantra completion {shell}" for shell in SHELLS],
)
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> int:
    """Print the script with which SHELL completes commands, options, names and files.

    \b
    bash: ~/.local/share/bash-completion/completions/yantra
    zsh:  _yantra, in a folder of $fpath
    fish: ~/.config/fish/completions/yantra.fish

    Once written to that file, it works in shells started afterwards. For the current one:
    eval "$(yantra completion bash)"
    """
    from click.shell_completion import get_completion_class

    from yantra.cli.group import yantra

    kind = get_completion_class(shell)
    assert kind is not None
    sys.stdout.write(kind(yantra, {}, "yantra", COMPLETING).source())
    return 0
