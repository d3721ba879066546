"""A service in the process of the tests, on a free port of loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.service.calls import Client
from yantra.service.archive import ArchiveLimits
from yantra.service.session import Limits, Session

SMALL = Limits(ArchiveLimits(packed=4 << 20, unpacked=16 << 20, entries=1000), time_s=30.0)

Connect = Callable[..., Client]


@pytest.fixture(scope="session")
def grpc() -> Any:
    return pytest.importorskip("grpc", reason="grpcio is not installed: the service is NOT tested")


@pytest.fixture
def serving(grpc: Any) -> Iterator[Callable[..., Connect]]:
    from yantra.service.server import serve

    opened: list[Any] = []

    def start(limits: Limits = SMALL, token: str | None = None) -> Connect:
        session = Session(limits)
        opened.append(session.close)
        server, port = serve(session, "127.0.0.1:0", token, limits.archive.packed)
        opened.append(lambda: server.stop(0).wait())

        def connect(*metadata: tuple[str, str]) -> Client:
            channel = grpc.insecure_channel(f"127.0.0.1:{port}")
            opened.append(channel.close)
            return Client(channel, metadata)

        return connect

    yield start
    for close in reversed(opened):
        close()


@pytest.fixture
def client(serving: Callable[..., Connect]) -> Client:
    return serving()()
