"""Holds `yantra service` and `yantra ui` under load, and prints what others see of it.

    python -m tests.service.load

Eight uploads that never end, 200 clients at once with 10,000 calls, runs, a search that is left,
then kill -9 while something runs. It prints the slowest answer, the memory before and after, and
what is left; its status is 1 where an answer took more than a second, failed, or something stayed.
The times mean something only on an idle machine.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.service import calls
from tests.service.calls import Client
from yantra.service.messages import SERVICE, encode
from yantra.ui import controls

CLIENTS, CALLS, IDLE = 200, 10_000, 8
MOST_S = 1.0
BACKEND = "analytical_congestion_unaware"
FORM = controls.first()
LONG = FORM | {"model": "deepseek-v3", "ranks": "65536", "global_batch": "16384"}
Call = Callable[[int], None]


def main() -> int:
    return max(_service(), _ui())


def started(name: str, folder: str) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "yantra", name, "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ, TMPDIR=folder),
    )
    assert process.stdout is not None
    found = re.search(r"127\.0\.0\.1:\d+", process.stdout.readline())
    assert found
    return process, found[0]


def many(call: Call) -> tuple[float, int]:
    """Call from all clients at once; return the slowest in seconds, and how many failed."""

    def client(number: int) -> tuple[float, int]:
        slowest, failed = 0.0, 0
        for turn in range(CALLS // CLIENTS):
            began = time.monotonic()
            try:
                call(number + turn)
            except Exception:
                failed += 1
            slowest = max(slowest, time.monotonic() - began)
        return slowest, failed

    with ThreadPoolExecutor(CLIENTS) as pool:
        found = list(pool.map(client, range(CLIENTS)))
    return max(slowest for slowest, _ in found), sum(failed for _, failed in found)


def resident(process: int) -> int:
    """Return the MB of a process."""
    text = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", text)
    return int(found[1]) // 1024 if found else 0


def children(process: int) -> list[str]:
    """Return the ids of the processes that all threads of a process have started."""
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    return [number for task in tasks for number in task.read_text().split()]


def killed(name: str, process: subprocess.Popen[str], folder: str) -> int:
    """Kill a server, print what is left of it, and return whether anything is."""
    there = children(process.pid)
    process.kill()
    process.communicate()
    began = time.monotonic()
    left = True
    while left and time.monotonic() - began < 20:
        time.sleep(0.02)
        left = any(Path(f"/proc/{one}").exists() for one in there) or bool(os.listdir(folder))
    took = time.monotonic() - began
    print(
        f"{name}: kill -9 with {len(there)} children: nothing left after {took:.1f} s: {not left}"
    )
    return int(left)


def told(name: str, process: int, call: Call) -> int:
    """Load a server twice, and return whether it was too slow, failed, or grew."""
    bad = 0
    for _ in range(2):
        before = resident(process)
        slowest, failed = many(call)
        after = resident(process)
        print(
            f"{name}: slowest of {CALLS} {slowest:.3f} s, {failed} failed, {before} MB, {after} MB"
        )
        bad |= slowest > MOST_S or failed > 0
    return int(bad)


def _service() -> int:
    import grpc

    with TemporaryDirectory() as folder:
        process, address = started("service", folder)
        channels = [
            grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
            for _ in range(CLIENTS + IDLE)
        ]

        def idle() -> object:
            yield encode("Data", {"chunk_size": 1, "datum": b"P"})
            time.sleep(60)

        for channel in channels[:IDLE]:
            channel.stream_unary(f"/{SERVICE}/streamUploadConfig").future(idle())
        clients = [Client(channel) for channel in channels[IDLE:]]
        clients[0].upload(calls.traces())
        clients[0].call("SetConfig", {"config": calls.config(BACKEND, calls.analytical())})
        assert clients[0].run(BACKEND) == "completed"
        bad = told("service", process.pid, lambda number: _ask(clients[number % CLIENTS], number))
        for channel in channels:
            channel.close()
        return bad | killed("service", process, folder)


def _ask(client: Client, number: int) -> None:
    if number % 10 == 9:
        client.results()
    else:
        client.status()


def _ui() -> int:
    with TemporaryDirectory() as folder:
        process, address = started("ui", folder)
        host, port = address.split(":")
        head = f"POST /run HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n"
        idle = [socket.create_connection((host, int(port))) for _ in range(IDLE)]
        for one in idle:
            one.sendall(f"{head}Content-Length: 90\r\n\r\n{{".encode())

        def ask(method: str, path: str, form: object = None) -> http.client.HTTPConnection:
            connection = http.client.HTTPConnection(host, int(port), timeout=60)
            body = None if form is None else json.dumps(form)
            connection.request(method, path, body, {"Content-Type": "application/json"})
            return connection

        def page(number: int) -> None:
            connection = ask("GET", "/" if number % 2 else "/report/99")
            connection.getresponse().read()
            connection.close()

        search = ask("POST", "/plan", LONG)
        bad = told("ui", process.pid, page)
        search.close()
        for number in range(1, 41):
            ranks = str(8 * (1 + number % 7))
            run = ask("POST", "/run", FORM | {"ranks": ranks, "global_batch": ranks})
            bad |= run.getresponse().status != 200
            run.close()
        sizes = [resident(process.pid), *(resident(int(one)) for one in children(process.pid))]
        print(f"ui: after 40 runs {sizes} MB, the server and its processes")
        search = ask("POST", "/plan", LONG)
        time.sleep(1)
        return int(bad) | killed("ui", process, folder)


if __name__ == "__main__":
    sys.exit(main())
