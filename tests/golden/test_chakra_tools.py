"""The small tools against upstream's outputs (../shared/golden, or YANTRA_GOLDEN)."""

from __future__ import annotations

import os
import tarfile
from functools import cache
from pathlib import Path

import pytest

from yantra import chakra
from yantra.chakra.generator import generate

GOLDEN = Path(os.environ.get("YANTRA_GOLDEN", Path(__file__).parents[3] / "shared" / "golden"))
ROOT = GOLDEN / "chakra"
ARCHIVES = sorted(path.name.split(".")[0] for path in ROOT.glob("*.tar.xz"))

pytestmark = pytest.mark.skipif(not ARCHIVES, reason="the golden sets are not here")


@cache
def content(archive: str, suffixes: tuple[str, ...] = (".et", ".json", ".txt")) -> dict[str, bytes]:
    found = {}
    with tarfile.open(ROOT / f"{archive}.tar.xz") as files:
        for member in files:
            file = files.extractfile(member) if member.name.endswith(suffixes) else None
            if file is not None and not Path(member.name).name.startswith(("device", "linked")):
                found[member.name] = file.read()
    return found


@pytest.mark.parametrize("archive", ARCHIVES)
def test_the_jsonizers_text_is_upstreams_and_comes_back(archive: str) -> None:
    files = content(archive)
    pairs = [name for name in files if name.endswith(".et") and f"{name[:-3]}.json" in files]
    for name in pairs:
        text = files[f"{name[:-3]}.json"]
        trace = chakra.read(files[name])
        if b'"workload_graph"' in text[:100]:
            ours = [(node.id, node.type, node.data_deps) for node in chakra.read(text)]
            assert ours == [(node.id, node.type, node.data_deps) for node in trace], name
            continue
        assert chakra.to_json(trace).encode() == text, name
        assert chakra.read(text) == trace, name
    assert pairs or archive not in ("generator", "text", "alexnet_ps", "event_sync")


def test_generated_traces_are_upstreams() -> None:
    files = {Path(name).name: data for name, data in content("generator").items()}
    made = {
        f"{case.name}.{rank}.et": trace.to_bytes()
        for case in generate(2, compat="upstream")
        for rank, trace in enumerate(case.traces)
    }
    assert made == {name: data for name, data in files.items() if name.endswith(".et")}


@pytest.mark.parametrize(
    ("archive", "trace", "order"),
    [
        ("feeder_sample", "chakra.0.et", "upstream_v1_order.txt"),
        ("feeder_sample", "chakra.0.json", "upstream_v1_order.txt"),
        ("resnet_pair", "chakra.0.et", "feeder_v1_order.txt"),
    ],
)
def test_the_order_of_issue_is_upstreams_v1(archive: str, trace: str, order: str) -> None:
    files = {Path(name).name: data for name, data in content(archive).items()}
    expected = [int(line) for line in files[order].split()]
    assert chakra.issue_order(files[trace], "v1") == expected


def test_a_small_workload_of_the_v1_feeder_is_read() -> None:
    files = {Path(name).name: data for name, data in content("feeder_sample").items()}
    trace = chakra.read(files["small_chakra.0.json"])
    assert [node.id for node in trace] == [216, 217, 430, 432, 433, 435, 541]
    assert trace.node(435).data_deps == [432, 216, 217]
