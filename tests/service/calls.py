"""A client of the service for the tests, and what it uploads."""

from __future__ import annotations

import json
import time
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from yantra import chakra
from yantra.service.messages import SERVICE, decode, encode

RANKS = 8
BYTES = 1 << 20
_PATIENCE_S = 60.0

SYSTEM = {
    "scheduling_policy": "LIFO",
    "endpoint_delay": 10,
    "active_chunks_per_dimension": 1,
    "preferred_dataset_splits": 4,
    "all_reduce_implementation": ["ring"],
    "all_gather_implementation": ["ring"],
    "reduce_scatter_implementation": ["ring"],
    "all_to_all_implementation": ["ring"],
    "collective_optimization": "localBWAware",
    "local_mem_bw": 50.0,
}


def traces(ranks: int = RANKS, involved: list[bool] | None = None) -> bytes:
    builder = chakra.TraceBuilder()
    builder.collective(chakra.CollectiveType.ALL_REDUCE, BYTES, involved_dim=involved)
    data = builder.build().to_bytes()
    return archive({f"workload/step.{rank}.et": data for rank in range(ranks)})


def archive(files: dict[str, bytes]) -> bytes:
    out = BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as file:
        for name, data in files.items():
            file.writestr(name, data)
    return out.getvalue()


def config(backend: str, network: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a configuration as clients send it, with the client's own path of the traces."""
    common = {
        "workload": "client/configuration/workload/step",
        "system": SYSTEM,
        "remote_memory": {"memory_type": "NO_MEMORY_EXPANSION"},
    }
    return {
        "common_config": common,
        "network_backend": {"choice": backend, backend: network},
        **more,
    }


def analytical(kind: str = "ring", size: int = RANKS) -> dict[str, Any]:
    row = {"topology": kind, "npus_count": size, "bandwidth": 50.0, "latency": 500.0}
    return {"topology": {"choice": "network", "network": [row]}}


class Client:
    def __init__(self, channel: Any, metadata: tuple[tuple[str, str], ...] = ()) -> None:
        self._channel, self._metadata = channel, metadata

    def call(self, method: str, values: dict[str, Any] | None = None) -> dict[str, Any]:
        request = b"" if values is None else encode(f"{method}Request", values)
        ask = self._channel.unary_unary(f"/{SERVICE}/{method}")
        return decode(ask(request, metadata=self._metadata, timeout=60), f"{method}Response")

    def upload(self, data: bytes, chunk: int | None = None) -> dict[str, Any]:
        if chunk is None:
            return self.call("UploadConfig", {"request_bytes": data})
        parts = [data[at : at + chunk] for at in range(0, len(data), chunk)]
        ask = self._channel.stream_unary(f"/{SERVICE}/streamUploadConfig")
        stream = (encode("Data", {"chunk_size": chunk, "datum": part}) for part in parts)
        return decode(ask(stream, metadata=self._metadata, timeout=60), "UploadConfigResponse")

    def streamed(self, method: str, values: dict[str, Any] | None = None) -> bytes:
        request = b"" if values is None else encode("GetResultRequest", values)
        ask = self._channel.unary_stream(f"/{SERVICE}/{method}")
        answers = ask(request, metadata=self._metadata, timeout=60)
        return b"".join(decode(answer, "Data").get("datum", b"") for answer in answers)

    def start(self, backend: str) -> None:
        control = {"choice": "start", "start": {"backend": backend}}
        self.call("SetControlAction", {"control": control})

    def run(self, backend: str) -> str:
        self.start(backend)
        deadline = time.monotonic() + _PATIENCE_S
        while (status := self.status()) == "running" and time.monotonic() < deadline:
            time.sleep(0.05)
        return status

    def status(self) -> str:
        answer: str = self.call("GetStatus")["control_status"]["status"]
        return answer

    def result(self, name: str) -> str:
        asked = {"result": {"choice": "filename", "filename": name}}
        return self.streamed("streamGetResult", asked).decode()

    def results(self) -> list[dict[str, Any]]:
        asked = {"result": {"choice": "metadata"}}
        found: list[dict[str, Any]] = json.loads(self.streamed("streamGetResult", asked))
        return found
