"""The service as a server: idle and slow clients hold up nobody, and a kill leaves nothing."""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.service import calls
from tests.service.calls import Client
from yantra import chakra
from yantra.service import folders, server, session
from yantra.service.archive import ArchiveLimits
from yantra.service.messages import SERVICE, encode
from yantra.service.session import Limits, Session

BACKEND = "analytical_congestion_aware"
Serving = Callable[..., Callable[..., Client]]


def datum(data: bytes) -> bytes:
    return encode("Data", {"chunk_size": len(data), "datum": data})


def holding(client: Client, seconds: float = 30.0, pause: float | None = None) -> Any:
    """Begin an upload as slow as asked, or one that sends nothing more; return its future."""
    stop = time.monotonic() + seconds

    def chunks() -> Iterator[bytes]:
        yield datum(b"P")
        while time.monotonic() < stop:
            time.sleep(0.02 if pause is None else pause)
            if pause is not None:
                yield datum(b"K")

    ask = client._channel.stream_unary(f"/{SERVICE}/streamUploadConfig")
    return ask.future(chunks(), metadata=client._metadata)


def test_idle_uploads_hold_up_nobody_and_are_ended(
    serving: Serving, grpc: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_IDLE_S", 4.0)
    connect = serving()
    held = [holding(connect()) for _ in range(24)]
    client = connect()
    assert client.status() == "inactive"
    client.upload(calls.traces(), chunk=1000)
    client.call("SetConfig", {"config": calls.config(BACKEND, calls.analytical())})
    assert client.run(BACKEND) == "completed"
    assert not any(one.done() for one in held)
    for one in held:
        error = one.exception(timeout=20)
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        (text,) = json.loads(error.details())["errors"]
        assert "sent and took nothing for 4 s" in text


def test_an_upload_that_never_ends_is_ended(
    serving: Serving, grpc: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_LONGEST_S", 1.0)
    client = serving()()
    began = time.monotonic()
    error = holding(client, pause=0.1).exception(timeout=20)
    assert 0.9 < time.monotonic() - began < 5.0
    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert "takes longer than 1 s" in json.loads(error.details())["errors"][0]
    assert client.status() == "inactive"


class HalfSent:
    """A unary call, over a connection of its own, whose request is sent in part."""

    def __init__(self, address: str, method: str, token: str = "") -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)))
        names = {
            ":method": "POST",
            ":scheme": "http",
            ":path": f"/{SERVICE}/{method}",
            ":authority": address,
            "content-type": "application/grpc",
            "te": "trailers",
        }
        if token:
            names["authorization"] = f"Bearer {token}"
        block = b"".join(
            b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
            for name, value in names.items()
        )
        begun = b"\0" + struct.pack(">I", 1_000_000) + bytes(100)
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.send(4, 0, b"", stream=0)
        self.send(1, 4, block)
        self.send(0, 0, begun)

    def send(self, kind: int, flags: int, data: bytes, stream: int = 1) -> None:
        head = struct.pack(">I", len(data))[1:] + bytes([kind, flags]) + struct.pack(">I", stream)
        self.socket.sendall(head + data)

    def receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise ConnectionError
            data += more
        return data

    def wait(self, seconds: float) -> bool:
        self.socket.settimeout(seconds)
        try:
            while True:
                head = self.receive(9)
                self.receive(int.from_bytes(head[:3], "big"))
                kind, flags = head[3], head[4]
                if kind == 4 and not flags & 1:
                    self.send(4, 1, b"", stream=0)
                if kind == 6 and not flags & 1:
                    self.send(6, 1, bytes(8), stream=0)
                if kind == 3 or (kind == 1 and flags & 1):
                    return True
        except TimeoutError:
            return False


@contextmanager
def address_of_service(token: str | None = None) -> Iterator[str]:
    of_service = Session(Limits())
    served, port = server.serve(of_service, "127.0.0.1:0", token, 1 << 20)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        served.stop().wait()
        of_service.close()


@pytest.mark.parametrize("method", ["UploadConfig", "SetConfig", "GetStatus", "streamGetResult"])
def test_half_of_a_request_holds_up_nobody_and_is_ended(
    grpc: Any, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_IDLE_S", 3.0)
    monkeypatch.setattr(server, "_UPLOAD_S", 3.0)
    with address_of_service() as address, grpc.insecure_channel(address) as channel:
        began = time.monotonic()
        held = [HalfSent(address, method) for _ in range(8)]
        client = Client(channel)
        client.upload(calls.traces())
        client.call("SetConfig", {"config": calls.config(BACKEND, calls.analytical())})
        assert client.status() == "inactive"
        assert not held[0].wait(0.1)
        assert all(one.wait(20) for one in held)
        assert time.monotonic() - began > 2.9


def test_half_of_a_request_without_the_token_is_refused_at_once(grpc: Any) -> None:
    with address_of_service("secret") as address:
        assert HalfSent(address, "UploadConfig").wait(5)
        assert not HalfSent(address, "UploadConfig", "secret").wait(0.5)


def test_uploads_together_have_a_limit_that_is_free_again_when_they_end(
    serving: Serving, grpc: Any
) -> None:
    packed = 1 << 20
    connect = serving(Limits(ArchiveLimits(packed=packed, unpacked=16 << 20, entries=1000)))
    stop = threading.Event()

    def large() -> Iterator[bytes]:
        yield datum(bytes(packed))
        stop.wait(30)

    asks = [connect()._channel.stream_unary(f"/{SERVICE}/streamUploadConfig") for _ in range(3)]
    held = [ask.future(large()) for ask in asks]
    refused = []
    deadline = time.monotonic() + 20
    while not refused and time.monotonic() < deadline:
        refused = [one for one in held if one.done()]
        time.sleep(0.01)
    (one,) = refused
    assert one.code() is grpc.StatusCode.UNAVAILABLE and "other uploads" in one.details()
    stop.set()
    for one in held:
        one.exception(timeout=20)
    assert "8 files uploaded" in str(connect().upload(calls.traces(), chunk=1000))


def test_what_is_asked_while_a_large_upload_is_unpacked_is_answered_at_once(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = serving()
    first = connect()
    first.upload(calls.traces())
    first.call("SetConfig", {"config": calls.config(BACKEND, calls.analytical())})
    assert first.run(BACKEND) == "completed"
    unpacking, go_on = threading.Event(), threading.Event()
    unpack = session.archive.unpack

    def slow(*given: Any) -> list[str]:
        unpacking.set()
        go_on.wait(20)
        return unpack(*given)

    monkeypatch.setattr(session.archive, "unpack", slow)
    thread = threading.Thread(target=connect().upload, args=(calls.traces(),))
    thread.start()
    assert unpacking.wait(20)
    assert first.status() == "completed" and len(first.results()) == 2
    assert first.run(BACKEND) == "completed"
    assert thread.is_alive()
    go_on.set()
    thread.join()
    assert first.status() == "inactive"


def test_many_clients_at_once_are_all_answered(serving: Serving) -> None:
    connect = serving()
    clients = [connect() for _ in range(100)]
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda one=one: answers.append(one.status())) for one in clients
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["inactive"] * 100


def long_job() -> bytes:
    builder = chakra.TraceBuilder()
    for _ in range(20_000):
        builder.collective(chakra.CollectiveType.ALL_REDUCE, calls.BYTES)
    data = builder.build().to_bytes()
    return calls.archive({f"workload/step.{rank}.et": data for rank in range(8)})


def children_of(process: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text()
            except OSError:
                continue
            if int(status.rpartition(")")[2].split()[1]) == process:
                found.append(int(entry.name))
    return found


def started(folder: Path, name: str = "service") -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "yantra", name, "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ, TMPDIR=str(folder)),
    )
    assert process.stdout is not None
    found = re.fullmatch(r"listening at (.*)\n", process.stdout.readline())
    assert found
    return process, found[1]


def test_a_service_that_is_killed_leaves_no_process_and_no_file(grpc: Any, tmp_path: Path) -> None:
    process, address = started(tmp_path)
    with grpc.insecure_channel(address) as channel:
        client = Client(channel)
        client.upload(long_job())
        client.call("SetConfig", {"config": calls.config(BACKEND, calls.analytical())})
        client.start(BACKEND)
        jobs = children_of(process.pid)
        assert jobs and len(list(tmp_path.iterdir())) == 1
        process.kill()
        process.communicate()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if not any(Path(f"/proc/{job}").exists() for job in jobs) and not os.listdir(tmp_path):
            break
        time.sleep(0.05)
    assert not any(Path(f"/proc/{job}").exists() for job in jobs)
    assert not list(tmp_path.iterdir())


def test_a_start_removes_what_killed_services_left_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / "yantra-service-left"
    (left / "upload").mkdir(parents=True)
    (left / "lock").touch()
    other = tmp_path / "yantra-service-without-lock"
    other.mkdir()
    first = folders.Root()
    second = folders.Root()
    there = {path.name for path in tmp_path.iterdir()}
    assert there == {other.name, Path(first.path).name, Path(second.path).name}
    first.close()
    second.close()
    assert list(tmp_path.iterdir()) == [other]


def test_no_answer_and_no_log_names_a_path_of_the_server(client: Client, grpc: Any) -> None:
    broken = {f"workload/step.{rank}.et": b"no trace" for rank in range(8)}
    client.upload(calls.archive(broken))
    client.call("SetConfig", {"config": calls.config(BACKEND, calls.analytical())})
    assert client.run(BACKEND) == "failed"
    log = client.result("simulation.log")
    assert "error: workload/step.0.et" in log and "/" not in log.replace("workload/", "")
    graph = {"topology": {"choice": "network", "network": []}}
    for network in (graph, calls.analytical(size=3)):
        try:
            client.call("SetConfig", {"config": calls.config(BACKEND, network)})
            client.run(BACKEND)
            text = client.result("simulation.log")
        except grpc.RpcError as error:
            text = error.details()
        assert tempfile.gettempdir() not in text and os.path.dirname(server.__file__) not in text


def test_paths_begin_in_the_clients_part_of_the_folder() -> None:
    root = "/somewhere/yantra-service-x.y"
    said = (
        f"{root}/upload/w/a.et: bad; {root}/fresh-1_2/system.json; {root}: gone; {root}x/upload/b"
    )
    expected = f"w/a.et: bad; system.json; : gone; {root}x/upload/b"
    assert folders.shown(said, root) == expected
    error = f"No such file: '{os.path.dirname(session.__file__)}/session.py'"
    assert folders.shown(error, root) == "No such file: 'yantra/service/session.py'"


def test_a_spare_worker_that_died_is_replaced() -> None:
    of = Session(Limits())
    try:
        assert of._spare is not None
        of._spare._process.kill()
        of._spare._process.wait()
        of.upload(calls.traces())
        of.configure(calls.config(BACKEND, calls.analytical()))
        of.start(BACKEND)
        deadline = time.monotonic() + 30
        while of.status == "running" and time.monotonic() < deadline:
            time.sleep(0.05)
        assert of.status == "completed"
    finally:
        of.close()
