"""Names of files in a folder are those that are there now."""

from __future__ import annotations

import os
from pathlib import Path

from yantra.base.named_files import NamedFiles


def test_a_file_that_comes_later_has_a_name(tmp_path: Path) -> None:
    files = NamedFiles("cluster", str(tmp_path))
    (tmp_path / "one.yaml").touch()
    assert files.names() == ("one",)
    (tmp_path / "another.yaml").touch()
    assert files.names() == ("another", "one")


def test_a_folder_that_is_as_it_was_is_listed_once(tmp_path: Path) -> None:
    files = NamedFiles("cluster", str(tmp_path))
    (tmp_path / "one.yaml").touch()
    os.utime(tmp_path, (1e9, 1e9))
    assert files.names() is files.names()
    (tmp_path / "one.yaml").rename(tmp_path / "two.yaml")
    assert files.names() == ("two",)
