"""Results read back from their JSON form.

A file is checked whole when it is read, packed columns on demand.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from os import path as paths
from typing import Any

from yantra.base.documents import (
    RESULT_FORMAT,
    Path,
    note_no_seal,
    note_unknown,
    parse_own_json,
    read_text,
)
from yantra.base.errors import ConfigError, UnsupportedError, expected_got, show
from yantra.base.seals import MEMBER
from yantra.base.text import count as counted
from yantra.export.form_check import check_form
from yantra.export.json import VERSION
from yantra.export.unpacked import table_of
from yantra.result import Bound, DimensionUse, Table
from yantra.result.columns import Kind
from yantra.result.disturbed import Disturbed
from yantra.result.figures import Figures
from yantra.result.table import Column
from yantra.result.table_names import ALL_TABLES, check_table_name
from yantra.result.what_ran import WhatRan

_NOT_OF_THE_RUN = ("tables", "packed", MEMBER)
Form = dict[str, Any]
"""A result in its JSON form; its `tables` may hold columns in full, or a `Table`."""


class StoredResult:
    """A result in a file: tables and the run's numbers, without traces."""

    def __init__(self, form: Form, name: str) -> None:
        self.form = {key: value for key, value in form.items() if key not in _NOT_OF_THE_RUN}
        """All members of the file but the tables and the seal."""
        self.name = name
        """The file's path."""
        self._tables: dict[str, Table] = form["tables"]

    @property
    def makespan_ns(self) -> float:
        """When the last rank finishes."""
        return self.form["makespan_ns"]  # type: ignore[no-any-return]

    @property
    def bound_by(self) -> Bound:
        """What bounds the run; `yantra.result.bound` has the rules."""
        return Bound(**{name: self.form["bound_by"][name] for name in Bound._fields})

    @property
    def disturbed(self) -> Disturbed | None:
        """What disturbed the run, at what cost; None if nothing did."""
        told = self.form.get("disturbed")
        return Disturbed.of_dict(told, self.makespan_ns) if told else None

    @property
    def packet_summary(self) -> dict[str, Any] | None:
        """Counts of all packets by name; None on another network."""
        return self.form.get("packets")

    @property
    def what_ran(self) -> WhatRan | None:
        """Model, plan, cluster, network level and version; None in an older file."""
        told = self.form.get("what_ran")
        return WhatRan(**{name: told.get(name) for name in WhatRan._fields}) if told else None

    @property
    def figures(self) -> Figures:
        """Tokens per second, MFU and more; none in an older file."""
        told = self.form.get("figures") or {}
        return Figures(**{name: told.get(name) for name in Figures._fields})

    @property
    def events(self) -> int:
        """Events that the engine handled."""
        return self.form["events"]  # type: ignore[no-any-return]

    @property
    def messages(self) -> int:
        """Messages that the network carried."""
        return self.form["messages"]  # type: ignore[no-any-return]

    @property
    def warnings(self) -> list[str]:
        """Warnings of the input, the compiler and the run."""
        return list(self.form["warnings"])

    @property
    def recorded(self) -> bool:
        """Whether the run was recorded."""
        return bool(self.form.get("recorded"))

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the file's tables."""
        return tuple(self._tables)

    def table(self, name: str) -> Table:
        """A table by its name.

        Raises ConfigError for a name that none has, UnsupportedError for one the file lacks.
        """
        check_table_name(name)
        if name not in self._tables:
            has = ", ".join(self._tables) or "none"
            raise UnsupportedError(f"{self.name} does not hold the table {name}; it has {has}")
        return self._tables[name]

    @property
    def ranks(self) -> Table:
        """One row per rank."""
        return self.table("ranks")

    @property
    def nodes(self) -> Table:
        """One row per node of every trace."""
        return self.table("nodes")

    @property
    def collectives(self) -> Table:
        """One row per collective and rank."""
        return self.table("collectives")

    @property
    def dimensions(self) -> Table:
        """One row per dimension of the network."""
        return self.table("dimensions")

    @property
    def links(self) -> Table:
        """One row per link that carried something."""
        return self.table("links")

    @cached_property
    def dimension_uses(self) -> list[DimensionUse]:
        """The rows of `dimensions`."""
        columns = [self.dimensions.values(column) for column in DimensionUse._fields]
        return [DimensionUse(*row) for row in zip(*columns, strict=True)]

    def summary(self) -> str:
        """The tables people read, as text of at most 80 columns."""
        from yantra.export.summary import summarise

        return summarise(self).text()

    def plot(self, figure: str = "gantt") -> Any:
        """A figure of matplotlib, as from `Result.plot`."""
        from yantra.result.forms import exporter

        return exporter("plot").figure(self, figure)

    def to_csv(self, path: Path, table: str = "ranks") -> None:
        """Write one table as CSV."""
        self.table(table).to_csv(path)

    def __repr__(self) -> str:
        return f"<StoredResult {self.name}: makespan {self.makespan_ns} ns>"


def load_result(path: Path) -> StoredResult:
    """Read a result of `Result.to_json` or `yantra run -o`, packed with gzip or not.

    Raises ConfigError for what is no result, damaged, or newer than this version reads.
    """
    return StoredResult(read_result(path), os.fspath(path))


def read_result(path: Path) -> Form:
    """Read a result in JSON. Raises ConfigError for what is none or too new."""
    try:
        text = read_text(path)
    except ConfigError as error:
        if "not UTF-8" not in error.problem:
            raise
        raise ConfigError(error.where, f"not a result in JSON{_HOW}") from None
    return result_of(text, os.fspath(path))


def result_of(text: str, name: str) -> Form:
    """The form in a file's text, with tables as `Table`; `name` is for errors."""
    if text.lstrip()[:1] != "{":
        raise ConfigError(name, f"not a result in JSON{_HOW}")
    form = parse_own_json(text, name)
    if form.get("format") != RESULT_FORMAT:
        got = f"its format is {show(form['format'])}" if "format" in form else "it has no format"
        raise ConfigError(name, f"not a result: {got}{_HOW}")
    version = form.get("version")
    if not isinstance(version, int) or version < 1:
        raise ConfigError(f"{name}: version", expected_got("a whole number from 1", version))
    if version > VERSION:
        problem = f"{version} is newer than {VERSION}, the last that this version of Yantra reads"
        raise ConfigError(f"{name}: version", f"{problem}; update Yantra")
    try:
        unknown = check_form(form, _schema(), "")
        _check_lengths(form)
        _check_agreement(form)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error.where}", error.problem) from None
    tables = _tables(form, name)
    note_no_seal(form, name)
    note_unknown([one for one in unknown if one != MEMBER], name)
    return form | {"tables": tables}


def folder_of(path: Path) -> str:
    """The folder from which a result's relative paths start."""
    return paths.dirname(os.fspath(path))


def table_in(form: Form, name: str) -> Table | None:
    """A table of a form, packed or not."""
    table = form["tables"].get(name)
    if table is None or isinstance(table, Table):
        return table
    return _in_full(name, table)


_HOW = "; yantra run SCENARIO -o result.json writes one"
_CHANGED = "the file was changed since it was written"


@cache
@cache
def _schema() -> Form:
    schema: Form = json.loads(files("yantra.export").joinpath("result.schema.json").read_text())
    return schema


def _tables(form: Form, name: str) -> dict[str, Table]:
    found = {key: _in_full(key, columns) for key, columns in form["tables"].items()}
    for key, packed in form.get("packed", {}).items():
        found[key] = _packed(key, packed, f"{name}: packed.{key}")
    known = [key for key in ALL_TABLES if key in found]
    return {key: found[key] for key in [*known, *found]}


def _packed(name: str, form: Form, where: str) -> Table:
    schema = _schema()["properties"]["tables"]["properties"].get(name, {})
    columns = schema.get("properties", {})
    for column in schema.get("required", ()):
        if column not in form["columns"]:
            raise ConfigError(f"{where}.columns.{column}", "missing; expected a mapping")
    for column, packed in form["columns"].items():
        items = columns.get(column, {}).get("items")
        kind = _kind(items, []) if items else packed["kind"]
        if packed["kind"] == "real" and "null" in _types(items or {}):  # so until they had gaps
            form["columns"][column] = packed | {"kind": kind}
        elif packed["kind"] != kind:
            raise ConfigError(f"{where}.columns.{column}.kind", expected_got(kind, packed["kind"]))
    complete = {one for one, column in columns.items() if "null" not in _types(column["items"])}
    return table_of(name, form, where, frozenset(complete))


def _types(items: Mapping[str, Any]) -> list[str]:
    names = items.get("type", "string")
    return [names] if isinstance(names, str) else names


def _in_full(name: str, columns: Mapping[str, list[Any]]) -> Table:
    length = len(next(iter(columns.values()), ()))
    schema = _schema()["properties"]["tables"]["properties"].get(name, {}).get("properties", {})

    def column(key: str, values: list[Any]) -> Column:
        return _kind(schema.get(key, {}).get("items"), values), lambda: values

    return Table(name, length, {key: column(key, values) for key, values in columns.items()})


def _kind(items: Mapping[str, Any] | None, values: list[Any]) -> Kind:
    if items is None:
        if any(isinstance(value, str) for value in values):
            return "text"
        known = [value for value in values if value is not None]
        return "whole" if known and all(type(value) is int for value in known) else "real"
    names = _types(items)
    if "string" in names:
        return "text"
    if "integer" in names:
        return "id" if "maximum" in items else "whole"
    return "real"


def _check_lengths(form: Form) -> None:
    tables = {f"tables.{table}": columns for table, columns in form["tables"].items()}
    if "critical_path" in form:
        tables["critical_path.steps"] = form["critical_path"]["steps"]
    for where, columns in tables.items():
        if not isinstance(columns, dict):
            raise ConfigError(where, expected_got("a mapping", columns))
        lengths = {len(column) if isinstance(column, list) else None for column in columns.values()}
        if None in lengths or len(lengths) > 1:
            raise ConfigError(where, "expected lists of one length, one per column")


def _check_agreement(form: Form) -> None:
    told = form.get("what_ran", {}).get("ranks")
    rows = {name: packed["rows"] for name, packed in form.get("packed", {}).items()}
    ranks = form["tables"].get("ranks", {})
    rows |= {"ranks": len(ranks["rank"])} if ranks else {}
    if told is not None and rows.get("ranks", told) != told:
        problem = f"{counted(rows['ranks'], 'row')}, but what_ran.ranks is {told}; {_CHANGED}"
        raise ConfigError("tables.ranks", problem)
    if ranks and ranks["rank"] != list(range(len(ranks["rank"]))):
        raise ConfigError("tables.ranks.rank", f"expected every rank once, from 0; {_CHANGED}")
    ends = [end for end in ranks.get("finish_ns", ()) if end is not None]
    if ends and max(ends) != form["makespan_ns"]:
        problem = f"the last is {show(max(ends))}, but makespan_ns is {show(form['makespan_ns'])}"
        raise ConfigError("tables.ranks.finish_ns", f"{problem}; {_CHANGED}")
    for name, columns in form["tables"].items():
        _check_ranks(f"tables.{name}.rank", columns.get("rank", ()), told)


def _check_ranks(where: str, ranks: Sequence[Any], count: int | None) -> None:
    if count is not None and ranks and max(ranks) >= count:
        at = next(at for at, rank in enumerate(ranks) if rank >= count)
        raise ConfigError(f"{where}[{at}]", f"{expected_got(f'a rank below {count}', ranks[at])}")
