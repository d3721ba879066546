"""The head of a report: how long, what bounds it, and where ranks' time goes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from yantra.base.fields import PluginChoice
from yantra.base.text import count
from yantra.base.units import format_time
from yantra.export.report import bars
from yantra.export.report.bars import Piece
from yantra.export.report.classes import mean_parts
from yantra.export.report.markup import Cell, Content, Head, Html, element, facts, join, table
from yantra.export.report.run import Run
from yantra.network import describe, level_of
from yantra.result import Result
from yantra.result.parts import ALL

_BARS_SHOWN = 8
_ROWS_SHOWN = 1_000


def head(run: Run, warnings: Sequence[str]) -> Html:
    result = run.result
    return join(
        [
            element(
                "p",
                element("span", format_time(result.makespan_ns), class_="makespan"),
                element("span", " until the last rank finishes", class_="unit"),
            ),
            element("p", result.bound_by.sentence(), class_="bound"),
            *_disturbed(result),
            _figures(run),
            facts(_facts(run)),
            _warnings([*warnings, *result.warnings]),
        ]
    )


def _disturbed(result: Result) -> list[Html]:
    told = result.disturbed
    return [] if told is None else [element("p", text) for text in told.sentences()]


def breakdown(run: Run) -> Html:
    rows: list[tuple[str, str, Sequence[float]]] = [
        (f"all {_ranks(sum(one.size for one in run.classes))}", "mean", mean_parts(run.classes))
    ]
    if len(run.classes) > 1:
        rows += [
            (f"{'ranks' if one.size > 1 else 'rank'} {one.label}", _ranks(one.size), one.parts)
            for one in run.classes[:_BARS_SHOWN]
        ]
    means = mean_parts(run.classes)
    keys = [(part.title, part.name) for part, mean in zip(ALL, means, strict=True) if mean]
    drawn = [bars.row(*row[:2], _pieces(row[2]), run.makespan, run.told) for row in rows]
    left = len(run.classes) - _BARS_SHOWN
    more = (
        f"The table of ranks has {count(left, 'more class', 'more classes', commas=True)}."
        if left > 0
        else None
    )
    return join([bars.legend(keys), element("div", *drawn, class_="bars"), _note(more)])


def _pieces(parts: Sequence[float]) -> list[Piece]:
    return [Piece(part.title, part.name, ticks) for part, ticks in zip(ALL, parts, strict=True)]


def class_table(run: Run) -> Html:
    parts = [at for at in range(len(ALL)) if any(one.parts[at] for one in run.classes)]
    heads = [
        Head("ranks", False),
        Head("count"),
        Head("finish"),
        *[Head(ALL[at].title) for at in parts],
        Head("communication", about="under way, whatever else"),
        Head("nodes"),
    ]
    rows = [
        [
            Cell(one.label, one.rank),
            Cell(f"{one.size:,}", one.size),
            _time(run, one.finish),
            *[_time(run, one.parts[at]) for at in parts],
            _time(run, one.communication),
            Cell(f"{one.nodes:,}", one.nodes),
        ]
        for one in run.classes[:_ROWS_SHOWN]
    ]
    name = "Classes of ranks that do the same at the same times"
    if len(run.classes) > _ROWS_SHOWN:
        name += f", the first {_ROWS_SHOWN:,} of {len(run.classes):,}"
    return table(name, heads, rows)


def _figures(run: Run) -> Html:
    found = run.result.figures.lines()
    return facts(found) if found else Html("")


def _job(run: Run) -> Iterable[tuple[str, Content]]:
    ran = run.result.what_ran
    named = {
        "model": " ".join(filter(None, (ran.model, ran.job))),
        "plan": ran.plan,
        "load": ", ".join(filter(None, (ran.load, ran.dtype))),
        "cluster": ran.cluster,
    }
    yield from ((name, text) for name, text in named.items() if text)


def _facts(run: Run) -> Iterable[tuple[str, Content]]:
    from yantra import __version__

    result = run.result
    scenario = result.model.scenario
    network = " x ".join(use.linked for use in result.dimension_uses)
    yield from _job(run)
    classes = count(len(run.classes), "class", "classes", commas=True)
    yield "ranks", f"{result.model.ranks:,} in {classes}"
    yield "semantics", scenario.semantics
    yield "network", f"{network}; {_network(scenario.network)}"
    yield "run", _folded(run)
    yield "events", f"{result.events:,} handled, {count(result.messages, 'message', commas=True)}"
    yield "made by", f"Yantra {__version__}"


def _network(choice: PluginChoice) -> str:
    level = level_of(choice)
    return f"{describe(choice)}: {level.help}" if level.help else describe(choice)


def _folded(run: Run) -> str:
    if run.result.outcome.folded:
        return "folded: one rank ran for all that do the same"
    why = run.result.not_folded
    return f"every rank was run ({why})" if why else "every rank was run"


def _warnings(texts: Sequence[str]) -> Html:
    if not texts:
        return Html("")
    items = [element("li", text) for text in texts]
    return element("div", element("h2", "Warnings"), element("ul", *items), class_="warnings")


def _note(text: str | None) -> Html:
    return element("p", text, class_="note") if text else Html("")


def _time(run: Run, ticks: int) -> Cell:
    return Cell(run.told(ticks), ticks)


def _ranks(number: int) -> str:
    return count(number, "rank", commas=True)


def as_data(run: Run) -> dict[str, Any]:
    return {
        "makespan": run.makespan,
        "ticks_per_ns": run.ticks_per_ns,
        "ranks": run.result.model.ranks,
        "capacity": run.result.model.scenario.machine.memory_bytes,
    }
