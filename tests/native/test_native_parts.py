"""The tests beside the parts of the core, `native/<part>/*.test.cpp`: each is run."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import pytest

from tests.core_objects import COMPILER, NATIVE, Objects, programs

MOST_SECONDS = 20  # processor seconds for a program; the slowest takes two


def _limit_time() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 5))


@pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("test", programs(), ids=lambda test: str(test.relative_to(NATIVE)))
def test_a_part_keeps_its_laws(test: Path, tmp_path: Path, core_objects: Objects) -> None:
    command = core_objects.command(test, tmp_path)
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, preexec_fn=_limit_time
    )
    assert done.returncode == 0, done.stdout + done.stderr
