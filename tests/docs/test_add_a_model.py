"""The guide's models are used as it says, and do what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import pages
from tests.docs.pages import blocks, run
from yantra.base.errors import ConfigError
from yantra.workloads.models import catalogue
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "add-a-model.md"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "page"
    made.mkdir()
    monkeypatch.chdir(made)
    for block in blocks(GUIDE):
        if block.file is not None:
            (made / block.file).write_text(block.text, encoding="utf-8")
    return made


def test_the_guide_prints_what_it_shows(folder: Path) -> None:
    outputs = list(run(GUIDE, folder))
    assert len(outputs) == 5
    for where, printed, shown in outputs:
        assert printed == shown, where


def test_a_transformer_of_the_guide_has_its_published_size(folder: Path) -> None:
    assert catalogue.find("tinyllama.py").parameters() == 1_100_048_384


def test_thin_rows_cross_between_ranks(folder: Path) -> None:
    """A quarter of the feed-forward's traffic remains: 512 columns instead of 2048."""
    workload = train(catalogue.find("low_rank.py"), Plan(tp=4, dp=2, global_batch=2))
    communication = workload.totals["stage0"]["communication"]
    (scattered,) = (item[3] for item in communication if item[:2] == ["reduce_scatter", "tp"])
    thin, hidden = (2 * 2048 * columns for columns in (512, 2048))
    # A layer forward: attention's sum and the thin one; backward: those of both inputs. Beside the
    # layers: the embedding's sum, and that of the head's input.
    assert scattered == 24 * (2 * hidden + 2 * thin) + 2 * hidden


def test_the_models_of_a_package_go_by_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "low_rank.py"
    path.write_text(path.read_text(encoding="utf-8") + "MODELS = (PLUGIN,)\n", encoding="utf-8")
    pages.install(GUIDE, folder, monkeypatch)
    assert catalogue.find("low-rank-1b").parameters() == catalogue.find(str(path)).parameters()
    with pytest.raises(ConfigError, match="did you mean 'low-rank-1b'"):
        catalogue.find("low-rank-2b")
