"""`yantra doctor`: what it finds in a sound installation and in broken ones."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from yantra.cli import installation as doctor
from yantra.cli import main

ROOT = Path(__file__).resolve().parents[2]
Captured = pytest.CaptureFixture[str]


def found(name: str) -> doctor.Check:
    return next(check for check in doctor.examine() if check.name == name)


def test_a_sound_installation_is_fine(capsys: Captured) -> None:
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert "core             a known run ends at 117780 ns, as it must" in text
    assert text.endswith("everything that is needed works\n")
    assert max(map(len, text.splitlines())) < 200


def test_as_json(capsys: Captured) -> None:
    assert main(["doctor", "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert form["fine"] is True
    assert {check["state"] for check in form["checks"]} <= {"good", "absent"}
    assert {"python", "numpy", "core", "cores", "memory"} <= {c["name"] for c in form["checks"]}


def test_it_looks_for_what_the_package_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [f"{name}>={oldest}" for name, (_, oldest) in doctor.NEEDED.items()] == project[
        "dependencies"
    ]
    oldest = ".".join(map(str, doctor.OLDEST_PYTHON))
    assert project["requires-python"] == f">={oldest}"
    for name, (_, _, advice) in doctor.OPTIONAL.items():
        (needed,) = re.findall(r"'(.+)'", advice)
        assert needed.startswith(name)
        assert any([needed] == extra for extra in project["optional-dependencies"].values())


def test_a_package_of_somebody_else_with_our_name_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        metadata, "metadata", lambda _: {"Summary": "A plugin framework", "Version": "0.5"}
    )
    check = found("yantra")
    assert (check.state, check.advice[:20]) == ("bad", "pip uninstall yantra")
    assert "yantra 0.5 (A plugin framework)" in check.found


def test_an_old_package_is_wrong(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    version = metadata.version
    monkeypatch.setattr(
        metadata, "version", lambda name: "1.26.4" if name == "numpy" else version(name)
    )
    assert found("numpy") == ("numpy", "bad", "1.26.4", "pip install 'numpy>=2'")
    assert main(["doctor"]) == 1
    text = capsys.readouterr().out
    assert "        to do: pip install 'numpy>=2'\n" in text
    assert text.endswith("wrong: numpy\n")


def test_a_package_that_cannot_be_imported_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(doctor.NEEDED, "rich", ("no_such_module", "13"))
    check = found("rich")
    assert (check.state, check.found) == (
        "bad",
        "ModuleNotFoundError: No module named 'no_such_module'",
    )
    assert "install Yantra again" in check.advice


def test_a_core_that_counts_wrong_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    from yantra import demo

    known = demo.all_reduce().replace(astra_sim_ns=1)
    monkeypatch.setattr(demo, "all_reduce", lambda: known)
    check = found("core")
    assert check.state == "bad"
    assert check.found == "a run that ends at 1 ns ended at [117780.0] ns"


def test_what_is_optional_may_be_absent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda module: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    checks = doctor.examine()
    states = {check.name: (check.state, check.advice) for check in checks}
    assert states["torch"] == ("absent", "pip install 'torch>=2.5'")
    assert states["pyarrow"] == ("absent", "pip install 'pyarrow>=17'")
    assert states["dot"][0] == "absent"
    assert doctor.is_fine(checks)


@pytest.fixture
def no_temporary_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    yield


@pytest.mark.usefixtures("no_temporary_folder")
def test_temporary_files_need_a_folder() -> None:
    check = found("temporary files")
    assert check.state == "bad"
    assert check.found == "cannot be written: No such file or directory"
    assert check.advice.startswith("set TMPDIR")


def test_an_output_that_cannot_take_all_letters_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    class Latin:
        encoding = "latin-1"

        def isatty(self) -> bool:
            return False

    broken: Any = Latin()
    monkeypatch.setattr(doctor.sys, "stdout", broken)
    assert found("output").state == "bad"
