"""Device traces of PyTorch (Kineto), linked with the host trace of their program and replayed."""

from __future__ import annotations

import json

from tests.oracles import gpu_program
from tests.oracles.gpu_program import Options
from yantra.tracing.pytorch import host, kineto
from yantra.tracing.pytorch.graph import build
from yantra.tracing.pytorch.link import link, summary

FORM = "json"
_FORMS = (Options(iterations=1), Options(iterations=1, sync_events=False, whole_us=True))
_PROGRAMS = [gpu_program.run(3, 12, options) for options in _FORMS]
_HOST = json.dumps(_PROGRAMS[0].host_json()).encode()


def seeds() -> list[bytes]:
    traces = [program.device_json() for program in _PROGRAMS]
    return [
        *(json.dumps(trace).encode() for trace in traces),
        json.dumps(traces[0]["traceEvents"]).encode(),
    ]


def read(data: bytes) -> object:
    linked = link(host.parse(_HOST, "host.json"), kineto.parse(data, "device.json"))
    summary.lines(linked)
    return build(linked)
