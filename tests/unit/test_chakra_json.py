"""JSON text of traces: the forms that are read, and the place and cause of every mistake."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from yantra import chakra
from yantra.base.errors import TraceError
from yantra.chakra import Attribute, IOInfo, Kind, Metadata, Node, NodeType, Trace
from yantra.chakra.graphs import read_graph

JSONIZER = """{
  "version": "1.0.0"
}{
  "name": "a",
  "type": "COMP_NODE",
  "durationMicros": "5",
  "inputs": {},
  "attr": [
    {
      "name": "x",
      "docString": "d",
      "doubleList": {
        "values": [
          1e+22,
          "NaN"
        ]
      }
    }
  ]
}"""

WORKLOAD = """{"workload_name": "w", "ngpus": 2, "workload_graph": [
  {"Id": 4, "Name": "a", "NodeType": 4, "is_cpu_op": true, "runtime": 3, "data_deps": [],
   "ctrlDeps": [7], "tensor_size": 8},
  {"Id": 7, "NodeType": 7, "is_cpu_op": false, "data_deps": [4], "comm_type": 0,
   "comm_priority": 1, "comm_size": 64, "note": "n"},
  {"Id": 9, "NodeType": 5, "comm_src": 0, "comm_dst": 1, "comm_size": 64, "comm_tag": 7}
]}"""


def test_the_jsonizers_text_is_a_trace() -> None:
    trace = chakra.read(JSONIZER.encode())
    assert trace.metadata.version == "1.0.0"
    (node,) = trace
    assert (node.id, node.name, node.type, node.duration_micros) == (0, "a", NodeType.COMP, 5)
    assert (node.inputs, node.outputs) == (IOInfo(), None)
    assert repr(node["x"]) == "(1e+22, nan)"
    assert chakra.to_json(trace) == JSONIZER


def test_a_workload_of_the_v1_feeder_is_a_trace() -> None:
    assert chakra.read(WORKLOAD.encode()) == Trace(
        [
            Node(4, "a", NodeType.COMP, 3, [], [7], {"is_cpu_op": True, "tensor_size": 8}),
            Node(
                7,
                "",
                NodeType.COMM_COLL,
                0,
                [4],
                attributes=[
                    Attribute("is_cpu_op", False, Kind.BOOL),
                    Attribute("comm_type", 0, Kind.INT64),
                    Attribute("comm_priority", 1, Kind.INT32),
                    Attribute("comm_size", 64, Kind.INT64),
                    Attribute("note", "n", Kind.STRING),
                ],
            ),
            Node(
                9,
                "",
                NodeType.COMM_SEND,
                attributes={"comm_src": 0, "comm_dst": 1, "comm_size": 64, "comm_tag": 7},
            ),
        ],
        Metadata("", (Attribute("workload_name", "w"), Attribute("ngpus", 2))),
    )


def test_a_text_without_metadata_begins_with_a_node() -> None:
    trace = chakra.read(b'{"id": 3} {"id": "4", "type": 9}')
    assert [(node.id, node.type) for node in trace] == [(3, NodeType.INVALID), (4, 9)]


def test_a_file_is_told_by_its_content(tmp_path: Path) -> None:
    trace = chakra.read(JSONIZER.encode())
    named = tmp_path / "trace.et"
    named.write_bytes(gzip.compress(JSONIZER.encode()))
    assert chakra.read(named) == trace
    trace.write(tmp_path / "trace.json")
    assert chakra.read(tmp_path / "trace.json") == trace
    chakra.write_json(trace, tmp_path / "text.gz")
    assert gzip.decompress((tmp_path / "text.gz").read_bytes()).decode() == JSONIZER


def test_an_et_file_that_begins_like_json_is_none() -> None:
    trace = Trace([Node(1, "n" * 4)], Metadata("v" * 34, (Attribute("a" * 70, "b" * 10),)))
    data = trace.to_bytes()
    assert data[:3] == b'{\n"'
    assert chakra.read(data) == trace


def test_json_can_be_checked_and_run() -> None:
    (finding,) = chakra.validate(b'{"id": 1, "type": 4, "dataDeps": [2]}')
    assert finding.code == "dangling-dependency"
    graph = read_graph(WORKLOAD.encode(), "w", merge_duplicates=False)
    assert len(graph) == 3


NODE = '{}{"id": 1, '
A_WORKLOAD = '{"workload_graph": [{"Id": 1, "NodeType": 4, '
REPEATED = "not JSON: in the value that begins here, the member"
# The sign @ marks where the mistake begins.
MISTAKES = [
    ('{@"a', "not JSON: unterminated string starting at"),
    ('{\n"id": 1,@}', "not JSON: expecting property name enclosed in double quotes"),
    ('{}\n @{"id": NaN}', "not JSON: in the value that begins here, NaN is not a JSON value"),
    ('@{"id": 1, "id": 2}', f'{REPEATED} "id" is given twice'),
    ('{"a":' * 200 + "@" + '{"a":' * 100_000, "not JSON: nested too deeply"),
    ('@{"id": ' + "1" * 5000 + "}", "not JSON: in the value that begins here, a number has 5000 "),
    ("{}@[]", "expected a node, got []"),
    (
        '@{"schema": "1.1.1-chakra.0.0.4", "nodes": []}',
        "this is a PyTorch execution trace; convert it first: yantra chakra convert pytorch",
    ),
    ('@{"traceEvents": []}', "this is a device trace of PyTorch's profiler; convert it first: ya"),
    (NODE + '"dataDep": @[]}', "dataDep: a node has no such member; did you mean 'dataDeps'?"),
    (NODE + '\n"type": @"COMP"}', "type: no node type is named COMP; did you mean 'COMP_NODE'?"),
    (NODE + '"type": @2147483648}', "type: expected a whole number from -2147483648 to 2147483647"),
    (NODE + '"dataDeps": [1,\n@-1]}', "dataDeps[1]: expected a whole number from 0 to 1844674407"),
    (NODE + '"dataDeps": @1}', "dataDeps: expected a list of ids, got 1"),
    (NODE + '"ctrlDeps": [], "ctrl_deps": @[]}', "ctrl_deps: given before as ctrlDeps"),
    (NODE + '"name": @1}', "name: expected text, got 1"),
    (NODE + '"name": @"\\ud800"}', "name: half a character cannot be kept: "),
    (NODE + '"inputs": @1}', "inputs: expected an object of values, shapes and types, got 1"),
    (NODE + '"inputs": {"v": @""}}', "inputs.v: expected values, shapes and types"),
    (NODE + '"attr": @{}}', "attr: expected a list, got {}"),
    (NODE + '"attr": [@3]}', "attr[0]: expected an attribute, got 3"),
    (NODE + '"attr": [{"name": "x",\n "boolVal": @1}]}', "attr[0].boolVal: expected true or false"),
    (
        NODE + '"attr": [{}, {"int32Val": 1, "boolVal": @true}]}',
        "attr[1].boolVal: an attribute has one value; int32Val is given before",
    ),
    (
        NODE + '"attr": [{"int32Value": @1}]}',
        "attr[0].int32Value: an attribute has no such member; did you mean 'int32Val'?",
    ),
    (
        NODE + '"attr": [{"int32Val": @"2147483648"}]}',
        "attr[0].int32Val: expected a whole number from -2147483648 to 2147483647",
    ),
    (
        NODE + '"attr": [{"int32List": @[1]}]}',
        'attr[0].int32List: expected an object {"values": [...]}, got [1]',
    ),
    (NODE + '"attr": [{"boolList": {"values": @{}}}]}', "attr[0].boolList.values: expected a list"),
    (NODE + '"attr": [{"floatVal": @1e39}]}', "attr[0].floatVal: expected a float, got 1e+39"),
    (NODE + '"attr": [{"doubleVal": @"inf"}]}', 'attr[0].doubleVal: expected a double, got "inf"'),
    (NODE + '"attr": [{"bytesVal": @"*"}]}', 'attr[0].bytesVal: expected bytes in base64, got "*"'),
    ('{"workload_graph": @1}', "workload_graph: expected a list of nodes, got 1"),
    ('{"workload_graph": [@1]}', "workload_graph[0]: expected a node, got 1"),
    ('{"workload_graph": [@{"id": 1}]}', "workload_graph[0]: a node must have Id; did you mean"),
    ('{"workload_graph": [@{"Id": 1}]}', "workload_graph[0]: a node must have NodeType"),
    (A_WORKLOAD + '"x": @[]}]}', "workload_graph[0].x: expected a plain value, got []"),
    (A_WORKLOAD + '"is_cpu_op": @1}]}', "workload_graph[0].is_cpu_op: expected a bool, got 1"),
    (A_WORKLOAD + '\n"dataDeps": [@"x"]}]}', "workload_graph[0].dataDeps[0]: expected a whole n"),
    (A_WORKLOAD + '"dataDeps": [], "data_deps": @[]}]}', "workload_graph[0].data_deps: the depe"),
    ('{"workload_graph": []} @{}', "the workload ended before; expected the end of the file"),
]


@pytest.mark.parametrize(("text", "problem"), MISTAKES, ids=[case[0][:60] for case in MISTAKES])
def test_a_mistake_is_refused_with_its_place(text: str, problem: str) -> None:
    before, _, after = text.partition("@")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    with pytest.raises(TraceError) as caught:
        chakra.read((before + after).encode())
    assert str(caught.value).startswith(f"trace, line {line}, column {column}: {problem}")


def test_text_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(TraceError, match=r"trace: not UTF-8 text at byte 10"):
        chakra.read(b'{"name": "\xff"}')
