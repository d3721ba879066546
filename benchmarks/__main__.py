"""Runs every benchmark, or those named, each in a new process: a forked one starts at its parent's
peak of memory. The exit status is 1 if one misses its goal.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks import (
    bench_chakra_tools,
    bench_compute,
    bench_export,
    bench_flow,
    bench_many_files,
    bench_messages,
    bench_noc,
    bench_packet,
    bench_post_training,
    bench_scale,
    bench_serve,
    bench_synthesis,
    bench_trace_decode,
    bench_workloads,
    speed,
    startup,
)


def decode(folder: Path) -> bool:
    del folder
    bench_trace_decode.main()
    return True


REPORTS: dict[str, Callable[[Path], bool]] = {
    "startup": startup.report,
    "decode": decode,
    "speed": speed.report,
    "messages": bench_messages.report,
    "chakra": bench_chakra_tools.report,
    "workloads": bench_workloads.report,
    "scale": bench_scale.report,
    "export": bench_export.report,
    "compute": bench_compute.report,
    "flow": bench_flow.report,
    "packet": bench_packet.report,
    "many files": bench_many_files.report,
    "noc": bench_noc.report,
    "synthesis": bench_synthesis.report,
    "serve": bench_serve.report,
    "post-training": bench_post_training.report,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in REPORTS]
    if unknown:
        known = ", ".join(f"'{name}'" for name in REPORTS)
        print(f"no benchmark is called '{unknown[0]}'; there are {known}", file=sys.stderr)
        return 2
    met = True
    for name in names or REPORTS:
        with tempfile.TemporaryDirectory() as folder:
            met &= _in_a_child(REPORTS[name], Path(folder) / name)
        print(flush=True)
    return 0 if met else 1


def _in_a_child(report: Callable[[Path], bool], folder: Path) -> bool:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        folder.mkdir()
        done = report(folder)
        sys.stdout.flush()
        os._exit(0 if done else 1)
    _, status = os.waitpid(child, 0)
    return status == 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
