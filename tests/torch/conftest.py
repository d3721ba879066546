"""Traces of the examples, collected once for all tests; skipped where PyTorch is missing."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "collect"
RANKS = 4
PARALLEL = ("ddp", "fsdp2", "tensor_parallel", "pipeline")


def run(*arguments: str | Path, status: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="session")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "collected"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:  # the workers of one run share the traces
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            launch = ROOT / "tests" / "torch" / "launch.py"
            scripts = [EXAMPLES / f"{name}.py" for name in PARALLEL]
            run(launch, str(RANKS), folder, *scripts, launch.with_name("every_operation.py"))
            run(launch, "1", folder, EXAMPLES / "single.py")
            (folder / "done").touch()
    return folder
