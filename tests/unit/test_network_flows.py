"""`yantra network flows`: flows take what sharing by hand says, and bad lists are named."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from yantra.cli import main

STAR = ["--topology", "switch", "--set", "ranks=4", "--set", "bandwidth=10GB/s"]
LINE = [*STAR, "--set", "latency=1us"]


def _rows(path: Path) -> list[dict[str, float]]:
    with path.open() as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def _run(folder: Path, flows: str, *more: str) -> list[dict[str, float]]:
    (folder / "flows.csv").write_text(flows)
    out = folder / "fct.csv"
    line = ["network", "flows", str(folder / "flows.csv"), *LINE, "-o", str(out), *more]
    assert main(line) == 0
    return _rows(out)


def test_two_flows_to_one_host_take_twice_as_long_and_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flows = "src,dst,bytes,start_ns\n0,2,1000000,0\n1,2,1000000,0\n3,1,1000000,500\n"
    rows = _run(tmp_path, flows)
    assert [row["fct_ns"] for row in rows] == [202_000, 202_000, 102_000]
    assert [row["alone_ns"] for row in rows] == [102_000] * 3
    assert [row["slowdown"] for row in rows] == pytest.approx([202 / 102, 202 / 102, 1])
    said = capsys.readouterr().out
    assert "3 flows, the last through at 202" in said
    assert "10^6 B" in said


def test_columns_may_come_in_any_order_and_start_may_be_left_out(tmp_path: Path) -> None:
    rows = _run(tmp_path, "bytes,dst,src\n1000000,2,0\n")
    assert (rows[0]["src"], rows[0]["start_ns"], rows[0]["fct_ns"]) == (0, 0, 102_000)


def test_no_flows_are_an_empty_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(tmp_path, "src,dst,bytes\n") == []
    capsys.readouterr()
    line = ["network", "flows", str(tmp_path / "flows.csv"), *LINE, "--json"]
    assert main(line) == 0
    assert json.loads(capsys.readouterr().out) == {
        "flows": 0,
        "network": "flow",
        "end_ns": 0.0,
        "slowdown": [],
    }


def test_a_link_that_is_down_for_50_us_costs_them(tmp_path: Path) -> None:
    """And one at half its rate twice the time from then on."""
    changes = tmp_path / "changes.csv"
    head = "at_ns,from,to,bandwidth\n"
    changes.write_text(f"{head}80000,0,switch 0,10 GB/s\n30000,rank 0,switch 0,0 GB/s\n")
    flows = "src,dst,bytes\n0,2,1000000\n"
    assert _run(tmp_path, flows, "--changes", str(changes))[0]["fct_ns"] == 152_000
    changes.write_text(f"{head}52000,0,switch 0,5 GB/s\n")
    assert _run(tmp_path, flows, "--changes", str(changes))[0]["fct_ns"] == 152_000


@pytest.mark.parametrize(
    ("flows", "said"),
    [
        ("", "line 1: no column 'src'; expected src,dst,bytes,start_ns"),
        ("src,dst,byte\n", "line 1: unknown column \"byte\"; did you mean 'bytes'?"),
        ("src,dst,bytes\n0,1,-4\n", "line 2, bytes: expected a whole number, 0 or more and at"),
        ("src,dst,bytes\n0,1\n", "line 2: expected 3 values, as the header has, got 2"),
        ("src,dst,bytes\n0,9,1\n", "flow 0: 0 to 9 is of a rank that the fabric does not have"),
        ("src,dst,bytes\n1,1,1\n", "flow 0: 1 to 1 sends to itself"),
    ],
)
def test_a_bad_list_is_refused_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flows: str, said: str
) -> None:
    (tmp_path / "flows.csv").write_text(flows)
    assert main(["network", "flows", str(tmp_path / "flows.csv"), *LINE]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "status", "said"),
    [
        (["--routing", "ecpm"], 2, "did you mean 'ecmp'?"),
        (["--routing", "spray"], 2, "--routing: spray parts a flow"),
        (["--routing", "dimension_ordered"], 2, "needs the coordinates of a grid"),
        (["-o", "fct.txt"], 2, "--output: expected .csv, .csv.gz or .parquet, got fct.txt"),
        (["--network", "packet"], 2, "--network"),
        (["--changes", "a.csv"], 2, "line 2, to: no device is called 'switch 9'"),
        (["--changes", "b.csv"], 2, "line 2: no link leads from 0 to 1"),
        (["--changes", "c.csv"], 3, "flow 0, from 0 to 2, never ends"),
        (["--changes", "d.csv"], 2, "line 2, bandwidth: not a quantity"),
    ],
)
def test_what_cannot_be_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    more: list[str],
    status: int,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flows.csv").write_text("src,dst,bytes\n0,2,1000000\n")
    head = "at_ns,from,to,bandwidth\n"
    for name, row in (
        ("a", "1,0,switch 9,1 GB/s"),
        ("b", "1,0,1,1 GB/s"),
        ("c", "1,0,switch 0,0 GB/s"),
        ("d", "1,0,switch 0,fast"),
    ):
        (tmp_path / f"{name}.csv").write_text(f"{head}{row}\n")
    assert main(["network", "flows", "flows.csv", *LINE, *more]) == status
    assert said in capsys.readouterr().err
