"""Files appear whole or not at all; what is no file is written to in place."""

from __future__ import annotations

from pathlib import Path

import pytest

from yantra import chakra
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
