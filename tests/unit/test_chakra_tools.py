"""The small commands for traces, and files of every old layout as they were recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.old_traces import FOLDER, WRITTEN
from yantra import chakra
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.cli import main
from yantra.cli.upstream import jsonizer

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("layout", WRITTEN)
def test_a_recorded_file_of_an_old_layout_is_read(layout: str) -> None:
    data = (FOLDER / f"{layout}.et").read_bytes()
    assert data == WRITTEN[layout]
    trace = chakra.read(data)
    assert trace.layout == layout
    assert chakra.to_json(trace) == (FOLDER / f"{layout}.json").read_text()


@pytest.fixture
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> chakra.Trace:
    monkeypatch.chdir(tmp_path)
    build = TraceBuilder(version="1")
    first = build.compute("first\n", duration_micros=5)
    second = build.collective(
        CollectiveType.ALL_REDUCE, 64, group="tp", involved_dim=[True, False], after=first
    )
    build.compute("third" * 20, after=second).depends_on(first, control=True)
    build.build().write("step.et")
    return build.build()


def test_show_prints_a_line_per_node(step: chakra.Trace, capsys: Captured) -> None:
    assert main(["chakra", "show", "step.et", "--limit", "2"]) == 0
    assert capsys.readouterr().out == (
        "step.et: layout 0.0.4, 3 nodes: 1 COMM_COLL, 2 COMP\n"
        "  version 1\n"
        "id  type       us  name        waits for  attributes\n"
        " 0  COMP        5  first\\n\n"
        " 1  COMM_COLL      all_reduce  0          comm_type=ALL_REDUCE comm_size=64 pg_name=tp "
        "involved_dim=10\n"
        "... 1 more node\n"
    )
    assert main(["chakra", "show", "step.et", "--all"]) == 0
    assert capsys.readouterr().out.endswith("third...  1 ctrl 0\n")


def test_show_prints_one_node(step: chakra.Trace, capsys: Captured) -> None:
    assert main(["chakra", "show", "step.et", "--node", "0"]) == 0
    assert capsys.readouterr().out == (
        "node 0: first\\n\n"
        "  type: COMP\n"
        "  duration: 5 us\n"
        "  waits for (data): none\n"
        "  waits for (control): none\n"
        "  waited for by (data): 1\n"
        "  waited for by (control): 2\n"
        "  is_cpu_op (bool): False\n"
    )
    assert main(["chakra", "show", "step.et", "--node", "9"]) == 2
    assert capsys.readouterr().err == "error: node 9: the trace has no node of this id\n"


def test_json_goes_both_ways(step: chakra.Trace, capsys: Captured) -> None:
    assert main(["chakra", "rewrite", "step.et", "-o", "step.json"]) == 0
    assert main(["chakra", "rewrite", "step.json", "-o", "again.et.gz"]) == 0
    assert chakra.read("again.et.gz") == step == chakra.read("step.json")
    capsys.readouterr()
    assert main(["chakra", "rewrite", "step.et"]) == 0
    assert capsys.readouterr().out == Path("step.json").read_text() + "\n"
    assert main(["chakra", "rewrite", "step.json"]) == 0
    assert capsys.readouterr().out == Path("step.json").read_text() + "\n"
    assert main(["chakra", "rewrite", "step.et", "--json"]) == 2
    assert "--json goes with -o" in capsys.readouterr().err


def test_the_older_names_of_rewrite_work(step: chakra.Trace) -> None:
    assert main(["chakra", "json", "step.et", "-o", "step.json"]) == 0
    assert main(["chakra", "upgrade", "step.json", "-o", "again.et"]) == 0
    assert chakra.read("again.et") == step


def test_the_jsonizer_drops_in(step: chakra.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["chakra_jsonizer", "--input", "step.et", "--output", "out.json"]
    monkeypatch.setattr("sys.argv", command)
    assert jsonizer.main() == 0
    assert Path("out.json").read_text() == chakra.to_json(step)
    monkeypatch.setattr("sys.argv", [*command[:2], "nothing.et", *command[3:]])
    assert jsonizer.main() == 2


def test_feed_prints_the_order(step: chakra.Trace, capsys: Captured) -> None:
    assert main(["chakra", "feed", "step.et"]) == 0
    assert capsys.readouterr().out == "0\n1\n2\n"
    assert main(["chakra", "feed", "step.et", "--names", "--limit", "2"]) == 0
    assert capsys.readouterr().out == "0\tCOMP\tfirst\\n\n1\tCOMM_COLL\tall_reduce\n"


def test_rewrite_says_what_it_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.et").write_bytes(WRITTEN["0.0.2"])
    assert main(["chakra", "rewrite", "old.et", "-o", "new.et"]) == 0
    assert capsys.readouterr().out == (
        "old.et: layout 0.0.2 (June 2023, attributes), 2 nodes, written to new.et\n"
    )
    assert chakra.read("new.et").layout == "0.0.4"
    assert chakra.read("new.et") == chakra.read("old.et")
    assert main(["chakra", "rewrite", "old.et", "-o", "no.et", "--layout", "0.0.1"]) == 2
    assert "old.et: byte" in capsys.readouterr().err
    assert not Path("no.et").exists()


def test_a_scenario_reads_old_layouts_and_json(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "t.0.et").write_bytes(WRITTEN["0.0.4a"])
    (tmp_path / "t.1.et").write_text(chakra.to_json(chakra.read(WRITTEN["0.0.4a"])))
    (tmp_path / "s.yaml").write_text(
        'workload: {traces: "t.{rank}.et"}\n'
        "cluster: {topology: [{kind: ring, size: 2, bandwidth: 1 GB/s, latency: 1 us}]}\n"
    )
    assert main(["run", str(tmp_path / "s.yaml"), "--json"]) == 0
    ranks = json.loads(capsys.readouterr().out)["tables"]["ranks"]
    assert ranks["finish_ns"] == [5000, 5000]
