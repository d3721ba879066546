"""Reading host traces: every layout, and the errors of broken ones."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.small_traces import host_trace, node
from yantra.base.errors import TraceError
from yantra.tracing.pytorch import host
from yantra.tracing.pytorch.linked import Attr


def parse(trace: Any) -> host.HostTrace:
    return host.parse(json.dumps(trace).encode(), "host.json")


FLAT = {
    "schema": "1.0.1",
    "pid": 3,
    "time": "then",
    "start_ts": 5,
    "nodes": [
        {
            "name": "aten::mm", "id": 12, "rf_id": 4, "parent": 1, "fw_parent": 0, "seq_id": 9,
            "scope": 1, "tid": 1, "fw_tid": 2, "op_schema": "aten::mm(...)",
            "inputs": [[5, 6, 0, 4, 4, "cuda:0"]], "input_shapes": [[2, 2]],
            "input_types": ["Tensor(float)"],
            "outputs": [1.5], "output_shapes": [[]], "output_types": ["Double"],
        },
        {"name": "[pytorch|profiler|execution_graph|process]", "id": 1, "parent": 1},
    ],
    "finish_ts": 6,
}  # fmt: skip


def test_the_flat_layout_reads_like_the_nested_one() -> None:
    trace = parse(FLAT)
    root, mm = trace.nodes
    assert root.is_root and not mm.is_root
    assert (mm.id, mm.parent, mm.rf_id, mm.seq_id, mm.scope) == (12, 1, 4, 9, 1)
    assert (mm.tid, mm.fw_tid) == (1, 2)
    assert json.loads(bytes(mm.inputs)) == {
        "values": [[5, 6, 0, 4, 4, "cuda:0"]],
        "shapes": [[2, 2]],
        "types": ["Tensor(float)"],
    }
    assert json.loads(bytes(mm.outputs))["values"] == [1.5]
    assert Attr("op_schema", "string", "aten::mm(...)") in mm.attrs
    assert Attr("fw_tid", "uint64", 2) in mm.attrs


@pytest.mark.parametrize("version", ["1.0.2", "1.0.3", "1.0.4", "1.1.0", "1.1.1"])
@pytest.mark.parametrize("chakra", ["0.0.4", "1.0.0"])
def test_nested_layouts_of_every_version(version: str, chakra: str) -> None:
    trace = parse(
        host_trace(node(5, "aten::add", 2, seq_id=3), schema=f"{version}-chakra.{chakra}")
    )
    assert [n.id for n in trace.nodes] == [1, 2, 5]
    assert trace.nodes[2].seq_id == 3
    assert (trace.start_ts, trace.finish_ts, trace.pid) == (1, 2, 100)


def test_nodes_in_any_order_and_parents_that_are_missing() -> None:
    trace = parse(host_trace(node(9, "a", 77), node(5, "b", 9), node(3, "c", 2)))
    assert [n.id for n in trace.nodes] == [1, 2, 3, 5, 9]
    assert trace.missing_parents == 1


def test_gzip_is_told_by_content(tmp_path: Path) -> None:
    path = tmp_path / "host.json"
    path.write_bytes(gzip.compress(json.dumps(FLAT).encode()))
    assert host.read(str(path)).pid == 3


def test_numbers_that_json_forbids_are_read() -> None:
    text = json.dumps(host_trace(node(5, "aten::full", 2, values=[float("nan"), 2])))
    assert "NaN" in text
    trace = host.parse(text.encode(), "host.json")
    assert json.loads(bytes(trace.nodes[2].inputs))["values"][1] == 2


def test_process_groups_of_the_init_record() -> None:
    groups = [
        {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "ranks": [],
         "group_size": 3, "group_count": 2},
        {"pg_name": "1", "pg_desc": "tp", "backend_config": "cuda:nccl", "ranks": [2, 0],
         "group_size": 2, "group_count": 2},
    ]  # fmt: skip
    record = node(4, "## process_group:init ##", 2, values=[json.dumps(groups)])
    again = node(8, "## process_group:init ##", 2, values=[json.dumps(groups[:1])])
    found = parse(host_trace(record, again)).groups
    assert [(g.name, g.desc, g.ranks) for g in found] == [
        ("0", "default_pg", [0, 1, 2]),
        ("1", "tp", [2, 0]),
    ]


def without(trace: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in trace.items() if name != key}


WHOLE = host_trace(node(5, "aten::add", 2))
BAD = [
    (b"", "is empty"),
    (json.dumps(WHOLE).encode()[:-40], "ends in the middle"),
    (b"[1, 2]", "expected `object`"),
    (b"{nope}", "is not JSON: object keys must be strings"),
    (without(WHOLE, "schema"), "no field 'schema'"),
    ({**WHOLE, "schema": "0.9.0-chakra"}, r"expected a schema from 1.0.1 to 1.1.1, got \"0.9.0"),
    (without(WHOLE, "finish_ts"), "never stopped"),
    (without(WHOLE, "nodes"), "no field 'nodes'"),
    (host_trace(node(5, "a", 2), node(5, "b", 2)), "two nodes have the id 5"),
    (host_trace(node(5, "a", 2, rf_id="x")), "node 5, attribute rf_id: expected a whole"),  # type: ignore[arg-type]
    ({**WHOLE, "nodes": [{"id": 1, "name": "a", "ctrl_deps": 1}]}, "no field 'attrs'"),
    ({**WHOLE, "nodes": [{"id": "q", "name": "a"}]}, r"nodes\[0\].id: expected `int`"),
]


@pytest.mark.parametrize(("data", "said"), BAD, ids=lambda value: str(value)[:20])
def test_a_broken_file_is_refused_with_the_reason(data: Any, said: str) -> None:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    with pytest.raises(TraceError, match=said) as error:
        host.parse(raw, "host.json")
    assert str(error.value).startswith("host.json")
