"""The API over gRPC: calls to the session, errors to status codes, limits, and a token.

Only this file needs the package grpcio. An error has the JSON of the API's message `Error` as its
details, where clients look for it. With a token every call must have the metadata
`authorization: Bearer TOKEN`.
"""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import IO, Any

from yantra import __version__
from yantra.base.errors import ConfigError, YantraError, internal_error
from yantra.service.messages import API_VERSION, SERVICE, decode, encode
from yantra.service.session import BusyError, MissingError, Session
from yantra.service.wire import WireError

_THREADS, _MOST_CALLS = 8, 16
_CHUNK = 3 << 20  # clients receive messages of up to 4 MiB unless told otherwise
_HEADERS = 1 << 20  # room for what is around the bytes of an upload

Handler = Callable[[bytes, Any], bytes]


def _grpc() -> Any:
    try:
        import grpc
    except ImportError:
        advice = "pip install 'yantra[service]'"
        raise ConfigError("yantra service", f"needs the package grpcio: {advice}") from None
    return grpc


def serve(session: Session, address: str, token: str | None, most_upload: int) -> tuple[Any, int]:
    """Start a server; return it and its port. Raises ConfigError where it cannot listen."""
    grpc = _grpc()
    server = grpc.server(
        ThreadPoolExecutor(_THREADS),
        interceptors=[_Guard(grpc, token)] if token else [],
        maximum_concurrent_rpcs=_MOST_CALLS,
        options=[
            ("grpc.max_receive_message_length", most_upload + _HEADERS),
            ("grpc.so_reuseport", 0),
        ],
    )
    server.add_generic_rpc_handlers((_Calls(grpc, session, most_upload).handler(),))
    try:
        port = server.add_insecure_port(address)
    except RuntimeError:
        port = 0
    if not port:
        problem = "cannot listen there; is another program using the port?"
        raise ConfigError("--port", f"{address}: {problem}")
    server.start()
    return server, port


def _guard_class() -> type:
    """Return the base class of interceptors; `object` where grpcio is missing.

    gRPC reads its environment when it is first imported, here. Its log would repeat on stderr what
    errors of ours say; the variable still turns it on.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        import grpc
    except ImportError:
        return object
    base: type = grpc.ServerInterceptor
    return base


class _Guard(_guard_class()):  # type: ignore[misc]  # grpcio has no types
    """Refuses calls without the token."""

    def __init__(self, grpc: Any, token: str) -> None:
        self._expected = f"Bearer {token}".encode()

        def refuse(_request: Any, context: Any) -> None:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "expected authorization: Bearer TOKEN")

        self._refuse = grpc.unary_unary_rpc_method_handler(refuse)

    def intercept_service(self, proceed: Callable[[Any], Any], call: Any) -> Any:
        """Let a call through, or answer it."""
        given = dict(call.invocation_metadata).get("authorization", "")
        if hmac.compare_digest(str(given).encode(), self._expected):
            return proceed(call)
        return self._refuse


class _Calls:
    """Every call of the API, from bytes to bytes."""

    def __init__(self, grpc: Any, session: Session, most_upload: int) -> None:
        self._grpc = grpc
        self._session = session
        self._most_upload = most_upload

    def handler(self) -> Any:
        """Return what gRPC asks which method answers a call."""
        grpc = self._grpc
        unary: dict[str, Handler] = {
            "UploadConfig": self._upload,
            "SetConfig": self._set_config,
            "GetConfig": self._get_config,
            "GetStatus": self._get_status,
            "SetControlAction": self._set_control_action,
            "GetResult": self._get_result,
            "GetVersion": self._get_version,
        }
        methods = {
            name: grpc.unary_unary_rpc_method_handler(self._guarded(call))
            for name, call in unary.items()
        }
        methods["streamUploadConfig"] = grpc.stream_unary_rpc_method_handler(
            self._guarded(lambda data, _: self._uploaded(self._joined(data)))
        )
        methods["streamSetConfig"] = grpc.stream_unary_rpc_method_handler(
            self._guarded(lambda data, _: self._configured(decode(self._joined(data), "Config")))
        )
        methods["streamGetConfig"] = grpc.unary_stream_rpc_method_handler(
            self._in_chunks(lambda _: self._session.configuration())
        )
        methods["streamGetResult"] = grpc.unary_stream_rpc_method_handler(
            self._in_chunks(self._result)
        )
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    def _upload(self, data: bytes, _context: Any) -> bytes:
        return self._uploaded(decode(data, "UploadConfigRequest").get("request_bytes", b""))

    def _uploaded(self, data: bytes) -> bytes:
        return _answer("UploadConfigResponse", self._session.upload(data))

    def _set_config(self, data: bytes, _context: Any) -> bytes:
        return self._configured(decode(data, "SetConfigRequest").get("config", {}))

    def _configured(self, config: dict[str, Any]) -> bytes:
        warnings = self._session.configure(config)
        return _answer("SetConfigResponse", "Configuration applied", warnings)

    def _get_config(self, _data: bytes, _context: Any) -> bytes:
        with self._session.configuration() as file:
            return encode("GetConfigResponse", {"response_bytes": file.read()})

    def _get_status(self, _data: bytes, _context: Any) -> bytes:
        return encode("GetStatusResponse", {"control_status": {"status": self._session.status}})

    def _set_control_action(self, data: bytes, _context: Any) -> bytes:
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

    def _get_result(self, data: bytes, _context: Any) -> bytes:
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

    def _get_version(self, _data: bytes, _context: Any) -> bytes:
        version = {
            "api_spec_version": API_VERSION,
            "sdk_version": API_VERSION,
            "app_version": __version__,
        }
        return encode("GetVersionResponse", {"version": version})

    def _joined(self, chunks: Iterator[bytes]) -> bytes:
        """Return the bytes of a stream. Raises ConfigError for more than an upload may have."""
        whole = bytearray()
        for chunk in chunks:
            whole += decode(chunk, "Data").get("datum", b"")
            if len(whole) > self._most_upload:
                raise ConfigError("upload", f"is larger than {self._most_upload} bytes")
        return bytes(whole)

    def _guarded(self, call: Callable[[Any, Any], bytes]) -> Callable[[Any, Any], bytes]:
        def guarded(request: Any, context: Any) -> bytes:
            try:
                return call(request, context)
            except Exception as error:
                return self._refuse(error, context)

        return guarded

    def _in_chunks(
        self, call: Callable[[bytes], IO[bytes]]
    ) -> Callable[[bytes, Any], Iterator[bytes]]:
        def chunks(request: bytes, context: Any) -> Iterator[bytes]:
            try:
                file = call(request)
            except Exception as error:
                self._refuse(error, context)
                return
            with file:
                while datum := file.read(_CHUNK):
                    yield encode("Data", {"chunk_size": _CHUNK, "datum": datum})

        return chunks

    def _refuse(self, error: Exception, context: Any) -> bytes:
        """End a call with the status of an error; its details are the API's message `Error`."""
        codes = self._grpc.StatusCode
        if isinstance(error, WireError):
            error = ConfigError("request", str(error))
        elif not isinstance(error, YantraError | BusyError | MissingError):
            error = internal_error(error)
        code = codes.INTERNAL
        if isinstance(error, BusyError):
            code = codes.UNAVAILABLE
        elif isinstance(error, MissingError):
            code = codes.NOT_FOUND
        elif isinstance(error, YantraError) and error.exit_code != 70:
            code = codes.INVALID_ARGUMENT
        kind = "internal" if code is codes.INTERNAL else "validation"
        context.set_code(code)
        details = {"code": code.value[0], "kind": kind, "errors": [str(error)]}
        context.set_details(json.dumps(details))
        return b""


def _answer(message: str, text: str, warnings: tuple[str, ...] = ()) -> bytes:
    return encode(message, {"server_response": {"message": text, "warnings": warnings}})
