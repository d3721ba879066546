"""The API over gRPC: calls, status codes, limits, a token.

Errors have the API's message `Error` as JSON in their details, where clients look. With a token,
calls need the metadata `authorization: Bearer TOKEN`.

A call ends within `_LONGEST_S`, an idle stream after `_IDLE_S`, an incomplete upload after
`_UPLOAD_S`; pings find dead clients.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import threading
from asyncio import timeout
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager
from io import BytesIO
from typing import IO, Any

from yantra import __version__
from yantra.base.errors import ConfigError, YantraError, internal_error
from yantra.base.extras import install
from yantra.service.messages import API_VERSION, SERVICE, decode, encode
from yantra.service.session import BusyError, MissingError, Session
from yantra.service.wire import WireError

_SHORT, _LONG = 8, 4  # threads for calls of milliseconds, and for others
_MOST_CALLS = 1024
_LONGEST_S, _UPLOAD_S, _IDLE_S = 600.0, 120.0, 10.0
_PING_S, _ANSWER_S = 20, 10
_UPLOADS = 2  # largest uploads at a time
_CHUNK = 3 << 20  # clients take up to 4 MiB by default
_HEADERS = 1 << 20  # for what surrounds an upload's bytes

Call = Callable[[bytes], bytes]
"""Answers a call, bytes to bytes."""

Handler = Callable[[Any, Any], Awaitable[Any]]
"""As gRPC calls it, with a context."""


def _grpc() -> Any:
    try:
        import grpc
    except ImportError:
        advice = install("service")
        raise ConfigError("yantra service", f"needs the package grpcio: {advice}") from None
    return grpc


class Server:
    """A server in a thread of its own; use `serve`."""

    def __init__(self, grpc: Any, session: Session, token: str | None, most_upload: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._calls = _Calls(grpc, session, most_upload)
        self._server = self._do(self._made(grpc, token, most_upload))

    async def _made(self, grpc: Any, token: str | None, most_upload: int) -> Any:
        server = grpc.aio.server(
            interceptors=[_Guard(grpc, token)] if token else [],
            maximum_concurrent_rpcs=_MOST_CALLS,
            options=[
                ("grpc.max_receive_message_length", most_upload + _HEADERS),
                ("grpc.so_reuseport", 0),
                ("grpc.keepalive_time_ms", _PING_S * 1000),
                ("grpc.keepalive_timeout_ms", _ANSWER_S * 1000),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.http2.max_pings_without_data", 0),
                ("grpc.max_connection_age_ms", int(_LONGEST_S * 1000)),
                ("grpc.max_connection_age_grace_ms", int(_LONGEST_S * 1000)),
            ],
        )
        server.add_generic_rpc_handlers((self._calls.handler(),))
        return server

    def start(self, address: str) -> int:
        """Listen; return the port. Raises ConfigError if impossible."""

        async def listen() -> int:
            port = int(self._server.add_insecure_port(address))
            if port:
                await self._server.start()
            return port

        try:
            port = self._do(listen())
        except RuntimeError:
            port = 0
        if not port:
            problem = "cannot listen there; is another program using the port?"
            raise ConfigError("--port", f"{address}: {problem}")
        return int(port)

    def stop(self, grace_s: float = 0.0) -> threading.Event:
        """End the server and, after `grace_s`, its calls; return what to wait for, as gRPC."""
        self._do(self._server.stop(grace_s))
        self._calls.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._ended.set()
        return self._ended

    def wait_for_termination(self) -> None:
        self._ended.wait()

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def serve(
    session: Session, address: str, token: str | None, most_upload: int
) -> tuple[Server, int]:
    """Start a server; return it and its port. Raises ConfigError if it cannot listen."""
    server = Server(_grpc(), session, token, most_upload)
    try:
        return server, server.start(address)
    except BaseException:
        server.stop()
        raise


def _guard_class() -> type:
    """gRPC reads its environment at first import, here.

    Its log would repeat our errors on stderr; the variable still enables it.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        import grpc
    except ImportError:
        return object
    base: type = grpc.aio.ServerInterceptor
    return base


class LateError(Exception):
    """The call's time is over, or its client is idle."""


class _Guard(_guard_class()):  # type: ignore[misc]  # grpcio has no types
    def __init__(self, grpc: Any, token: str) -> None:
        self._expected = f"Bearer {token}".encode()

        async def refuse(_request: Any, context: Any) -> None:
            code = grpc.StatusCode.UNAUTHENTICATED
            await context.abort(code, "expected authorization: Bearer TOKEN")

        self._refuse = grpc.stream_unary_rpc_method_handler(refuse)  # before the request

    async def intercept_service(self, proceed: Callable[[Any], Any], call: Any) -> Any:
        given = dict(call.invocation_metadata).get("authorization", "")
        if hmac.compare_digest(str(given).encode(), self._expected):
            return await proceed(call)
        return self._refuse


class _Calls:
    def __init__(self, grpc: Any, session: Session, most_upload: int) -> None:
        self._grpc = grpc
        self._session = session
        self._most_upload = most_upload
        self._under_way = 0  # bytes of uploads
        self._short = ThreadPoolExecutor(_SHORT, "yantra-short")
        self._long = ThreadPoolExecutor(_LONG, "yantra-long")

    def close(self) -> None:
        for pool in (self._short, self._long):
            pool.shutdown(wait=False, cancel_futures=True)

    def handler(self) -> Any:
        grpc = self._grpc
        unary: dict[str, tuple[Call, Executor]] = {
            "UploadConfig": (self._upload, self._long),
            "SetConfig": (self._set_config, self._long),
            "GetConfig": (self._get_config, self._long),
            "GetStatus": (self._get_status, self._short),
            "SetControlAction": (self._set_control_action, self._short),
            "GetResult": (self._get_result, self._short),
            "GetVersion": (self._get_version, self._short),
        }
        methods = {
            name: grpc.stream_unary_rpc_method_handler(self._unary(call, pool))
            for name, (call, pool) in unary.items()
        }
        uploads: dict[str, Call] = {
            "streamUploadConfig": self._uploaded,
            "streamSetConfig": lambda data: self._configured(decode(data, "Config")),
        }
        for name, call in uploads.items():
            methods[name] = grpc.stream_unary_rpc_method_handler(self._from_stream(call))
        downloads: dict[str, tuple[Callable[[bytes], IO[bytes]], Executor]] = {
            "streamGetConfig": (lambda _: self._session.configuration(), self._long),
            "streamGetResult": (self._result, self._short),
        }
        for name, (file_of, pool) in downloads.items():
            methods[name] = grpc.stream_stream_rpc_method_handler(self._to_stream(file_of, pool))
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    def _unary(self, call: Call, pool: Executor) -> Handler:
        async def answer(_requests: Any, context: Any) -> bytes:
            try:
                async with timeout(_LONGEST_S):
                    request = await self._request(
                        context, _UPLOAD_S if pool is self._long else _IDLE_S
                    )
                    answered: bytes = await _in(pool, call, request)
                    return answered
            except Exception as error:
                return self._refuse(error, context)

        return answer

    def _from_stream(self, call: Call) -> Handler:
        async def answer(_requests: Any, context: Any) -> bytes:
            try:
                async with timeout(_LONGEST_S), self._received(context) as data:
                    answered: bytes = await _in(self._long, call, data)
                    return answered
            except Exception as error:
                return self._refuse(error, context)

        return answer

    def _to_stream(self, file_of: Callable[[bytes], IO[bytes]], pool: Executor) -> Handler:
        async def answer(_requests: Any, context: Any) -> None:
            try:
                async with timeout(_LONGEST_S):
                    request = await self._request(context, _IDLE_S)
                    with await _in(pool, file_of, request) as file:
                        while datum := await _in(pool, file.read, _CHUNK):
                            chunk = encode("Data", {"chunk_size": _CHUNK, "datum": datum})
                            await _soon(context.write(chunk))
            except Exception as error:
                self._refuse(error, context)

        return answer

    async def _request(self, context: Any, longest_s: float) -> bytes:
        end = self._grpc.aio.EOF
        problem = f"the request did not come as a whole within {longest_s:g} s; call again"
        try:
            async with timeout(longest_s):
                request = await context.read()
                more = end if request is end else await context.read()
        except TimeoutError:
            raise LateError(problem) from None
        if request is end or more is not end:
            raise ConfigError("request", "expected one message; got none or several")
        whole: bytes = request
        return whole

    @asynccontextmanager
    async def _received(self, context: Any) -> AsyncIterator[bytes]:
        """Raises ConfigError above an upload's limit, BusyError if those under way are too much
        together, LateError when the client goes silent.
        """
        whole = bytearray()
        try:
            while True:
                chunk = await _soon(context.read())
                if chunk is self._grpc.aio.EOF:
                    break
                datum = decode(chunk, "Data").get("datum", b"")
                whole += datum
                self._under_way += len(datum)
                if len(whole) > self._most_upload:
                    raise ConfigError("upload", f"is larger than {self._most_upload} bytes")
                if self._under_way > _UPLOADS * self._most_upload:
                    raise BusyError("other uploads are under way; try again when they have ended")
            yield bytes(whole)
        finally:
            self._under_way -= len(whole)

    def _upload(self, data: bytes) -> bytes:
        return self._uploaded(decode(data, "UploadConfigRequest").get("request_bytes", b""))

    def _uploaded(self, data: bytes) -> bytes:
        return _answer("UploadConfigResponse", self._session.upload(data))

    def _set_config(self, data: bytes) -> bytes:
        return self._configured(decode(data, "SetConfigRequest").get("config", {}))

    def _configured(self, config: dict[str, Any]) -> bytes:
        warnings = self._session.configure(config)
        return _answer("SetConfigResponse", "Configuration applied", warnings)

    def _get_config(self, _data: bytes) -> bytes:
        with self._session.configuration() as file:
            return encode("GetConfigResponse", {"response_bytes": file.read()})

    def _get_status(self, _data: bytes) -> bytes:
        return encode("GetStatusResponse", {"control_status": {"status": self._session.status}})

    def _set_control_action(self, data: bytes) -> bytes:
        control = decode(data, "SetControlActionRequest").get("control", {})
        choice = control.get("choice")
        if choice == "start":
            backend = control.get("start", {}).get("backend", "unspecified")
            self._session.start(str(backend))
            return _answer("SetControlActionResponse", "Simulation started")
        if choice == "stop":
            self._session.stop()
            return _answer("SetControlActionResponse", "Simulation terminated")
        raise ConfigError("control.choice", "expected start or stop")

    def _get_result(self, data: bytes) -> bytes:
        with self._result(data) as file:
            return encode("GetResultResponse", {"response_bytes": file.read()})

    def _result(self, data: bytes) -> IO[bytes]:
        asked = decode(data, "GetResultRequest").get("result", {})
        choice = asked.get("choice")
        if choice == "metadata":
            return BytesIO(json.dumps(self._session.results(), indent=4).encode())
        if choice == "filename":
            return self._session.result(asked.get("filename", ""))
        raise ConfigError("result.choice", "expected metadata or filename")

    def _get_version(self, _data: bytes) -> bytes:
        version = {
            "api_spec_version": API_VERSION,
            "sdk_version": API_VERSION,
            "app_version": __version__,
        }
        return encode("GetVersionResponse", {"version": version})

    def _refuse(self, error: Exception, context: Any) -> bytes:
        codes = self._grpc.StatusCode
        if isinstance(error, WireError):
            error = ConfigError("request", str(error))
        elif isinstance(error, TimeoutError):
            error = LateError(f"takes longer than {_LONGEST_S:g} s")
        elif not isinstance(error, YantraError | BusyError | MissingError | LateError):
            error = internal_error(error)
        code = codes.INTERNAL
        if isinstance(error, BusyError):
            code = codes.UNAVAILABLE
        elif isinstance(error, MissingError):
            code = codes.NOT_FOUND
        elif isinstance(error, LateError):
            code = codes.DEADLINE_EXCEEDED
        elif isinstance(error, YantraError) and error.exit_code != 70:
            code = codes.INVALID_ARGUMENT
        kind = "internal" if code is codes.INTERNAL else "validation"
        context.set_code(code)
        details = {"code": code.value[0], "kind": kind, "errors": [self._session.shown(str(error))]}
        context.set_details(json.dumps(details))
        return b""


async def _in(pool: Executor, call: Callable[[Any], Any], value: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(pool, call, value)


async def _soon(work: Awaitable[Any]) -> Any:
    try:
        return await asyncio.wait_for(work, _IDLE_S)
    except TimeoutError:
        problem = f"the client sent and took nothing for {_IDLE_S:g} s; call again"
        raise LateError(problem) from None


def _answer(message: str, text: str, warnings: tuple[str, ...] = ()) -> bytes:
    return encode(message, {"server_response": {"message": text, "warnings": warnings}})
