"""Runs every benchmark and prints it beside its goal; the exit status is 1 if one is missed."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import (
    bench_chakra_tools,
    bench_scale,
    bench_trace_decode,
    bench_workloads,
    speed,
    startup,
)


def main() -> int:
    """Run all; return the exit status."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        met = startup.report(folder)
        print()
        bench_trace_decode.main()
        print()
        met &= speed.report(folder)
        print()
        met &= bench_chakra_tools.report(folder / "chakra")
        print()
        met &= bench_workloads.report(folder / "workloads")
        print()
        met &= bench_scale.report(folder / "scale")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
