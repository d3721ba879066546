"""`make`'s environment has a pip that works, and reports what the machine lacks."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).parents[2] / "tools" / "make_venv.py"


@pytest.fixture
def make_venv() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_venv", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pips(folder: Path) -> str:
    command = [str(folder / "bin" / "python"), "-m", "pip", "list", "--format=freeze"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_an_environment_has_pip_and_nothing_else(make_venv: ModuleType, tmp_path: Path) -> None:
    make_venv.make(tmp_path / "made")
    assert [line.partition("==")[0] for line in pips(tmp_path / "made").split()] == ["pip"]


def test_what_else_is_in_the_folder_stays(make_venv: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("not to be lost")
    make_venv.make(tmp_path)
    assert (tmp_path / "letter.txt").read_text() == "not to be lost"
    assert "pip==" in pips(tmp_path)


def test_an_environment_that_was_interrupted_is_made_again(
    make_venv: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(make_venv.zipfile.ZipFile, "extractall", interrupted)
        with pytest.raises(KeyboardInterrupt):
            make_venv.make(tmp_path / "made")
    assert not (tmp_path / "made" / "bin" / "python").exists()
    make_venv.make(tmp_path / "made")
    assert "pip==" in pips(tmp_path / "made")


def test_without_the_wheel_it_is_made_as_python_does(
    make_venv: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make_venv, "wheel_of_pip", lambda: None)
    make_venv.make(tmp_path / "made")
    assert "pip==" in pips(tmp_path / "made")


def test_what_is_missing_is_said(make_venv: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert make_venv.lack() == ""
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    assert "apt-get install g++" in make_venv.lack()
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    assert "3.9.2" in make_venv.lack()


def test_a_machine_that_lacks_something_ends_with_status_2(tmp_path: Path) -> None:
    command = [sys.executable, str(FILE), str(tmp_path / "made")]
    environment = {"CXX": "no-such-compiler", "PATH": "/usr/bin:/bin"}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (ended.returncode, (tmp_path / "made").exists()) == (2, False)
    assert ended.stdout.startswith("no C++ compiler")
