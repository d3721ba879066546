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


def test_stgs_own_command_line_writes_the_traces_of_an_expanded_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--model_type", "gpt", "--dp", "2", "--tp", "2", "--pp", "2", "--num_stacks", "2"]
    made, folder = str(tmp_path / "x.yw"), tmp_path / "et"
    assert main([*COMMAND, *flags, *TOY, "--units", "stg", "-o", made]) == 0
    assert main(["workload", "expand", made, "-o", str(folder), "--for", "astra-sim"]) == 0
    own = ["--output_dir", str(tmp_path / "own"), "--output_name", "job.%d.et"]
    upstream = ["--weight_sharded", "0", "--micro_batch", "-1", "--mixed_precision", "False"]
    upstream += ["--activation_recompute", "0", "--chakra_schema_version", "v0.0.4"]
    assert main([*COMMAND, *own, *flags, *TOY, *upstream, "--print_gpu_vram", "false"]) == 0
    assert "wrote 8 traces and job.json into" in capsys.readouterr().out
    for rank in range(8):
        theirs = (folder / f"workload.{rank}.et").read_bytes()
        assert (tmp_path / "own" / f"job.{rank}.et").read_bytes() == theirs
    groups = (folder / "comm_group.json").read_bytes()
    assert (tmp_path / "own" / "job.json").read_bytes() == groups


@pytest.mark.parametrize(
    ("name", "more", "files"),
    [
        ("w", [], {"w.0.et", "w.1.et", "w.json"}),
        ("x%d.et", [], {"x0.et", "x1.et", "x%d.json"}),
        ("w.%d.et", ["--comm_group_file", "groups.json"], {"w.0.et", "w.1.et", "groups.json"}),
    ],
)
def test_traces_are_called_as_upstream_calls_them(
    tmp_path: Path, name: str, more: list[str], files: set[str]
) -> None:
    flags = ["--model_type", "gpt", "--dp", "2", "--num_stacks", "1", *TOY, *more]
    own = ["--output_dir", str(tmp_path), "--output_name", name]
    assert main([*COMMAND, *own, *flags]) == 0
    assert {path.name for path in tmp_path.iterdir()} == files


@pytest.mark.parametrize(
    ("flags", "status", "problem"),
    [
        (["--print_gpu_vram", "1"], 3, "--print_gpu_vram: upstream's sum of all tensors"),
        (["--activation_recompute", "true"], 3, "--activation_recompute: nothing is recomputed"),
        (["--chakra_schema_version", "json"], 3, "expected v0.0.4, which alone is written"),
        (["-o", "x.yw"], 2, "--output_dir: goes with traces"),
        (["--comm_group_file", "a/b.json"], 2, "--comm_group_file: expected a name"),
        (["--model_type", "debug"], 2, "expected one of gpt, llama"),
    ],
)
def test_what_upstream_takes_and_is_not_made_is_refused_by_name(
    flags: list[str], status: int, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = ["--output_dir", str(tmp_path / "own"), "--output_name", "job.%d.et"]
    assert main([*COMMAND, *own, *flags, *TOY]) == status
    assert problem in capsys.readouterr().err
    assert not (tmp_path / "own").exists()
