"""`yantra network flows`: flows take what sharing by hand says, and bad lists are named."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.unit.test_flow_network import _ends, _over, _scenario
from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.fabric.graphs import link_changes
from yantra.fabric.graphs.describe import shown
from yantra.fabric.graphs.drawing import heat
from yantra.run.flows import Simulation
from yantra.run.simulate import simulate as simulate_job
from yantra.scenario import load

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
    assert "3 flows, the last ends at 202" in said
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
        (["--routing", "spray"], 2, "--routing: spray goes with the network packet"),
        (["--routing", "dimension_ordered"], 2, "needs the coordinates of a grid"),
        (["-o", "fct.txt"], 2, "--output: expected .csv, .csv.gz or .parquet, got fct.txt"),
        (["--network", "packets"], 2, "--network"),
        (["--network", "analytical", "--rtt-fairness"], 2, "goes with the network flow"),
        (["--network", "store_and_forward", "--changes", "c.csv"], 2, "--changes: goes with the"),
        (["--network", "analytical", "--links", "l.csv"], 2, "--links: the network analytical"),
        (["--links", "l.txt"], 2, "--links: expected .csv, .csv.gz or .parquet, got l.txt"),
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


POSTS = [(0, 2, 1_000_000), (1, 2, 500_000), (3, 2, 700_000), (2, 0, 300_000), (0, 1, 400_000)]
FLOWS = "src,dst,bytes\n" + "".join(f"{src},{dst},{size}\n" for src, dst, size in POSTS)


@pytest.mark.parametrize("network", ["store_and_forward", "flow"])
def test_a_list_ends_when_a_job_of_the_same_messages_does(tmp_path: Path, network: str) -> None:
    over = _over("{kind: switch, ranks: 4, bandwidth: 10 GB/s, latency: 1 us}")
    posts = POSTS[:4]  # a rank of a job sends one message at a time
    result = simulate_job(load(_scenario(tmp_path, posts, network, over)))
    rows = _run(tmp_path, "\n".join(FLOWS.split("\n")[:5]), "--network", network)
    assert [row["end_ns"] for row in rows] == pytest.approx(_ends(result), abs=0.002)


def test_without_contention_every_flow_is_alone(tmp_path: Path) -> None:
    rows = _run(tmp_path, FLOWS, "--network", "analytical")
    assert [row["fct_ns"] for row in rows] == [2_000 + size / 10 for _, _, size in POSTS]
    assert {row["slowdown"] for row in rows} == {1}
    whole = _run(tmp_path, FLOWS, "--network", "store_and_forward")
    assert [row["alone_ns"] for row in whole] == [2_000 + 2 * size / 10 for _, _, size in POSTS]


@pytest.mark.parametrize("network", ["store_and_forward", "flow"])
def test_the_rates_of_a_link_over_time_are_the_bytes_of_its_flows(
    tmp_path: Path, network: str
) -> None:
    links = tmp_path / "links.csv"
    _run(tmp_path, FLOWS, "--network", network, "--links", str(links))
    carried: dict[str, float] = {}
    with links.open() as file:
        for row in csv.DictReader(file):
            length = float(row["to_ns"]) - float(row["from_ns"])
            assert length > 0 and 0 < float(row["utilisation"]) <= 1 + 1e-12
            name = f"{row['source']} to {row['destination']}"
            carried[name] = carried.get(name, 0) + float(row["bytes_per_ns"]) * length
    expected: dict[str, float] = {}
    for src, dst, size in POSTS:
        for name in (f"rank {src} to switch 0", f"switch 0 to rank {dst}"):
            expected[name] = expected.get(name, 0) + size
    assert carried == pytest.approx(expected, rel=1e-9)


def test_the_busiest_link_is_named_with_its_largest_flows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(tmp_path, FLOWS, "--hot-links", "1", "--json")
    [link] = json.loads(capsys.readouterr().out)["hot_links"]
    assert (link["source"], link["destination"], link["flows"]) == ("switch 0", "rank 2", 3)
    # From the first byte after 2 us to the last all of it is used.
    assert link["utilisation"] == pytest.approx(220_000 / 222_000)
    assert [share["who"] for share in link["largest"]] == [
        "flow 0: 0 to 2",
        "flow 2: 3 to 2",
        "flow 1: 1 to 2",
    ]
    _run(tmp_path, FLOWS, "--hot-links", "2")
    said = capsys.readouterr().out
    assert "switch 0 to rank 2 (down)" in said and "flow 2: 3 to 2" in said


def test_the_drawing_has_a_line_for_each_direction_in_the_colour_of_its_load(
    tmp_path: Path,
) -> None:
    picture = tmp_path / "loads.svg"
    _run(tmp_path, FLOWS, "--svg", str(picture))
    tree = ElementTree.parse(picture).getroot()
    name = "{http://www.w3.org/2000/svg}"
    lines = {str(line[0].text): line.get("stroke") for line in tree.iter(f"{name}path")}
    assert len(lines) == 8
    full = next(text for text in lines if text.startswith("switch 0 to rank 2"))
    idle = next(text for text in lines if text.startswith("switch 0 to rank 3"))
    assert "99.1 % in use" in full and "0.0 % in use" in idle
    assert lines[idle] == heat(0.0) and lines[full] == heat(220 / 222)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_an_interrupted_run_keeps_the_flows_that_were_through(
    tmp_path: Path,
    ending: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    (tmp_path / "flows.csv").write_text(FLOWS)
    whole = Simulation.ended

    def interrupted(self: Simulation) -> Iterator[Any]:
        for ended in whole(self):
            yield ended
            if np.isfinite(self.result.end_ns).sum() >= 2:
                raise KeyboardInterrupt

    monkeypatch.setattr(Simulation, "ended", interrupted)
    monkeypatch.setattr("yantra.run.flow_fronts.Shared.slice", 1)
    out = tmp_path / f"fct.{ending}"
    line = ["network", "flows", str(tmp_path / "flows.csv"), *LINE, "-o", str(out)]
    assert main(line) == 130
    said = capsys.readouterr()
    kept = tmp_path / f"fct.partial.{ending}"
    assert f"interrupted: {kept} has the 2 of 5 flows that had ended" in said.err
    assert said.out.startswith("2 of 5 flows, the last ends at ")
    assert {path.name for path in tmp_path.iterdir()} == {"flows.csv", kept.name}
    if ending == "parquet":
        from pyarrow import parquet

        numbers = parquet.read_table(kept)["flow"].to_pylist()
    else:
        opened = gzip.open if ending == "csv.gz" else open
        with opened(kept, "rt") as file:
            numbers = [int(row["flow"]) for row in csv.DictReader(file)]
    assert numbers == [3, 4]


def test_a_long_run_says_its_work_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yantra.run.flows._LONG", 20)
    _run(tmp_path, FLOWS, "--network", "store_and_forward")
    said = capsys.readouterr().err
    assert said == "5 flows over 10 links in all, at most 25 steps\n"
    _run(tmp_path, FLOWS)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("preset", ["static_window", "swift", "timely", "uec", "dcqcn"])
def test_a_flow_alone_is_as_slow_as_one_alone(
    preset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The time alone has the headers of the preset's congestion control."""
    (tmp_path / "one.csv").write_text("src,dst,bytes\n0,1,3000500\n")
    sized = [f"--set={one}" for one in ("ranks=4", "bandwidth=100Gb/s", "latency=1us")]
    asked = [str(tmp_path / "one.csv"), "--topology", "switch", *sized, "--network", "packet"]
    assert (
        main(["network", "flows", *asked, "--preset", preset, "-o", str(tmp_path / "o.csv")]) == 0
    )
    (row,) = csv.DictReader((tmp_path / "o.csv").open())
    assert float(row["slowdown"]) == pytest.approx(1, abs=2e-4)


def test_a_rate_of_0_is_a_failure_without_a_unit(tmp_path: Path) -> None:
    graph = shown("switch", {"ranks": 4, "bandwidth": "100Gb/s", "latency": "1us"}).graph
    (tmp_path / "c.csv").write_text("at_ns,from,to,bandwidth\n100,switch 0,rank 1,0\n")
    (change,) = link_changes.read(str(tmp_path / "c.csv"), graph)
    assert change.bytes_per_ns == 0
    (tmp_path / "c.csv").write_text("at_ns,from,to,to\n")
    with pytest.raises(ConfigError, match='column "to" is there twice'):
        link_changes.read(str(tmp_path / "c.csv"), graph)


def test_what_an_example_fills_in_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.csv").write_text("src,dst,bytes\n0,1,3000500\n")
    assert main(["network", "flows", str(tmp_path / "one.csv"), "--topology", "switch"]) == 0
    assert "taken from an example: ranks=8, bandwidth=50 GB/s" in capsys.readouterr().err
