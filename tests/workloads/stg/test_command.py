"""`yantra workload convert stg`: upstream's flags in either spelling, and mistakes in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from yantra.cli import main
from yantra.workloads.templates import load

TINY = Path(__file__).parent / "tiny"
COMMAND = ["workload", "convert", "stg"]
FLAGS = {"dmodel": 64, "dff": 128, "head": 8, "dvocal": 96, "seq": 64, "batch": 8}
TOY = [word for name, size in FLAGS.items() for word in (f"--{name}", str(size))]


def test_either_spelling_makes_the_same_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, style in (("one.yw", "_"), ("other.yw", "-")):
        flags = ["--model_type", "gpt", "--num_stacks", "2", "--micro_batch", "4", "--tpsp", "0"]
        spelt = [flag.replace("_", style) for flag in flags]
        output = str(tmp_path / name)
        assert main([*COMMAND, *spelt, "--dp", "2", "--tp", "2", *TOY, "-o", output]) == 0
    assert (tmp_path / "one.yw").read_bytes() == (tmp_path / "other.yw").read_bytes()
    assert "one.yw: 4 ranks, 1 template," in capsys.readouterr().out


def test_upstreams_graph_is_expanded_as_it_is(tmp_path: Path) -> None:
    made, folder = str(tmp_path / "x.yw"), tmp_path / "et"
    flags = ["--templates", "prefilling", "--tp", "4", "--num_stacks", "1", "--units", "stg"]
    assert main([*COMMAND, *flags, *TOY, "-o", made]) == 0
    assert main(["workload", "expand", made, "-o", str(folder)]) == 0
    assert len(list(folder.glob("*.et"))) == 4
    workload = load(made)
    assert workload.trace(0) == workload.trace(0, "streams")
    assert not any(node.ctrl_deps for node in workload.trace(0))
    assert any(node.ctrl_deps for node in workload.trace(0, "serial"))


def test_sheets_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = str(tmp_path / "tiny.yw")
    flags = ["--assembly", str(TINY / "model.yaml"), "--dp", "2", "--num_stacks", "3"]
    assert main([*COMMAND, *flags, "--batch", "8", "--symbol", "Width=32", "-o", output]) == 0
    assert "2 ranks" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (
            ["--model_type", "gtp"],
            "--model-type: expected one of gpt, llama, dense, moe, prefilling, decoding, got 'gtp'",
        ),
        (["--model_type", "gpt", "--assembly", "x.yaml"], "either --model-type or --assembly"),
        (["--sheets", "nowhere"], "nowhere: expected the folder of spreadsheets, got no folder"),
        (["--symbol", "Width"], "--symbol: expected NAME=NUMBER, got 'Width'"),
        (["--assembly", "nowhere.yaml"], "nowhere.yaml: cannot be read"),
        (["--sheets", str(TINY)], "expected the table layer_norm.csv"),
        (["--tp", "3", "--model_type", "gpt"], "expected the ranks to divide it evenly"),
    ],
)
def test_a_mistake_ends_with_status_2(
    flags: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "x.yw"
    assert main([*COMMAND, *flags, "-o", str(output)]) == 2
    assert problem in capsys.readouterr().err
    assert not output.exists()
