"""Libraries read a table's Arrow stream without pyarrow, and what it holds is released."""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
import weakref
from array import array
from typing import Any

import pytest

from yantra.result import table
from yantra.result.columns import NEVER, Coded, Reals, Ticks
from yantra.result.table import Table

ROWS = {
    "rank": [0, 1, 2, 3],
    "name": ["a", "é", "", "a"],
    "id": [1, 2**64 - 2, 0, 7],
    "time": [0.5, None, 3.0, 2.0],
    "share": [None, 0.25, 0.5, 1.0],
    "word": ["x", None, "z", "ü"],
    "port": [None, 2**53 + 1, 0, None],
    "step": [2**64 - 2, None, 3, 4],
}


def _table() -> Table:
    halves = memoryview(array("Q", [500, NEVER, 3000, 2000]))
    shares = array("Q", bytes(array("d", [float("nan"), 0.25, 0.5, 1.0])))
    return Table(
        "some",
        4,
        {
            "rank": ("whole", lambda: ROWS["rank"]),
            "name": ("text", lambda: Coded(array("Q", [0, 1, 2, 0]), ["a", "é", ""])),
            "id": ("id", lambda: array("Q", [1, 2**64 - 2, 0, 7])),
            "time": ("real", lambda: Ticks(halves, 1000)),
            "share": ("real", lambda: Reals(shares)),
            "word": ("text", lambda: ROWS["word"]),
            "port": ("whole", lambda: ROWS["port"]),
            "step": ("id", lambda: ROWS["step"]),
        },
    )


@pytest.fixture(autouse=True, params=[1, 3, 65_536])
def rows_of_a_part(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "_ROWS_OF_A_PART", request.param)


@pytest.mark.parametrize("rows", [4, 0])
def test_polars_reads_the_rows_without_pyarrow(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    polars = pytest.importorskip("polars")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    shown = _table() if rows else Table("none", 0, {"a": ("whole", list), "b": ("text", list)})
    frame = polars.DataFrame(shown)
    expected = ROWS if rows else {"a": [], "b": []}
    assert frame.to_dict(as_series=False) == expected
    if rows:
        types = [polars.Int64, polars.String, polars.UInt64, polars.Float64, polars.Float64]
        assert frame.dtypes == [*types, polars.String, polars.Int64, polars.UInt64]


def test_pyarrow_reads_what_to_arrow_gives() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    read = pyarrow.table(_table())
    read.validate(full=True)
    assert read == _table().to_arrow()


def test_duckdb_selects_from_a_table() -> None:
    duckdb = pytest.importorskip("duckdb")
    shown = _table()
    connection = duckdb.connect()
    assert connection.sql("select rank, name from shown where time > 1").fetchall() == [
        (2, ""),
        (3, "a"),
    ]
    assert connection.sql("select count(time), sum(share) from shown").fetchall() == [(3, 1.75)]
    connection.close()
    assert len(shown) == 4


def test_pandas_has_the_types_of_the_table_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    isna = pytest.importorskip("pandas").isna
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    frame = _table().to_pandas()
    told = {name: [None if isna(v) else v for v in frame[name].tolist()] for name in frame}
    assert told == ROWS
    assert [str(type) for type in frame.dtypes] == [
        "int64",
        "str",
        "uint64",
        "float64",
        "float64",
        "str",
        "Int64",
        "UInt64",
    ]
    frame.loc[0, "rank"] = 9  # the user may change a frame
    assert _table().values("rank")[0] == 0


def test_a_stream_that_nobody_takes_is_released() -> None:
    gc.freeze()  # what is alive need not be searched
    some = _table()
    known = weakref.ref(some)
    capsule = some.__arrow_c_stream__()
    assert "arrow_array_stream" in repr(capsule)
    del some
    assert known() is not None
    del capsule
    gc.collect()
    assert known() is None


def test_what_goes_wrong_while_reading_is_raised_by_the_reader() -> None:
    polars = pytest.importorskip("polars")

    class Broken(Table):
        def parts(self, columns: Any = None) -> Any:
            raise ValueError("no rows today")

    with pytest.raises(Exception, match="no rows today"):
        polars.DataFrame(Broken("broken", 1, {"a": ("whole", lambda: [1])}))


def test_a_table_is_let_go_when_its_stream_was_read() -> None:
    polars = pytest.importorskip("polars")
    gc.freeze()
    some = _table()
    known = weakref.ref(some)
    frame = polars.DataFrame(some)
    del some
    gc.collect()
    assert known() is None and frame["rank"].to_list() == ROWS["rank"]


def test_what_was_read_is_freed() -> None:
    """A hundred frames of 8 MB take the room of a few."""
    polars = pytest.importorskip("polars")
    many = Table("many", 1_000_000, {"a": ("whole", lambda: array("Q", bytes(8_000_000)))})
    table._ROWS_OF_A_PART = 65_536
    polars.DataFrame(many)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(100):
        assert polars.DataFrame(many).height == 1_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB


@pytest.mark.parametrize("reader", ["polars.DataFrame", "pyarrow.table"])
def test_a_frame_may_live_until_the_interpreter_ends(reader: str) -> None:
    library = reader.split(".")[0]
    pytest.importorskip(library)
    made = "{'a': ('whole', lambda: [1, 2]), 'b': ('text', lambda: ['x', 'y'])}"
    code = (
        f"import {library}\nfrom yantra.result.table import Table\n"
        f"table = Table('some', 2, {made})\n"
        f"frame = {reader}(table)\ncapsule = table.__arrow_c_stream__()\n"
        f"{library}.kept = frame\nprint(len(frame))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")
