"""Every backend of sweeps gives the bytes of the local one, and skips the same."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import yantra
from tests.cases import ALL_REDUCE, cluster, scenario
from tests.sweeps import SCENARIO
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.base.registry import plugged_files
from yantra.chakra import CollectiveType, Trace, TraceBuilder
from yantra.cli import main
from yantra.run.backends.backend import Backend, Work
from yantra.run.sweep_task import Away, Task, perform_away
from yantra.scenario import Scenario

Captured = pytest.CaptureFixture[str]
HAS_RAY = importlib.util.find_spec("ray") is not None
WITH_RAY = pytest.mark.skipif(not HAS_RAY, reason="ray is not installed: pip install 'ray>=2.40'")
BLOCK = "from yantra.fabric.topologies.ring import Ring\nclass Mine(Ring): pass\nPLUGIN = Mine\n"
BACKEND = '''"""Runs everything as another process would, one after the other."""
import os
from yantra import __version__
from yantra.base.registry import plugged_files
from yantra.run.backends import Backend
from yantra.run.sweep_task import Away, perform_away

class Elsewhere(Backend):
    def run(self, tasks, work):
        away = Away(os.getcwd(), plugged_files(), __version__)
        try:
            for task in tasks:
                task = work.before(task)
                yield work.after(task, perform_away(task, away))
        finally:
            work.stop()

PLUGIN = Elsewhere
'''


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, 1 << 20)
    for rank in range(8):
        trace.build().write(f"step.{rank}.et")
    Path("mine.py").write_text(BLOCK)
    Path("backend.py").write_text(BACKEND)
    for kind, size in (("ring", 2), ("ring", 8), ("mine", 4)):
        Path(f"{kind}-{size}.yaml").write_text(SCENARIO.format(kind=kind, size=size))
    names = ["ring-2.yaml", "ring-8.yaml", "nowhere.yaml", "mine-4.yaml"]
    return [*names, "--set", "collectives.chunks=1,3", "--plugin", "mine.py", "--json"]


@pytest.fixture
def ray() -> Iterator[None]:
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


def swept(line: list[str], folder: str, capsys: Captured) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["sweep", *line, "-o", folder]) == 2  # for nowhere.yaml
    rows = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    for row in rows:
        row.pop("result", None)
    return rows


def contents(folder: str) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


def check_it_gives_the_same(backend: str, line: list[str], capsys: Captured) -> None:
    rows = swept(line, "here", capsys)
    away = [*line, "--backend", backend]
    assert swept(away, "away", capsys) == rows
    assert len(contents("away")) == 6 and contents("away") == contents("here")
    os.remove("away/ring-8,collectives.chunks=3.json")
    again = swept([*away, "--resume"], "away", capsys)
    assert [row.pop("skipped", False) for row in again] == [True] * 3 + [False] * 3 + [True] * 2
    assert again == rows and contents("away") == contents("here")


def test_a_backend_in_a_file_gives_the_same(line: list[str], capsys: Captured) -> None:
    check_it_gives_the_same("./backend.py", line, capsys)


@WITH_RAY
def test_ray_gives_the_same(line: list[str], capsys: Captured, ray: None) -> None:
    check_it_gives_the_same("ray", line, capsys)


def ring(size: int) -> Scenario:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.collective(ALL_REDUCE, 10**6)

    return scenario(cluster(("ring", size, 50.0, 500.0)), write)


@WITH_RAY
def test_ray_runs_scenarios_from_python_in_order(ray: None) -> None:
    cases = [ring(size) for size in (8, 2, 4, 3)] * 5
    found = list(yantra.sweep(cases, 3, backend="ray"))
    local = list(yantra.sweep(cases))
    assert [one.makespan_ns for one in found] == [one.makespan_ns for one in local]
    assert [list(one.ranks["finish_ns"]) for one in found] == [
        list(one.ranks["finish_ns"]) for one in local
    ]


@WITH_RAY
def test_what_cannot_be_sent_is_the_error_of_its_scenario(ray: None) -> None:
    from yantra.scenario import Templates

    class Unsent:
        def __reduce__(self) -> Any:
            raise TypeError("cannot pickle this")

    bad = ring(2)
    object.__setattr__(bad, "__dict__", bad.__dict__ | {"workload": Templates(workload=Unsent())})
    error, good = yantra.sweep([bad, ring(2)], backend="ray")
    assert isinstance(error, UnsupportedError)
    assert "write it to a file, and name the file" in str(error)
    assert list(good.finish_ps) == list(yantra.simulate(ring(2)).finish_ps)


@pytest.mark.skipif(HAS_RAY, reason="ray is installed")
def test_without_ray_the_error_says_what_to_install(line: list[str], capsys: Captured) -> None:
    assert main(["sweep", *line[:-1], "--backend", "ray"]) == 3
    said = "error: the backend ray needs the package ray, which is not installed: pip install"
    assert capsys.readouterr() == ("", f"{said} 'ray>=2.40'\n")


def test_a_backend_that_nobody_knows_is_told_before_anything_runs() -> None:
    with pytest.raises(ConfigError, match=r"no sweep backend is named 'rey'.*did you mean 'ray'"):
        yantra.sweep([], backend="rey")


def test_a_machine_of_another_version_or_without_the_folder_says_so(tmp_path: Path) -> None:
    task = Task(0, ring(2))
    here = Away(str(tmp_path), plugged_files(), yantra.__version__)
    other = perform_away(task, here._replace(version="0.0.9")).outcome
    assert isinstance(other, UnsupportedError) and "0.0.9 here; install the same" in str(other)
    lost = perform_away(task, here._replace(folder=str(tmp_path / "gone"))).outcome
    assert isinstance(lost, ConfigError) and "machines must share their files" in str(lost)


def test_a_class_is_a_backend_too() -> None:
    class Counting(Backend):
        def run(self, tasks: Iterable[Task], work: Work) -> Generator[Any, None, None]:
            yield from (task.number for task in tasks)

    assert list(yantra.sweep([ring(2)] * 3, backend=Counting)) == [0, 1, 2]


def test_a_trace_in_memory_can_be_sent() -> None:
    import pickle

    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, 1 << 20)
    built = trace.build()
    sent = pickle.loads(pickle.dumps(built))
    assert isinstance(sent, Trace) and sent.to_bytes() == built.to_bytes()
    assert sent.layout == built.layout
