"""What a newer writer adds to a file is kept, and a note says that it is newer."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from tests.oracles.chakra_wire import block, node, number, record, trace_bytes
from yantra import _core
from yantra.base.errors import TraceError
from yantra.chakra import Metadata, Node, Trace, read
from yantra.chakra.stamping import TemplateBuilder
from yantra.chakra.versions import is_newer, stated_version
from yantra.cli import main

LATER = number(77, 5) + block(78, b"later")
"""Two fields that no schema has."""


def attribute(*more: bytes) -> bytes:
    return block(10, block(1, b"num_ops") + number(9, 7) + b"".join(more))


def listed(*more: bytes) -> bytes:
    return block(10, block(1, b"sizes") + block(10, block(1, b"\x01\x02") + b"".join(more)))


PLACES = {
    "metadata": record(block(1, b"0.0.4") + LATER) + record(node(1, "a")),
    "node": trace_bytes(node(1, "a") + LATER),
    "inputs": trace_bytes(node(1, "a") + block(8, block(1, b"[]") + LATER)),
    "outputs": trace_bytes(node(1, "a") + block(9, block(3, b"[]") + LATER)),
    "attribute": trace_bytes(node(1, "a") + attribute(LATER)),
    "list": trace_bytes(node(1, "a") + listed(LATER)),
    "all": record(block(1, b"0.0.4") + LATER)
    + record(
        node(1, "a") + block(8, LATER) + block(9, LATER) + attribute(LATER) + listed(LATER) + LATER
    )
    + record(node(2, "b") + attribute() + LATER),
}


@pytest.mark.parametrize("place", PLACES)
def test_fields_of_a_later_schema_survive_in_their_message(place: str) -> None:
    data = PLACES[place]
    assert Trace.from_bytes(data).to_bytes() == data
    assert Trace.from_bytes(Trace.from_bytes(data).to_bytes()).to_bytes() == data


def test_fields_between_those_that_are_known_go_behind_them_and_stay_in_order() -> None:
    first, second = number(77, 1), number(76, 2)
    mixed = trace_bytes(first + node(1, "a") + second)
    assert Trace.from_bytes(mixed).to_bytes() == trace_bytes(node(1, "a") + first + second)


def test_what_changes_a_trace_in_python_keeps_what_it_does_not_know() -> None:
    trace = Trace.from_bytes(PLACES["all"])
    nodes = list(trace)
    assert [one.foreign for one in nodes] == [LATER, LATER]
    assert trace.metadata == Metadata("0.0.4", (), LATER)
    nodes[0].name = "other"
    changed = Trace(nodes, trace.metadata)
    assert changed[0].foreign == LATER
    assert changed.metadata.foreign == LATER
    assert changed.to_bytes() != trace.to_bytes()
    assert Node(1, "a", foreign=LATER) != Node(1, "a")


@pytest.mark.parametrize("wrong", [b"\x00", number(2, 1), b"\xff", block(77, b"x")[:-1]])
def test_only_whole_fields_that_are_unknown_are_foreign(wrong: bytes) -> None:
    with pytest.raises(TraceError, match="foreign: expected whole fields"):
        Trace([Node(1, "a", foreign=wrong)])
    with pytest.raises(TraceError, match="metadata: foreign: expected whole fields"):
        Trace([], Metadata(foreign=wrong))


def test_copies_of_a_block_keep_its_fields() -> None:
    stamper = TemplateBuilder()
    stamper.stamp(Trace([Node(0, "a", foreign=LATER)]))
    stamper.stamp(Trace([Node(0, "b", foreign=LATER)]))
    assert [one.foreign for one in Trace.from_bytes(stamper.to_bytes())] == [LATER, LATER]


def test_a_run_does_not_keep_what_it_does_not_need() -> None:
    graph = _core.decode_graph(PLACES["all"], False, False)
    assert len(graph.id) == 2


def test_obfuscation_drops_what_nobody_can_check(tmp_path: Path) -> None:
    (tmp_path / "t.0.et").write_bytes(trace_bytes(node(1, "secret") + block(78, b"password")))
    out = tmp_path / "h.0.et"
    line = ["chakra", "obfuscate", str(tmp_path / "t.0.et"), "--level", "1", "--key", "k"]
    assert main([*line, "-o", str(out)]) == 0
    assert b"password" not in out.read_bytes()
    assert [one.foreign for one in read(out)] == [b""]


@pytest.mark.parametrize(
    ("version", "known", "newer"),
    [
        ("0.0.5", "0.0.4", True),
        ("0.1.0", "0.0.4", True),
        ("0.0.10", "0.0.4", True),
        ("0.0.4", "0.0.4", False),
        ("0.0.3", "0.0.4", False),
        ("", "0.0.4", False),
        ("v1", "0.0.4", False),
        ("1", "0.0.4", False),
        ("9" * 5000, "0.0.4", False),
        ("1.2.0", "1.1.1", True),
        ("1.0.9", "1.1.1", False),
    ],
)
def test_versions_are_compared_part_by_part(version: str, known: str, newer: bool) -> None:
    assert is_newer(version, known) == newer


@pytest.mark.parametrize("more", [0, 200])
def test_the_version_of_a_file_is_what_its_metadata_state(more: int) -> None:
    about = Metadata("0.0.7", ())
    padded = Metadata("0.0.7", (), number(77, 1) * (more // 3))
    for metadata in (about, padded):
        assert stated_version(Trace([Node(1)], metadata).to_bytes()) == "0.0.7"
    assert stated_version(Trace([Node(1)]).to_bytes()) == ""
    assert stated_version(b"") == ""


SCENARIO = """
workload: {traces: "t.{rank}.et"}
cluster:
  topology: [{kind: ring, size: 1, bandwidth: 50 GB/s, latency: 500 ns}]
  device: {memory_bandwidth: 1 TB/s, compute: recorded}
"""
NEWER = (
    "t.0.et: states version 1.0.9 of the Chakra schema, newer than 1.0.0, the last one known; it "
    "is read as that"
)


@pytest.mark.parametrize("line", ["chakra stats t.0.et", "chakra validate t.0.et", "run s.yaml"])
def test_a_command_warns_once_of_a_newer_trace_and_reads_it(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Trace([Node(1, "a", duration_micros=3)], Metadata("1.0.9")).write("t.0.et")
    Path("s.yaml").write_text(SCENARIO)
    assert main(line.split()) == 0
    said = capsys.readouterr()
    assert said.err.count(NEWER) == 1
    Trace([Node(1, "a", duration_micros=3)], Metadata("0.0.4")).write("t.0.et")
    assert main(line.split()) == 0
    assert NEWER not in capsys.readouterr().err


def test_a_program_hears_of_a_newer_file_as_a_warning() -> None:
    data = Trace([Node(1, "a")], Metadata("1.0.9")).to_bytes()
    with pytest.warns(UserWarning, match=r"trace: states version 1\.0\.9"):
        Trace.from_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Trace.from_bytes(Trace([Node(1, "a")]).to_bytes())


def test_a_newer_host_trace_is_read_as_the_last_one_known(tmp_path: Path) -> None:
    from tests.cli.example_files import _host_trace
    from yantra.tracing.pytorch import host

    tree = _host_trace()
    last = host.parse(json.dumps(tree).encode(), "h.json")
    newer = json.dumps(tree | {"schema": "1.9.0-chakra.0.0.9"}).encode()
    with pytest.warns(
        UserWarning, match=r'h\.json: states schema "1\.9\.0-chakra\.0\.0\.9", newer'
    ):
        found = host.parse(newer, "h.json")
    assert list(found.nodes) == list(last.nodes)
    with pytest.raises(TraceError, match="expected a schema from"):
        host.parse(json.dumps(tree | {"schema": "nonsense"}).encode(), "h.json")
