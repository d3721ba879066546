"""The logging folder: appended to, and begun anew when a file is full."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from yantra.base.errors import ConfigError
from yantra.export import log_folder


def test_lines_are_appended_across_runs(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "log"
    log_folder.write(str(folder), ["one"])
    log_folder.write(str(folder), ["two", "three"])
    assert (folder / "log.log").read_text() == "one\ntwo\nthree\n"
    assert (folder / "err.log").read_bytes() == b""


def test_a_full_file_moves_up_and_the_oldest_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_folder, "_LARGEST_BYTES", 4)
    log_folder.write(str(tmp_path), [f"{number:03d}" for number in range(13)])
    assert (tmp_path / "log.log").read_text() == "012\n"
    older = [(tmp_path / f"log.{number}.log").read_text() for number in range(1, 11)]
    assert older == [f"{number:03d}\n" for number in range(11, 1, -1)]
    assert not (tmp_path / "log.11.log").exists()


def test_a_folder_that_cannot_be_made_is_an_error_of_the_option(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"--logging-folder: .*file/log: cannot be written"):
        log_folder.write(str(tmp_path / "file" / "log"), ["one"])


def test_a_full_disk_leaves_no_empty_log(tmp_path: Path, full_disk: Callable[[], Any]) -> None:
    with full_disk(), pytest.raises(ConfigError, match="cannot be written: File too large"):
        log_folder.write(str(tmp_path), ["one"])
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_log_that_was_there(
    tmp_path: Path, full_disk: Callable[[], Any]
) -> None:
    (tmp_path / "log.log").write_text("one\n")
    with full_disk(), pytest.raises(ConfigError):
        log_folder.write(str(tmp_path), ["two"])
    assert (tmp_path / "log.log").read_text() == "one\n"
