"""Too much work is refused before it starts; only regular files are read; memory has a limit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cases import cluster, collectives, scenario
from tests.fuzz import jobs
from tests.golden.astra_sim_inputs import write
from yantra.base import memory
from yantra.base.errors import ConfigError, UnsupportedError, internal_error
from yantra.base.regular import read_regular
from yantra.chakra import CollectiveType
from yantra.cli import main
from yantra.compile import compile
from yantra.run.simulate import run
from yantra.run.work import check_work, estimate

Captured = pytest.CaptureFixture[str]
RING = cluster(("ring", 8, 50.0, 500.0))
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the kernel keeps the limit")


def reducing(size: int, **options: Any) -> Any:
    return scenario(
        RING,
        lambda trace, rank: trace.collective(CollectiveType.ALL_REDUCE, size),
        collectives=collectives(endpoint_delay_ns=10, **options),
    )


@pytest.mark.parametrize(
    ("topology", "algorithm"),
    [
        (RING, "ring"),
        (cluster(("fully_connected", 8, 50.0, 500.0)), "direct"),
        (cluster(("switch", 8, 50.0, 500.0)), "halving_doubling"),
        (cluster(("switch", 8, 50.0, 500.0)), "double_binary_tree"),
        (cluster(("ring", 4, 50.0, 500.0), ("switch", 2, 25.0, 700.0)), "ring"),
    ],
)
@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "reduce_scatter"])
def test_the_estimate_counts_the_messages_and_bytes_of_the_run(
    topology: Any, algorithm: str, kind: str
) -> None:
    if algorithm == "double_binary_tree" and kind != "all_reduce":
        pytest.skip("it reduces alone")
    size = 1 << 20
    case = scenario(
        topology,
        lambda trace, rank: trace.collective(kind, size),
        collectives=collectives(algorithm, len(topology.dimensions), chunks=4),
    )
    model = compile(case)
    work, outcome = estimate(model), run(model, fold="off").outcome
    assert work.messages == outcome.messages
    assert work.bytes_moved == sum(use.bytes for use in outcome.dimensions)
    assert 0.5 <= work.events / outcome.events <= 4  # what a rank does in a tick is one


def test_what_the_memory_cannot_hold_is_refused_before_the_run() -> None:
    model = compile(reducing(10**9, chunks=10**9))
    with memory.limited(1 << 36), pytest.raises(UnsupportedError) as error:
        run(model, fold="off")
    assert "8 billion chunks at once" in str(error.value)
    assert "more than the limit of 64 GiB" in str(error.value)
    assert "--memory-limit" in str(error.value)


def test_queues_that_the_memory_cannot_hold_are_refused(tmp_path: Path, capsys: Captured) -> None:
    flags = [*write("tutorial", tmp_path), "--num-queues-per-dim=1000000000"]
    assert main(["astra-sim", *flags, "--memory-limit=8GiB"]) == 3
    assert "8 billion queues" in capsys.readouterr().err
    assert main(["validate", *flags]) == 3
    assert "queues" in capsys.readouterr().out


@pytest.mark.parametrize("field", ["chunks", "active_chunks", "queues_per_dimension"])
def test_a_count_beyond_the_core_is_refused_by_its_field(field: str) -> None:
    with pytest.raises(ConfigError, match=rf"collectives\.{field}: must be at most 2147483647"):
        compile(reducing(1000, **{field: 2**32}))


def _special(folder: Path, kind: str, path: Path) -> None:
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
@pytest.mark.parametrize("name", ["workload.3.et", "system.json", "network.yml", "memory.json"])
def test_only_regular_files_are_read(
    tmp_path: Path, capsys: Captured, kind: str, name: str
) -> None:
    flags = write("tutorial", tmp_path)
    _special(tmp_path, kind, tmp_path / name)
    for command in ("astra-sim", "validate"):
        assert main([command, *flags]) == 2
        out, err = capsys.readouterr()
        said = {"pipe": "is a pipe", "device": "is a device", "folder": "irectory"}[kind]
        assert name in out + err
        assert said in out + err or "is a folder" in out + err


@pytest.mark.parametrize("command", ["run", "explain", "sweep", "validate"])
def test_a_pipe_in_place_of_a_scenario_is_not_waited_for(
    tmp_path: Path, capsys: Captured, command: str
) -> None:
    pipe = tmp_path / "x.yaml"
    os.mkfifo(pipe)
    assert main([command, str(pipe)]) in (2, 1)
    out, err = capsys.readouterr()
    assert "is a pipe; expected a regular file" in out + err


def test_a_regular_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345" * 100_000)
    assert read_regular(tmp_path / "a") == b"12345" * 100_000


def test_an_allocation_beyond_the_limit_is_an_answer_and_no_fault_of_ours() -> None:
    check_work(compile(reducing(1000)))
    text = str(internal_error(MemoryError()))
    assert text.startswith("memory: this takes more than ") and "8 nodes" in text
    assert internal_error(MemoryError()).exit_code == 3


@LINUX
def test_a_process_that_needs_more_than_the_limit_ends_with_what_it_needed(tmp_path: Path) -> None:
    flags = write("tutorial", tmp_path)
    (tmp_path / "system.json").write_text(
        (tmp_path / "system.json").read_text().replace(": 4", ": 60000")
    )
    line = [sys.executable, "-m", "yantra", "astra-sim", *flags, "--memory-limit=240MB"]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "memory: this takes more than the limit of 240 MB" in done.stderr
    assert "thousand chunks at once" in done.stderr


def test_a_limit_below_what_is_in_use_is_refused(tmp_path: Path, capsys: Captured) -> None:
    assert main(["astra-sim", *write("tutorial", tmp_path), "--memory-limit=1kB"]) == 2
    assert "--memory-limit: must be above " in capsys.readouterr().err


def test_validate_says_how_much_work_a_run_is(tmp_path: Path, capsys: Captured) -> None:
    flags = write("tutorial", tmp_path)
    assert main(["validate", *flags]) == 0
    assert "work: about 1152 events and 448 messages of 14 MiB" in capsys.readouterr().out
    assert main(["validate", *flags, "--json"]) == 0
    work = json.loads(capsys.readouterr().out)["work"]
    assert (work["events"], work["messages"], work["chunks"]) == (1152, 448, 32)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_full_device_as_standard_output_is_the_users(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "yantra", "astra-sim", *write("tutorial", tmp_path)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            line, stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path
        )
    assert done.returncode == 2
    assert done.stderr == "error: standard output: cannot be written: No space left on device\n"


def test_jobs_with_something_wrong_in_them_end_in_a_status(capsys: Captured) -> None:
    assert jobs.campaign(25, 60.0, seed=3, hostile_first=False) == 0
    assert "25 runs, 0 faults" in capsys.readouterr().out
