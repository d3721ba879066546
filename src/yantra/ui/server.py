"""Serves the page of `yantra ui` on the loopback address, and nowhere else.

    GET  /           the page
    POST /run        the controls as JSON -> the answer, and the number of its report
    GET  /serve, /rl the pages of serving and post-training; POST: their controls as JSON
    POST /plan       the controls as JSON -> the best plans
    POST /copy       the name of a model or a cluster as JSON -> its text, to be changed
    GET  /report/N   the report of run N, while it is one of the last

Pages of other sites get nothing: requests must name this host and port, and posts be JSON.
"""

from __future__ import annotations

import json
import re
import socket
import sys
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

from yantra.base.documents import json_value
from yantra.base.errors import ConfigError
from yantra.base.output import HALVES
from yantra.base.whole_numbers import whole
from yantra.ui import controls, own, page
from yantra.ui.controls import MOST_TEXT, Offered
from yantra.ui.page import SHEETS
from yantra.ui.workers import Answer, GoneError, Limits, Workers

LOOPBACK = "127.0.0.1"
_MOST_BYTES = 4 * MOST_TEXT  # two texts and their escapes
_MOST_UNREAD_BYTES = 64 << 20  # of a refused request, so its client can read why

_KEPT = 8
_LONGEST_S = 30.0  # for a request to arrive
_MOST_CONNECTIONS = 512


class Server(ThreadingHTTPServer):
    """The server; open `address`."""

    daemon_threads = True
    request_queue_size = 1024  # further connections wait a second and more

    def __init__(
        self, port: int, limits: Limits | None = None, offered: Offered | None = None
    ) -> None:
        self._coming: dict[socket.socket, float] = {}  # requests and their deadlines
        self._connections = 0
        self._lock = Lock()
        self._forms: dict[int, Any] = {}
        self.offered = offered or Offered()
        self.pages = {"/": page.html(self.offered)}
        self.pages |= {f"/{name}": page.html_of(one, self.offered) for name, one in SHEETS.items()}
        self._runs = 0
        super().__init__((LOOPBACK, port), _Handler)
        self.hosts = {f"{LOOPBACK}:{self.server_port}", f"localhost:{self.server_port}"}
        self.workers = Workers(limits or Limits(), self.offered)

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}/"

    def server_close(self) -> None:
        super().server_close()
        if hasattr(self, "workers"):
            self.workers.close()

    def run(self, form: Any, client: socket.socket, of: str = "") -> Answer:
        found = self.workers.ask(f"run {of}".strip(), form, client)
        if found.status != 200:
            return found
        with self._lock:
            self._runs += 1
            self._forms[self._runs] = (of, form)
            self._forms.pop(self._runs - _KEPT, None)
            return found._replace(told=found.told | {"report": f"/report/{self._runs}"})

    def plan(self, form: Any, client: socket.socket) -> Answer:
        return self.workers.ask("plan", form, client)

    def copy(self, asked: Any) -> Answer:
        return Answer(200, {"text": own.copied(asked, self.offered)})

    def report(self, number: int, client: socket.socket) -> Answer | None:
        if (kept := self._forms.get(number)) is None:
            return None
        of, form = kept
        return self.workers.ask(f"report {of}".strip(), form, client)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            is_taken = self._connections < _MOST_CONNECTIONS
            if is_taken:
                self._connections += 1
                self._coming[request] = time.monotonic() + _LONGEST_S
        if is_taken:
            super().process_request(request, client_address)
        else:
            super().shutdown_request(request)

    def has_come(self, request: socket.socket) -> None:
        with self._lock:
            self._coming.pop(request, None)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._coming.pop(request, None)
            self._connections -= 1
        super().shutdown_request(request)

    def service_actions(self) -> None:
        now = time.monotonic()
        with self._lock:
            late = [request for request, until in self._coming.items() if until < now]
            for request in late:
                del self._coming[request]
        for request in late:
            with suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError | GoneError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = _LONGEST_S
    server_version = "Yantra"
    sys_version = ""
    is_read = False  # whether the request is complete

    def do_GET(self) -> None:
        if not self._is_ours():
            return
        if (found := self.server.pages.get(self.path)) is not None:
            self._send(200, "text/html", found)
        elif (asked := re.fullmatch(r"/report/([0-9]{1,9})", self.path)) is None:
            self._refuse(404, "there is no such page")
        elif (made := self.server.report(int(asked[1]), self.connection)) is None:
            self._refuse(404, f"only the last {_KEPT} runs are kept; run it again")
        elif made.status != 200:
            self._refuse(made.status, made.told["error"])
        else:
            self._send(200, "text/html", made.told)

    def do_POST(self) -> None:
        if not self._is_ours():
            return
        if self.path not in ("/run", "/plan", "/copy") and self.path[1:] not in SHEETS:
            self._refuse(404, "there is no such page")
        elif self.headers.get_content_type() != "application/json":
            self._refuse(415, "expected application/json")
        elif (body := self._body()) is not None:
            self._act(self.path, body)

    def _act(self, path: str, body: bytes) -> None:
        try:
            asked = json_value(body)
        except ValueError:
            self._refuse(400, "expected JSON")
            return
        server, client = self.server, self.connection
        try:
            if path == "/copy":
                found = server.copy(asked)
            elif (sheet := SHEETS.get(path[1:])) is not None:
                sheet.read(asked, server.offered)
                found = server.run(asked, client, sheet.name)
            else:
                controls.read(asked, server.offered)  # a wrong name is reported at once
                found = (server.run if path == "/run" else server.plan)(asked, client)
        except ConfigError as error:
            self._refuse(400, str(error), error.where)
            return
        self._send(found.status, "application/json", json.dumps(found.told))

    def _is_ours(self) -> bool:
        if self.command == "GET":
            self._has_come()
        origin = self.headers.get("Origin")
        own = {f"http://{host}" for host in self.server.hosts}
        if self.headers.get("Host") in self.server.hosts and (origin is None or origin in own):
            return True
        self._refuse(403, f"open {self.server.address}")
        return False

    def _body(self) -> bytes | None:
        length = whole(self.headers.get("Content-Length", ""))
        if length is None or length > _MOST_BYTES:
            self._refuse(413, f"expected at most {_MOST_BYTES} bytes")
            return None
        body = self.rfile.read(length)
        self._has_come()
        return body

    def _has_come(self) -> None:
        self.server.has_come(self.connection)
        self.is_read = True

    def _refuse(self, status: int, why: str, control: str = "") -> None:
        self.close_connection = True
        told = {"error": why, "control": control}
        self._send(status, "application/json", json.dumps(told))
        if not self.is_read:
            self._discard()

    def _discard(self) -> None:
        # Closed with the body unread, a socket resets the answer.
        left = min(whole(self.headers.get("Content-Length", "")) or 0, _MOST_UNREAD_BYTES)
        while left > 0 and (part := self.rfile.read1(min(left, 1 << 16))):
            left -= len(part)

    def _send(self, status: int, kind: str, text: str) -> None:
        content = text.encode(errors=HALVES)
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the page shows errors."""
