"""Trackers get the numbers of a run and what ran; without one the error names the package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.clusters import dimension, scenario
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.result import Result
from yantra.result.metrics import metrics
from yantra.run.simulate import simulate


@pytest.fixture(scope="module")
def result() -> Result:
    trace = TraceBuilder()
    first = trace.collective(CollectiveType.ALL_REDUCE, 1 << 20)
    trace.compute(duration_micros=3, after=first)
    return simulate(scenario([trace] * 4, dimension("switch")))


def test_metrics_are_the_makespan_and_shares_that_add_up_to_it(result: Result) -> None:
    found = metrics(result)
    assert found["makespan_ns"] == result.makespan_ns
    shares = [value for name, value in found.items() if name.endswith("_share")]
    assert sum(shares) == pytest.approx(1) and found["compute_share"] == 3000 / result.makespan_ns


@pytest.mark.parametrize(
    ("form", "package"),
    [("mlflow", "mlflow"), ("wandb", "wandb"), ("tensorboard", "tensorboardX")],
)
def test_without_the_package_the_error_names_it(
    result: Result, form: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for missing in (package, "tensorboard"):
        monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UnsupportedError, match=f"needs the package {package}.*pip install"):
        result.export(form, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_what_a_tracker_raises_is_told_as_its_error(
    result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        def active_run(self) -> None:
            raise RuntimeError("no store\n  is named")

    monkeypatch.setitem(sys.modules, "mlflow", Broken())
    said = "export mlflow: nothing is logged, because mlflow raises RuntimeError: no store is named"
    with pytest.raises(ConfigError, match=said):
        result.export("mlflow", "one")


def test_mlflow_has_the_run(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow: Any = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    result.export("mlflow", "one")
    (run,) = mlflow.search_runs(output_format="list")
    assert run.data.metrics == metrics(result)
    assert run.data.params["text"] == result.what_ran.text and run.info.run_name == "one"


def test_wandb_has_the_run(result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb: Any = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    run = wandb.init(dir=str(tmp_path), project="yantra")
    result.export("wandb", "one")
    assert run.summary["makespan_ns"] == result.makespan_ns
    assert run.config["text"] == result.what_ran.text
    run.finish()


def test_tensorboard_has_a_file_of_events(result: Result, tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX")
    result.export("tensorboard", tmp_path / "one")
    (events,) = (tmp_path / "one").iterdir()
    assert b"makespan_ns" in events.read_bytes()


def test_tensorboard_of_pytorch_will_do(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tensorboard")
    pytest.importorskip("torch")
    monkeypatch.setattr(
        "yantra.export.tensorboard.find_spec", lambda name: None if "X" in name else name
    )
    result.export("tensorboard", tmp_path / "one")
    (events,) = (tmp_path / "one").iterdir()
    assert b"makespan_ns" in events.read_bytes()
