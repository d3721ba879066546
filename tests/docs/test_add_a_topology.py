"""The guide's example runs, and does what the guide says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.clusters import GB_PER_S, LATENCY_NS
from tests.docs import pages
from yantra import scenario as scenarios
from yantra.chakra import TraceBuilder
from yantra.fabric.topologies import contract
from yantra.run.simulate import simulate

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "add-a-topology.md"
SIZE = 1_000_000


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (source,) = (block.text for block in pages.blocks(GUIDE) if block.language == "python")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "hyperx_2d.py"
    path.write_text(source, encoding="utf-8")
    return path


@pytest.fixture
def installed(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages.install(GUIDE, example.parent, monkeypatch)


def test_the_guide_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    monkeypatch.chdir(folder)
    outputs = list(pages.run(GUIDE, folder))
    assert len(outputs) == 7
    for where, printed, shown in outputs:
        assert printed == shown, where


@pytest.mark.parametrize(
    ("network", "finish_ns"),
    [
        ("analytical", 2 * LATENCY_NS + SIZE / GB_PER_S),
        ("store_and_forward", 2 * (LATENCY_NS + SIZE / GB_PER_S)),
    ],
)
def test_the_example_runs_as_an_entry_point(
    installed: None, example: Path, network: str, finish_ns: float
) -> None:
    ranks = [TraceBuilder() for _ in range(16)]
    ranks[5].send(10, SIZE)
    ranks[10].recv(5, SIZE)
    for rank, trace in enumerate(ranks):
        trace.build().write(example.parent / f"step.{rank}.et")
    (cluster,) = pages.texts(GUIDE, "yaml")
    text = f'workload: {{traces: "step.{{rank}}.et"}}\nnetwork: {network}\n{cluster}'
    result = simulate(scenarios.loads(text))
    assert result.finish_ns[10] == finish_ns
    assert [row[:3] for row in result.links.rows()] == [(0, 5, 6), (0, 6, 10)]


def test_an_installed_topology_stands_in_the_schema_and_in_the_hints(installed: None) -> None:
    forms: list[dict[str, Any]] = scenarios.json_schema()["properties"]["cluster"]["anyOf"]  # type: ignore[index]
    dimension = forms[0]["properties"]["topology"]["items"]
    kinds = dimension["properties"]["kind"]["anyOf"]
    assert "hyperx_2d" in kinds[0]["enum"]
    assert re.search(kinds[1]["pattern"], "dragonfly4")
    assert not re.search(kinds[1]["pattern"], "hyperx_2d4")


def test_the_check_takes_names_and_explains_what_it_cannot_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert contract.main(["dragonfly1"]) == 0
    assert capsys.readouterr().out == (
        "every law holds over 4, 6 ranks\n"
        "6 ranks: 6 switches, 24 links, 5 hops at most, 3.80 on average\n"
    )
    assert contract.main(["mesg"]) == 2
    assert "did you mean 'mesh'?" in capsys.readouterr().err
    assert contract.main([str(tmp_path / "none.py")]) == 2
    assert capsys.readouterr().err == (
        f"error: {tmp_path}/none.py: no such file; expected a Python file, or a name without .py\n"
    )
    (tmp_path / "empty.py").write_text("")
    assert contract.main([str(tmp_path / "empty.py")]) == 2
    assert capsys.readouterr().err == (
        f"error: {tmp_path}/empty.py: gives no topology; expected a line PLUGIN = <a Block class>\n"
    )
