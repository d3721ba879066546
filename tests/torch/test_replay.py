"""A collected trace replays whole; what cannot be replayed is reported and never fatal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.torch.conftest import ROOT, run
from yantra.cli import main

SCHEMAS = ROOT / "tests" / "torch" / "schemas.py"
SCRIPT = ROOT / "tests" / "torch" / "replays.py"
TENSOR = [3, 4, 0, 6, 4, "cpu"]
ADD = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
MM = "aten::mm(Tensor self, Tensor mat2) -> Tensor"


def replays(*traces: Path) -> list[dict[str, Any]]:
    reports: list[dict[str, Any]] = json.loads(run(SCRIPT, *traces))
    return reports


@pytest.fixture(scope="module")
def reports(collected: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("replay")
    for name in ("single", "ddp"):
        ends = [f"--{kind}={collected / name / f'{kind}.0.json'}" for kind in ("host", "device")]
        assert main(["chakra", "link", "-q", *ends, "-o", str(folder / f"{name}.json")]) == 0
    linked, chakra = folder / "single.json", folder / "single.et"
    assert main(["chakra", "convert", "pytorch", str(linked), "-o", str(chakra)]) == 0
    traces = (linked, chakra, folder / "ddp.json", collected / "single" / "host.0.json")
    return dict(zip(("linked", "chakra", "ddp", "host"), replays(*traces), strict=True))


@pytest.mark.parametrize("form", ["linked", "chakra", "ddp"])
def test_at_least_nine_tenths_of_the_time_are_replayed(reports: dict[str, Any], form: str) -> None:
    report = reports[form]
    assert report["recorded_ns"] > 0
    assert report["coverage"] >= 0.9, report["skipped"]
    assert all(call["measured_ns"] > 0 for call in report["calls"] if not call["skipped"])


@pytest.mark.parametrize("form", ["linked", "chakra", "ddp", "host"])
def test_results_have_the_recorded_shapes(reports: dict[str, Any], form: str) -> None:
    assert [call for call in reports[form]["calls"] if call["different"]] == []


def test_every_form_of_a_trace_replays_the_same_operators(reports: dict[str, Any]) -> None:
    names = [[call["name"] for call in reports[form]["calls"]] for form in ("linked", "chakra")]
    assert sorted(names[0]) == sorted(names[1])
    assert reports["linked"]["recorded_ns"] == reports["chakra"]["recorded_ns"]
    assert [call["name"] for call in reports["host"]["calls"]] == names[0]
    assert reports["host"]["ratio"] is None


def test_communication_is_set_apart(reports: dict[str, Any]) -> None:
    assert reports["ddp"]["communication"] > 0
    assert not any("c10d" in call["name"] for call in reports["ddp"]["calls"])


def node(id: int, name: str, schema: str, values: list[Any], types: list[str]) -> dict[str, Any]:
    shapes = [[2, 3] if kind.startswith("Tensor") else [] for kind in types]
    attrs = [
        {"name": "rf_id", "type": "uint64", "value": id},
        {"name": "tid", "type": "uint64", "value": 1},
        {"name": "op_schema", "type": "string", "value": schema},
    ]
    io = {"values": values, "shapes": shapes, "types": types}
    none: dict[str, Any] = {"values": [], "shapes": [], "types": []}
    return {
        "id": id, "name": name, "ctrl_deps": 1, "inputs": io, "outputs": none, "attrs": attrs
    }  # fmt: skip


def test_what_cannot_be_replayed_says_why(collected: Path, tmp_path: Path) -> None:
    floats = ["Tensor(float)", "Tensor(float)", "Int"]
    nodes = [
        node(2, "aten::add", ADD, [TENSOR, TENSOR, 1], floats),
        node(3, "aten::add", "aten::add.nothing(Tensor self) -> Tensor", [TENSOR], floats[:1]),
        node(4, "aten::mm", MM, [TENSOR, TENSOR], floats[:2]),
        node(5, "aten::add", ADD, [TENSOR, "<Object>", 1], ["Tensor(float)", "Object", "Int"]),
        node(6, "aten::add", ADD, [TENSOR, TENSOR, 1], ["Tensor(float)", "Tensor(odd)", "Int"]),
        node(7, "aten::add", ADD, [TENSOR] * 2 + [1] * 9, floats[:2] + ["Int"] * 9),
        node(8, "triton_kernel", "", [TENSOR], floats[:1]),
        node(9, "aten::add", "nonsense", [], []),
        node(10, "aten::add", ADD, [[3, 4, 0, 6, 1 << 40, "cpu"], TENSOR, 1], floats),
        node(11, "aten::add", ADD, [TENSOR, TENSOR, 1], floats[:2]),
        node(12, "aten::cat", "aten::cat(Tensor[] tensors, int dim=0) -> Tensor",
             [[TENSOR], 0], ["GenericList[Tensor(float),Tensor(float)]", "Int"]),
    ]  # fmt: skip
    root = node(1, "[pytorch|profiler|execution_trace|process]", "", [], [])
    host = {"schema": "1.1.0-chakra.0.0.4", "pid": 1, "time": "", "start_ts": 0, "finish_ts": 1}
    path = tmp_path / "host.json"
    path.write_text(json.dumps(host | {"nodes": [*nodes, root]}))
    (report,) = replays(path)
    reasons = {call["id"]: call["skipped"] for call in report["calls"]}
    assert reasons.pop(3).startswith("failed: RuntimeError: ")
    assert list(reasons.values()) == [
        "",
        "this PyTorch has no aten::add.nothing",
        "an argument is an object, which a trace does not hold",
        "no tensors of type odd",
        "its schema has changed since it was recorded",
        "no schema",
        "a schema of another form",
        f"a tensor of {6 << 40} bytes",
        "its arguments are not recorded whole",
        "a list was cut when it was recorded",
    ]
    assert report["coverage"] == 1 / 11


WRITES = "aten::from_file(str filename, bool? shared=None, int? size=0) -> Tensor"


def _host(folder: Path, *nodes: dict[str, Any]) -> Path:
    root = node(1, "[pytorch|profiler|execution_trace|process]", "", [], [])
    host = {"schema": "1.1.0-chakra.0.0.4", "pid": 1, "time": "", "start_ts": 0, "finish_ts": 1}
    path = folder / "host.json"
    path.write_text(json.dumps(host | {"nodes": [*nodes, root]}))
    return path


DO_NOT_COMPUTE = {
    "aten::from_file": WRITES,
    "aten::save": "aten::save(t item, str filename) -> ()",
    "aten::set_": "aten::set_.source_Storage(Tensor self, Storage s) -> Tensor",
    "load_library::__call__": "load_library::__call__.__call__(str path) -> ()",
    "import_module::__call__": "import_module::__call__(str module) -> ()",
    "debugprims::load_tensor": "debugprims::load_tensor(str name) -> Tensor",
}


def test_only_operators_that_compute_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    types, values = ["String", "Bool", "Int"], ["written.bin", True, 1000]
    nodes = [node(at, *one, values, types) for at, one in enumerate(DO_NOT_COMPUTE.items(), 2)]
    path = _host(tmp_path, *nodes)
    monkeypatch.chdir(tmp_path)
    (report,) = replays(path)
    assert [call["skipped"] for call in report["calls"]] == [
        f"{called} is not one of the operators that compute" for called in DO_NOT_COMPUTE
    ]
    assert [file.name for file in tmp_path.iterdir()] == ["host.json"]


def test_an_operator_that_the_user_names_is_called(tmp_path: Path) -> None:
    square = node(2, "prims::abs", "prims::abs(Tensor self) -> Tensor", [TENSOR], ["Tensor(float)"])
    command = ("-m", "yantra", "chakra", "replay", _host(tmp_path, square), "--iterations", "1")
    left_out = "left out: 1 operator (prims::abs): prims::abs is not one of the operators"
    assert left_out in run(*command)
    assert "replayed 1 of 1 operator" in run(*command, "--operator", "prims::abs")
    refused = run(*command, "--operator", "abs", status=2)
    assert "the name of an operator, such as torchvision::nms" in refused


def test_no_listed_operator_takes_what_a_tensor_and_a_number_are_not() -> None:
    assert run(SCHEMAS).splitlines() == []


def test_the_command_prints_a_table_and_refuses_what_it_cannot_do(
    collected: Path, tmp_path: Path
) -> None:
    traces = [collected / "single" / f"{kind}.0.json" for kind in ("host", "device")]
    command = ("-m", "yantra", "chakra", "replay")
    printed = run(*command, traces[0], "--device-trace", traces[1], "--iterations", "1")
    assert printed.splitlines()[0].split() == [
        "operator", "calls", "recorded", "us", "measured", "us", "ratio"
    ]  # fmt: skip
    assert ", 100.0% of the recorded time" in printed
    refused = run(*command, traces[0], "--device", "gpu", status=2)
    assert refused == 'error: device: expected cpu or cuda, got "gpu"\n'
