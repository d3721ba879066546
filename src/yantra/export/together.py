"""Several jobs on one cluster -> JSON, and one HTML file that opens offline.

    {"format": "yantra-jobs", "version": 1, "network": "flow", "end_ns": ..., "jobs": [...]}

Jobs have times beside the others and alone, and the slowdown; `dimensions` is what the network
carried for all.
"""

from __future__ import annotations

import json
from typing import Any

from yantra.base.fields import named
from yantra.base.output import Path, write_text
from yantra.base.text import count, rank_list
from yantra.base.units import format_size, format_time
from yantra.export.report import bars
from yantra.export.report.markup import Cell, Head, Html, element, facts, join, table
from yantra.export.report.shell import Page, Section, render
from yantra.run.together import Together

FORMAT = "yantra-jobs"
VERSION = 1


def document(done: Together) -> dict[str, Any]:
    from yantra import __version__

    rows = [
        {
            "name": one.job.name,
            "ranks": list(one.job.ranks),
            "at_ns": one.job.at_ns,
            "together_ns": one.together_ns,
            "alone_ns": one.alone_ns,
            "slowdown": one.slowdown,
        }
        for one in done.times
    ]
    told = done.disturbed
    return {
        "format": FORMAT,
        "version": VERSION,
        "yantra_version": __version__,
        "network": named(done.result.model.scenario.network),
        "end_ns": done.end_ns,
        "jobs": rows,
        "dimensions": [use._asdict() for use in done.result.dimension_uses],
        **({} if told is None else {"disturbed": told.as_dict()}),
        "warnings": list(done.result.warnings),
    }


def write_json(done: Together, path: Path) -> None:
    write_text(path, json.dumps(document(done), indent=2, allow_nan=False) + "\n")


def write_report(done: Together, path: Path) -> None:
    write_text(path, page(done))


def page(done: Together) -> str:
    worst = max(done.times, key=lambda one: one.slowdown)
    told = done.disturbed
    head = element(
        "section",
        element(
            "p",
            element("span", format_time(done.end_ns), class_="makespan"),
            element("span", " until the last job ends", class_="unit"),
        ),
        element(
            "p",
            f"{worst.job.name} is slowed down most: {worst.slowdown:.3f} times its time alone",
            class_="bound",
        ),
        *[element("p", text) for text in ([] if told is None else told.sentences())],
        facts(_facts(done)),
        id="top",
        aria_label="The jobs",
    )
    sections = [
        Section("jobs", "Jobs", _JOBS, join([_bars(done), _table(done)])),
        Section("network", "Network", "What all jobs together put on it.", _network(done)),
    ]
    title = f"{count(len(done.times), 'job')} on one cluster, {format_time(done.end_ns)}"
    return render(Page(title, head, sections, ("plain.js",), ("report.css",)))


_JOBS = (
    "Alone is the same cluster and the same ranks with the other jobs left out. All bars have one "
    "scale."
)


def _facts(done: Together) -> list[tuple[str, str]]:
    scenario = done.result.model.scenario
    return [
        ("jobs", f"{len(done.times)}"),
        ("ranks of the cluster", f"{scenario.topology.ranks:,}"),
        ("network", named(scenario.network)),
        ("cluster", done.result.what_ran.cluster or ""),
    ]


def _bars(done: Together) -> Html:
    longest = max(one.together_ns for one in done.times)
    rows = []
    for one in done.times:
        more = max(one.together_ns - one.alone_ns, 0.0)
        pieces = [
            bars.Piece("alone", "compute", min(one.alone_ns, one.together_ns)),
            bars.Piece("beside the others", "waiting", more),
        ]
        about = f"{one.slowdown:.3f} times"
        rows.append(bars.row(one.job.name, about, pieces, longest, format_time))
    keys = [("alone", "compute"), ("longer beside the others", "waiting")]
    return join([bars.legend(keys), element("div", *rows, class_="bars")])


def _table(done: Together) -> Html:
    heads = [
        Head("job", False),
        Head("ranks", False),
        Head("begins"),
        Head("together"),
        Head("alone"),
        Head("slowdown"),
    ]
    rows = [
        [
            one.job.name,
            Cell(rank_list(one.job.ranks), one.job.ranks[0]),
            Cell(format_time(one.job.at_ns), one.job.at_ns),
            Cell(format_time(one.together_ns), one.together_ns),
            Cell(format_time(one.alone_ns), one.alone_ns),
            Cell(f"{one.slowdown:.3f}", one.slowdown),
        ]
        for one in done.times
    ]
    return table("Each job beside the others and alone", heads, rows)


def _network(done: Together) -> Html:
    heads = [
        Head("links", False),
        Head("messages"),
        Head("carried"),
        Head("utilisation"),
        Head("busy", about="the busiest link"),
    ]
    rows = [
        [
            use.linked,
            Cell(f"{use.messages:,}", use.messages),
            Cell(format_size(use.bytes), use.bytes),
            Cell(f"{100 * use.utilisation:.1f} %", use.utilisation),
            Cell(f"{100 * use.busy:.1f} %", use.busy),
        ]
        for use in done.result.dimension_uses
    ]
    return table("What links carried", heads, rows)
