"""A recording of the profiler alone is replayed: overloads by the arguments that it saw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from yantra.cli import main
from yantra.tracing.pytorch.link.nesting import _plain
from yantra.tracing.replay import replay
from yantra.tracing.replay.calls import Io
from yantra.tracing.replay.overloads import overload
from yantra.tracing.replay.tensors import CannotReplayError


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch")


def _record(torch: Any, path: Path, shapes: bool = True) -> str:
    """Record a training step with convolutions, a loss, and an optimizer."""
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 10)
    )
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    images, labels = torch.randn(4, 3, 8, 8), torch.randint(0, 10, (4,))

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    step()
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, record_shapes=shapes) as profiler:
        step()
    profiler.export_chrome_trace(str(path))
    return str(path)


def test_every_operator_of_a_step_is_called_as_it_was(torch: Any, tmp_path: Path) -> None:
    report = replay(_record(torch, tmp_path / "step.json"), iterations=1)
    assert report.coverage == 1.0 and not report.reasons()
    names = {one.name for one in report.replayed}
    assert {"aten::conv2d", "aten::cross_entropy_loss", "aten::convolution_backward"} <= names
    assert all(one.measured_ns > 0 for one in report.replayed)


def test_a_converted_recording_is_replayed_alike(torch: Any, tmp_path: Path) -> None:
    path = _record(torch, tmp_path / "step.json")
    assert main(["chakra", "convert", path, "-o", str(tmp_path / "step.et")]) == 0
    first, second = replay(path, iterations=1), replay(tmp_path / "step.et", iterations=1)
    assert [one.name for one in first.replayed] == [one.name for one in second.replayed]


def test_without_shapes_the_reason_is_told(torch: Any, tmp_path: Path) -> None:
    report = replay(_record(torch, tmp_path / "step.json", shapes=False), iterations=1)
    assert "its arguments are not recorded (record_shapes=True)" in report.reasons()


@pytest.mark.parametrize(
    ("name", "kinds", "values", "chosen"),
    [
        ("add", ["Tensor(float)", "Tensor(float)", "Scalar"], [0, 0, 1], "Tensor"),
        ("add", ["Tensor(float)", "Scalar", "Scalar"], [0, 2, 1], "Scalar"),
        ("sum", ["Tensor(float)", ""], [0, None], ""),
        (
            "sum",
            ["Tensor(float)", "ScalarList", "Scalar", ""],
            [0, [1], False, None],
            "dim_IntList",
        ),
        ("div", ["Tensor(float)", "Tensor(float)", ""], [0, 0, "floor"], "Tensor_mode"),
        ("cat", ["GenericList[Tensor(float)]", "Scalar"], [[0], 0], ""),
    ],
)
def test_number_and_kinds_of_arguments_choose_the_overload(
    torch: Any, name: str, kinds: list[str], values: list[Any], chosen: str
) -> None:
    found = overload(getattr(torch.ops.aten, name), Io(values, [[]] * len(values), kinds))
    assert found._schema.overload_name == chosen


def test_arguments_that_fit_no_overload_are_told(torch: Any) -> None:
    with pytest.raises(CannotReplayError, match="no overload fits"):
        overload(torch.ops.aten.add, Io([1], [[]], ["Scalar"]))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.", 0.0), ("[True, False]", [True, False]), ("1e-08", 1e-8), ("[1, 2]", [1, 2]),
        ("", None), ("floor", "floor"), ("False", False), ("[0.5, 2.]", [0.5, 2.0]),
    ],
)  # fmt: skip
def test_texts_of_the_profiler_are_values(text: str, value: Any) -> None:
    assert _plain(text) == value
