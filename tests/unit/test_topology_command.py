"""`yantra topology`: what it shows of a fabric, draws, and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from xml.dom.minidom import parseString

import pytest

from yantra.cli import main
from yantra.fabric.graphs import builders, graph_of, read
from yantra.fabric.graphs.drawing import drawing, heat

NAMES = builders.names()


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["topology", "show", *words]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["topology", "show", *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


def test_every_kind_is_listed_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topology", "list", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert tuple(rows) == NAMES
    for name, row in rows.items():
        assert {*row["needs"], *row["takes"]} == set(builders.get(name).options.entries)


@pytest.mark.parametrize("name", NAMES)
def test_every_example_is_shown_and_drawn(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = tmp_path / "drawn.svg"
    text = shown(capsys, name, "--svg", str(drawn), "--json")
    form = json.loads(text)
    graph = graph_of(read(name, builders.get(name).example, "fabric"), "fabric")
    assert form["ranks"] == graph.ranks
    assert sum(row["count"] for row in form["devices"]) == graph.devices
    assert sum(row["count"] for row in form["links"]) == len(graph.links.start)
    svg = parseString(drawn.read_text())
    assert len(svg.getElementsByTagName("circle")) == graph.ranks
    assert len(svg.getElementsByTagName("rect")) == graph.devices - graph.ranks


def test_a_drawing_has_a_line_for_each_two_devices_that_are_joined() -> None:
    speed = {"bandwidth": "50 GB/s", "latency": "500 ns"}
    graph = graph_of(read("torus", {"sizes": [4, 3], **speed}, "fabric"), "fabric")
    svg = parseString(drawing(graph, 'a "torus" <& more>'))
    assert len(svg.getElementsByTagName("path")) == 24
    legend = [one.firstChild.data for one in svg.getElementsByTagName("text")]
    assert legend == ["dimension 0 up, dimension 0 down", "dimension 1 up, dimension 1 down"]
    points = {(one.getAttribute("cx"), one.getAttribute("cy")) for one in circles(svg)}
    assert len(points) == 12


def circles(svg: object) -> list[object]:
    return list(svg.getElementsByTagName("circle"))  # type: ignore[attr-defined]


def test_the_report_says_what_was_not_set(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "fat_tree", "--set", "k=8")
    assert "options: bandwidth 50 GB/s, latency 500 ns, k 8\n" in text
    assert "of these not set, but taken from an example: bandwidth, latency\n" in text
    assert "bisection            3.200 TB/s   one way; formula\n" in text
    whole = ["--set", "k=8", "--set", "bandwidth=1 GB/s", "--set", "latency=1 us"]
    assert "of these not set" not in shown(capsys, "fat_tree", *whole)


def test_a_price_is_shown_for_all_and_per_rank(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "fat_tree", "--price", "core=1000", "--price", "rank up=10.5")
    assert "4,168.00 USD" in text and "260.50 USD per rank, of what is priced" in text


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["fat_tre"], "fat_tre: no fabric is named 'fat_tre'; expected one of dgx1, dragonfly, "),
        (["fat_tree", "--set", "kk=4"], "--set kk: unknown key; did you mean 'k'?"),
        (["fat_tree", "--set", "k=5"], "fat_tree.k: expected an even number of ports, got 5"),
        (["fat_tree", "--price", "core"], '--price: expected NAME=USD, such as core=30000, got "'),
        (["fat_tree", "--price", "core=-1"], "--price: expected NAME=USD, such as core=30000, "),
        (["fat_tree", "--price", "cor=1"], "--price: no devices and no links are called 'cor'; "),
        (["R(4)_FC(8)", "--set", "dimensions=R(4)"], "--set dimensions: R(4)_FC(8) says them "),
        (["R(4)_F(8)"], "R(4)_F(8).dimensions: no topology is named 'F'"),
        (["ring", "--set", "ranks=4000", "--svg", "x"], "--svg: 4000 devices and 4000 cables are"),
        (["there.csv"], "there.csv: cannot be read: No such file or directory"),
        (["there.csv", "--set", "a=1"], "--set a: there.csv is a file, which has no options"),
    ],
)
def test_what_cannot_be_shown_is_refused(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(capsys, *words).startswith(f"error: {problem}")


def test_a_drawing_has_the_load_that_a_list_of_flows_wrote(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "flows.csv").write_text("src,dst,bytes\n0,2,1000000\n1,2,500000\n3,0,100000\n")
    fabric = [word for key in ("ranks=4", "bandwidth=10GB/s") for word in ("--set", key)]
    fabric += ["--set", "latency=1us"]
    links, ours, theirs = (str(tmp_path / name) for name in ("l.csv.gz", "a.svg", "b.svg"))
    line = ["network", "flows", str(tmp_path / "flows.csv"), "--topology", "switch", *fabric]
    assert main([*line, "--links", links, "--svg", theirs]) == 0
    shown(capsys, "switch", *fabric, "--svg", ours, "--load", links)
    lines = [
        [
            (path.getAttribute("stroke"), path.getAttribute("d"), path.firstChild.firstChild.data)
            for path in parseString(Path(svg).read_text()).getElementsByTagName("path")
        ]
        for svg in (ours, theirs)
    ]
    assert lines[0] == lines[1] and len({colour for colour, _, _ in lines[0]}) > 2


def test_a_drawing_over_time_has_the_load_of_each_part_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    links, svg = str(tmp_path / "links.csv"), str(tmp_path / "film.svg")
    rows = ["rank 0,switch 0,0,25,10", "rank 0,switch 0,50,100,5", "switch 0,rank 1,0,100,10"]
    Path(links).write_text("source,destination,from_ns,to_ns,bytes_per_ns\n" + "\n".join(rows))
    fabric = ["switch", "--set", "bandwidth=10 GB/s", "--svg", svg, "--load", links]
    shown(capsys, *fabric, "--over-time")
    colours = {
        path.firstChild.firstChild.data.partition(" (")[0]: [
            one.getAttribute("values").split(";") for one in path.getElementsByTagName("animate")
        ]
        for path in parseString(Path(svg).read_text()).getElementsByTagName("path")
    }
    changing = [heat(1.0)] * 15 + [heat(0.0)] * 15 + [heat(0.5)] * 30
    assert colours["rank 0 to switch 0"] == [changing]
    assert colours["switch 0 to rank 1"] == colours["rank 1 to switch 0"] == []
    assert "0 to 100 ns, in 60 parts" in Path(svg).read_text()
    shown(capsys, *fabric)
    assert "<animate" not in Path(svg).read_text()
    assert "--over-time goes with --load" in refused(capsys, "switch", "--svg", svg, "--over-time")


def test_a_list_of_flows_draws_the_same_over_time_as_its_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "flows.csv").write_text("src,dst,bytes\n0,2,1000000\n1,2,500000\n3,0,100000\n")
    fabric = ["--set", "ranks=4", "--set", "bandwidth=10GB/s", "--set", "latency=0 ns"]
    links, ours, theirs = (str(tmp_path / name) for name in ("l.csv", "a.svg", "b.svg"))
    line = ["network", "flows", str(tmp_path / "flows.csv"), "--topology", "switch", *fabric]
    assert main([*line, "--links", links, "--svg", theirs, "--over-time"]) == 0
    shown(capsys, "switch", *fabric, "--svg", ours, "--load", links, "--over-time")
    changes = [
        [one.getAttribute("values") for one in parseString(text).getElementsByTagName("animate")]
        for text in (Path(ours).read_text(), Path(theirs).read_text())
    ]
    assert changes[0] == changes[1] and len(changes[0]) > 3
    assert main([*line, "--over-time"]) == 2
    assert main([*line, "--svg", theirs, "--over-time", "--network", "packet"]) == 2
    assert "packet keeps no rates of links over time" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("rank 0,switch 9,0,1,1", "line 2, destination: no device is called 'switch 9'; did you"),
        ("rank 0,rank 1,0,1,1", "line 2: no link leads from rank 0 to rank 1; is it the table"),
        ("rank 0,switch 0,0,1,fast", "line 2, bytes_per_ns: expected a number, 0 or more, got"),
    ],
)
def test_loads_of_another_fabric_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: str, said: str
) -> None:
    links, svg = tmp_path / "links.csv", tmp_path / "a.svg"
    links.write_text(f"source,destination,from_ns,to_ns,bytes_per_ns\n{row}\n")
    assert said in refused(capsys, "switch", "--svg", str(svg), "--load", str(links))
    assert not svg.exists()
    assert "--load goes with --svg" in refused(capsys, "switch", "--load", str(links))
