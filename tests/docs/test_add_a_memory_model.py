"""The guide's example is run as it stands, and says what the guide says it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from yantra import scenario as scenarios
from yantra.chakra import TraceBuilder
from yantra.memory import contract
from yantra.simulate import simulate

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "add-a-memory-model.md"
TOPOLOGY = "  topology: [{kind: ring, size: 2, bandwidth: 50 GB/s, latency: 1 us}]\n"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (source,) = blocks("python")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "lines.py"
    path.write_text(source, encoding="utf-8")
    return path


@pytest.fixture
def installed(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (toml,) = blocks("toml")
    entry = toml.splitlines()[1].replace('"', "").replace("my_package.", "")
    info = example.parent / "my_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my_package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[yantra.memory_models]\n{entry}\n")
    monkeypatch.syspath_prepend(str(example.parent))


@pytest.mark.parametrize("shown", [0, 1], ids=["right", "wrong"])
def test_the_check_says_what_the_guide_shows(
    example: Path, shown: int, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong = "accesses.bytes / self", "(1e9 - accesses.bytes) / self"
    source = example.read_text(encoding="utf-8")
    assert source.count(right) == 1
    if shown:
        example.write_text(source.replace(right, wrong), encoding="utf-8")
    command, _, expected = blocks("console")[shown].partition("\n")
    words = command.split()
    assert words[:4] == ["$", "python", "-m", "yantra.memory.contract"]
    assert contract.main(words[4:]) == shown
    assert capsys.readouterr().out == expected


def test_the_example_runs_as_an_entry_point(installed: None, example: Path) -> None:
    trace = TraceBuilder()
    trace.memory_store(1000)
    for rank in range(2):
        trace.build().write(example.parent / f"step.{rank}.et")
    (cluster,) = blocks("yaml")
    text = 'workload: {traces: "step.{rank}.et"}\n' + cluster + TOPOLOGY
    result = simulate(scenarios.loads(text))
    alone = 1000 + 2 * 1024 / 64
    assert sorted(result.finish_ns.tolist()) == [alone, 2 * alone]
