"""Completion in the shells themselves: what they offer for lines that are being typed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from tests.cli.tree import EVERY, Found, name
from yantra.collectives import sites
from yantra.collectives.algorithms import algorithms
from yantra.fabric import clusters
from yantra.result.table_names import ALL_TABLES
from yantra.scenario.quirks import Quirk
from yantra.workloads.models import catalogue
from yantra.workloads.schedules import schedules

FILES = "offer-files"
SHELLS = ("bash", "zsh", "fish")
BASH = """
source <(yantra completion bash)
compopt() { echo offer-files; }
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_yantra_completion yantra
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """
compdef() { :; }
_describe() { print -rl -- ${(P)argv[-2]%%:*}; }
compadd() { print -rl -- ${(P)argv[-1]}; }
_path_files() { print offer-files }
source <(yantra completion zsh)
words=("$@")
CURRENT=$#
_yantra_completion
"""
FISH = """
yantra completion fish | source
complete --do-complete "$argv"
"""
COMMAND = "import sys; from yantra.cli import main; sys.argv[0] = 'yantra'; sys.exit(main())"


@pytest.fixture(scope="module")
def shell_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder: Path = tmp_path_factory.mktemp("bin")
    script = folder / "yantra"
    script.write_text(f'#!/bin/sh\nexec \'{sys.executable}\' -c "{COMMAND}" "$@"\n')
    script.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def offered(shell: str, path: str, line: str, folder: Path) -> list[str]:
    if which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    words = line.split(" ")
    if shell == "fish":
        command = ["fish", "--no-config", "-c", FISH, line]
    elif shell == "zsh":
        command = ["zsh", "-f", "-c", ZSH, "zsh", *words]
    else:
        command = ["bash", "--norc", "-c", BASH, "bash", *words]
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PATH": path, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return [item.partition("\t")[0] for item in done.stdout.splitlines() if item]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_offers_commands_options_and_names(
    shell: str, shell_path: str, tmp_path: Path
) -> None:
    def offer(line: str) -> list[str]:
        return offered(shell, shell_path, line, tmp_path)

    assert offer("yantra cl") == ["cluster"]
    assert offer("yantra chakra con") == ["convert"]
    assert "--trace" in offer("yantra run --t")
    assert offer("yantra run --table nod") == ["nodes"]
    assert "hgx-h100" in offer("yantra cluster show hgx-h1")


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("yantra workload show ", catalogue.names()),
        ("yantra workload train --model ", catalogue.names()),
        ("yantra cluster show ", (*clusters.names(), *sites.names())),
        ("yantra run --workload a.yw --cluster ", (*clusters.names(), *sites.names())),
        ("yantra run --table ", ALL_TABLES),
        ("yantra run --all-reduce ", algorithms.names()),
        ("yantra run --all-reduce ring,", [f"ring,{name}" for name in algorithms.names()]),
        ("yantra workload train --schedule ", schedules.names()),
        ("yantra astra-sim --semantics-quirk ", [quirk.value for quirk in Quirk]),
        ("yantra astra-sim --network-backend = congestion-u", ["congestion-unaware"]),
        ("yantra completion ", SHELLS),
    ],
)
def test_bash_offers_names(
    line: str, names: tuple[str, ...], shell_path: str, tmp_path: Path
) -> None:
    found = offered("bash", shell_path, line, tmp_path)
    assert [item for item in found if item != FILES] == list(names)


@pytest.mark.parametrize(
    "line",
    [
        "yantra run ",
        "yantra run -o ",
        "yantra chakra stats ",
        "yantra chakra link --host ",
        "yantra workload train --megatron-args ",
        "yantra workload show ",
        "yantra astra-sim --system-configuration ",
    ],
)
def test_bash_offers_files(line: str, shell_path: str, tmp_path: Path) -> None:
    assert FILES in offered("bash", shell_path, line, tmp_path)


@pytest.mark.parametrize(
    "line", ["yantra nonsense ", "yantra chakra nonsense --", "yantra run --t x "]
)
def test_a_line_that_is_wrong_says_nothing(line: str, shell_path: str, tmp_path: Path) -> None:
    words = line.replace(" ", "\n")
    done = subprocess.run(
        ["yantra"],
        env=os.environ
        | {
            "PATH": shell_path,
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count("\n")),
            "_YANTRA_COMPLETE": "bash_complete",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert "rror" not in done.stdout


@pytest.mark.parametrize("found", EVERY, ids=name)
def test_every_option_that_takes_a_path_offers_files(found: Found) -> None:
    for parameter in found.command.params:
        if parameter.metavar == "FILE" or "-o" in parameter.opts:
            kinds = {item.type for item in parameter.shell_complete(found.context, "")}
            assert kinds & {"file", "dir"}, f"{found.name} {parameter.opts}"
