"""Result -> JSON.

`result.schema.json` describes the form; its `version` rises when a field changes its meaning or
goes. In a file long tables are packed (`packed`), so its length follows what differs, not the
ranks, and it is sealed (`base/seals.py`); `document` has all in full.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os.path import dirname
from typing import TYPE_CHECKING, Any

from yantra import _core
from yantra.base.documents import RESULT_FORMAT
from yantra.base.output import Path
from yantra.base.seals import seal_pieces
from yantra.export.exporter import TextExporter
from yantra.export.packed import MOST_ROWS_IN_FULL, table_pieces
from yantra.export.texts import Texts
from yantra.network import describe
from yantra.result import Result, Table
from yantra.result.columns import as_cells

if TYPE_CHECKING:
    from yantra.export.stored import StoredResult

FORMAT = RESULT_FORMAT
VERSION = 2


def document(
    result: Result,
    tables: Iterable[str] | None = None,
    warnings: Iterable[str] = (),
    folder: Path = "",
) -> dict[str, Any]:
    """The JSON form: the run, and columns of tables, by default `result.tables`.

    `warnings` are those of reading the input. The scenario's relative paths start from `folder`;
    its files are read again for their digests.
    """
    columns = {name: result.table(name).as_dict() for name in _chosen(result, tables)}
    return {**head_of(result, warnings, folder), "tables": columns}


def head_of(
    result: Result,
    warnings: Iterable[str] = (),
    folder: Path = "",
    *,
    path: bool = True,
    case: Mapping[str, Any] | None = None,
    energy: bool = False,
) -> dict[str, Any]:
    """The JSON form without tables; `path` and `energy` say whether it has these."""
    from yantra import __version__
    from yantra.scenario.origin import digest_of, digests, tree_of

    scenario = result.model.scenario
    tree, inputs = tree_of(scenario, folder), digests(scenario, folder)
    return {
        "format": FORMAT,
        "version": VERSION,
        "yantra_version": __version__,
        "semantics": scenario.semantics,
        "network": describe(scenario.network),
        "makespan_ns": result.makespan_ns,
        **_named(result),
        "bound_by": result.bound_by._asdict(),
        **({} if result.disturbed is None else {"disturbed": result.disturbed.as_dict()}),
        **({} if (packets := result.packet_summary) is None else {"packets": packets}),
        "events": result.events,
        "messages": result.messages,
        "warnings": [*warnings, *result.warnings],
        "scenario": tree,
        "inputs": inputs,
        **(_energy_member(result) if energy else {}),
        **({} if case is None else {"case": {**case, "digest": digest_of(scenario, tree, inputs)}}),
        "recorded": result.recorded,
        **(_path_member(result) if path else {}),
    }


def _chosen(result: Result, tables: Iterable[str] | None) -> Iterable[str]:
    return result.tables if tables is None else tables


def _named(result: Result) -> dict[str, Any]:
    return {"what_ran": result.what_ran.as_dict(), "figures": result.figures.as_dict()}


def _energy_member(result: Result) -> dict[str, Any]:
    return {} if result.energy is None else {"energy": result.energy.as_dict()}


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
    tables: Iterable[str] | None = None,
    warnings: Iterable[str] = (),
    folder: Path = "",
    *,
    packed: bool = False,
    case: Mapping[str, Any] | None = None,
    energy: bool = False,
) -> Iterator[str]:
    """Long tables are packed if `packed`; `case` and `energy` are as in `head_of`."""
    members = [
        f"  {_text(name)}: {_text(value)},\n"
        for name, value in head_of(result, warnings, folder, case=case, energy=energy).items()
    ]
    yield "{\n" + "".join(members) + '  "tables": {'
    by_name = {name: result.table(name) for name in _chosen(result, tables)}
    long = [name for name in by_name if packed and len(by_name[name]) > MOST_ROWS_IN_FULL]
    for at, name in enumerate(name for name in by_name if name not in long):
        yield f"{',' if at else ''}\n    {_text(name)}: {{"
        yield from _in_full(by_name[name])
        yield "\n    }"
    yield "\n  }"
    for at, name in enumerate(long):
        yield ("," if at else ',\n  "packed": {') + f"\n    {_text(name)}: "
        yield from table_pieces(by_name[name])
    yield "\n  }\n}\n" if long else "\n}\n"


def _text(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _in_full(table: Table) -> Iterator[str]:
    for place, column in enumerate(table.columns):
        yield f"{',' if place else ''}\n      {_text(column)}: ["
        yield from _elements(table, column)
        yield "]"


def _elements(table: Table, column: str) -> Iterator[str]:
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
    tables: Iterable[str] | None = None,
    warnings: Iterable[str] = (),
    folder: Path = "",
) -> str:
    return "".join(json_pieces(result, tables, warnings, folder))


class Json(TextExporter):
    """The JSON form; relative paths in a file start from its folder."""

    def document(self, result: Result, tables: Iterable[str] | None = None) -> dict[str, Any]:
        return document(result, tables)

    def pieces(
        self,
        result: Result,
        tables: Iterable[str] | None = None,
        folder: Path = "",
        case: Mapping[str, Any] | None = None,
        energy: bool = False,
        **options: Any,
    ) -> Iterator[str]:
        pieces = json_pieces(result, tables, folder=folder, packed=True, case=case, energy=energy)
        return seal_pieces(pieces)

    def write(self, result: Result, path: Path, **options: Any) -> list[str]:
        return super().write(result, path, folder=dirname(path), **options)

    def read(self, text: str, name: str) -> StoredResult:
        from yantra.export.stored import StoredResult, result_of

        return StoredResult(result_of(text, name), name)


PLUGIN = Json
