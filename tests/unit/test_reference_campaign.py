"""The campaign of random jobs against ASTRA-sim's binaries, with a stand-in for the binary."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.reference import campaign, jobs, reasons, runs

SEED = 1  # of ranks that all finish
LIMIT_S = 30


def _stand_in(folder: Path, change: str) -> Path:
    program = folder / "reference"
    program.write_text(
        f"#!{sys.executable}\n"
        "import io, sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from contextlib import redirect_stdout\n"
        "from yantra.cli import main\n"
        "out = io.StringIO()\n"
        "with redirect_stdout(out):\n"
        "    main(['astra-sim', *sys.argv[1:]])\n"
        "lines = [line for line in out.getvalue().splitlines() if ' finished, ' in line]\n"
        f"print(*({change}), sep=chr(10))\n"
    )
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("kind", jobs.KINDS)
def test_a_seed_gives_the_same_files_which_are_sound(kind: str, tmp_path: Path) -> None:
    for seed in range(3):
        first, second = tmp_path / f"{seed}a", tmp_path / f"{seed}b"
        first.mkdir(), second.mkdir()
        jobs.write(kind, seed, first)
        files = jobs.write(kind, seed, second)
        assert _contents(first) == _contents(second)
        finished, said = runs.ours("unaware", files)
        assert len(finished) == files.ranks or said.startswith("status 3"), said


def _contents(folder: Path) -> dict[str, bytes]:
    own = str(folder).encode()
    return {each.name: each.read_bytes().replace(own, b"") for each in folder.iterdir()}


@pytest.mark.parametrize(
    ("said", "features", "finished", "known"),
    [
        ("status -6: what(): No dependancy free nodes found", {"an empty rank"}, 0, True),
        ("status -6: what(): No dependancy free nodes found", {"a ring of two"}, 0, False),
        ("status -6: get_event_time() > current_time' failed.", set(), 0, True),
        ("status -6: get_event_time() > current_time' failed.", set(), 3, False),
        ("status 0: [system] [warning] Exiting", {"a group, then all ranks"}, 2, True),
        ("status 0: [system] [warning] Exiting", {"a group"}, 2, False),
        ("status -11: ", {"a shared bus"}, 2, True),
        ("status -11: ", set(), 2, False),
        ("status 0: what nobody said before", {"a group", "gigabytes"}, 0, False),
    ],
)
def test_an_end_is_known_only_of_a_job_that_has_what_leads_to_it(
    said: str, features: set[str], finished: int, known: bool
) -> None:
    found = reasons.why_theirs_stops(said, frozenset(features), finished)
    assert (found is not None) == known


def test_a_refusal_is_known_only_of_a_job_that_it_is_about() -> None:
    told = "status 3: error: all_reduce: double_binary_tree: it needs a power of two positions"
    assert reasons.why_ours_refuses(told, frozenset({"doubleBinaryTree"})) is not None
    assert reasons.why_ours_refuses(told, frozenset({"gigabytes"})) is None
    assert reasons.why_ours_refuses("status 2: error: no such file", frozenset()) is None


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ("lines", "equal"),
        ("lines[::-1]", "different"),
        ("[line.replace(' cycles, exposed', '0 cycles, exposed') for line in lines]", "different"),
        ("lines[:2]", "no known reason"),
        ("[lines[0].replace('tion ', 'tion 9')]", "different before the reference stops"),
    ],
)
def test_a_binary_that_says_something_else_is_found(
    change: str, verdict: str, tmp_path: Path
) -> None:
    binary = _stand_in(tmp_path, change)
    assert runs.compared("symmetric", SEED, "unaware", binary, LIMIT_S).kind == verdict


def test_a_binary_that_does_not_end_is_ended_and_said_so(tmp_path: Path) -> None:
    endless = tmp_path / "reference"
    endless.write_text(f"#!{sys.executable}\nwhile True: pass\n")
    endless.chmod(0o755)
    verdict = runs.compared("symmetric", SEED, "unaware", endless, 1)
    assert verdict.kind == runs.LATE
    assert 0.9 < verdict.reference_s < 3


def test_a_job_that_yantra_crashes_on_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yantra.cli.main", lambda _: os.kill(os.getpid(), 9))
    silent = tmp_path / "reference"
    silent.write_text("#!/bin/sh\n")
    silent.chmod(0o755)
    verdict = runs.compared("symmetric", SEED, "unaware", silent, LIMIT_S)
    assert (verdict.kind, verdict.text) == ("fault", "status -9:  / status 0: ")


def test_what_was_compared_is_not_run_again_even_after_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign, "FOLDER", tmp_path)
    monkeypatch.setattr(campaign, "compared", _noted(tmp_path / "ran"))
    file = tmp_path / "verdicts"
    tasks = campaign.tasks(0, 20, {"unaware": tmp_path})
    for verdict in campaign.run(tasks, file, LIMIT_S, 2):
        assert verdict in campaign.kept(file).values()
    with file.open("r+b") as cut:
        cut.truncate(file.stat().st_size - 3)
    known = campaign.kept(file)
    assert len(known) == 19
    todo = [task for task in tasks if task.name not in known]
    again = list(campaign.run(todo, file, LIMIT_S, 2))
    assert [verdict.name for verdict in again] == [task.name for task in todo]
    assert set(campaign.kept(file)) == {task.name for task in tasks}
    assert len((tmp_path / "ran").read_text().splitlines()) == 21


def _noted(ran: Path) -> Callable[..., runs.Verdict]:
    def compared(kind: str, seed: int, backend: str, *_: object) -> runs.Verdict:
        with ran.open("a") as lines:
            lines.write(f"{seed}\n")
        return runs.Verdict(f"{kind} {seed} {backend}", "equal")

    return compared


def test_another_binary_or_limit_has_results_of_its_own(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_text("one")
    first = campaign.results_file({"unaware": binary}, 1)
    assert campaign.results_file({"unaware": binary}, 1) == first
    assert campaign.results_file({"unaware": binary}, 2) != first
    binary.write_text("two")
    assert campaign.results_file({"unaware": binary}, 1) != first
