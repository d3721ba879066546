"""What plug-ins import keeps its name, and is all that they need."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from yantra import plugin
from yantra.kinds import kinds

# Of version 1. Removing one needs a new version and a new table here.
KEPT = {
    "backend": "Backend Work",
    "collective": (
        "CollectiveAlgorithm InNetwork Kind Move Node OverNodes Round Schedule Shares "
        "Tree all_reduce barrier broadcast over_switches over_trees spread summed_up"
    ),
    "compute": "ComputeModel Device Estimates Kernels Roofline",
    "engine": "Engine Option Plan Rows State",
    "exporter": "Exporter TableExporter TextExporter whole_file",
    "fabric": "LINKS Builder Draft Linked Size Speed",
    "kernels": "Estimates Family Gpu Kernels Machine table within",
    "memory": "Accesses Hop LatencyAndBandwidth MemoryModel Pipeline Speeds",
    "model": "Attention Block Embedding Head Layer Model Transformer elementwise linear settle",
    "network": "Crossing Dimension Fabric Message NetworkModel",
    "options": "Changes Entry Flag Many Number Quantity Record Section Text Whole",
    "rl_algorithm": "Algorithm Alone Work",
    "rl_mode": "Asked Loop Mode",
    "schedule": "Pair Schedule Step in_turns",
    "scheduler": "COLLECTIVE COMPUTE MEMORY NOTHING RECEIVE SEND Nodes Scheduler",
    "selection": "Choice Selection",
    "topology": "Block around both_ways near_square",
    "traffic": "Flows Traffic ordered others",
}
GUIDES = Path(__file__).resolve().parents[2] / "docs" / "guides"
_IMPORT = re.compile(r"^[# ]*(?:from|import) (yantra[\w.]*)", re.MULTILINE)


def deep(source: str) -> list[str]:
    return [name for name in _IMPORT.findall(source) if not name.startswith("yantra.plugin.")]


def test_the_version_is_that_of_the_names() -> None:
    assert plugin.VERSION == 1


@pytest.mark.parametrize("module", sorted(KEPT))
def test_a_name_that_plug_ins_import_is_kept(module: str) -> None:
    found = import_module(f"yantra.plugin.{module}")
    lacking = set(KEPT[module].split()) - set(found.__all__)
    assert not lacking
    assert all(hasattr(found, name) for name in found.__all__)


def test_every_module_is_kept() -> None:
    assert {module.name for module in iter_modules(plugin.__path__)} == set(KEPT)


@pytest.mark.parametrize("kind", [name for name in kinds.names() if name != "external"])
def test_a_skeleton_imports_nothing_that_may_move(kind: str) -> None:
    text = kinds.get(kind)().text("mine")
    assert "yantra.plugin." in text and not deep(text)


def test_a_plug_in_of_a_guide_imports_nothing_that_may_move() -> None:
    sources = [
        text
        for guide in sorted(GUIDES.glob("*.md"))
        for text in re.findall(r"^```python.*?^```$", guide.read_text(), re.M | re.S)
        if re.search(r"^PLUGIN = ", text, re.M)
    ]
    assert len(sources) > 10
    assert [name for source in sources for name in deep(source)] == []
