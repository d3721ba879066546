"""How cost grows with ranks: folded, every rank, and the reference simulator, drawn for the docs.

Ours is counted from a scenario in memory to its result, and, as `run`, without compiling, which is
what a compiled model costs when it runs again. The reference is the whole process of its binary,
which also reads one small file per rank; it runs where YANTRA_REFERENCE_UNAWARE names it, else its
points of the last such run stay. All are processor seconds of one thread, the least of several
runs. A series ends where one run would take more than a minute.

    python -m benchmarks.scale_curve         writes docs/concepts/scale.json and scale.svg
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.bench_scale import step
from benchmarks.inputs import all_reduce
from benchmarks.speed import Case, _flags, process_seconds
from yantra.scenario import Scenario

HERE = Path(__file__).resolve().parent.parent / "docs" / "reference"
BLOCKS: dict[str, Callable[[int], list[tuple[str, int]]]] = {
    "ring all-reduce, one ring": lambda size: [("Ring", size)],
    "ring all-reduce, 3-D torus": lambda size: [("Ring", size)] * 3,
    "direct all-reduce, fully connected": lambda size: [("FullyConnected", size)],
    "halving-doubling all-reduce, one switch": lambda size: [("Switch", size)],
}
ALGORITHMS = ("ring", "ring", "direct", "halvingDoubling")
STEP = "training step, Llama 3 405B, TP 8, PP 16"
LONGEST_SECONDS = 60.0
_KINDS = ("folded", "folded, run", "every rank", "ASTRA-sim")


class Point(NamedTuple):
    """Processor seconds of one run."""

    series: str
    kind: str
    ranks: int
    seconds: float


def sizes(series: str) -> list[int]:
    if "torus" in series:
        return [4, 8, 16, 32]
    return [8, 16, 32, 64, 128, 256, 512, 1024, 4096]


def collectives(folder: Path) -> list[Point]:
    points = []
    for (series, blocks), algorithm in zip(BLOCKS.items(), ALGORITHMS, strict=True):
        last: dict[str, Point] = {}
        for size in sizes(series):
            ranks = size ** len(blocks(size))
            at = folder / f"{algorithm}-{len(blocks(size))}-{size}"
            all_reduce(at, blocks(size), algorithm)
            case = Case(series, at, ("unaware",), 0.0)
            for kind in _KINDS:
                if kind in last and _expected(last[kind], ranks) > LONGEST_SECONDS:
                    continue
                seconds = _least(_runner(case, kind))
                if seconds is None:
                    continue
                last[kind] = _told(Point(series, kind, ranks, seconds))
                points.append(last[kind])
    return points


def _expected(before: Point, ranks: int) -> float:
    return before.seconds * (ranks / before.ranks) ** 2


def steps(folder: Path) -> list[Point]:
    points = []
    for replicas in (1, 4, 16, 128, 1024, 8192):
        scenario = step(replicas)(folder / "step.yw")
        for kind in _KINDS[:3] if replicas <= 4 else _KINDS[:2]:
            seconds = _least(lambda kind=kind, scenario=scenario: _simulate(scenario, kind))
            if seconds is not None:
                points.append(_told(Point(STEP, kind, 128 * replicas, seconds)))
    return points


def _runner(case: Case, kind: str) -> Callable[[], float | None]:
    if kind == "ASTRA-sim":
        binary = os.environ.get("YANTRA_REFERENCE_UNAWARE")
        if binary is None:
            return lambda: None
        command = [binary, *_flags(case)]
        return lambda: process_seconds(command, case.folder, must_succeed=False)
    from yantra.astra_sim import from_files
    from yantra.chakra import read
    from yantra.scenario import Traces

    files, _ = from_files(
        workload="workload",
        system="system.json",
        network="network.yml",
        memory="memory.json",
        directory=case.folder,
        network_backend="analytical",
    )
    trace = read(case.folder / "workload.0.et")
    scenario = files.replace(workload=Traces(traces=(trace,) * files.topology.ranks))
    return lambda: _simulate(scenario, kind)


def _simulate(scenario: Scenario, kind: str) -> float:
    from yantra.compile import compile
    from yantra.run.simulate import run

    start = time.process_time()
    model = compile(scenario)
    if kind == "folded, run":
        start = time.process_time()
    run(model, fold="off" if kind == "every rank" else "require")
    return time.process_time() - start


def _least(run: Callable[[], float | None]) -> float | None:
    best = None
    until = time.perf_counter() + 2.0
    for _ in range(5):
        seconds = run()
        if seconds is None:
            return None
        best = seconds if best is None else min(best, seconds)
        if time.perf_counter() > until:
            break
    return best


def _told(point: Point) -> Point:
    print(f"{point.series:42} {point.kind:11} {point.ranks:8} {point.seconds:10.5f} s", flush=True)
    return point


def ratios(points: list[Point]) -> list[str]:
    seconds = {(p.series, p.kind, p.ranks): p.seconds for p in points}
    lines = []
    for series, kind, ranks in seconds:
        if kind == "ASTRA-sim" and (series, "folded", ranks) in seconds:
            reference = seconds[series, kind, ranks]
            told = ", ".join(
                f"{ours} {reference / seconds[series, ours, ranks]:.0f}x" for ours in _KINDS[:3]
            )
            lines.append(f"{series:42} {ranks:5} ranks: {told}")
    return lines


def draw(points: list[Point], file: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "yantra", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    panels = [list(group) for _, group in groupby(points, key=lambda p: p.series)]
    figure, axes = pyplot.subplots(2, 3, figsize=(10, 6), sharey=True, layout="constrained")
    grey = "#808080"  # readable on light and on dark pages
    colours = ("#0a8754", "#7fbf9f", "#3b82f6", "#d97706")
    looks = dict(zip(_KINDS, zip(colours, "oDs^", strict=True), strict=True))
    for axis, panel in zip(axes.flat, panels, strict=False):
        for kind, (colour, marker) in looks.items():
            shown = sorted((p.ranks, p.seconds) for p in panel if p.kind == kind)
            if shown:
                axis.plot(*zip(*shown, strict=True), marker + "-", color=colour, ms=4, label=kind)
        axis.set(xscale="log", yscale="log")
        axis.set_title(panel[0].series, fontsize=9, color=grey)
        axis.grid(alpha=0.3)
        axis.tick_params(colors=grey, which="both")
        axis.set_facecolor("none")
    for axis in axes[:, 0]:
        axis.set_ylabel("processor seconds", color=grey)
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    handles, labels = axes.flat[0].get_legend_handles_labels()
    axes.flat[-1].legend(handles, labels, loc="center", labelcolor=grey, framealpha=0)
    figure.supxlabel("ranks", color=grey, fontsize=9)
    figure.patch.set_alpha(0)
    figure.savefig(file, metadata={"Date": None, "Creator": None})


def main() -> int:
    data = HERE / "scale.json"
    with tempfile.TemporaryDirectory() as folder:
        points = collectives(Path(folder)) + steps(Path(folder))
    if "YANTRA_REFERENCE_UNAWARE" not in os.environ and data.exists():
        before: list[dict[str, Any]] = json.loads(data.read_text())
        points += [Point(**row) for row in before if row["kind"] == "ASTRA-sim"]
        points.sort(key=lambda p: [*BLOCKS, STEP].index(p.series))
    print(*ratios(points), sep="\n")
    rows = [json.dumps(point._asdict()) for point in points]
    data.write_text("[\n" + ",\n".join(rows) + "\n]\n")
    draw(points, HERE / "scale.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
