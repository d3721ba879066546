"""Drawing traces: every node in one box, every edge accounted for, and omissions reported."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.chakra import Node, NodeType, Trace, TraceBuilder
from yantra.cli import main
from yantra.cli.upstream import visualizer
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.draw import Cut, Links, cut, dot_text, draw, drawing, graphml_text
from yantra.tracing.inspect.draw import summary as summary_module

Captured = pytest.CaptureFixture[str]
GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"
NAMES = ["aten::mm", 'a "quoted" \\ name', "x\ny", "<b>&", "\x01", "", "n7", "relu(1)"]


@st.composite
def graphs(draw: st.DrawFn, most: int = 40) -> Trace:
    count = draw(st.integers(1, most))
    ids = st.integers(0, count + 2)
    nodes = []
    for id in range(count):
        node = Node(
            id,
            draw(st.sampled_from(NAMES)),
            draw(st.sampled_from([NodeType.COMP, NodeType.MEM_LOAD, NodeType.METADATA])),
            draw(st.integers(0, 9)),
            draw(st.lists(ids, max_size=3)),
            draw(st.lists(ids, max_size=2)),
        )
        node["is_cpu_op"] = draw(st.booleans())
        node["tid"] = draw(st.integers(0, 3))
        nodes.append(node)
    return Trace(nodes)


def edges_of(trace: Trace) -> set[tuple[int, int, bool]]:
    return {
        (parent, node.id, control)
        for node in trace
        for control, parents in ((False, node.data_deps), (True, node.ctrl_deps))
        for parent in parents
    }


def chain(count: int, **changes: int) -> Trace:
    steps = TraceBuilder()
    last: Node | tuple[()] = ()
    for at in range(count):
        on_cpu = at >= count - changes.get("cpu", 0)
        last = steps.compute(f"k{at}", duration_micros=2, cpu=on_cpu, after=last)
    return steps.build()


@given(graphs())
@settings(max_examples=100, deadline=None)
def test_a_small_graph_is_drawn_node_by_node(trace: Trace) -> None:
    picture = drawing(trace)
    keys = [box.key for box in picture.boxes]
    assert len(set(keys)) == len(keys)
    assert {int(key) for key in keys} >= {node.id for node in trace}
    drawn = {(int(keys[e.source]), int(keys[e.target]), e.control) for e in picture.edges}
    assert drawn == edges_of(trace)
    assert all(edge.links == 1 for edge in picture.edges)


@given(graphs(), st.integers(1, 12), st.integers(1, 20))
@settings(max_examples=100, deadline=None)
def test_a_summary_keeps_every_node_and_counts_every_edge(
    trace: Trace, boxes: int, edges: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summary_module, "MOST_BOXES", boxes)
        patch.setattr(summary_module, "MOST_EDGES", edges)
        picture = drawing(trace)
    links = Links(Columns(trace))
    assert sum(box.members for box in picture.boxes) == links.count
    shown = sum(edge.links for edge in picture.edges)
    assert shown <= len(links.edges)
    kinds = len({box.kind for box in picture.boxes})
    assert len(picture.boxes) <= max(boxes, kinds)
    if links.count > boxes:
        assert picture.notes and "as" in picture.notes[0]


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_dot_text_says_the_same(trace: Trace) -> None:
    picture = drawing(trace)
    string = r'"(?:[^"\\]|\\.)*"'
    node = re.compile(rf'  "(\d+)" \[id="\1", label={string}(?:, \w+=(?:{string}|\w+))*\];')
    edge = re.compile(r'  "(\d+)" -> "(\d+)" \[arrowhead=(normal|tee)\];')
    lines = dot_text(picture).splitlines()
    assert lines[0] == "digraph trace {" and lines[-1] == "}"
    body = [line for line in lines[1:-1] if not line.startswith(("  graph", "  node"))]
    found = [edge.fullmatch(line) for line in body]
    drawn = {(int(m[1]), int(m[2]), m[3] == "tee") for m in found if m}
    assert drawn == edges_of(trace)
    assert all(match or node.fullmatch(line) for match, line in zip(found, body, strict=True))


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_graphml_says_the_same_with_control_over_data(trace: Trace) -> None:
    graph = ElementTree.fromstring(graphml_text(trace)).find(f"{GRAPHML}graph")
    assert graph is not None
    labels = {
        int(node.get("id", 0)): node.findtext(f"{GRAPHML}data")
        for node in graph.iter(f"{GRAPHML}node")
    }
    for node in trace:
        assert labels.pop(node.id) == node.name.replace("\x01", "�")
    assert set(labels.values()) <= {None}
    kinds = {
        (int(edge.get("source", 0)), int(edge.get("target", 0))): edge.findtext(f"{GRAPHML}data")
        for edge in graph.iter(f"{GRAPHML}edge")
    }
    expected = edges_of(trace)
    assert kinds == {
        (a, b): "control" if (a, b, True) in expected else "data" for a, b, _ in expected
    }


def test_a_long_chain_becomes_one_box_per_lane() -> None:
    picture = drawing(chain(1000, cpu=400))
    assert [box.lines for box in picture.boxes] == [
        ("k0", "... 600 in a row, 0 to 599, 1200 us ...", "k599"),
        ("k600", "... 400 in a row, 600 to 999, 800 us ...", "k999"),
    ]
    assert [(edge.source, edge.target, edge.links) for edge in picture.edges] == [(0, 1, 1)]
    assert picture.notes == ("1000 nodes as 2 boxes: chains of nodes drawn as one box",)
    assert len(drawing(chain(1000), whole=True).boxes) == 1000


def test_many_nodes_without_chains_become_a_box_per_name() -> None:
    steps = TraceBuilder()
    root = steps.compute("root", duration_micros=1)
    for at in range(500):
        name = "gemm<128>(float)" if at % 2 else f"send to {at}"
        steps.compute(name, duration_micros=3, after=root)
    picture = drawing(steps.build())
    assert {box.lines: box.members for box in picture.boxes} == {
        ("root", "1 node, 1 us"): 1,
        ("gemm", "250 nodes, 750 us"): 250,
        ("send to *", "250 nodes, 750 us"): 250,
    }
    assert [edge.links for edge in picture.edges] == [250, 250]
    assert picture.lanes
    assert 'subgraph cluster_0 {\n    label="gpu stream 0";' in dot_text(picture)


def test_a_huge_graph_of_odd_names_is_still_a_small_picture() -> None:
    steps = TraceBuilder()
    earlier: list[Node] = []
    for at in range(5000):
        name = "".join("abcdefghij"[int(digit)] for digit in str(at))
        after = [earlier[at // 2], earlier[-1]] if at > 1 else []
        node = steps.compute(name, cpu=True, after=after)
        node["tid"] = at % 700
        earlier.append(node)
    picture = drawing(steps.build())
    assert len(picture.boxes) <= summary_module.MOST_BOXES
    assert len(picture.edges) <= summary_module.MOST_EDGES
    assert "others" in picture.notes[0]


def test_parts_are_cut_out() -> None:
    links = Links(Columns(chain(20)))
    assert cut(links, Cut("3")) == [3]
    assert cut(links, Cut("3-5, 9")) == [3, 4, 5, 9]
    assert cut(links, Cut(around=7, hops=0)) == [7]
    assert cut(links, Cut(around=7)) == [5, 6, 7, 8, 9]
    assert cut(links, Cut("0-7", around=7)) == [5, 6, 7]
    picture = drawing(chain(20), Cut("3-5"))
    assert picture.notes == ("3 of 20 nodes, 2 of 19 edges",)


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        (Cut("x"), 'expected ids such as 7, 100-199 or 7,100-199, got "x"'),
        (Cut("3-"), 'expected ids such as 7, 100-199 or 7,100-199, got "3-"'),
        (Cut("50-60"), "the trace has no node 50-60; its ids are 0 to 19"),
        (Cut(around=20), "the trace has no node 20; its ids are 0 to 19"),
    ],
)
def test_parts_that_are_not_there_are_refused(part: Cut, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        drawing(chain(20), part)
    assert caught.value.problem == problem


@pytest.fixture
def fake_dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "bin" / "dot"
    path.parent.mkdir()
    path.write_text('#!/bin/sh\necho "$1"\ncat\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")
    return path


@pytest.mark.parametrize("form", ["svg", "pdf"])
def test_graphviz_lays_out_svg_and_pdf(form: str, tmp_path: Path, fake_dot: Path) -> None:
    path = tmp_path / f"x.{form}"
    assert draw(chain(3), str(path)) == "3 boxes, 2 edges"
    assert path.read_text() == f"-T{form}\n" + dot_text(drawing(chain(3)))


def test_graphviz_that_fails_or_hangs_or_is_missing_leaves_no_file(
    tmp_path: Path, fake_dot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "x.svg")
    fake_dot.write_text("#!/bin/sh\necho 'Error: no' >&2\nexit 1\n")
    with pytest.raises(ConfigError, match="graphviz failed: Error: no"):
        draw(chain(3), path)
    fake_dot.write_text("#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(
        UnsupportedError, match=r"did not lay out the graph in 0\.2 s; draw without"
    ):
        draw(chain(3), path, time_limit_s=0.2)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match="SVG needs graphviz, whose program dot is not on PATH"):
        draw(chain(3), path)
    assert [item.name for item in tmp_path.iterdir()] == ["bin"]


def test_the_command_says_what_it_drew(tmp_path: Path, capsys: Captured) -> None:
    trace = str(tmp_path / "a.et")
    chain(300).write(trace)
    out = str(tmp_path / "x.dot")
    assert main(["chakra", "draw", trace, "-o", out]) == 0
    notes = "300 nodes as 1 box: chains of nodes drawn as one box"
    assert capsys.readouterr().out == f"{out}: 1 box, 0 edges; {notes}\n"
    assert main(["chakra", "draw", trace, "-o", out, "--full"]) == 0
    assert capsys.readouterr().out == f"{out}: 300 boxes, 299 edges\n"
    assert main(["chakra", "draw", trace, "-o", out, "--around", "9", "--hops", "1"]) == 0
    assert capsys.readouterr().out == f"{out}: 3 boxes, 2 edges; 3 of 300 nodes, 2 of 299 edges\n"
    graphml = str(tmp_path / "x.graphml")
    assert main(["chakra", "draw", trace, "-o", graphml]) == 0
    assert capsys.readouterr().out == f"{graphml}: 300 nodes\n"
    assert main(["chakra", "draw", trace, "-o", graphml, "--nodes", "3"]) == 2
    assert "GraphML holds whole traces" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "hint"), [("x.png", ""), ("x", ""), ("x.graphm", "; did you mean 'graphml'?")]
)
def test_other_formats_are_refused(name: str, hint: str, tmp_path: Path, capsys: Captured) -> None:
    trace = str(tmp_path / "a.et")
    chain(2).write(trace)
    expected = f"expected a name that ends in one of .dot, .svg, .pdf, .graphml{hint}"
    assert main(["chakra", "draw", trace, "-o", name]) == 2
    assert capsys.readouterr().err == f"error: {name}: {expected}\n"
    with pytest.raises(ConfigError, match="expected a name"):
        visualizer.run(["--input_filename", trace, "--output_filename", name])


def test_upstreams_command_draws_names_alone(tmp_path: Path, capsys: Captured) -> None:
    folder = tmp_path / "a.dot"
    folder.mkdir()
    chain(2).write(folder / "a.et")
    arguments = ["--input", str(folder / "a.et"), "--output", str(folder / "b.dot")]
    assert visualizer.run(arguments) == 0
    text = (folder / "b.dot").read_text()
    assert '  "0" [id="0", label="k0", fillcolor="#d9f0d3"];' in text
    assert '  "0" -> "1" [arrowhead=normal];' in text
