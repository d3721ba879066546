"""Result -> JSON. The file appears whole or not at all.

The JSON form is described by `result.schema.json` beside this file. Its `version` rises when a
field changes its meaning or goes; new fields may come without.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os.path import dirname
from typing import TYPE_CHECKING, Any

from yantra import _core
from yantra.base.documents import RESULT_FORMAT
from yantra.base.errors import ConfigError, did_you_mean
from yantra.base.output import Path, whole_file
from yantra.network import describe
from yantra.result.parts import as_cells
from yantra.result.table import Table
from yantra.result.table_files import Texts

if TYPE_CHECKING:
    from yantra.result.result import Result

FORMAT = RESULT_FORMAT
VERSION = 1
TABLES = ("ranks", "nodes", "collectives", "dimensions", "links")
"""The tables of every result."""

RECORDED_TABLES = ("messages", "utilisation", "link_utilisation", "critical_path")
"""Those of a recorded run alone."""

ALL_TABLES = TABLES + RECORDED_TABLES


def table_of(result: Result, name: str) -> Table:
    """Return a table of a result by its name.

    Raises ConfigError for a name that none has, UnsupportedError for what only a recorded run has.
    """
    if name not in ALL_TABLES:
        hint = did_you_mean(name, ALL_TABLES)
        raise ConfigError("table", f"no table is named '{name}'{hint}")
    if name == "critical_path":
        return result.critical_path.table()
    if name in ("utilisation", "link_utilisation"):
        binned: Table = getattr(result.recording, name)()
        return binned
    table: Table = getattr(result.recording if name in RECORDED_TABLES else result, name)
    return table


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
    columns = {name: table_of(result, name).as_dict() for name in tables}
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
        table = table_of(result, name)
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


def write_json(result: Result, path: Path, tables: Iterable[str] = TABLES) -> None:
    """Write the JSON form to a file; relative paths in it start from its folder."""
    with whole_file(path) as name, open(name, "w", encoding="utf-8", newline="") as file:
        file.writelines(json_pieces(result, tables, folder=dirname(path)))
