"""Result -> JSON. The file appears whole or not at all.

The JSON form is described by `result.schema.json` beside this file. Its `version` rises when a
field changes its meaning or goes; new fields may come without.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os.path import dirname
from typing import Any

from yantra import _core
from yantra.base.documents import RESULT_FORMAT
from yantra.base.output import Path
from yantra.export.exporter import TextExporter
from yantra.export.texts import Texts
from yantra.network import describe
from yantra.result import Result, Table
from yantra.result.columns import as_cells
from yantra.result.table_names import TABLES

FORMAT = RESULT_FORMAT
VERSION = 1


def document(
    result: Result,
    tables: Iterable[str] = TABLES,
    warnings: Iterable[str] = (),
    folder: Path = "",
) -> dict[str, Any]:
    """Return the JSON form: the run as a whole, and the columns of some tables.

    `warnings` are those of reading the input; the result knows those of the compiler. Relative
    paths in the scenario start from `folder`. Every file that the scenario names is read once more
    for its digest.
    """
    columns = {name: result.table(name).as_dict() for name in tables}
    return {**_head(result, warnings, folder), "tables": columns}


def _head(result: Result, warnings: Iterable[str], folder: Path) -> dict[str, Any]:
    """Return the run as a whole."""
    from yantra import __version__
    from yantra.scenario.origin import digests, tree_of

    scenario = result.model.scenario
    return {
        "format": FORMAT,
        "version": VERSION,
        "yantra_version": __version__,
        "semantics": scenario.semantics,
        "network": describe(scenario.network),
        "makespan_ns": result.makespan_ns,
        "bound_by": result.bound_by._asdict(),
        "events": result.events,
        "messages": result.messages,
        "warnings": [*warnings, *result.warnings],
        "scenario": tree_of(scenario, folder),
        "inputs": digests(scenario, folder),
        "recorded": result.recorded,
        **_path_member(result),
    }


def _path_member(result: Result) -> dict[str, Any]:
    if not result.recorded:
        return {}
    from yantra.result.path import path_form
    from yantra.result.phases import Phases

    phase_of = Phases(result.model.scenario.workload)
    form = path_form(result.critical_path.steps, phase_of)
    return {"critical_path": form | {"folded": bool(result.outcome.folded)}}


def json_pieces(
    result: Result,
    tables: Iterable[str] = TABLES,
    warnings: Iterable[str] = (),
    folder: Path = "",
) -> Iterator[str]:
    """Yield the text of `document` piece by piece, one line per column."""
    import json

    head = _head(result, warnings, folder)

    def text(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    members = [f"  {text(name)}: {text(value)},\n" for name, value in head.items()]
    yield "{\n" + "".join(members) + '  "tables": {'
    for at, name in enumerate(tables):
        table = result.table(name)
        yield f"{',' if at else ''}\n    {text(name)}: {{"
        for place, column in enumerate(table.columns):
            yield f"{',' if place else ''}\n      {text(column)}: ["
            yield from _elements(table, column)
            yield "]"
        yield "\n    }"
    yield "\n  }\n}\n"


def _elements(table: Table, column: str) -> Iterator[str]:
    """Yield the values of a column as JSON, with commas between them."""
    import json

    writer = _core.TableWriter(json=True)
    texts = Texts(writer)
    for at, (part,) in enumerate(table.parts([column])):
        if at:
            yield ", "
        if isinstance(part, list):
            yield json.dumps(part, ensure_ascii=False, allow_nan=False)[1:-1]
        else:
            yield writer.elements(as_cells(part, texts)).decode()


def json_text(
    result: Result,
    tables: Iterable[str] = TABLES,
    warnings: Iterable[str] = (),
    folder: Path = "",
) -> str:
    """Return `document` as text, one line per column."""
    return "".join(json_pieces(result, tables, warnings, folder))


class Json(TextExporter):
    """The JSON form; relative paths in a file start from its folder."""

    def document(self, result: Result, tables: Iterable[str] = TABLES) -> dict[str, Any]:
        """Return the form as plain values."""
        return document(result, tables)

    def pieces(
        self, result: Result, tables: Iterable[str] = TABLES, folder: Path = "", **options: Any
    ) -> Iterator[str]:
        """Yield the text, one line per column."""
        return json_pieces(result, tables, folder=folder)

    def write(self, result: Result, path: Path, **options: Any) -> list[str]:
        """Write the form to a file."""
        return super().write(result, path, folder=dirname(path), **options)


PLUGIN = Json
