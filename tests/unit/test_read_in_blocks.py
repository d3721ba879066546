"""Traces read in blocks are those that are read whole, and what is wrong is told the same."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.oracles.gpu_program import write_pair
from yantra.base.errors import TraceError
from yantra.tracing.pytorch import host, kineto
from yantra.tracing.pytorch.json_list import Form, read_list


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pair")
    write_pair(folder, operators=3000)
    assert (folder / "host.json").stat().st_size > 1 << 20  # more than a block
    return folder


def _seen(trace: kineto.KinetoTrace) -> list[Any]:
    events = [
        [getattr(event, name) for name in ("name", "cat", "pid", "tid", "start", "end", "index")]
        + [getattr(event.detail, name) for name in ("correlation", "external_id", "stream")]
        + [event.detail.sync_kind, event.detail.rf_id, event.detail.comm()]
        for kind in trace.lists()
        for event in kind
    ]
    return [events, trace.balance, trace.groups, trace.rank, trace.base_ns, trace.problems]


def test_blocks_are_the_whole(pair: Path) -> None:
    for name in ("host.json", "device.json"):
        packed = pair / f"{name}.gz"
        packed.write_bytes(gzip.compress((pair / name).read_bytes(), 1))
        for path in (pair / name, packed):
            data = (pair / name).read_bytes()
            if name == "host.json":
                assert host.read(str(path)) == host.parse(data, str(path))
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
