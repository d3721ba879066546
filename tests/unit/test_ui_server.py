"""`yantra ui` as a server: runs can be stopped, have limits, and end with it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from tests.unit.test_ui import FORM, JSON, SRC, ask
from yantra.ui import own
from yantra.ui import server as ui_server
from yantra.ui.controls import Offered
from yantra.ui.server import Server
from yantra.ui.workers import Limits

LONG = FORM | {"model": "deepseek-v3", "ranks": "65536", "global_batch": "16384"}


@contextmanager
def serving(limits: Limits | None = None) -> Iterator[Server]:
    with Server(0, limits) as running:
        thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def eventually(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def busy(server: Server) -> list[int]:
    return [one.pid for one in server.workers.processes if one.is_busy]


def asked_for_long(port: int) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/plan", json.dumps(LONG), JSON)
    return connection


def test_a_search_ends_with_its_connection_and_keeps_no_run_waiting(server: Server) -> None:
    connection = asked_for_long(server.server_port)
    eventually(lambda: bool(busy(server)))
    (searching,) = busy(server)
    status, _ = ask(server, "POST", "/run", json.dumps(FORM), JSON)
    assert status == 200 and busy(server) == [searching]
    connection.close()
    eventually(lambda: not Path(f"/proc/{searching}").exists())
    assert ask(server, "POST", "/run", json.dumps(FORM), JSON)[0] == 200


def test_what_takes_too_long_is_ended_and_said() -> None:
    with serving(Limits(time_s=1.0)) as server:
        status, text = ask(server, "POST", "/plan", json.dumps(LONG), JSON)
        assert status == 504
        assert json.loads(text)["error"].startswith(
            "takes longer than 1.000 s; yantra ui --time-limit"
        )
        eventually(lambda: not busy(server))


def test_what_takes_too_much_memory_is_said() -> None:
    with serving(Limits(memory_bytes=1 << 20)) as small:
        status, text = ask(small, "POST", "/run", json.dumps(FORM), JSON)
        assert status == 400 and "--memory-limit: must be above" in json.loads(text)["error"]
    # An interpreter with so little memory left may also end where it cannot report it.
    with serving(Limits(memory_bytes=150 << 20)) as small:
        status, text = ask(small, "POST", "/plan", json.dumps(LONG), JSON)
        said = {400: "more than the limit of 150 MiB", 500: "perhaps for lack of memory"}
        assert said[status] in json.loads(text)["error"]


def test_a_run_whose_process_is_killed_is_said_and_the_next_one_runs(server: Server) -> None:
    connection = asked_for_long(server.server_port)
    eventually(lambda: bool(busy(server)))
    os.kill(busy(server)[0], signal.SIGKILL)
    answer = connection.getresponse()
    assert answer.status == 500
    assert "ended from outside" in json.loads(answer.read())["error"]
    connection.close()
    assert ask(server, "POST", "/run", json.dumps(FORM), JSON)[0] == 200


def test_a_question_waits_until_one_ends_and_not_for_ever(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yantra.ui.workers._LONGEST_WAIT_S", 0.5)
    most = server.workers._left
    held = [asked_for_long(server.server_port) for _ in range(most)]
    eventually(lambda: len(busy(server)) == most)
    status, text = ask(server, "POST", "/run", json.dumps(FORM), JSON)
    assert status == 503 and "stop one, or wait" in json.loads(text)["error"]
    for connection in held:
        connection.close()
    eventually(lambda: server.workers._left == most)
    assert ask(server, "POST", "/run", json.dumps(FORM), JSON)[0] == 200


def test_a_report_is_that_of_its_run_and_the_oldest_are_forgotten(server: Server) -> None:
    runs = []
    for number in range(ui_server._KEPT + 1):
        form = FORM | {"global_batch": str(8 * (number + 1))}
        runs.append(json.loads(ask(server, "POST", "/run", json.dumps(form), JSON)[1]))
    assert ask(server, "GET", runs[0]["report"])[0] == 404
    status, report = ask(server, "GET", runs[1]["report"])
    assert status == 200 and runs[1]["time"].split()[0] in report


def test_a_process_that_has_ended_is_replaced() -> None:
    with serving() as server:
        before = {one.pid for one in server.workers.processes}
        server.workers._idle[0].end()
        assert ask(server, "POST", "/run", json.dumps(FORM), JSON)[0] == 200
        after = {one.pid for one in server.workers.processes}
        assert after and not after & before
    assert not server.workers.processes


def test_requests_that_do_not_come_are_ended_and_hold_up_nobody(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ui_server, "_LONGEST_S", 1.0)
    host = f"Host: 127.0.0.1:{server.server_port}\r\n"
    head = f"POST /run HTTP/1.1\r\n{host}Content-Type: application/json\r\nContent-Length: 90\r\n"
    begun = [f"{head}\r\n{{", head, "GET"]
    held = []
    for text in begun * 8:
        held.append(socket.create_connection(("127.0.0.1", server.server_port), timeout=20))
        held[-1].sendall(text.encode())
    assert ask(server, "GET", "/")[0] == 200
    stop = time.monotonic() + 20
    while held and time.monotonic() < stop:  # each sends on, as slowly as it can
        for one in tuple(held):
            try:
                one.sendall(b" ")
                one.setblocking(False)
                is_ended = one.recv(100) == b""
            except BlockingIOError:
                is_ended = False
            except OSError:
                is_ended = True
            if is_ended:
                one.close()
                held.remove(one)
        time.sleep(0.1)
    assert not held and not server._coming
    eventually(lambda: server._connections == 0)


def test_clients_that_are_gone_and_odd_numbers_leave_no_trace(
    server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    for _ in range(5):
        gone = socket.create_connection(("127.0.0.1", server.server_port))
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        gone.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode())
        gone.close()
    digits = "9" * 5000
    assert ask(server, "POST", "/run", "{}", JSON | {"Content-Length": digits})[0] == 413
    status, text = ask(server, "POST", "/run", json.dumps(FORM | {"tp": digits}), JSON)
    assert (
        status == 400 and "tp: expected a whole number of at least 1" in json.loads(text)["error"]
    )
    eventually(lambda: server._connections == 0)
    assert capfd.readouterr().err == ""


def test_a_pasted_text_is_gone_where_its_question_is_ended(server: Server) -> None:
    text = own.copied({"control": "cluster", "name": "hgx-h100"}, Offered())
    form = LONG | {"cluster": "own", "own_cluster": text}
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request("POST", "/plan", json.dumps(form), JSON)
    eventually(lambda: any(Path(one._folder).exists() for one in server.workers.processes))
    folders = [one._folder for one in server.workers.processes]
    connection.close()
    eventually(lambda: not any(Path(folder).exists() for folder in folders))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_server_is_gone_within_a_second_and_says_nothing(number: int) -> None:
    command = [sys.executable, "-m", "yantra", "ui", "--port", "0"]
    running = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(SRC)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert running.stdout is not None
    found = re.match(r"http://127\.0\.0\.1:(\d+)/", running.stdout.readline())
    assert found
    held = [asked_for_long(int(found[1])) for _ in range(3)]
    page = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=60)
    page.request("GET", "/")
    assert page.sock is not None and held[0].sock is not None
    for gone in (page.sock, held[0].sock):
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    page.close()
    held.pop(0).close()
    time.sleep(0.5)
    start = time.monotonic()
    running.send_signal(number)
    _, said = running.communicate(timeout=30)
    assert time.monotonic() - start < 1 and running.returncode == 0 and said == ""
    for one in held:
        one.close()


def test_beyond_so_many_connections_one_is_closed_at_once(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ui_server, "_MOST_CONNECTIONS", 2)
    eventually(lambda: server._connections == 0)
    address = ("127.0.0.1", server.server_port)
    held = [socket.create_connection(address, timeout=20) for _ in range(3)]
    eventually(lambda: server._connections == 2)
    assert held[2].recv(10) == b""
    for one in held:
        one.close()
    eventually(lambda: server._connections == 0)
    assert ask(server, "GET", "/")[0] == 200


def test_what_runs_ends_with_a_server_that_is_killed() -> None:
    command = [sys.executable, "-m", "yantra", "ui", "--port", "0"]
    environment = os.environ | {"PYTHONPATH": str(SRC)}
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert running.stdout is not None
    found = re.match(r"http://127\.0\.0\.1:(\d+)/", running.stdout.readline())
    assert found
    connection = asked_for_long(int(found[1]))
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    eventually(lambda: bool(children.read_text()))
    there = children.read_text().split()
    running.kill()
    running.communicate()
    eventually(lambda: not any(Path(f"/proc/{child}").exists() for child in there))
    connection.close()


@pytest.mark.parametrize(
    ("option", "said"),
    [("--time-limit=0 s", "--time-limit: must be above 0"), ("--memory-limit=x", "--memory-limit")],
)
def test_limits_are_checked(option: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    from yantra.cli import main

    assert main(["ui", "--port", "0", option]) == 2
    assert said in capsys.readouterr().err
