"""Linking as upstream gives its file, byte for byte (MLCommons Chakra 1.0.0, 21585d8,
HolisticTraceAnalysis d731cc2, pandas 2); null where it refused. Cases:
tests/oracles/profiled_run.py.
"""

from __future__ import annotations

import functools
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.archives import unpack
from tests.oracles import upstream_linker
from yantra.base.errors import TraceError
from yantra.tracing.pytorch.upstream.critical_path import sync_dependencies
from yantra.tracing.pytorch.upstream.device import read_events
from yantra.tracing.pytorch.upstream.link import link_files, write_linked

DATA = Path(__file__).parent / "data" / "pytorch" / "upstream_link.jsonl"
RECORDED = [json.loads(line) for line in DATA.read_text().splitlines()]
ROOT = Path(os.environ.get("YANTRA_GOLDEN", Path(__file__).parents[3] / "shared" / "golden"))
SHARED = {
    "resnet_pair": ("", "", "0"),
    "alexnet_ps": ("", "", "0"),
    "event_sync": ("", "", "0"),
    "event_sync_ms_ps": ("", "", "0"),
    "dlrm8_renamed-0": ("", "_0", "0"),
    "dlrm8_renamed-1": ("", "_1", "1"),
    "cpu_small-single": ("input/single/", ".0", "0"),
    "cpu_small-ddp2": ("input/ddp2/", ".0", "0"),
}
shared = pytest.mark.skipif(not (ROOT / "chakra").is_dir(), reason="the golden sets are not here")


def written(folder: Path, case: Any) -> tuple[Path, Path]:
    host, device = folder / "host.json", folder / "device.json"
    host.write_text(json.dumps(case["host"]))
    device.write_text(json.dumps(case["device"]))
    return host, device


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case["name"])
def test_recorded_cases_are_linked_as_upstream_did(case: Any, tmp_path: Path) -> None:
    host, device = written(tmp_path, case)
    if case["linked"] is None:
        with pytest.raises(TraceError, match="without --compat upstream"):
            link_files(host, device)
        return
    assert link_files(host, device).decode() == json.dumps(case["linked"], indent=4)


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case["name"])
def test_the_oracle_of_the_property_tests_agrees_with_upstream(case: Any, tmp_path: Path) -> None:
    syncs = sync_dependencies(read_events(str(written(tmp_path, case)[1])))
    if case["linked"] is None:
        with pytest.raises(upstream_linker.Refused):
            upstream_linker.link(case["host"], case["device"], syncs)
        return
    linked = upstream_linker.link(case["host"], case["device"], syncs)
    assert linked == json.dumps(case["linked"], indent=4)


def test_the_recorded_cases_hold_every_kind_of_synchronisation() -> None:
    waits = [
        {event["name"] for event in case["device"]["traceEvents"]}
        for case in RECORDED
        if case["linked"] and any("sync_dep" in node for node in case["linked"]["nodes"])
    ]
    for kind in ("Context Sync", "Stream Sync", "Event Sync", "Stream Wait Event"):
        assert any(kind in names for names in waits), kind


@functools.cache
def archive(case: str, folder: Path) -> Path:
    with tarfile.open(ROOT / "chakra" / f"{case}.tar.xz") as files:
        unpack(files, folder)
    return folder / case


@shared
@pytest.mark.parametrize("case", SHARED)
def test_shared_cases_are_linked_byte_for_byte(
    case: str, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    name, _, part = case.partition("-")
    folder = archive(name, tmp_path_factory.getbasetemp() / "shared")
    below, suffix, rank = SHARED[case]
    output = tmp_path / "linked.json"
    write_linked(
        folder / f"{below}host{suffix}.json", folder / f"{below}device{suffix}.json", output
    )
    expected = folder / "upstream" / (f"cpu_small_{part}" if below else "") / f"linked.{rank}.json"
    assert output.read_bytes() == expected.read_bytes()
