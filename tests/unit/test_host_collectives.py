"""A host trace without times keeps its collectives: kinds, bytes, members and order."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.small_traces import host_trace, node
from yantra.chakra.schema import CollectiveType, NodeType
from yantra.chakra.trace import Trace
from yantra.tracing.pytorch.convert import convert_linked
from yantra.tracing.pytorch.sources import load

KINDS = {
    "allreduce": CollectiveType.ALL_REDUCE,
    "allgather": CollectiveType.ALL_GATHER,
    "all_to_all": CollectiveType.ALL_TO_ALL,
}


def record(id: int, kind: str, elements: int, group: str = "0", parent: int = 2) -> dict[str, Any]:
    """A call over ranks 0 and 1, of float elements."""
    made = node(id, "record_param_comms", parent)
    values = [[5, 0, 0, elements, 4, "cpu"], [id, False], [group, ""], 0, kind, [], [], 0, 1, 2]
    types = ["Tensor(float)", "Tuple[Int,Bool]", "Tuple[String,String]", "Int", "String"]
    types += ["GenericList[]", "GenericList[]", "Int", "Int", "Int"]
    return {**made, "inputs": {"values": values, "shapes": [[elements]], "types": types}}


def converted(folder: Path, *nodes: dict[str, Any]) -> Trace:
    path = folder / "host.json"
    path.write_text(json.dumps(host_trace(*nodes)))
    return convert_linked(load(str(path)))


def calls(trace: Trace) -> list[tuple[int, int]]:
    found = []
    for one in trace:
        if one.type == NodeType.COMM_COLL:
            said = {item.name: item.value for item in one.attributes}
            found.append((said["comm_type"], said["comm_size"]))
    return found  # type: ignore[return-value]


@given(st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.integers(1, 99)), max_size=6))
def test_every_call_is_a_collective_in_the_order_of_calls(
    tmp_path_factory: Any, made: list[tuple[str, int]]
) -> None:
    nodes = [record(3 + place, kind, size) for place, (kind, size) in enumerate(made)]
    trace = converted(tmp_path_factory.mktemp("host"), *nodes)
    assert calls(trace) == [(KINDS[kind], 4 * size) for kind, size in made]
    ids = [one.id for one in trace if one.type == NodeType.COMM_COLL]
    for before, after in itertools.pairwise(ids):
        assert before in trace.node(after).data_deps


def test_a_collective_is_behind_its_operator(tmp_path: Path) -> None:
    trace = converted(tmp_path, node(3, "aten::mm", 2), record(4, "allreduce", 8))
    (one,) = (one for one in trace if one.type == NodeType.COMM_COLL)
    assert [trace.node(id).name for id in one.data_deps] == ["record_param_comms"]


def test_records_of_one_call_inside_each_other_are_one(tmp_path: Path) -> None:
    outer = record(3, "allreduce", 8)
    trace = converted(tmp_path, outer, record(4, "allreduce", 8, parent=3))
    assert calls(trace) == [(CollectiveType.ALL_REDUCE, 32)]


def test_waits_and_operators_that_move_nothing_are_none(tmp_path: Path) -> None:
    trace = converted(tmp_path, record(3, "wait", 1), node(4, "aten::add", 2))
    assert calls(trace) == []
