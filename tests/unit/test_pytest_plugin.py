"""`predicted_step` fails a test when a step gets slower or breaks a limit, and says by how much."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import yantra

SRC = Path(yantra.__file__).resolve().parents[1]  # where the core is, too
TEST = """
from yantra import Collectives, Dimension, Scenario, Topology, Traces
from yantra.chakra import CollectiveType, TraceBuilder

def scenario(size):
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, size)
    ring = Dimension(kind="ring", size=4, bytes_per_ns=50.0, latency_ns=500.0)
    return Scenario(
        workload=Traces(traces=(trace.build(),) * 4),
        topology=Topology(dimensions=(ring,)),
        collectives=Collectives(all_reduce=("ring",)),
    )

def test_step(predicted_step):
    result = predicted_step(scenario(SIZE) ARGUMENTS)
    assert result.model.ranks == 4
"""


class Project:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "pytest.ini").write_text("[pytest]\n")

    def run(self, size: int = 1 << 20, arguments: str = "", *options: str) -> tuple[int, str]:
        text = TEST.replace("SIZE", str(size)).replace(" ARGUMENTS", arguments)
        (self.folder / "test_it.py").write_text(text)
        command = ["-m", "pytest", "-p", "yantra.pytest_plugin", "-p", "no:cacheprovider", *options]
        done = subprocess.run(
            [sys.executable, *command],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(SRC), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    assert made.run(1 << 20, "", "--yantra-update")[0] == 0
    return made


def test_the_same_step_passes_and_a_faster_one_too(project: Project) -> None:
    assert project.run()[0] == 0
    assert project.run(1 << 19)[0] == 0


def test_a_slower_step_fails_with_by_how_much(project: Project) -> None:
    status, said = project.run(1 << 21)
    assert status == 1
    assert "% slower than" in said and "accept it with pytest --yantra-update" in said
    assert "Traceback" not in said
    assert project.run(1 << 21, ", slower=1.0")[0] == 0
    assert project.run(1 << 21, "", "--yantra-update")[0] == 0
    assert project.run(1 << 21)[0] == 0


def test_a_limit_is_kept_whatever_the_baseline_says(project: Project) -> None:
    status, said = project.run(1 << 20, ", at_most={'makespan_ns': '1 us'}")
    assert status == 1 and "at most 1 us allowed" in said
    assert project.run(1 << 20, ", at_most={'makespan_ns': '1 s'}")[0] == 0
    status, said = project.run(1 << 20, ", at_least={'compute_share': 0.5}", "--yantra-update")
    assert status == 1 and "compute_share: 0.0%, at least 0.5 wanted" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (", at_most={'makespan': 1}", "has no number 'makespan'; did you mean 'makespan_ns'?"),
        (", at_most={'makespan_ns': 'fast'}", "predicted_step: makespan_ns: not a quantity"),
        (", at_least={'compute_share': '1 s'}", "expected a number, got '1 s'"),
        (", name='other'", "run pytest --yantra-update and commit the file"),
        (", cluster='hgx-h100'", "cluster and settings are for files"),
    ],
)
def test_a_mistake_is_said_once_and_in_one_line(
    project: Project, arguments: str, said: str
) -> None:
    status, text = project.run(1 << 20, arguments)
    whole, _, summary = text.partition("short test summary")
    assert status == 1 and whole.count(said) == 1
    assert "another exception" not in text and "Traceback" not in text and summary


def test_the_baseline_is_json_that_is_read_back_or_refused(project: Project) -> None:
    path = project.folder / "yantra-baseline.json"
    form = json.loads(path.read_text())
    assert list(form["steps"]) == ["test_it.py::test_step"]
    numbers = form["steps"]["test_it.py::test_step"]
    shares = [value for name, value in numbers.items() if name.endswith("_share")]
    assert sum(shares) == pytest.approx(1)
    path.write_text('{"format": "yantra-baseline", "version": 2, "steps": {}}')
    status, said = project.run()
    assert status == 1 and "expected a baseline (format yantra-baseline, version 1)" in said


def test_the_plugin_costs_a_session_that_does_not_use_it_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n\ndef test_it():\n    assert 'numpy' not in sys.modules\n"
    )
    command = ["-m", "pytest", "-p", "yantra.pytest_plugin", "-p", "no:cacheprovider", "-q"]
    environment = os.environ | {"PYTHONPATH": str(SRC), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([sys.executable, *command], cwd=tmp_path, env=environment)
    assert done.returncode == 0
    assert not (tmp_path / "yantra-baseline.json").exists()
