"""The drop-in's module commands as people type them; whose package `chakra` is active."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from importlib import import_module, metadata
from pathlib import Path

import pytest

import yantra
from tests import drop_in
from tests.oracles.gpu_program import write_pair
from yantra import chakra
from yantra.cli import chakra_package, installation, main

Captured = pytest.CaptureFixture[str]

TEXT = """MODEL
2
mlp0 -1 32291 ALLGATHER 37632 32291 ALLREDUCE 37632 12864 NONE 0 3229
mlp1 -1 7488 ALLGATHER 65536 7488 ALLREDUCE 65536 3648 NONE 0 749
"""
LOG = """issue,sys->id=0, tick=0, node->id=1, node->name=n, node->type=4
callback,sys->id=0, tick=1500, node->id=1, node->name=n, node->type=4
"""
LINK = "--chakra-host-trace=host.json --chakra-device-trace=device.json --output-file=out.json"
OLD_LINK = "--pytorch-et-file host.json --kineto-file device.json --output-file out.json"
OLD_TORCH = "--input_type=PyTorch --input_filename=linked.json --output_filename=out.et"
OLD_TEXT = "--input_type=Text --input_filename=w.txt --output_filename=o/out --num_npus=2"
DRAW = "--input_filename=in.et --output_filename=out.dot"
JSON = "--input_filename=in.et --output_filename=out.json"
TIMELINE = "--input_filename=log.txt --output_filename=out.json --num_npus=1 --npu_frequency=1000"

LINES = [
    ("src.trace_link.trace_link", f"--rank=0 {LINK}", "link", "out.json"),
    ("trace_link.trace_link", LINK, "link", "out.json"),
    ("trace_link.trace_link", OLD_LINK, "link", "out.json"),
    ("src.converter.converter", "PyTorch --input=linked.json --output=out.et", "torch", "out.et"),
    ("et_converter.et_converter", f"{OLD_TORCH} --num_dims=1", "torch", "out.et"),
    ("et_converter.et_converter", OLD_TORCH, "torch", "out.et"),
    (
        "src.converter.converter",
        "Text --input=w.txt --output=o/out --num-npus=2 --num-passes=1",
        "text",
        "o/out.1.et",
    ),
    ("et_converter.et_converter", f"{OLD_TEXT} --num_passes=1", "text", "o/out.1.et"),
    ("src.converter.converter", f"{OLD_TEXT} --num_passes=1", "text", "o/out.1.et"),
    ("src.visualizer.visualizer", DRAW, "draw", "out.dot"),
    ("et_visualizer.et_visualizer", DRAW, "draw", "out.dot"),
    ("src.jsonizer.jsonizer", JSON, "json", "out.json"),
    ("et_jsonizer.et_jsonizer", JSON, "json", "out.json"),
    ("src.timeline_visualizer.timeline_visualizer", TIMELINE, "timeline", "out.json"),
    ("timeline_visualizer.timeline_visualizer", TIMELINE, "timeline", "out.json"),
    ("src.generator.generator", "--num_npus 2", "generate", "ALL_REDUCE.1.et"),
    ("et_generator.et_generator", "--num_npus 2 --num_dims 1", "generate", "ALL_REDUCE.1.et"),
]
OURS = {
    "link": "link --host host.json --device device.json -o ours/out.json --rank 0 -q",
    "torch": "convert pytorch linked.json -o ours/out.et",
    "text": "convert text w.txt -o ours/o/out --ranks 2 --compat upstream",
    "draw": "chakra_visualizer --input_filename in.et --output_filename ours/out.dot",
    "json": "json in.et -o ours/out.json",
    "generate": "generate -o ours --num-npus 2 --compat upstream",
    "timeline": "chakra_timeline_visualizer " + TIMELINE.replace("out.json", "ours/out.json"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> Path:
    monkeypatch.chdir(tmp_path)
    drop_in.append_to_path(monkeypatch)
    Path("ours").mkdir()
    write_pair(tmp_path, operators=30, seed=0)
    pair = ["--host", "host.json", "--device", "device.json"]
    assert main(["chakra", "link", *pair, "-o", "linked.json", "-q"]) == 0
    Path("w.txt").write_text(TEXT)
    Path("log.txt").write_text(LOG)
    builder = chakra.TraceBuilder()
    builder.collective("all_reduce", 1000, after=builder.compute("matmul", duration_micros=150))
    builder.build().write("in.et")
    capsys.readouterr()
    return tmp_path


@pytest.mark.parametrize(("module", "line", "ours", "written"), LINES)
def test_a_line_of_the_tutorials_writes_what_yantras_command_writes(
    module: str,
    line: str,
    ours: str,
    written: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert drop_in.run_module(f"chakra.{module}", line.split(), monkeypatch) == 0
    data = (folder / written).read_bytes()
    assert data
    command, *words = OURS[ours].split()
    if command.startswith("chakra_"):
        monkeypatch.setattr(sys, "argv", [command, *words])
        name = command.removeprefix("chakra_")
        assert import_module(f"yantra.cli.upstream.{name}").main() == 0
    else:
        assert main(["chakra", command, *words]) == 0
    assert (folder / "ours" / written).read_bytes() == data


def involved(policy: str, dims: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    text = TEXT.replace("MODEL", policy).replace("NONE 0", "ALLREDUCE 8")
    (folder / "w.txt").write_text(text)
    line = f"{OLD_TEXT} --num_passes=1 --num_dims={dims}".split()
    assert drop_in.run_module("chakra.et_converter.et_converter", line, monkeypatch) == 0
    nodes = [node for node in chakra.read(folder / "o" / "out.1.et") if "comm_type" in node]
    return [node["involved_dim"] for node in nodes]


def test_num_dims_says_which_dimensions_a_collective_uses(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert set(involved("MODEL", 1, folder, monkeypatch)) == {(True,)}
    assert set(involved("DATA", 3, folder, monkeypatch)) == {(True, True, True)}
    model, data = (True, False), (False, True)
    order = [model, model, model, data, data]  # two layers forward, two backward
    assert involved("HYBRID_DATA_MODEL", 2, folder, monkeypatch) == order
    swapped = [tuple(not used for used in dims) for dims in order]
    assert involved("HYBRID_MODEL_DATA", 2, folder, monkeypatch) == swapped


WRONG = {
    "--input_type=FlexFlow --input_filename=a --output_filename=b": "FlexFlow are not read",
    "--input_type=Other --input_filename=a --output_filename=b": "expected Text or PyTorch",
    "--input_type=Text --input_filename=w.txt --output_filename=b": "--num_npus: is missing",
    f"{OLD_TEXT}": "--num_passes: is missing",
    f"{OLD_TEXT} --num_passes=1 --num_dims=0": "at least 1 for MODEL, got 0",
    "PyTorch --input=gone.json --output=b": "gone.json: no such file",
}


@pytest.mark.parametrize("line", WRONG)
@pytest.mark.usefixtures("folder")
def test_a_line_that_cannot_be_done_ends_with_one_clear_line_and_status_2(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    module = "chakra.et_converter.et_converter"
    assert drop_in.run_module(module, line.split(), monkeypatch) == 2
    assert WRONG[line] in capsys.readouterr().err.splitlines()[-1]


def test_a_hybrid_over_one_dimension_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    (folder / "w.txt").write_text(TEXT.replace("MODEL", "HYBRID_DATA_MODEL"))
    line = f"{OLD_TEXT} --num_passes=1 --num_dims=1".split()
    assert drop_in.run_module("chakra.et_converter.et_converter", line, monkeypatch) == 2
    assert "at least 2 for HYBRID_DATA_MODEL, got 1" in capsys.readouterr().err


def test_every_module_of_commands_has_a_main(monkeypatch: pytest.MonkeyPatch) -> None:
    drop_in.append_to_path(monkeypatch)
    for module in {f"chakra.{line[0]}" for line in LINES}:
        assert callable(import_module(module).main)


def install(site: Path) -> None:
    wheel = tomllib.loads((drop_in.DISTRIBUTION / "pyproject.toml").read_text())["tool"]["hatch"]
    (moved,) = wheel["build"]["targets"]["wheel"]["sources"].values()
    site.mkdir(parents=True, exist_ok=True)
    shutil.copytree(drop_in.SOURCE, site / moved)
    shutil.copy(drop_in.DISTRIBUTION / "yantra-chakra.pth", site)


def install_upstream(site: Path, *, editable: bool = False) -> None:
    info = site / "chakra-1.0.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: chakra\nVersion: 1.0.0\n")
    if not editable:
        messages = site / "chakra" / "schema" / "protobuf" / "et_def_pb2.py"
        messages.parent.mkdir(parents=True)
        messages.write_text("Node = 'of upstream'\n")


def tried(site: Path, code: str) -> str:
    head = f"import site; site.addsitedir({str(site)!r})\n"
    done = drop_in.python("-c", head + code, cwd=site, path=[])
    return f"{done.returncode} {done.stdout}{done.stderr.strip().rpartition(chr(10))[2]}"


DOCTOR = """
from yantra.cli import installation
print(next(check for check in installation.examine() if check.name == "chakra"))
"""
TODAY = "from chakra.schema.protobuf.et_def_pb2 import Node; print(Node)"
OLD = "import chakra.third_party.utils.protolib"
COMMAND = """
import runpy
runpy.run_module("chakra.et_converter.et_converter", run_name="__main__")
"""


def test_installed_alone_it_is_found(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install(site)
    assert tried(site, TODAY) == "0 <class 'chakra.schema.protobuf.et_def_pb2.Node'>\n"
    assert "state='good', found=\"Yantra's drop-in" in tried(site, DOCTOR)


@pytest.mark.parametrize("first", ["upstream's", "ours"])
def test_upstreams_package_wins_in_whichever_order_they_are_installed(
    first: str, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    for step in (
        (install_upstream, install) if first == "upstream's" else (install, install_upstream)
    ):
        step(site)
    assert tried(site, TODAY) == "0 of upstream\n"
    assert "ImportError: upstream's chakra 1.0.0 is installed" in tried(site, OLD)
    assert tried(site, COMMAND).startswith("2 error: upstream's chakra 1.0.0 is installed")
    assert "state='good', found=\"upstream's chakra 1.0.0" in tried(site, DOCTOR)


def test_an_editable_installation_of_upstream_wins_too(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install(site)
    install_upstream(site, editable=True)
    assert "ImportError: upstream's chakra 1.0.0 is installed" in tried(site, TODAY)
    assert "state='bad'" in tried(site, DOCTOR)


def test_upstreams_sources_on_the_path_win_too(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install(site)
    old = tmp_path / "chakra" / "et_def" / "et_def_pb2.py"
    old.parent.mkdir(parents=True)
    old.write_text("Node = 'of upstream'\n")
    there = f"import sys; sys.path.insert(1, {str(tmp_path)!r})\n"
    assert tried(site, there + TODAY).startswith("1 ImportError: upstream's chakra in ")


def test_without_either_the_doctor_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chakra_package, "_file", lambda module: None)
    check = next(check for check in installation.examine() if check.name == "chakra")
    assert (check.state, check.advice[:35]) == ("absent", "pip install ./distributions/chakra ")


def test_both_distributions_have_one_version() -> None:
    project = tomllib.loads((drop_in.DISTRIBUTION / "pyproject.toml").read_text())["project"]
    assert project["version"] == yantra.__version__
    ours = tomllib.loads((drop_in.DISTRIBUTION.parents[1] / "pyproject.toml").read_text())[
        "project"
    ]
    assert project["dependencies"] == [f"{ours['name']}=={yantra.__version__}"]
    assert project["name"] == chakra_package.DROP_IN


def test_the_doctor_tells_whose_commands_are_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    program = tmp_path / "chakra_converter"
    monkeypatch.setenv("PATH", str(tmp_path))
    for text, told in (("from yantra.cli", "Yantra's: "), ("from chakra.src", "upstream's: ")):
        program.write_text(f"#!{tmp_path}/yantra/bin/python\n{text}\n")
        program.chmod(0o755)
        main(["doctor", "--json"])
        checks = json.loads(capsys.readouterr().out)["checks"]
        (check,) = (check for check in checks if check["name"] == "chakra_*")
        assert check["found"] == f"{told}{program}"


def test_the_doctor_names_the_version_of_a_drop_in_that_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drop_in.append_to_path(monkeypatch)
    version = metadata.version
    monkeypatch.setattr(
        metadata, "version", lambda name: "9.9" if name == "yantra-chakra" else version(name)
    )
    assert chakra_package.active().found == f"Yantra's drop-in 9.9, {drop_in.SOURCE}"
