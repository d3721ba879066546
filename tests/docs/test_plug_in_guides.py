"""The guides to plug-ins of one file: each runs, and prints what it shows."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs import pages
from yantra import compute, memory, network, schedulers
from yantra.base.registry import Registry
from yantra.collectives.selection import selections
from yantra.fabric import graphs
from yantra.rl import modes
from yantra.serving import batching

GUIDES = Path(__file__).parents[2] / "docs" / "guides"


class Guide(NamedTuple):
    page: str
    registry: Registry  # type: ignore[type-arg]
    file: str
    plugin: str


ALL = (
    Guide("add-a-compute-model.md", compute.models, "launch.py", "Launch"),
    Guide("add-an-engine.md", batching.engines, "shortest.py", "Shortest"),
    Guide("add-a-fabric.md", graphs.builders, "slim_fly.py", "SlimFly"),
    Guide("add-a-memory-model.md", memory.models, "lines.py", "Lines"),
    Guide("add-a-network.md", network.networks, "one_at_a_time.py", "OneAtATime"),
    Guide("add-a-scheduler.md", schedulers.schedulers, "hubs.py", "Hubs"),
    Guide("add-to-post-training.md", modes.modes, "half.py", "Half"),
    Guide("add-a-selection.md", selections, "by_group.py", "ByGroup"),
)


PAGES = (
    *(guide.page for guide in ALL),
    "add-a-routing.md",
    "bring-your-graph.md",
    "plug-in-your-simulator.md",
)


@pytest.fixture(params=ALL, ids=lambda guide: guide.page)
def guide(request: pytest.FixtureRequest) -> Guide:
    found: Guide = request.param
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "page"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("page", PAGES)
def test_the_guide_prints_what_it_shows(page: str, folder: Path) -> None:
    for where, printed, shown in pages.run(GUIDES / page, folder):
        assert printed == shown, where


def test_the_example_is_known_as_an_entry_point(
    guide: Guide, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = GUIDES / guide.page
    (source,) = [block.text for block in pages.blocks(page) if block.file == guide.file]
    Path(guide.file).write_text(source, encoding="utf-8")
    pages.install(page, folder, monkeypatch)
    assert guide.registry.get(Path(guide.file).stem).__name__ == guide.plugin
