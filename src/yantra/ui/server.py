"""Serves the page of `yantra ui` on the loopback address, and nowhere else.

    GET  /           the page
    POST /run        the controls as JSON -> the answer in words, and the number of its report
    POST /plan       the controls as JSON -> the best plans
    GET  /report/N   the report of run N, while it is one of the last

A page of another site could send requests here. It gets nothing: requests must name this host and
port as theirs, what is posted must be JSON, which browsers send to another site only when that
allows it, and no answer allows it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

from yantra.base.errors import YantraError
from yantra.export import report
from yantra.result import Result
from yantra.ui import jobs, page

LOOPBACK = "127.0.0.1"
_MOST_BYTES = 65_536
_KEPT = 8
_LONGEST_S = 30


class Server(ThreadingHTTPServer):
    """The server; `address` is what to open. One job runs at a time, in the order of arrival."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.hosts = {f"{LOOPBACK}:{self.server_port}", f"localhost:{self.server_port}"}
        self._lock = Lock()
        self._results: dict[int, Result] = {}
        self._runs = 0

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{LOOPBACK}:{self.server_port}/"

    def run(self, form: Any) -> dict[str, Any]:
        """Run what the controls say and keep the result for its report."""
        with self._lock:
            result = jobs.run(jobs.read(form))
            answer = jobs.answer(result)
            self._runs += 1
            self._results[self._runs] = result
            self._results.pop(self._runs - _KEPT, None)
            return answer | {"report": f"/report/{self._runs}"}

    def plan(self, form: Any) -> dict[str, Any]:
        """Search for the best plans."""
        with self._lock:
            return jobs.best(jobs.read(form))

    def report(self, number: int) -> str | None:
        """Return the report of a run, None if it is no longer kept."""
        with self._lock:
            result = self._results.get(number)
            return None if result is None else report.html(jobs.recorded(result))


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = _LONGEST_S
    server_version = "Yantra"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer with the page or a report."""
        if not self._is_ours():
            return
        if self.path == "/":
            self._send(200, "text/html", page.html())
        elif (asked := re.fullmatch(r"/report/([0-9]{1,9})", self.path)) is None:
            self._refuse(404, "there is no such page")
        elif (made := self.server.report(int(asked[1]))) is None:
            self._refuse(404, f"only the last {_KEPT} runs are kept; run it again")
        else:
            self._send(200, "text/html", made)

    def do_POST(self) -> None:
        """Answer with a run or the best plans."""
        acts = {"/run": self.server.run, "/plan": self.server.plan}
        if not self._is_ours():
            return
        if self.path not in acts:
            self._refuse(404, "there is no such page")
        elif self.headers.get_content_type() != "application/json":
            self._refuse(415, "expected application/json")
        elif (body := self._body()) is not None:
            self._act(acts[self.path], body)

    def _act(self, act: Callable[[Any], dict[str, Any]], body: bytes) -> None:
        try:
            form = json.loads(body)
        except (ValueError, RecursionError):
            self._refuse(400, "expected JSON")
            return
        try:
            self._send(200, "application/json", json.dumps(act(form)))
        except YantraError as error:
            self._refuse(400, str(error))

    def _is_ours(self) -> bool:
        """Return whether a request is to this host and from its own page; else refuse it."""
        origin = self.headers.get("Origin")
        own = {f"http://{host}" for host in self.server.hosts}
        if self.headers.get("Host") in self.server.hosts and (origin is None or origin in own):
            return True
        self._refuse(403, f"open {self.server.address}")
        return False

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit() and int(length) <= _MOST_BYTES):
            self._refuse(413, f"expected at most {_MOST_BYTES} bytes")
            return None
        return self.rfile.read(int(length))

    def _refuse(self, status: int, why: str) -> None:
        self.close_connection = True
        self._send(status, "application/json", json.dumps({"error": why}))

    def _send(self, status: int, kind: str, text: str) -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the page shows what went wrong."""
