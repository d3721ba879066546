"""The API from end to end: what a client uploads and configures runs as on the command line."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from tests.service import calls
from tests.service.calls import Client
from yantra.service.session import Limits


def cycles(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"finished, (\d+) cycles", text)]


@pytest.mark.parametrize(
    ("backend", "option"),
    [
        ("analytical_congestion_unaware", "congestion-unaware"),
        ("analytical_congestion_aware", "congestion-aware"),
    ],
)
def test_analytical_runs_have_the_cycles_of_yantra_astra_sim(
    backend: str, option: str, client: Client, tmp_path: Path
) -> None:
    client.upload(calls.traces())
    client.call("SetConfig", {"config": calls.config(backend, calls.analytical())})
    assert client.run(backend) == "completed"
    served = cycles(client.result("simulation.log"))
    packed = client.streamed("streamGetConfig")
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(tmp_path)
    assert served == cycles(_on_the_command_line(tmp_path, option))
    assert len(served) == calls.RANKS
    assert set(served) == {117780}  # ASTRA-sim's tutorial, HOTI 2024, which is congestion-free


def _on_the_command_line(folder: Path, backend: str) -> str:
    from yantra.cli import main

    out = io.StringIO()
    with redirect_stdout(out):
        status = main(
            [
                "astra-sim",
                f"--workload-configuration={folder}/workload/step",
                f"--system-configuration={folder}/system.json",
                f"--network-configuration={folder}/analytical_network.yml",
                f"--remote-memory-configuration={folder}/remote_memory.json",
                f"--network-backend={backend}",
                f"--logging-folder={folder}/log",
            ]
        )
    assert status == 0
    return out.getvalue()


def test_uploads_in_chunks_are_the_same_as_whole_ones(client: Client) -> None:
    data = calls.traces()
    assert client.upload(data) == client.upload(data, chunk=100)


def test_results_are_listed_with_the_sizes_that_they_have(client: Client) -> None:
    client.upload(calls.traces())
    backend = "analytical_congestion_unaware"
    client.call("SetConfig", {"config": calls.config(backend, calls.analytical())})
    client.run(backend)
    listed = {row["filename"]: row["size"] for row in client.results()}
    assert set(listed) == {"simulation.log", "ranks.csv"}
    assert all(len(client.result(name).encode()) == size for name, size in listed.items())


def test_a_run_begins_without_the_results_of_the_run_before(client: Client) -> None:
    """The second has no trace for every rank, and so nothing but its log."""
    client.upload(calls.traces())
    backend = "analytical_congestion_unaware"
    listed = []
    for size in (calls.RANKS, 2 * calls.RANKS):
        config = calls.config(backend, calls.analytical(size=size))
        client.call("SetConfig", {"config": config})
        listed.append((client.run(backend), {row["filename"] for row in client.results()}))
    both = {"simulation.log", "ranks.csv"}
    assert listed == [("completed", both), ("failed", {"simulation.log"})]


def test_a_configuration_without_an_upload_is_refused_and_says_what_to_do(
    client: Client, grpc: Any
) -> None:
    config = calls.config("analytical_congestion_unaware", calls.analytical())
    with pytest.raises(grpc.RpcError) as error:
        client.call("SetConfig", {"config": config})
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    details = json.loads(error.value.details())
    assert details["kind"] == "validation"
    assert "upload the traces first" in details["errors"][0]
    assert client.status() == "inactive"


def test_nothing_runs_before_it_is_configured(client: Client, grpc: Any) -> None:
    with pytest.raises(grpc.RpcError, match="call set_config first"):
        client.start("ns3")
    with pytest.raises(grpc.RpcError, match="no simulation is running"):
        client.call("SetControlAction", {"control": {"choice": "stop"}})


def test_another_backend_than_the_configured_one_is_refused(client: Client, grpc: Any) -> None:
    client.upload(calls.traces())
    config = calls.config("analytical_congestion_unaware", calls.analytical())
    client.call("SetConfig", {"config": config})
    with pytest.raises(grpc.RpcError, match="as configured"):
        client.start("ns3")


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "a/../../b", "\x00"])
def test_custom_collectives_are_those_of_the_upload(path: str, client: Client, grpc: Any) -> None:
    client.upload(calls.traces())
    config = calls.config("analytical_congestion_unaware", calls.analytical())
    system = calls.SYSTEM | {"all_reduce_implementation_custom": [path]}
    config["common_config"]["system"] = system
    with pytest.raises(grpc.RpcError, match="a path inside the upload"):
        client.call("SetConfig", {"config": config})


@pytest.mark.parametrize("name", ["evil.py", "workload/evil.py", "../ring", "ring.py"])
def test_a_collective_is_never_a_file_with_code(name: str, client: Client, grpc: Any) -> None:
    client.upload(calls.archive({"workload/step.0.et": b"", "workload/evil.py": b"1 / 0"}))
    config = calls.config("analytical_congestion_unaware", calls.analytical())
    config["common_config"]["system"] = calls.SYSTEM | {"all_reduce_implementation": [name]}
    with pytest.raises(grpc.RpcError, match="expected names such as ring"):
        client.call("SetConfig", {"config": config})


def test_a_run_that_is_wrong_fails_and_its_log_says_why(client: Client) -> None:
    client.upload(calls.traces(ranks=4))
    backend = "analytical_congestion_unaware"
    client.call("SetConfig", {"config": calls.config(backend, calls.analytical())})
    assert client.run(backend) == "failed"
    assert "each needs a trace" in client.result("simulation.log")


def test_a_run_beyond_its_time_is_ended(serving: Callable[..., Any]) -> None:
    client = serving(Limits(time_s=0.001))()
    client.upload(calls.traces())
    backend = "analytical_congestion_unaware"
    client.call("SetConfig", {"config": calls.config(backend, calls.analytical())})
    assert client.run(backend) == "failed"
    assert "longer than the limit of 1.000 ms" in client.result("simulation.log")


def test_a_run_beyond_its_memory_fails_with_a_sentence(serving: Callable[..., Any]) -> None:
    client = serving(Limits(memory_bytes=1 << 20))()
    client.upload(calls.traces())
    backend = "analytical_congestion_unaware"
    client.call("SetConfig", {"config": calls.config(backend, calls.analytical())})
    assert client.run(backend) == "failed"
    assert "memory" in client.result("simulation.log")


def test_with_a_token_every_call_needs_it(serving: Callable[..., Any], grpc: Any) -> None:
    connect = serving(token="a secret of sixteen")
    for wrong in ((), (("authorization", "Bearer another"),), (("authorization", ""),)):
        for method in ("GetStatus", "GetVersion", "GetConfig"):
            with pytest.raises(grpc.RpcError) as error:
                connect(*wrong).call(method)
            assert error.value.code() is grpc.StatusCode.UNAUTHENTICATED
        with pytest.raises(grpc.RpcError):
            connect(*wrong).upload(calls.traces(), chunk=100)
    assert connect(("authorization", "Bearer a secret of sixteen")).status() == "inactive"


def test_the_version_is_that_of_the_api(client: Client) -> None:
    assert client.call("GetVersion")["version"]["api_spec_version"] == "1.1.0"
