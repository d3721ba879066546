"""A folder with every file that the examples name; each test works on a copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli import example_files


@pytest.fixture(scope="session")
def examples_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("examples")
    example_files.write(folder)
    return folder


@pytest.fixture
def inputs(examples_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "inputs"
    shutil.copytree(examples_folder, folder)
    monkeypatch.chdir(folder)
    return folder
