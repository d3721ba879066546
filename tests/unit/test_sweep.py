"""A sweep gives what single runs give, in order, on any number of threads."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event, get_ident
from typing import Any

import pytest

from tests.cases import ALL_REDUCE, cluster, scenario
from yantra import _core, simulate
from yantra.base.errors import (
    ConfigError,
    DeadlockError,
    InternalError,
    UnsupportedError,
    YantraError,
)
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.cli import main
from yantra.compile import compile
from yantra.export.json import json_text
from yantra.result import Result
from yantra.run.simulate import run
from yantra.run.sweep import sweep
from yantra.scenario import Scenario

Captured = pytest.CaptureFixture[str]
COMMAND = "import sys; from yantra.cli import main; sys.exit(main())"


def ring(size: int, count: int = 1) -> Scenario:
    def write(trace: TraceBuilder, rank: int) -> None:
        last: Any = ()
        for _ in range(count):
            last = trace.collective(ALL_REDUCE, 10**6, after=last)

    return scenario(cluster(("ring", size, 50.0, 500.0)), write)


def stuck() -> Scenario:
    def write(trace: TraceBuilder, rank: int) -> None:
        if rank == 0:
            trace.recv(1, 100)

    return scenario(cluster(("ring", 2, 50.0, 500.0)), write)


def makespan(_: int, result: Result) -> float:
    return result.makespan_ns


def test_results_come_in_the_order_of_the_scenarios() -> None:
    sizes = [96, 2, 64, 4, 3, 48, 2, 2, 5, 32, 6, 7]
    found = list(sweep([ring(size) for size in sizes], 4, fold="off"))
    assert [result.model.ranks for result in found if isinstance(result, Result)] == sizes


def test_an_error_stands_in_the_place_of_its_scenario(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere.yaml"
    first, error, missing, last = sweep([ring(4), stuck(), nowhere, ring(4)], 2, keep=makespan)
    assert first == last == simulate(ring(4)).makespan_ns
    assert isinstance(error, DeadlockError)
    assert "rank 0 waits since 0 ns" in str(error)
    assert isinstance(missing, ConfigError)
    assert str(nowhere) in str(missing)


def test_a_fault_of_ours_is_that_of_one_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(given: Scenario) -> Any:
        if given.topology.ranks == 3:
            raise ZeroDivisionError("by design")
        return compile(given)

    monkeypatch.setattr(sys.modules["yantra.run.sweep_task"], "compile", broken)
    good, bad = sweep([ring(2), ring(3)], 1)
    assert isinstance(good, Result)
    assert isinstance(bad, InternalError)
    assert "ZeroDivisionError: by design" in str(bad)
    assert isinstance(bad.__cause__, ZeroDivisionError)


def test_fold_is_that_of_a_single_run() -> None:
    (result,) = sweep([ring(16)], fold="require")
    assert isinstance(result, Result)
    assert result.outcome.folded
    (result,) = sweep([ring(16)], fold="off")
    assert isinstance(result, Result)
    assert not result.outcome.folded
    by_rendezvous = ring(16).collectives.replace(rendezvous=True)
    (error,) = sweep([ring(16).replace(collectives=by_rendezvous)], fold="require")
    assert isinstance(error, UnsupportedError)


def test_threads_below_one_are_an_error_at_once() -> None:
    with pytest.raises(ConfigError, match="threads: expected a number of at least 1, got 0"):
        sweep([], 0)


def test_an_empty_sweep_has_no_results() -> None:
    assert list(sweep([])) == []


@pytest.mark.parametrize("threads", [1, 3])
def test_no_more_scenarios_are_taken_than_four_per_thread_ahead(threads: int) -> None:
    taken = 0

    def endless() -> Iterator[Scenario]:
        nonlocal taken
        while True:
            taken += 1
            yield ring(2)

    results = sweep(endless(), threads)
    for given in range(20):
        next(results)
        assert taken <= given + 4 * threads
    results.close()


def test_what_is_kept_frees_the_rest() -> None:
    models = []

    def keep(number: int, result: Result) -> int:
        models.append(weakref.ref(result.model))
        return number

    assert list(sweep((ring(4) for _ in range(12)), 2, keep=keep)) == list(range(12))
    errors = list(sweep([stuck()] * 3))
    gc.collect()
    assert [model() for model in models] == [None] * 12
    assert all(isinstance(error, YantraError) and not error.__traceback__ for error in errors)


def test_what_keep_raises_ends_the_sweep() -> None:
    def keep(number: int, result: Result) -> int:
        if number == 2:
            raise ConfigError("out.json", "cannot be written: no space left")
        return number

    results = sweep([ring(2)] * 100, 1, keep=keep)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ConfigError, match=r"out\.json"):
        next(results)
    assert list(results) == []


def long_runs_started(started: Event) -> Generator[Result | YantraError, None, None]:
    def progress(done: float, total: int | None) -> None:
        if done > 1:
            started.set()

    long = ring(64, count=1000)
    return sweep([ring(2), long, long], 2, fold="off", progress=progress)


def test_closing_stops_the_runs_that_are_under_way() -> None:
    started = Event()

    def close_when_started() -> Iterator[Result | YantraError]:
        with closing(long_runs_started(started)) as results:
            yield next(results)
            started.wait(60)

    begin = time.monotonic()
    assert len(list(close_when_started())) == 1
    assert started.is_set()
    assert time.monotonic() - begin < 30


def test_an_interruption_stops_the_runs_that_are_under_way() -> None:
    started = Event()

    def interrupt() -> None:
        started.wait(60)
        os.kill(os.getpid(), signal.SIGINT)

    begin = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(interrupt)
        with pytest.raises(KeyboardInterrupt):
            list(long_runs_started(started))
    assert time.monotonic() - begin < 30


def test_progress_counts_runs_up_to_all() -> None:
    told: list[tuple[float, int | None]] = []
    list(sweep([ring(2)] * 5, 2, progress=lambda done, total: told.append((done, total))))
    assert told[-1] == (5, 5)
    assert all(0 <= done <= 5 and total == 5 for done, total in told)
    told.clear()
    list(sweep(iter([ring(2)] * 5), 2, progress=lambda done, total: told.append((done, total))))
    assert told[-1] == (5, None)


def test_runs_go_on_in_other_threads_while_one_runs() -> None:
    model = compile(ring(64, count=200))
    turns, ran = 0, Event()

    def other() -> None:
        nonlocal turns
        while not ran.is_set():
            turns += 1
            time.sleep(0.001)

    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(other)
        simulation = _core.Simulation(model.native)
        simulation.start()
        before = turns
        assert simulation.run_for(2**62)
        during = turns - before
        ran.set()
        busy.result()
    assert during > 3


def test_eight_threads_may_run_one_model_at_once() -> None:
    for fold in ("off", "require"):
        model = compile(ring(24, count=3))
        alone = json_text(run(model, fold=fold))  # type: ignore[arg-type]
        threads = set()

        def again(_: int, model: Any = model, fold: Any = fold, threads: Any = threads) -> str:
            threads.add(get_ident())
            return json_text(run(model, fold=fold))

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(again, range(24))) == {alone}
        assert len(threads) > 1


SCENARIO = """
workload: {{traces: "step.{{rank}}.et"}}
cluster:
  topology: [{{kind: ring, size: {size}, bandwidth: 50 GB/s, latency: 500 ns}}]
  device: {{memory_bandwidth: 1 TB/s}}
collectives: {{all_reduce: [ring], chunks: 4}}
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, 1 << 20)
    for rank in range(8):
        trace.build().write(tmp_path / f"step.{rank}.et")
    for size in (2, 4, 8):
        (tmp_path / f"ring-{size}.yaml").write_text(SCENARIO.format(size=size))
    return [f"ring-{size}.yaml" for size in (2, 4, 8)]


def test_the_command_prints_a_line_for_each_scenario(files: list[str], capsys: Captured) -> None:
    assert main(["sweep", *files, "--threads", "2"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    head, *lines = out.splitlines()
    names = "scenario ranks makespan tokens/s MFU USD/Mtoken kWh/Mtoken bound by what ran"
    assert " ".join(head.split()) == names
    assert [line.split()[:2] for line in lines] == [
        [name, size] for name, size in zip(files, "248", strict=True)
    ]


def test_the_command_tells_of_failures_and_goes_on(files: list[str], capsys: Captured) -> None:
    assert main(["sweep", files[0], "nowhere.yaml", files[1]]) == 2
    out, err = capsys.readouterr()
    rows = [line.split() for line in out.splitlines()[1:]]
    kinds = ("network", "failed", "network")
    assert [kind in row for row, kind in zip(rows, kinds, strict=True)] == [True] * 3
    assert err == "error: nowhere.yaml: cannot be read: No such file or directory\n"


def test_json_lines_and_files_are_those_of_single_runs(files: list[str], capsys: Captured) -> None:
    assert main(["sweep", *files, "nowhere.yaml", files[0], "--json", "-o", "out"]) == 2
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows[3]["error"] == "ConfigError"
    names = ["ring-2", "ring-4", "ring-8", None, "ring-2"]  # a file given twice has one result
    for row, name in zip(rows, names, strict=True):
        if name is None:
            continue
        assert row["result"] == os.path.join("out", f"{name}.json")
        alone_file = os.path.join("alone", "result.json")  # as deep, so its paths are the same
        os.makedirs("alone", exist_ok=True)
        assert main(["run", row["scenario"], "--no-record", "-o", alone_file]) == 0
        alone = Path(alone_file).read_bytes()
        own = (b'  "case": ', b'  "sealed": ')
        lines = Path(row["result"]).read_bytes().splitlines()
        expected = [line for line in alone.splitlines() if not line.startswith(own)]
        assert [line for line in lines if not line.startswith(own)] == expected
        whole = json.loads(alone)
        assert row["makespan_ns"] == whole["makespan_ns"]
        assert row["bound_by"] == whole["bound_by"]["kind"]
    assert len(os.listdir("out")) == 3


def test_interrupted_the_command_prints_what_is_done(files: list[str]) -> None:
    trace = TraceBuilder()
    last: Any = ()
    for _ in range(3000):
        last = trace.collective(CollectiveType.ALL_REDUCE, 1 << 20, after=last)
    for rank in range(64):
        trace.build().write(f"long.{rank}.et")
    long = SCENARIO.format(size=64).replace("step.", "long.")
    Path("long.yaml").write_text(long)
    command = [sys.executable, "-c", COMMAND, "sweep", "long.yaml", *files]
    command += ["--fold", "off", "--threads", "2", "-o", "out"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not os.path.exists("out/ring-8.json") and time.monotonic() < deadline:
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (130, "error: interrupted\n")
    assert [line.split()[0] for line in out.splitlines()[1:]] == files
