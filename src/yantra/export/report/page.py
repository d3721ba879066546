"""The report of one run: its sections in the order of an architect's questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from yantra.base.output import Path, write_text
from yantra.base.text import count
from yantra.base.units import format_time
from yantra.export.report import (
    bounds,
    communication,
    kernels,
    memory,
    network,
    overview,
    packets,
    path,
    power,
    reproduction,
    timeline,
    waits,
)
from yantra.export.report.markup import Html, element, join
from yantra.export.report.run import Run
from yantra.export.report.shell import CHARTS, Page, Section, part, render
from yantra.result import Result

if TYPE_CHECKING:
    from yantra.result.energy import Energy

_SCRIPTS = (
    *CHARTS,
    "nodes.js",
    "lanes.js",
    "colours.js",
    "rows.js",
    "path.js",
    "waits.js",
    "painter.js",
    "details.js",
    "search.js",
    "timeline.js",
    "bandwidth.js",
    "memory.js",
    "packets.js",
    "points.js",
    "power.js",
    "roofline.js",
    "topology.js",
    "ready.js",
    "main.js",
)
_STYLES = ("uplot.css", "report.css")


def write_report(result: Result, path: Path, warnings: Sequence[str] = ()) -> None:
    write_text(path, html(result, warnings))


def html(result: Result, warnings: Sequence[str] = ()) -> str:
    result.weigh()
    run = Run(result)
    critical = path.path_of(run)
    found = kernels.find(run)
    lives = memory.find(run)
    drawn = result.energy
    head = element("section", overview.head(run, warnings), id="top", aria_label="The run")
    sections = [
        Section("time", "Where the time goes", _TIME, _time(run, critical)),
        Section("bounds", "What would help", _BOUNDS, bounds.section(run)),
        Section("timeline", "Timeline", _TIMELINE, Html(part("timeline.html"))),
        Section("path", "Critical path", _PATH, path.section(run, critical)),
        Section("communication", "Communication", _COMMUNICATION, communication.section(run)),
        Section("network", "Network", "", network.section(run)),
        *_packets(run),
        Section("roofline-section", "Roofline", _ROOFLINE, kernels.section(run, found)),
        Section("memory-section", "Memory", "", memory.section(run, lives)),
        *_power(drawn),
        Section("ranks", "Ranks", "", overview.class_table(run)),
        Section("scenario", "Scenario", "", reproduction.section(run)),
    ]
    data = overview.as_data(run) | {
        "timeline": timeline.gather(run),
        "path": path.as_data(run, critical),
        "network": network.as_data(run),
        "packets": packets.as_data(run),
        "kernels": kernels.as_data(run, found),
        "memory": memory.as_data(run, lives),
        "waits": waits.as_data(run),
        "power": power.as_data([power.of_run(drawn)] if drawn else [], run.columns),
    }
    ranks = result.model.ranks
    size = f"{count(ranks, 'rank', commas=True)}, {format_time(result.makespan_ns)}"
    title = f"{result.what_ran.short}: {size}"
    return render(Page(title, head, sections, _SCRIPTS, _STYLES, data, run.columns))


def _packets(run: Run) -> list[Section]:
    if run.result.packet_summary is None:
        return []
    return [Section("packets", "Packets", "", packets.section(run))]


def _power(drawn: Energy | None) -> list[Section]:
    if drawn is None:
        return []
    told = power.section([power.of_run(drawn)], drawn.phases, bool(drawn.unknown))
    return [Section("power-section", "Power", _POWER, told)]


def _time(run: Run, critical: path.Path | None) -> Html:
    parts = [overview.breakdown(run)]
    if critical is not None:
        parts += [element("h3", "What the run waits for"), path.by_kind_bar(critical)]
    return join(parts)


_TIME = (
    "Each moment of a rank counts once: for compute, else for communication, memory or host work "
    "that nothing hides, else as waiting for other ranks, else as idle. The bars end with the run."
)
_BOUNDS = "How much shorter the run is when one cause of its time is gone: what is worth a change."
_TIMELINE = (
    "One group of rows for each class of ranks that do the same at the same times. Click a node "
    "for what it is and what it waited for. A posted receive waits, so it is found, but not drawn."
)
_POWER = (
    "Of the building, by the law of power of decode. A checkpoint and a restart are as published."
)
_PATH = "The chain of steps that the end waited for. Only what shortens it shortens the run."
_COMMUNICATION = (
    "Calls of one kind, group and size over all ranks, from issue to completion on each rank."
)
_ROOFLINE = (
    "Each point is a kernel: operations per byte against operations per second. A point at the "
    "edge belongs beyond it."
)
