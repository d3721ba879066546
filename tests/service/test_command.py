"""`yantra service`: where it listens, with which token, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.service import calls
from tests.service.calls import Client
from yantra import chakra
from yantra.cli import main
from yantra.service import session


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("YANTRA_SERVICE_TOKEN", raising=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_beyond_loopback_it_does_not_start_without_a_token(
    host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["service", "--host", host]) == 2
    assert "is not loopback, and there is no token" in capsys.readouterr().err


@pytest.mark.parametrize("token", ["", "short", "x" * 15, "ümläut and sixteen"])
def test_a_token_that_can_be_guessed_is_refused(
    token: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "token"
    path.write_text(token)
    assert main(["service", "--host", "0.0.0.0", "--token-file", str(path)]) == 2
    assert "expected a token of at least 16 ASCII characters" in capsys.readouterr().err


def test_a_missing_grpcio_is_an_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    assert main(["service", "--port", "0"]) == 2
    assert "pip install 'grpcio>=1.60'" in capsys.readouterr().err


@pytest.mark.parametrize(("end", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_serves_until_it_is_ended_and_leaves_no_files(
    end: signal.Signals, status: int, grpc: Any, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "yantra", "service", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ, TMPDIR=str(tmp_path)),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    found = re.fullmatch(r"listening at (127\.0\.0\.1:[0-9]+)\n", process.stdout.readline())
    assert found
    with grpc.insecure_channel(found[1]) as channel:
        assert Client(channel).status() == "inactive"
    process.send_signal(end)
    process.communicate(timeout=30)
    assert process.returncode == status
    assert not list(tmp_path.iterdir())


def test_a_port_that_is_taken_is_one_line_of_error(grpc: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "yantra", "service", "--port", str(port)],
            capture_output=True,
            text=True,
            check=False,
            env={key: value for key, value in os.environ.items() if key != "GRPC_VERBOSITY"},
        )
    problem = "cannot listen there; is another program using the port?"
    assert done.stderr == f"error: --port: 127.0.0.1:{port}: {problem}\n"
    assert done.returncode == 2


def test_a_run_can_be_stopped(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_ANSWER_WITHIN_S", 0.01)
    builder = chakra.TraceBuilder()
    for _ in range(20_000):
        builder.collective(chakra.CollectiveType.ALL_REDUCE, calls.BYTES)
    data = builder.build().to_bytes()
    client.upload(calls.archive({f"workload/step.{rank}.et": data for rank in range(8)}))
    backend = "analytical_congestion_aware"
    client.call("SetConfig", {"config": calls.config(backend, calls.analytical())})
    client.start(backend)
    assert client.status() == "running"
    client.call("SetControlAction", {"control": {"choice": "stop"}})
    assert client.status() == "terminated"
    client.upload(calls.traces())
    client.call("SetConfig", {"config": calls.config(backend, calls.analytical())})
    assert client.run(backend) == "completed"
