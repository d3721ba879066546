"""Result -> the small tables people read: where each rank's time went, what each dimension did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.text import Grid, as_text, filled
from yantra.export.exporter import TextExporter
from yantra.result import Result
from yantra.result.parts import ALL

if TYPE_CHECKING:
    from yantra.export.stored import StoredResult

_MOST_ROWS = 16
_WIDTH = 80
_UNITS = (("ns", 1.0, 1e6), ("us", 1e3, 1e8), ("ms", 1e6, 1e11), ("s", 1e9, float("inf")))
_SIZES = (("MB", 1e6, 1e11), ("GB", 1e9, 1e14), ("TB", 1e12, float("inf")))


class Summary(NamedTuple):
    """What `Result.summary()` shows."""

    ranks: Grid
    dimensions: Grid
    bound_by: str
    what_ran: tuple[str, ...] = ()
    figures: tuple[tuple[str, str], ...] = ()
    disturbed: tuple[str, ...] = ()
    packets: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

    def head(self) -> str:
        from textwrap import wrap

        width = max((len(name) for name, _ in self.figures), default=0)
        lines = [
            line
            for name, text in self.figures
            for line in wrap(
                f"{name:<{width}}  {text}",
                _WIDTH,
                subsequent_indent=" " * (width + 2),
                drop_whitespace=True,
            )
        ]
        named = "; ".join(self.what_ran)
        clauses = (named,) if len(named) <= _WIDTH else self.what_ran
        return "\n".join([*(line for text in clauses for line in wrap(text, _WIDTH)), *lines])

    def text(self) -> str:
        sentences = [*self.tables, *self.packets, self.bound_by, *self.disturbed]
        closing = "\n".join(filled(text, _WIDTH) for text in sentences)
        grids = map(as_text, (self.ranks, self.dimensions))
        return "\n\n".join(filter(None, [self.head(), *grids, closing]))


def summarise(result: Result | StoredResult) -> Summary:
    ran = result.what_ran
    named = (ran.clauses if ran else (), tuple(result.figures.lines()))
    told = () if result.disturbed is None else tuple(result.disturbed.sentences())
    sent = result.packet_summary
    packets: tuple[str, ...] = ()
    if sent is not None:
        from yantra.result.packets import lines

        packets = (*lines(sent), *_threads(result))
    bound = result.bound_by.sentence()
    tables = _of_tables(result)
    return Summary(_ranks(result), _dimensions(result), bound, *named, told, packets, tables)


def _threads(result: Result | StoredResult) -> tuple[str, ...]:
    # a stored result is the same for any number
    outcome, model = getattr(result, "outcome", None), getattr(result, "model", None)
    if outcome is None or model is None or not outcome.threads:
        return ()
    wanted = dict(getattr(model.scenario.network, "options", ())).get("threads")
    if wanted is None and outcome.threads == 1:
        return ()
    took = "auto took " if wanted in (None, "auto") else ""
    return (f"threads: {took}{outcome.threads}; {outcome.why_threads}",)


def _of_tables(result: Result | StoredResult) -> tuple[str, ...]:
    # dimensions do not count what collectives of known time put on them
    model = getattr(result, "model", None)
    if model is None or not model.uncharged:
        return ()
    return (
        "of some collectives the time alone is known, not the algorithm: the dimensions count no "
        "messages of theirs",
    )


def _ranks(result: Result | StoredResult) -> Grid:
    table = result.ranks
    known = [part for part in ALL if f"{part.name}_ns" in table.columns]  # files may be older
    parts = [part for part in known if part.always or any(table.values(f"{part.name}_ns"))]
    names = ("finish_ns", *(f"{part.name}_ns" for part in parts))
    columns = [table.values(name) for name in names]
    unit, scale = next((name, size) for name, size, end in _UNITS if result.makespan_ns < end)
    whole = scale == 1 and all(isinstance(value, int) for column in columns for value in column)
    digits = 0 if whole else 1 if scale == 1 else 3
    head = (f"rank ({unit})", "finish", *(part.head for part in parts))
    rows: list[tuple[str, Sequence[Any]]] = []
    for values, run in groupby(enumerate(zip(*columns, strict=True)), key=lambda pair: pair[1]):
        ranks = [rank for rank, _ in run]
        label = f"{ranks[0]}-{ranks[-1]}" if len(ranks) > 1 else f"{ranks[0]}"
        rows.append((label, values))
    if len(rows) > _MOST_ROWS:
        shown: dict[str, Any] = {"min": min, "median": _median, "max": max}
        rows = [(name, [of(column) for column in columns]) for name, of in shown.items()]
    return _narrow(head, rows, scale, digits)


def _narrow(
    head: tuple[str, ...], rows: list[tuple[str, Sequence[Any]]], scale: float, digits: int
) -> Grid:
    grid = Grid(
        head,
        [(label, *(f"{value / scale:.{digits}f}" for value in row)) for label, row in rows],
    )
    if digits == 0 or len(as_text(grid).partition("\n")[0]) <= _WIDTH:
        return grid
    return _narrow(head, rows, scale, digits - 1)


def _median(values: Sequence[Any]) -> Any:
    return sorted(values)[(len(values) - 1) // 2]


def _dimensions(result: Result | StoredResult) -> Grid:
    uses = result.dimension_uses
    most = max((use.bytes for use in uses), default=0)
    unit, scale = next((name, size) for name, size, end in _SIZES if most < end)
    rows: list[tuple[str, ...]] = [
        (
            f"{use.dimension}: {use.linked}",
            f"{use.messages}",
            f"{use.bytes / scale:.3f}",
            f"{100 * use.utilisation:.1f} %",
            f"{100 * use.busy:.1f} %",
        )
        for use in uses
    ]
    return Grid(("dimension", "messages", f"{unit} carried", "utilisation", "busy"), rows)


class SummaryText(TextExporter):
    def pieces(self, result: Result, **options: Any) -> Iterator[str]:
        yield summarise(result).text()


PLUGIN = SummaryText
