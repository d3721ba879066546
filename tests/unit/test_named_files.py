"""Names of files in a folder are those that are there now."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
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


@pytest.mark.parametrize("typed", ["hgx-h100", "HGX-H100", "hgx_h100", "HgxH100"])
def test_a_name_is_found_however_it_is_written(tmp_path: Path, typed: str) -> None:
    files = NamedFiles("cluster", str(tmp_path))
    for name in ("hgx-h100", "hgx-h200"):
        (tmp_path / f"{name}.yaml").touch()
    assert files.path_of(typed, where="cluster") == files.path("hgx-h100")


def test_two_names_that_differ_in_dashes_alone_are_not_guessed(tmp_path: Path) -> None:
    files = NamedFiles("cluster", str(tmp_path))
    for name in ("a-b", "ab"):
        (tmp_path / f"{name}.yaml").touch()
    assert files.path_of("ab", where="cluster") == files.path("ab")
    with pytest.raises(ConfigError, match="no cluster is named 'AB'"):
        files.path_of("AB", where="cluster")
