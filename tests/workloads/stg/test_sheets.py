"""Reading sheets: every mistake is reported with file, row and column."""

from __future__ import annotations

import csv
import json
from contextlib import suppress
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.workloads.importers.stg.operators import CODES, output
from yantra.workloads.importers.stg.sheets import COLUMNS, read_module

TINY = Path(__file__).parent / "tiny"
HEADER = ",".join(COLUMNS)
X = 'x,N,,,T,,"Batch/dp, Width",1,,,,'
W = 'w,Y,,,T,,"Width, Width/tp",1,,,,'


def module(folder: Path, *rows: str, header: str = HEADER, **meta: object) -> str:
    path = folder / "block.csv"
    path.write_text("\n".join((header, *rows)) + "\n")
    about = {"symbols": ["Batch", "Width", "dp"], "in_tensors": ["x"], "out_tensors": ["x"]}
    (folder / "block.json").write_text(json.dumps(about | meta))
    return str(path)


def test_a_module_is_its_rows_in_order() -> None:
    graph = read_module(str(TINY / "dense.csv")).graph
    assert [t.name for t in graph] == ["x", "w", "part", "y", "dy", "dw", "dpart", "dx"]
    by_name = {tensor.name: tensor for tensor in graph}
    assert by_name["part"].x1 is by_name["x"]
    assert by_name["part"].x2 is by_name["w"]
    assert by_name["dw"].gradient_of is by_name["w"]
    assert [t.name for t in graph if t.trained] == ["w"]
    assert [t.name for t in graph if t.backward] == ["dy", "dw", "dpart", "dx"]
    assert [t.name for t in graph if t.weight_gradient] == ["dw"]
    assert str(output(by_name["part"].spec)) == (
        "Output(shape=(Batch/dp, Width/tp), hidden=(Width,), operations=Batch*Width**2/(dp*tp))"
    )


def test_a_byte_order_mark_and_a_missing_last_column_are_read(tmp_path: Path) -> None:
    path = module(tmp_path, X[:-1], header="\ufeff" + HEADER.removesuffix(",extra_attr"))
    assert [tensor.name for tensor in read_module(path).graph] == ["x"]


def test_revision_0_is_the_name_alone(tmp_path: Path) -> None:
    rows = ("x@0" + X[1:], 'y,N,x,,I,,"Batch/dp, Width",1,,,,')
    graph = read_module(module(tmp_path, *rows, out_tensors=["y@0"])).graph
    assert graph[1].x1 is graph[0]


def custom(attribute: str) -> str:
    return f'y,N,x,,CUSTOM,1,"Batch/dp",1,"Batch/dp",1,,"{attribute}"'


@pytest.mark.parametrize(
    ("row", "where", "problem"),
    [
        ("y,N,x,,Q,,Width,1,,,,", "row 3, column op_type", "expected one of T, I, S, M"),
        ("y,N,x,,custom,,Width,1,,,,", "row 3, column op_type", "did you mean 'CUSTOM'"),
        ("x" + X[1:], "row 3, column id", "an id that no other row has"),
        ("y@b,N,x,,I,,Width,1,,,,", "row 3, column id", "a name or name@revision"),
        ("y,yes,x,,I,,Width,1,,,,", "row 3, column require_grads", 'Y or N, got "yes"'),
        ("y,N,z,,I,,Width,1,,,,", "row 3, column x1", 'the id of a row, got "z"'),
        ("y,N,,,I,,Width,1,,,,", "row 3, column x1", "the id of a row, which I needs"),
        ("y,N,x,x,I,,Width,1,,,,", "row 3, column x2", "nothing, which is what I takes"),
        ("y,N,x,,I,,,1,,,,", "row 3, column x1_shape", "sizes, which I needs"),
        ("y,N,x,,I,,Width%2,1,,,,", "row 3, column x1_shape", "'%' is not part"),
        ("y,N,x,,I,3,Width,1,,,,", "row 3, column op_attr", "nothing, which is what I takes"),
        ("y,N,x,,E,-1,Width,1,,,,", "row 3, column op_attr", "per element, 0 or more"),
        ("y,N,x,,E,few,Width,1,,,,", "row 3, column op_attr", "operations per element"),
        ("y,N,x,,B,Width,Width,1,,,,", "row 3, column op_attr", "such as 3*Head/KVHead"),
        ("y,N,x,,SLICE,0*2,Width,1,,,,", "row 3, column op_attr", "such as 3:Head/tp"),
        ("y,N,x,,SLICE,5:2,Width,1,,,,", "row 3, column op_attr", "an axis of 0 to 0, got 5"),
        ("y,N,x,x,M,b->b,Width,1,Width,1,,", "row 3, column op_attr", "of two inputs"),
        (
            'y,N,x,x,M,"b,c->bc","Width, 2",1,Width,1,,',
            "row 3, column x1_shape",
            "expected 1 sizes",
        ),
        (
            'y,N,x,x,M,"b,b->b",Width,1,Batch,1,,',
            "row 3, column x2_shape",
            "Width for the letter b",
        ),
        ('y,N,x,x,M,"b,b->b",Width,1/tp,Width,1,,', "row 3, column x1_hidden", "needs whole"),
        ("y,N,x,x,A,,Width,1,Batch,1,,", "row 3, column x2_shape", "expected Width, got Batch"),
        ("y,N,x,,R,,Width,1,Batch,1,,", "row 3, column x2_shape", "expected Width, got Batch"),
        ("y,N,x,,R,,Width,1,,,,", "row 3, column x2_shape", "sizes, which R needs"),
        (custom("{x"), "row 3, column extra_attr", "JSON such as"),
        (custom('{""data_deps"": [""z""]}'), "row 3, column extra_attr", "the id of a row"),
        (custom('{""deps"": []}'), "row 3, column extra_attr", "data_deps of a CUSTOM row"),
        ("y,N,x,,I", "row 3", "expected 12 cells, got 5"),
    ],
)
def test_a_mistake_in_a_cell_names_file_row_and_column(
    row: str, where: str, problem: str, tmp_path: Path
) -> None:
    path = module(tmp_path, X, row)
    with pytest.raises(ConfigError) as caught:
        read_module(path)
    assert caught.value.where == f"{path}, {where}"
    assert problem in caught.value.problem


CELLS = st.one_of(
    st.text(max_size=12),
    st.text("0123456789-+*/().,:@>eTIMAERBSCLU\u00b2 \t", max_size=8),
    st.sampled_from(["1e99999999", "1/0", "--1:2", "@1", "x@\u00b2", "9" * 5000, "((((", "b,b->b"]),
)


@settings(max_examples=300)
@given(column=st.sampled_from(COLUMNS), cell=CELLS, code=st.sampled_from(sorted(CODES)))
def test_whatever_stands_in_a_cell_is_read_or_refused(column: str, cell: str, code: str) -> None:
    row = dict.fromkeys(COLUMNS, "") | {"id": "y", "x1": "x", "op_type": code, "x1_shape": "Width"}
    with TemporaryDirectory() as folder, StringIO(newline="") as text:
        csv.writer(text).writerow((row | {column: cell}).values())
        with suppress(ConfigError):
            read_module(module(Path(folder), X, text.getvalue()))


def test_the_header_must_be_that_of_a_sheet(tmp_path: Path) -> None:
    path = module(tmp_path, X, header="name,shape")
    with pytest.raises(ConfigError, match=r"block.csv, row 1: expected the columns id,require_gr"):
        read_module(path)


@pytest.mark.parametrize(
    ("meta", "where", "problem"),
    [
        ({"in_tensors": ["z"]}, "in_tensors", "expected ids of block.csv"),
        ({"in_tensors": ["y"]}, "in_tensors", "expected rows of type T, got y, which is E"),
        ({"out_tensors": "y"}, "out_tensors", "expected a list of ids"),
        ({"symbols": ["Batch", "dp"]}, "symbols", "not listed: Width"),
        ({"symbols": ["Batch", "Width", "dp", "tp"]}, "symbols", "not used: tp"),
    ],
)
def test_the_json_must_agree_with_the_table(
    meta: dict[str, object], where: str, problem: str, tmp_path: Path
) -> None:
    path = module(tmp_path, X, 'y,N,x,,E,1,"Batch/dp, Width",1,,,,', **meta)
    with pytest.raises(ConfigError) as caught:
        read_module(path)
    assert caught.value.where == f"{path[:-4]}.json, {where}"
    assert problem in caught.value.problem
