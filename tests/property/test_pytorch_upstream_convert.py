"""Compatibility mode against a plain oracle, and readers of JSON against damaged files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import upstream_convert as oracle
from yantra.base.errors import TraceError, YantraError
from yantra.tracing.pytorch import json_list, node_file
from yantra.tracing.pytorch.convert import convert_linked
from yantra.tracing.pytorch.sources import load
from yantra.tracing.pytorch.upstream.convert import SCHEMAS, convert

Json = dict[str, Any]
PROCESS = "[pytorch|profiler|execution_trace|process]"
THREAD = "[pytorch|profiler|execution_trace|thread]"
NAMES = [
    "aten::mul",
    "record_param_comms",
    "nccl:send",
    "nccl:recv",
    "nccl:all_to_all",
    'é "},{"id": 3',
]
NAMES += ["Optimizer.step#SGD.step", "## process_group:init ##", THREAD, "c10d::send"]
KERNELS = [
    "gemm",
    "ncclDevKernel_AllReduce_Sum",
    "ncclKernel_Broadcast_RING",
    "ncclDevKernel_SendRecv",
]
_ATTRS = {"rf_id": 1, "fw_parent": 0, "seq_id": -1, "scope": 0, "tid": 1, "fw_tid": 0}


def linked(random: Random, most: int = 30) -> Json:
    nodes = [_node(random, 0, PROCESS, 0), _node(random, 1, THREAD, 0)]
    cpu = [1]
    for id in range(2, random.randint(3, most)):
        parent = random.choice([0, *cpu, *cpu])
        node = _node(random, id, random.choice(NAMES), parent)
        if random.random() < 0.4 and parent:
            node |= {
                "name": random.choice(KERNELS),
                "cat": "kernel",
                "stream": random.randint(0, 9),
            }
            if random.random() < 0.5:
                node["pg_name"] = random.choice(["", "0", "tp"])
        else:
            cpu.append(id)
            node["inter_thread_dep"] = random.choice([None, 0, random.choice(cpu[:-1])])
            if random.random() < 0.3:
                node["sync_dep"] = [random.randrange(id)]
        nodes.append(node)
    about = {"schema": random.choice(SCHEMAS), "pid": 1, "time": "t", "start_ts": 5}
    return {**about, "nodes": nodes, "finish_ts": 2**40}


def _node(random: Random, id: int, name: str, parent: int) -> Json:
    tensor = [1, 2, 0, random.randint(0, 9), random.choice([1, 4, 8]), "cuda:0"]
    inputs = {
        "values": [tensor, [tensor, tensor], 0.5, "x", None, True, {"a": -0.0}],
        "shapes": [[3], [[3], [4]], []],
        "types": ["Tensor(float)", "GenericList[Tensor(float),Tensor(int)]", "Double", "String"],
    }
    empty: Json = {"values": [], "shapes": [], "types": []}
    attrs = [
        {"name": k, "type": "uint64", "value": v + id * (k == "rf_id")} for k, v in _ATTRS.items()
    ]
    attrs.append({"name": "op_schema", "type": "string", "value": random.choice(["", "f(x) -> y"])})
    return {
        "id": id,
        "name": name,
        "ctrl_deps": parent,
        "inputs": random.choice([inputs, empty]),
        "outputs": empty,
        "attrs": attrs,
        "exclusive_dur": random.choice([0, 3, 2.999, 1e6]),
    }


def written(trace: Json, folder: Path, random: Random) -> Path:
    path = folder / "linked.json"
    path.write_text(
        json.dumps(trace, indent=random.choice([None, 0, 4]), ensure_ascii=random.random() < 0.5)
    )
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("upstream")


@given(random=st.integers(0, 2**32 - 1).map(Random))
def test_it_writes_what_upstream_would(random: Random, folder: Path) -> None:
    trace = linked(random)
    path = written(trace, folder, random)
    try:
        expected = oracle.convert(trace)
    except KeyError:  # upstream stops where a send's caller is missing
        with pytest.raises(TraceError):
            convert(path)
        return
    deps = {node.id: set(node.data_deps) for node in expected}
    while ready := [id for id, parents in deps.items() if not parents & deps.keys()]:
        for id in ready:
            del deps[id]
    if deps:  # upstream, too, refuses what waits for itself
        with pytest.raises(TraceError, match="cycle"):
            convert(path)
        return
    assert convert(path).to_bytes() == expected.to_bytes()


@given(random=st.integers(0, 2**32 - 1).map(Random), block=st.integers(1, 3000))
def test_blocks_of_any_size_give_the_same_nodes(random: Random, block: int, folder: Path) -> None:
    trace = linked(random)
    path = written(trace, folder, random)
    if random.random() < 0.3:
        path.write_bytes(gzip.compress(path.read_bytes()))
    nodes: list[Json] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_list, "_BLOCK", block)
        header = node_file.read_nodes(path, dict, nodes.extend)
    assert header | {"nodes": nodes} == trace


@given(
    random=st.integers(0, 2**32 - 1).map(Random),
    block=st.integers(1, 3000),
    damage=st.lists(
        st.tuples(st.integers(0, 2**16), st.sampled_from(b'{}[]",:0-9eNn\\x\xff\x00 ')), max_size=4
    ),
    cut=st.one_of(st.none(), st.integers(0, 2**16)),
)
def test_damaged_files_are_converted_or_refused(
    random: Random, block: int, damage: list[tuple[int, int]], cut: int | None, folder: Path
) -> None:
    path = written(linked(random, 8), folder, random)
    data = bytearray(path.read_bytes())
    for place, byte in damage:
        data[place % len(data)] = byte
    path.write_bytes(data if cut is None else data[: cut % len(data)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_list, "_BLOCK", block)
        _try(lambda: convert(path).to_bytes())
        _try(lambda: convert_linked(load(str(path))).to_bytes())


@given(
    random=st.integers(0, 2**32 - 1).map(Random),
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
        ),
        max_leaves=4,
    ),
)
def test_fields_of_any_kind_are_converted_or_refused(
    random: Random, value: Any, folder: Path
) -> None:
    trace = linked(random, 8)
    place: Any = random.choice([trace, random.choice(trace["nodes"])])
    for _ in range(random.randint(0, 3)):
        inner = place[_any_key(place, random)]
        place = inner if isinstance(inner, dict | list) and inner else place
    place[_any_key(place, random)] = value
    path = written(trace, folder, random)
    _try(lambda: convert(path).to_bytes())
    _try(lambda: convert_linked(load(str(path))).to_bytes())


def _any_key(place: Any, random: Random) -> Any:
    return random.choice(list(place)) if isinstance(place, dict) else random.randrange(len(place))


def _try(act: Any) -> None:
    try:
        assert isinstance(act(), bytes)
    except YantraError as error:
        assert str(error)
