"""The guides to networks and selections: their examples are run as they stand."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs import pages
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.cli import main
from yantra.run.simulate import simulate
from yantra.scenario import loads

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
TOPOLOGY = "topology: [{kind: switch, size: 4, bandwidth: 50 GB/s, latency: 1 us}]"


class Guide(NamedTuple):
    page: str
    file: str
    right: str
    wrong: str


NETWORK = Guide(
    "add-a-network.md",
    "one_at_a_time.py",
    "self.fabric.alone_ns(message)",
    "self.fabric.alone_ns(message._replace(bytes=0))",
)
SELECTION = Guide(
    "add-a-selection.md",
    "by_group.py",
    'Choice(0, ("halving_doubling",)), Choice(1 << 18, ("ring",))',
    'Choice(1 << 18, ("ring",)), Choice(0, ("halving_doubling",))',
)


def blocks(guide: Guide, language: str) -> list[str]:
    return pages.texts(GUIDES / guide.page, language)


@pytest.fixture(params=[NETWORK, SELECTION], ids=lambda guide: guide.page)
def guide(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Guide:
    found: Guide = request.param
    (source,) = blocks(found, "python")
    monkeypatch.chdir(tmp_path)
    Path(found.file).write_text(source, encoding="utf-8")
    return found


@pytest.mark.parametrize("shown", [0, 1], ids=["right", "wrong"])
def test_the_check_says_what_the_guide_shows(
    guide: Guide, shown: int, capsys: pytest.CaptureFixture[str]
) -> None:
    source = Path(guide.file).read_text(encoding="utf-8")
    assert source.count(guide.right) == 1
    if shown:
        Path(guide.file).write_text(source.replace(guide.right, guide.wrong), encoding="utf-8")
    command, _, expected = blocks(guide, "console")[shown].partition("\n")
    assert main(command.split()[2:]) == (2 if shown else 0)
    said = capsys.readouterr()
    assert said.out + said.err == expected


def test_the_scenarios_of_the_guide_run(guide: Guide) -> None:
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, 1000)
    for rank in range(4):
        trace.build().write(f"step.{rank}.et")
    for part in blocks(guide, "yaml"):
        own = "" if "collectives:" in part else "collectives: {all_reduce: [ring]}\n"
        text = f'workload: {{traces: "step.{{rank}}.et"}}\ncluster: {{{TOPOLOGY}}}\n{own}{part}'
        assert simulate(loads(text, Path.cwd())).makespan_ns > 0
