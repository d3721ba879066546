"""Traces read in blocks are those that are read whole, and what is wrong is told the same."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

from tests.oracles.gpu_program import write_pair
from yantra.base.errors import TraceError
from yantra.tracing.pytorch import host, kineto, linked_file
from yantra.tracing.pytorch.event_columns import Events
from yantra.tracing.pytorch.host_columns import Nodes, layout_of
from yantra.tracing.pytorch.json_list import Form, read_list
from yantra.tracing.pytorch.link import link, link_alone, link_files
from yantra.tracing.pytorch.linked_columns import as_objects


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pair")
    write_pair(folder, operators=3000)
    assert (folder / "host.json").stat().st_size > 1 << 20  # more than a block
    return folder


def _seen(trace: kineto.KinetoTrace) -> list[Any]:
    events = [
        [getattr(event, name) for name in ("name", "cat", "pid", "tid", "start", "end", "index")]
        + [getattr(event.detail, name) for name in ("correlation", "external_id", "bytes")]
        + [
            kind is trace.device and event.detail.stream,
            event.detail.sync_kind,
            event.detail.rf_id,
            event.detail.comm(),
        ]
        for kind in trace.lists()
        for event in kind
    ]
    return [events, trace.balance, trace.groups, trace.rank, trace.base_ns, trace.problems]


def _told(trace: host.HostTrace) -> list[Any]:
    head = structs.replace(trace, nodes=Nodes.of([]))
    return [structs.astuple(head)[:5], trace.groups, trace.missing_parents, list(trace.nodes)]


def test_blocks_are_the_whole(pair: Path) -> None:
    for name in ("host.json", "device.json"):
        packed = pair / f"{name}.gz"
        packed.write_bytes(gzip.compress((pair / name).read_bytes(), 1))
        for path in (pair / name, packed):
            data = (pair / name).read_bytes()
            if name == "host.json":
                assert _told(host.read(str(path))) == _told(host.parse(data, str(path)))
            else:
                assert _seen(kineto.read(str(path))) == _seen(kineto.parse(data, str(path)))


@pytest.mark.parametrize("cut", [0.3, 0.999])
def test_cut_off_files_are_refused_alike(pair: Path, tmp_path: Path, cut: float) -> None:
    for read, parse, name in (
        (host.read, host.parse, "host.json"),
        (kineto.read, kineto.parse, "device.json"),
    ):
        data = (pair / name).read_bytes()
        path = tmp_path / name
        path.write_bytes(data[: int(len(data) * cut)])
        with pytest.raises(TraceError) as in_blocks:
            read(str(path))
        with pytest.raises(TraceError) as whole:
            parse(path.read_bytes(), str(path))
        assert str(in_blocks.value) == str(whole.value)


def test_an_impossible_event_in_a_late_block(pair: Path, tmp_path: Path) -> None:
    trace = json.loads((pair / "device.json").read_text())
    trace["traceEvents"][-1]["ts"] = ["no", "time"]
    path = tmp_path / "device.json"
    path.write_text(json.dumps(trace))
    read, parsed = kineto.read(str(path)), kineto.parse(path.read_bytes(), str(path))
    assert read.problems == parsed.problems != []


def test_brackets_in_texts_are_no_cuts(tmp_path: Path) -> None:
    nodes = [{"id": at, "name": '}, {"id": [}'} for at in range(60_000)]
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps({"a": 1, "nodes": nodes, "b": 2}))
    taken: list[Any] = []
    with path.open("rb") as file:
        decoder = msgspec.json.Decoder(list[Any])
        header = read_list(file, Form("nodes", b'"id"'), decoder, taken.extend)
    assert (header, taken) == ({"a": 1, "b": 2}, nodes)


NAME = 'a "q" \\ ü\u0001'
ODD_EVENTS: list[dict[str, Any]] = [
    {"ph": "X", "cat": "cpu_op", "name": NAME, "pid": 1, "tid": "main", "ts": 5.0005, "dur": None,
     "args": {"External id": "12", "Collective name": "x", "Seq": None, "Process Group Name": 3}},
    {"ph": "X", "cat": "user_annotation", "name": "", "pid": 1, "tid": "7", "ts": -3, "args": None},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": "s", "ts": 1e3, "dur": 2.0005,
     "args": {"stream": "0x1", "correlation": 4, "bytes": 0, "device": 1}},
    {"ph": "X", "cat": "x_runtime", "name": "c", "pid": 1, "tid": 1, "ts": 7, "dur": 0.0015,
     "args": {"size": "256", "stream": "0x0", "device": "0"}, "more": [{"a": [1.5, "}"]}]},
    {"ph": "X", "cat": "cuda_sync", "name": "s", "pid": 0, "tid": -1, "ts": 8, "dur": 1,
     "args": {"cuda_sync_kind": "Event Sync", "wait_on_stream": 7, "correlation": "4"}},
    {"ph": "X", "cat": "python_function", "name": "f", "tid": "main", "ts": "no"},
    {"ph": "s", "id": 3, "cat": "fwdbwd", "name": "f", "pid": 1, "tid": 9, "ts": 9},
    {"ph": "s", "id": 2, "cat": "fwdbwd", "name": "f", "pid": 1, "tid": 9, "ts": 1},
    {"ph": "t", "cat": "fwdbwd"}, {"ph": "f", "cat": "ac2g"}, {"ph": "M"}, {"ph": "q"}, {"ph": "i"},
]  # fmt: skip


@pytest.mark.parametrize("ago", [0, 1712195495519689, 4398046511104])
def test_the_core_reads_odd_events_as_objects_are_read(tmp_path: Path, ago: int) -> None:
    path = tmp_path / "device.json"
    texts = [json.dumps(event) for event in ODD_EVENTS]
    texts += [f'{{"ph": "X", "cat": "cpu_op", "name": "z", "pid": 1, "tid": 1, "ts": {ago}.{part}}}'
              for part in ("0625", "0635", "06350", "0001", "99951")]  # fmt: skip
    text = '{"traceEvents": [' + " ,\n".join(texts) + ' ], "baseTimeNanoseconds": 3}'
    path.write_text(text.replace('"ts": "no"', '"ts": null'))
    read = kineto.read(str(path), shapes=True)
    assert isinstance(read.cpu, Events)
    assert _seen(read) == _seen(kineto.parse(path.read_bytes(), str(path), shapes=True))


@pytest.mark.parametrize(
    "said",
    ['"ph": "B"', '"cat": "dma"', '"pid": "one"', '"ts": true', '"ts": 1e999', '"ts": [1]',
     '"args": {"correlation": 1.5}', '"args": {"device": "x"}', '"dur": -1'],
)  # fmt: skip
def test_what_needs_another_look_is_read_by_objects(tmp_path: Path, said: str) -> None:
    path = tmp_path / "device.json"
    good = json.dumps(ODD_EVENTS[3])
    path.write_text('{"traceEvents": [' + good + "," + good[:-1] + ", " + said + "}]}")
    read = kineto.read(str(path))
    assert isinstance(read.cpu, list)
    assert _seen(read) == _seen(kineto.parse(path.read_bytes(), str(path)))


ATTRIBUTES: tuple[list[tuple[str, Any]], ...] = (
    [("rf_id", 3), ("scope", 7), ("x", 1.50), ("y", "\u00e9\"{"), ("z", [1, {"a": None}])],
    [("rf_id", -0), ("big", 1 << 70), ("tid", 5), ("x", -2), ("rf_id", 9), ("", True)],
    [],
)  # fmt: skip


def test_the_core_reads_odd_nodes_as_objects_are_read(tmp_path: Path) -> None:
    path = tmp_path / "host.json"
    nodes = [
        {"id": 9 - at, "name": NAME, "ctrl_deps": parent, "inputs": {"values": [at % 2]}, "more": 1,
         "attrs": [{"type": "t", "name": name, "value": value} for name, value in attrs]}
        for at, (parent, attrs) in enumerate(zip((None, [4, 5], []), ATTRIBUTES, strict=True))
    ]  # fmt: skip
    head = {"schema": "1.1.1", "pid": 3, "nodes": nodes, "finish_ts": 6}
    path.write_text(json.dumps(head, indent=3).replace("1.5", "1.50"))
    read = host._in_blocks(str(path))
    assert read is not None
    assert _told(read) == _told(host.parse(path.read_bytes(), str(path)))
    assert [layout_of(node.attrs) for node in read.nodes] == [
        (read.nodes.layouts[at], read.nodes.numbers[first : first + holes].tolist())
        for at, first, holes in zip(
            read.nodes.layout, read.nodes.first, read.nodes.holes[read.nodes.layout], strict=True
        )
    ]


def test_files_link_to_what_their_objects_do(pair: Path) -> None:
    data = (pair / "device.json").read_bytes()
    device, shaped = kineto.parse(data, "d"), kineto.parse(data, "d", shapes=True)
    made = host.parse((pair / "host.json").read_bytes(), "h")
    files = str(pair / "host.json"), str(pair / "device.json")
    assert linked_file.to_json(link_files(*files)) == linked_file.to_json(link(made, device))
    alone = linked_file.to_json(link_files(None, files[1]))
    assert alone == linked_file.to_json(as_objects(link_alone(shaped)))


def test_numbers_of_more_than_64_bits_are_refused(tmp_path: Path) -> None:
    device, traced = tmp_path / "device.json", tmp_path / "host.json"
    event = ODD_EVENTS[3] | {"args": {"correlation": 1 << 64}}
    device.write_text(json.dumps({"traceEvents": [event]}))
    with pytest.raises(TraceError, match=r"device\.json: an event has a number of more than 64"):
        link_files(None, str(device))
    head = {"schema": "1.1.1", "nodes": [{"id": 1 << 64, "name": "", "attrs": []}], "finish_ts": 6}
    traced.write_text(json.dumps(head))
    with pytest.raises(TraceError, match=r"host\.json: a node has a number of more than 64 bits"):
        host.read(str(traced))
