"""Runs the suite on a core built with AddressSanitizer and UndefinedBehaviourSanitizer.

`make sanitize` runs it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "sanitize"
PACKAGE = BUILD / "package" / "yantra"


def main() -> int:
    shutil.rmtree(PACKAGE, ignore_errors=True)
    shutil.copytree(
        ROOT / "src" / "yantra", PACKAGE, ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    configure = [
        *("cmake", "-S", str(ROOT), "-B", str(BUILD)),
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={PACKAGE}",
        "-DYANTRA_SANITIZE=ON",
    ]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    workers = str(os.cpu_count() or 1)
    subprocess.run(["cmake", "--build", str(BUILD), "--parallel", workers], check=True)
    compiler = os.environ.get("CXX", "g++")
    preload = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True
        ).stdout.strip()
        for name in ("libasan.so", "libubsan.so", "libstdc++.so")
    ]
    environment = os.environ | {
        "PYTHONPATH": str(PACKAGE.parent),
        "LD_PRELOAD": " ".join(preload),
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    }
    suite = [sys.executable, "-m", "pytest", *sys.argv[1:]]
    return subprocess.run(suite, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
