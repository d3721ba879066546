"""`yantra workload convert`: files in, a workload file out."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.workloads.importers.test_simai import TEXT
from yantra.cli.chakra.convert import command as of_chakra
from yantra.cli.workload.convert import command as of_workloads
from yantra.workloads.templates import load

LAYERS = "DATA\n1\nonly -1 5 NONE 0 4 NONE 0 3 ALLREDUCE 1024 1\n"


@pytest.mark.parametrize(
    ("words", "content", "said"),
    [
        (["simai"], TEXT, "wrote out.yw: 16 ranks, 2 templates, 166 nodes\n"),
        (
            ["simai", "--schedule", "gpipe"],
            TEXT,
            "wrote out.yw: 16 ranks, 2 templates, 166 nodes\n",
        ),
        (["text", "--dims", "4x2"], LAYERS, "wrote out.yw: 8 ranks, 1 template, 4 nodes\n"),
        (["text", "--ranks", "3"], LAYERS, "wrote out.yw: 3 ranks, 1 template, 4 nodes\n"),
    ],
)
def test_a_file_becomes_a_workload(
    words: list[str], content: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text(content)
    command = of_chakra if words[0] == "text" else of_workloads
    done = CliRunner().invoke(command, [*words, "in.txt", "-o", "out.yw"], catch_exceptions=False)
    assert done.stdout == said
    first = Path("out.yw").read_bytes()
    CliRunner().invoke(command, [*words, "in.txt", "-o", "out.yw"], catch_exceptions=False)
    assert Path("out.yw").read_bytes() == first
    assert load("out.yw").about["source"] in ("SimAI", "ASTRA-sim 1.0")
