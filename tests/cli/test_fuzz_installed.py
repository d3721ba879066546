"""The installed command survives a few broken files, and the check finds misbehaviour."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.fuzz import installed
from tests.fuzz.installed import Ended, Target, fault

FINE = Ended(0, b"", 0.1, 50 << 20)


def test_broken_files_end_in_a_result_or_a_refusal_that_names_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`--target installed` takes the files of all commands."""
    assert installed.campaign(8, 120, 5, only="chakra s") == []
    assert " targets, 0 left out, 0 faults" in capsys.readouterr().out


def test_a_target_is_every_file_that_an_example_reads(inputs: Path) -> None:
    installed.write_more(inputs)
    found = installed.targets(inputs)
    assert len(found) == len(set(found)) > 100
    assert {one.words[0] for one in found} >= {
        *("run", "validate", "explain", "compare", "sweep", "plot", "chakra", "workload"),
        *("topology", "network", "collective", "calibrate", "astra-sim"),
    }
    assert {Path(one.file).suffix for one in found} >= {
        *(".et", ".json", ".yaml", ".yml", ".csv", ".xml", ".graphml", ".txt", ".sh", ".yw"),
        *(".gz", ".log"),
    }
    assert all((inputs / one.file).is_file() for one in found)


NAMES = Target(("run", "a.yaml"), "b.et").names


@pytest.mark.parametrize(
    ("ended", "problem"),
    [
        (FINE, None),
        (FINE._replace(status=2, said=b"error: a.yaml: wrong"), None),
        (FINE._replace(status=2, said=b"error: b.et: wrong"), None),
        (FINE._replace(status=2, said=b"error: wrong"), "a refusal that names no file"),
        (FINE._replace(status=3, said=b"error: deadlock"), None),
        (FINE._replace(status=70), "status 70"),
        (FINE._replace(status=-11), "status -11"),
        (FINE._replace(status=None), "took more than 60 s"),
        (FINE._replace(said=b"Traceback (most"), "a trace of Python"),
        (FINE._replace(said=b"a \x1b[31m b"), "a control character reached the terminal"),
        (FINE._replace(said="a \x9b b".encode()), "a control character reached the terminal"),
        (FINE._replace(cpu_s=2.5), "2.5 s of processor time without a word"),
        (FINE._replace(cpu_s=2.5, said=b"x: 3 MB of YAML, which takes about"), None),
        (FINE._replace(peak_bytes=600 << 20), "600 MiB without a word"),
        (FINE._replace(status=3, peak_bytes=600 << 20, said=b"error: memory: x has"), None),
    ],
)
def test_a_fault_is_what_no_command_may_do(ended: Ended, problem: str | None) -> None:
    assert fault(ended, FINE, NAMES) == problem


def test_a_planted_fault_is_found_and_its_file_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = tmp_path / "command.py"
    command.write_text(
        "import sys\n"
        "name = sys.argv[-1]\n"
        "data = open(name, 'rb').read()\n"
        "sys.exit(70 if len(data) != int(open('size.txt').read()) else 0)\n"
    )
    (tmp_path / "size.txt").write_text("0")
    kept = tmp_path / "kept"
    found = installed.campaign(
        3, 60, 1, command=[sys.executable, str(command)], kept=kept, only="chakra show packed",
        also=lambda folder: (folder / "size.txt").write_text(
            str((folder / "packed.0.et").stat().st_size)
        ),
    )  # fmt: skip
    assert found
    assert all("status 70" in one for one in found)
    assert (kept / "1.line").read_text() == "chakra show packed.0.et <- packed.0.et\n"
    assert "3 runs, 1 targets, 0 left out" in capsys.readouterr().out
