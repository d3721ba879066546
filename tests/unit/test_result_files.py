"""Results as files: their form, and that none is ever half there."""

from __future__ import annotations

import csv
import json
import sys
import warnings
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.clusters import dimension, scenario
from yantra import __version__
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.base.notes import Note
from yantra.base.seals import MEMBER, state_of_json
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.export.json import json_text
from yantra.export.stored import load_result
from yantra.result import Result
from yantra.result.table_names import ALL_TABLES, RECORDED_TABLES, TABLES
from yantra.run.simulate import simulate

# members that older files of version 1 lack
CAME_LATER = {"scenario", "inputs", "recorded", "what_ran", "figures"}
SCHEMA = json.loads(resources.files("yantra.export").joinpath("result.schema.json").read_text())


@pytest.fixture(scope="module", params=["analytical", "store_and_forward"])
def result(request: pytest.FixtureRequest) -> Result:
    trace = TraceBuilder()
    first = trace.collective(CollectiveType.ALL_REDUCE, 1 << 20, name='sum "é", rest')
    trace.compute(duration_micros=3, after=first)
    return simulate(scenario([trace] * 4, dimension("switch"), network=request.param))


@pytest.fixture(scope="module", params=["analytical", "store_and_forward"])
def recorded(request: pytest.FixtureRequest) -> Result:
    traces = []
    for rank in range(4):
        trace = TraceBuilder(rank=rank)
        first = trace.collective(CollectiveType.ALL_REDUCE, 1 << 20)
        if rank < 2:
            send_or_receive = trace.send if rank == 0 else trace.recv
            send_or_receive(1 - rank, 4096, after=first)
        traces.append(trace)
    return simulate(scenario(traces, dimension(), network=request.param), record=True)


def test_the_json_form_keeps_its_schema(result: Result, recorded: Result, tmp_path: Path) -> None:
    for number, (answer, tables) in enumerate(((result, TABLES), (recorded, ALL_TABLES))):
        answer.to_json(tmp_path / f"{number}.json", tables)
        form = json.loads((tmp_path / f"{number}.json").read_text())
        jsonschema.validate(form, SCHEMA)
        assert state_of_json((tmp_path / f"{number}.json").read_text()) == "whole"
        del form[MEMBER]
        assert form == answer.as_dict(tables)
        assert form["yantra_version"] == __version__


COLUMNS_THAT_CAME_LATER = (
    "unexplained_device_ns",
    "unexplained_host_ns",
    "waiting_ns",
    "overlap_ns",
    "buffer_bytes",
    "bus_bandwidth_gb_per_s",
)


def test_the_schema_describes_every_member_and_column(result: Result, recorded: Result) -> None:
    form = result.as_dict()
    in_full = set(SCHEMA["properties"]) - {
        "packed",
        "case",
        "disturbed",
        "energy",
        "packets",
        MEMBER,
    }  # sweep, failures, --energy, packet network, files
    assert set(form) == in_full - {"critical_path"}  # it was not recorded
    assert set(form) - CAME_LATER == set(SCHEMA["required"])
    tables = SCHEMA["properties"]["tables"]["properties"]
    assert {name: table["required"] for name, table in tables.items() if name in TABLES} == {
        name: [column for column in table if column not in COLUMNS_THAT_CAME_LATER]
        for name, table in form["tables"].items()
    }
    assert {name: list(table["properties"]) for name, table in tables.items()} == {
        name: list(table) for name, table in recorded.as_dict(ALL_TABLES)["tables"].items()
    }


def test_only_a_recorded_run_has_messages(result: Result, tmp_path: Path) -> None:
    for name in RECORDED_TABLES:
        with pytest.raises(UnsupportedError, match="record=True"):
            result.to_csv(tmp_path / "m.csv", name)


def test_all_columns_of_a_table_have_one_length(recorded: Result) -> None:
    for name in ALL_TABLES:
        table = recorded.table(name)
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


def test_parquet_and_feather_give_back_the_columns(recorded: Result, tmp_path: Path) -> None:
    feather = pytest.importorskip("pyarrow.feather")
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in ALL_TABLES:
        columns = recorded.table(name).as_dict()
        recorded.to_parquet(tmp_path / "t.parquet", name)
        assert parquet.read_table(tmp_path / "t.parquet").to_pydict() == columns
        recorded.to_feather(tmp_path / "t.feather", name)
        assert feather.read_table(tmp_path / "t.feather").to_pydict() == columns


def test_frames_have_the_columns_and_nulls_of_the_table(recorded: Result) -> None:
    pytest.importorskip("pyarrow")
    for name in ALL_TABLES:
        table = recorded.table(name)
        assert table.to_arrow().to_pydict() == table.as_dict()
        polars = pytest.importorskip("polars")
        frame = table.to_polars()
        assert (
            isinstance(frame, polars.DataFrame)
            and frame.to_dict(as_series=False) == table.as_dict()
        )
        pandas = pytest.importorskip("pandas")
        frame = table.to_pandas()
        assert isinstance(frame, pandas.DataFrame) and list(frame) == list(table.columns)
        for column in table.columns:
            told = [None if pandas.isna(value) else value for value in frame[column].tolist()]
            assert told == table.values(column)


@pytest.mark.parametrize(
    ("package", "method", "install"),
    [
        ("pyarrow", "to_arrow", r"pip install 'pyarrow>=17'"),
        ("pandas", "to_pandas", "pip install pandas"),
        ("polars", "to_polars", "pip install polars"),
    ],
)
def test_a_frame_without_its_package_says_what_to_install(
    result: Result, package: str, method: str, install: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    said = f"{method}: needs the package {package}, which is not installed; run: {install}"
    with pytest.raises(UnsupportedError, match=said):
        getattr(result.ranks, method)()


def test_parquet_without_pyarrow_names_the_extra(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'pyarrow>=17'"):
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


def test_members_that_a_newer_version_added_are_left_out_and_told(
    result: Result, tmp_path: Path
) -> None:
    path = tmp_path / "r.json"
    result.to_json(path)
    usual = load_result(path)
    form = json.loads(path.read_text())
    del form["sealed"]
    form["later"] = 1
    form["bound_by"]["why"] = "x"
    form["tables"]["ranks"]["watts"] = [1.5] * len(usual.ranks)
    path.write_text(json.dumps(form))
    with pytest.warns(Note) as told:
        newer = load_result(path)
    text = [str(one.message) for one in told if "does not know" in str(one.message)]
    (shown,) = text
    for name in ("later", "bound_by.why"):
        assert name in shown
    assert newer.makespan_ns == usual.makespan_ns
    assert newer.ranks.values("finish_ns") == usual.ranks.values("finish_ns")
    form["version"] = 3
    path.write_text(json.dumps(form))
    with pytest.raises(ConfigError, match=r"version: 3 is newer than 2, .* update Yantra"):
        load_result(path)


def test_what_this_version_writes_it_knows_all_of(recorded: Result, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    recorded.to_json(path, ALL_TABLES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_result(path)
