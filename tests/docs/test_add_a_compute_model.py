"""The guide's example is run as it stands, and says what the guide says it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import pages
from yantra import scenario as scenarios
from yantra.chakra import TraceBuilder
from yantra.compute import contract
from yantra.run.simulate import simulate

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "add-a-compute-model.md"
TOPOLOGY = "  topology: [{kind: ring, size: 2, bandwidth: 50 GB/s, latency: 1 us}]\n"


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (source,) = pages.texts(GUIDE, "python")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "launch.py"
    path.write_text(source, encoding="utf-8")
    return path


@pytest.fixture
def installed(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages.install(GUIDE, example.parent, monkeypatch)


@pytest.mark.parametrize("shown", [0, 1], ids=["right", "wrong"])
def test_the_check_says_what_the_guide_shows(
    example: Path, shown: int, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong = (
        "bound, bound + self.given",
        "bound + 9 * self.given.launch_ns, bound + self.given",
    )
    source = example.read_text(encoding="utf-8")
    assert source.count(right) == 1
    if shown:
        example.write_text(source.replace(right, wrong), encoding="utf-8")
    command, _, expected = pages.texts(GUIDE, "console")[shown].partition("\n")
    words = command.split()
    assert words[:4] == ["$", "python", "-m", "yantra.compute.contract"]
    assert contract.main(words[4:]) == shown
    assert capsys.readouterr().out == expected


def test_the_example_runs_as_an_entry_point(installed: None, example: Path) -> None:
    trace = TraceBuilder()
    trace.compute(num_ops=10**12, tensor_size=1)
    for rank in range(2):
        trace.build().write(example.parent / f"step.{rank}.et")
    (cluster,) = pages.texts(GUIDE, "yaml")
    text = 'workload: {traces: "step.{rank}.et"}\n' + cluster + TOPOLOGY
    result = simulate(scenarios.loads(text))
    assert result.finish_ns.tolist() == [1_005_000] * 2
