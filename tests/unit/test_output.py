"""Files appear whole or not at all; other targets are written to in place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from yantra import chakra
from yantra.base import output
from yantra.base.errors import ConfigError
from yantra.base.output import whole_file, write_text


def test_a_failing_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "result.txt"
    write_text(path, "old")

    def fail() -> None:
        with whole_file(path) as name:
            Path(name).write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    device = tmp_path / "null"
    device.symlink_to("/dev/null")
    write_text(device, "text")
    chakra.Trace().write(device)
    assert device.is_symlink()
    assert device.is_char_device()


def test_what_no_file_can_be_called_is_an_error_of_the_user() -> None:
    with pytest.raises(ConfigError, match="cannot be written: not a path"):
        write_text("a\0b", "text")


def test_a_folder_is_an_error_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        write_text(tmp_path, "text")
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_left_is_removed_by_the_next_that_writes_the_file(
    tmp_path: Path,
) -> None:
    code = (
        "import os, signal, sys; from yantra.base.output import whole_file\n"
        "with whole_file(sys.argv[1]) as name:\n"
        "    open(name, 'w').write('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    path = tmp_path / "job.11.et"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code, str(path)], env=environment, check=False)
    (left,) = tmp_path.iterdir()
    assert left.name.startswith("job.11.et.") and left.name.endswith(".tmp")
    others = tmp_path / "notes.deadbeef.tmp"
    others.write_text("somebody's own")
    output.remove_leftovers([])  # this process may have listed the folder before
    write_text(path, "whole")
    assert {one.name for one in tmp_path.iterdir()} == {path.name, others.name}


def test_what_is_being_written_is_not_taken_for_a_leftover(tmp_path: Path) -> None:
    path = tmp_path / "result.txt"
    with whole_file(path) as name:
        Path(name).write_text("first")
        output.remove_leftovers([path])
        write_text(path, "second")
        assert path.read_text() == "second"
    assert path.read_text() == "first" and list(tmp_path.iterdir()) == [path]


def test_interruptions_leave_nothing_that_was_begun(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from yantra.cli import guarded\n"
        "from yantra.base import output\n"
        "def command():\n"
        "    remove = os.remove\n"
        "    def interrupted(name):\n"
        "        os.remove = remove\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"  # the second Ctrl-C, in the clean-up
        "    with output.whole_file(sys.argv[1]) as name:\n"
        "        open(name, 'w').write('half')\n"
        "        os.remove = interrupted\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.exit(guarded(command, json=False))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, str(tmp_path / "r.txt")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 130 and done.stderr == "error: interrupted\n"
    assert list(tmp_path.iterdir()) == []


def test_a_durable_file_and_its_name_are_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda one: synced.append(os.fstat(one).st_ino))
    with whole_file(tmp_path / "a", is_durable=True) as name:
        Path(name).write_text("text")
    assert synced == [(tmp_path / "a").stat().st_ino, tmp_path.stat().st_ino]


@pytest.mark.parametrize("name", [".", "folder"])
def test_a_folder_is_called_one(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    with pytest.raises(ConfigError, match=rf"^{name}: cannot be written: it is a folder$"):
        write_text(name, "text")
