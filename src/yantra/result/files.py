"""Result -> JSON, CSV, Parquet. Every file appears whole or not at all.

The JSON form is described by `result.schema.json` beside this file. Its `version` rises when a
field changes its meaning or goes; new fields may come without.
"""

from __future__ import annotations

from collections.abc import Iterable
from os.path import dirname
from typing import TYPE_CHECKING, Any

from yantra.documents import RESULT_FORMAT
from yantra.errors import ConfigError, UnsupportedError, did_you_mean
from yantra.output import Path, whole_file, write_text
from yantra.result.table import Kind, Table

if TYPE_CHECKING:
    from yantra.result.result import Result

FORMAT = RESULT_FORMAT
VERSION = 1
TABLES = ("ranks", "nodes", "collectives", "dimensions", "links")
_ARROW_TYPES: dict[Kind, str] = {
    "whole": "int64",
    "id": "uint64",
    "real": "float64",
    "text": "string",
}


def table_of(result: Result, name: str) -> Table:
    """Return a table of a result by its name."""
    if name not in TABLES:
        raise ConfigError("table", f"no table is named '{name}'{did_you_mean(name, TABLES)}")
    table: Table = getattr(result, name)
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
    from yantra import __version__
    from yantra.scenario.origin import digests, tree_of

    scenario = result.model.scenario
    return {
        "format": FORMAT,
        "version": VERSION,
        "yantra_version": __version__,
        "semantics": scenario.semantics,
        "network": scenario.network,
        "makespan_ns": result.makespan_ns,
        "bound_by": result.bound_by._asdict(),
        "events": result.events,
        "messages": result.messages,
        "warnings": [*warnings, *result.warnings],
        "scenario": tree_of(scenario, folder),
        "inputs": digests(scenario, folder),
        "recorded": result.recorded,
        **_path_member(result),
        "tables": {name: table_of(result, name).as_dict() for name in tables},
    }


def _path_member(result: Result) -> dict[str, Any]:
    if not result.recorded:
        return {}
    from yantra.result.path import path_form
    from yantra.result.phases import Phases

    phase_of = Phases(result.model.scenario.workload)
    form = path_form(result.critical_path.steps, phase_of)
    return {"critical_path": form | {"folded": bool(result.outcome.folded)}}


def json_text(
    result: Result,
    tables: Iterable[str] = TABLES,
    warnings: Iterable[str] = (),
    folder: Path = "",
) -> str:
    """Return `document` as text, one line per column."""
    import json

    head = document(result, tables, warnings, folder)
    columns = head.pop("tables")

    def block(members: Iterable[str], indent: str) -> str:
        return "{\n" + ",\n".join(f"{indent}  {member}" for member in members) + f"\n{indent}}}"

    def member(name: str, value: Any) -> str:
        return f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False, allow_nan=False)}"

    shown = [
        f"{json.dumps(name)}: " + block((member(*item) for item in table.items()), "    ")
        for name, table in columns.items()
    ]
    members = [member(*item) for item in head.items()]
    return block([*members, f'"tables": {block(shown, "  ")}'], "") + "\n"


def write_json(result: Result, path: Path, tables: Iterable[str] = TABLES) -> None:
    """Write the JSON form to a file; relative paths in it start from its folder."""
    write_text(path, json_text(result, tables, folder=dirname(path)))


def write_csv(table: Table, path: Path) -> None:
    """Write a table as CSV (RFC 4180) with a line of names; a missing value is an empty field."""
    import csv

    with whole_file(path) as name, open(name, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table.columns)
        writer.writerows(table.rows())


def write_parquet(table: Table, path: Path) -> None:
    """Write a table as Parquet; needs the extra `tables`."""
    try:
        import pyarrow  # type: ignore[import-untyped]
        from pyarrow import parquet
    except ImportError:
        raise UnsupportedError(
            "parquet: needs the package pyarrow, which is not installed; "
            "run: pip install 'yantra[tables]'"
        ) from None
    arrays = [
        pyarrow.array(table.values(column), _ARROW_TYPES[table.kind(column)])
        for column in table.columns
    ]
    with whole_file(path) as name:
        parquet.write_table(pyarrow.table(arrays, names=list(table.columns)), name)
