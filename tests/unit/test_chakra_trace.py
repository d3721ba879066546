"""Traces as Python objects, and building them operation by operation."""

from __future__ import annotations

import subprocess
import sys

import pytest

from yantra import chakra
from yantra.base.errors import ConfigError, TraceError
from yantra.chakra import (
    Attribute,
    CollectiveType,
    Kind,
    Metadata,
    Node,
    NodeType,
    Trace,
    TraceBuilder,
)


def test_nodes_are_found_by_position_and_by_id() -> None:
    trace = Trace([Node(30, "c"), Node(10, "a")])
    assert len(trace) == 2
    assert trace[0].name == "c"
    assert trace[-1].name == "a"
    assert trace.node(10).name == "a"
    assert [node.id for node in trace] == [30, 10]


def test_an_id_or_position_outside_the_trace_is_an_error() -> None:
    trace = Trace([Node(1)])
    with pytest.raises(TraceError, match=r"^node 2: the trace has no node of this id$"):
        trace.node(2)
    with pytest.raises(IndexError):
        trace[1]


def test_equal_traces_are_equal_and_hash_alike() -> None:
    one, two = Trace([Node(1, "a")]), Trace([Node(1, "a")])
    assert one == two
    assert hash(one) == hash(two)
    assert one != Trace([Node(1, "b")])
    assert one != "a"


def test_changing_a_node_taken_from_a_trace_leaves_the_trace() -> None:
    trace = Trace([Node(1, "a")])
    trace[0].name = "b"
    assert trace[0].name == "a"


def test_metadata_is_kept() -> None:
    metadata = Metadata("1.0.0", (Attribute("pid", 7, Kind.UINT64),))
    assert chakra.read(Trace([], metadata).to_bytes()).metadata == metadata


def test_a_trace_says_what_is_in_it() -> None:
    trace = Trace([Node(1), Node(2), Node(3, type=NodeType.COMM_COLL), Node(4, type=42)])
    assert repr(trace) == "<Trace of 4 nodes: 2 COMP, 1 COMM_COLL, 1 type 42>"
    assert repr(Trace()) == "<Trace of 0 nodes>"


def test_built_operations_carry_what_the_simulator_needs() -> None:
    step = TraceBuilder(rank=3)
    forward = step.compute("forward", num_ops=10, tensor_size=4)
    reduce = step.collective(
        CollectiveType.ALL_REDUCE, 64, group="1", involved_dim=[True, False], after=forward
    )
    step.send(4, 8, tag=2, after=[forward, reduce])
    step.recv(2, 8, tag=1)
    step.memory_load(16)
    step.memory_store(16, after=0)
    trace = step.build()
    assert chakra.validate(trace) == []
    assert [node.type.name for node in trace] == [  # type: ignore[union-attr]
        *("COMP", "COMM_COLL", "COMM_SEND", "COMM_RECV", "MEM_LOAD", "MEM_STORE")
    ]
    assert [node.data_deps for node in trace] == [[], [0], [0, 1], [], [], [0]]
    assert trace[1].get("involved_dim") == (True, False)
    assert trace[2].get("comm_src") == 3
    assert trace[3].get("comm_dst") == 3
    assert trace[3].get("comm_src") == 2


def test_what_is_not_given_is_not_written() -> None:
    step = TraceBuilder()
    step.compute(duration_micros=5)
    step.send(1, 8)
    assert [item.name for item in step.nodes[0].attributes] == ["is_cpu_op"]
    assert "comm_src" not in step.nodes[1]


def test_control_dependencies_are_kept_apart_from_data() -> None:
    step = TraceBuilder(first_id=10)
    first, second = step.compute("first"), step.compute("second")
    second.depends_on(first, control=True)
    assert (second.data_deps, second.ctrl_deps) == ([], [10])


def test_an_id_cannot_be_given_twice() -> None:
    step = TraceBuilder()
    step.add(Node(5, "a"))
    assert step.compute().id == 6
    with pytest.raises(TraceError) as caught:
        step.add(Node(5, "b"))
    assert str(caught.value) == "node 5 'b': the id is taken by another node of this trace"


def test_a_trace_too_short_to_be_told_from_text_is_still_refused() -> None:
    with pytest.raises(TraceError, match="this is a text file"):
        chakra.read(b"step\n")


def test_importing_traces_loads_no_heavy_package() -> None:
    heavy = "numpy yaml click msgspec rich gzip zlib dataclasses difflib"
    code = f"import sys, yantra.chakra; print([m for m in '{heavy}'.split() if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_collective_is_given_by_its_name_too() -> None:
    trace = chakra.TraceBuilder()
    assert trace.collective("all_gather", 8)["comm_type"] == 2
    with pytest.raises(ConfigError, match="got \"allreduce\"; did you mean 'all_reduce'"):
        trace.collective("allreduce", 8)
