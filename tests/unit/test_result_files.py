"""Results as files: their form, and that none is ever half there."""

from __future__ import annotations

import csv
import json
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.clusters import dimension, scenario
from yantra import __version__
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.errors import ConfigError, UnsupportedError
from yantra.result import Result
from yantra.result.files import TABLES, json_text
from yantra.simulate import simulate

CAME_LATER = {"scenario", "inputs", "recorded"}  # members that older files of version 1 lack
SCHEMA = json.loads(resources.files("yantra.result").joinpath("result.schema.json").read_text())


@pytest.fixture(scope="module", params=["congestion_unaware", "congestion_aware"])
def result(request: pytest.FixtureRequest) -> Result:
    trace = TraceBuilder()
    first = trace.collective(CollectiveType.ALL_REDUCE, 1 << 20, name='sum "é", rest')
    trace.compute(duration_micros=3, after=first)
    return simulate(scenario([trace] * 4, dimension("switch"), network=request.param))


def _check(value: Any, schema: dict[str, Any], where: str) -> None:
    """Check the keywords of JSON Schema that ours uses."""
    if "const" in schema:
        assert value == schema["const"], where
    if "enum" in schema:
        assert value in schema["enum"], where
    names = schema.get("type", [])
    types: dict[str, Any] = {
        "object": dict,
        "array": list,
        "string": str,
        "boolean": bool,
        "integer": int,
        "number": (int, float),
        "null": type(None),
    }
    allowed = [names] if isinstance(names, str) else names
    assert not allowed or any(isinstance(value, types[name]) for name in allowed), where
    assert value is None or "minimum" not in schema or value >= schema["minimum"], where
    for name in schema.get("required", []):
        assert name in value, f"{where}.{name}"
    for name, member in schema.get("properties", {}).items():
        if name in value:
            _check(value[name], member, f"{where}.{name}")
    for item in value if "items" in schema else []:
        _check(item, schema["items"], where)


def test_the_json_form_keeps_its_schema(result: Result, tmp_path: Path) -> None:
    result.to_json(tmp_path / "r.json")
    form = json.loads((tmp_path / "r.json").read_text())
    _check(form, SCHEMA, "result")
    assert form == result.as_dict()
    assert form["yantra_version"] == __version__


def test_the_schema_describes_every_member_and_column(result: Result) -> None:
    form = result.as_dict()
    assert set(form) == set(SCHEMA["properties"]) - {"critical_path"}  # it was not recorded
    assert set(form) - CAME_LATER == set(SCHEMA["required"])
    tables = SCHEMA["properties"]["tables"]["properties"]
    assert {name: list(table["properties"]) for name, table in tables.items()} == {
        name: list(table) for name, table in form["tables"].items()
    }


def test_all_columns_of_a_table_have_one_length(result: Result) -> None:
    for name in TABLES:
        table = getattr(result, name)
        assert {len(table.values(column)) for column in table.columns} == {len(table)}


def test_only_the_tables_asked_for_are_written(result: Result) -> None:
    form = json.loads(json_text(result, ["ranks"], ["of the input"]))
    assert list(form["tables"]) == ["ranks"]
    assert form["warnings"] == ["of the input"]


def test_csv_has_names_and_one_line_per_row(result: Result, tmp_path: Path) -> None:
    result.to_csv(tmp_path / "n.csv", "nodes")
    with open(tmp_path / "n.csv", newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert tuple(head) == result.nodes.columns
    assert rows == [[str(value) for value in row] for row in result.nodes.rows()]
    assert rows[0][2] == 'sum "é", rest'


def test_a_missing_value_is_an_empty_field_of_csv(result: Result, tmp_path: Path) -> None:
    result.to_csv(tmp_path / "l.csv", "links")
    lines = (tmp_path / "l.csv").read_text().splitlines()[1:]
    missing = [",," in line for line in lines]
    assert all(missing) and len(missing) == len(result.links)


def test_parquet_gives_back_the_columns(result: Result, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in TABLES:
        result.to_parquet(tmp_path / "t.parquet", name)
        read = parquet.read_table(tmp_path / "t.parquet")
        assert read.to_pydict() == getattr(result, name).as_dict()


def test_parquet_without_pyarrow_names_the_extra(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'yantra\[tables\]'"):
        result.to_parquet(tmp_path / "t.parquet")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_table_is_refused(result: Result, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"table: no table is named 'rank'; did you mean 'ranks'"):
        result.to_csv(tmp_path / "t.csv", "rank")


def test_a_failing_write_leaves_what_was_there(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "r.csv"
    target.write_text("before")

    def parts(self: Any, columns: Any = None) -> Any:
        yield [[1, 2]] * len(self.columns)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("yantra.result.table.Table.parts", parts)
    with pytest.raises(ConfigError, match="cannot be written: No space left on device"):
        result.to_csv(target)
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_that_is_not_there_is_an_error_of_the_path(result: Result) -> None:
    with pytest.raises(ConfigError, match=r"nowhere/r.json: cannot be written: No such file"):
        result.to_json("nowhere/r.json")
