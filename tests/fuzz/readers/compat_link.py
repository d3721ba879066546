"""A host trace and a device trace in one JSON object, linked as upstream does."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from random import Random

from tests.oracles import profiled_run
from yantra.tracing.pytorch.upstream.link import link_files

FORM = "json"


def seeds() -> list[bytes]:
    made = []
    for seed in range(6):
        host, device = profiled_run.pair(Random(seed), fractions=seed % 2 == 0)
        made.append(json.dumps({"host": host, "device": device}).encode())
    return made


def read(data: bytes) -> object:
    try:
        pair = json.loads(data)
        texts = [json.dumps(pair[part]).encode() for part in ("host", "device")]
    except (ValueError, LookupError, TypeError, RecursionError):
        texts = [data, data]
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder, "host.json"), Path(folder, "device.json")
        for path, text in zip(paths, texts, strict=True):
            path.write_bytes(text)
        return link_files(*paths)
