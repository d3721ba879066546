"""Upstream's visualizers, character for character (../shared/golden, or YANTRA_GOLDEN)."""

from __future__ import annotations

import os
import re
import tarfile
from pathlib import Path

import pytest

from yantra.chakra import Trace
from yantra.cli.upstream import timeline_visualizer
from yantra.tracing.inspect.draw import drawing, graphml_text

ROOT = Path(os.environ.get("YANTRA_GOLDEN", Path(__file__).parents[3] / "shared" / "golden"))
SET = ROOT / "chakra"
DRAWN = ("alexnet_ps", "event_sync", "event_sync_ms_ps", "resnet_pair")

_NODE = re.compile(r"^\t(\d+)\t\[.*?label=\"?([^\",\n]*)\"?,\n", re.MULTILINE | re.DOTALL)
_EDGE = re.compile(r"^\t(\d+) -> (\d+)\t\[arrowhead=(\w+)", re.MULTILINE)

pytestmark = pytest.mark.skipif(not SET.exists(), reason="the golden set is not here")


def files(name: str, *suffixes: str) -> dict[str, bytes]:
    found = {}
    with tarfile.open(SET / f"{name}.tar.xz") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.name.endswith(suffixes) else None
            if content is not None:
                found[member.name] = content.read()
    return found


@pytest.mark.parametrize("name", DRAWN)
def test_graphml_is_upstreams(name: str) -> None:
    found = files(name, ".et", ".graphml")
    for drawn, text in found.items():
        if drawn.endswith(".graphml"):
            trace = Trace.from_bytes(found[drawn.replace(".graphml", ".et")])
            assert graphml_text(trace) == text.decode()


def test_the_timeline_in_compat_is_upstreams(tmp_path: Path) -> None:
    found = files("timeline_and_viz", ".csv", "/out.json")
    log, out = tmp_path / "in.csv", tmp_path / "out.json"
    log.write_bytes(found["timeline_and_viz/timeline/in.csv"])
    arguments = ["--input_filename", str(log), "--output_filename", str(out)]
    arguments += ["--num_npus", "2", "--npu_frequency", "1500", "--compat", "upstream"]
    assert timeline_visualizer.run(arguments) == 0
    assert out.read_bytes() == found["timeline_and_viz/timeline/out.json"]


def test_the_drawing_of_a_text_workload_is_upstreams() -> None:
    name = "text/out/DLRM_HybridParallel/passes1/DLRM_HybridParallel.0.et"
    trace = Trace.from_bytes(files("text", ".et")[name])
    theirs = files("timeline_and_viz", "dlrm.graphml", "dlrm.dot")
    graphml = theirs["timeline_and_viz/viz/dlrm.graphml"].decode()
    assert graphml_text(trace) == graphml
    dot = theirs["timeline_and_viz/viz/dlrm.dot"].decode()
    picture = drawing(trace, plain=True)
    names = {int(box.key): box.lines[0] for box in picture.boxes}
    assert {int(id): label for id, label in _NODE.findall(dot)} == names
    keys = [int(box.key) for box in picture.boxes]
    edges = [
        (keys[edge.source], keys[edge.target], "tee" if edge.control else "normal")
        for edge in picture.edges
    ]
    assert sorted((int(a), int(b), head) for a, b, head in _EDGE.findall(dot)) == sorted(edges)
