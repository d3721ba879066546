"""`semantics: astra-sim@mlsys26` gives what that branch prints (data/mlsys26.json: rank, tick,
exposed). Source: changhai/chakra_main_paper of astra-sim, 77e78a2 of 2026-03-11, with chakra
f37c2bb, astra-network-analytical 599a047, astra-memory-analytical 641cce8.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.golden.mlsys26_inputs import write
from tests.reference.runs import finishes
from yantra.cli import main

RECORDED = json.loads((Path(__file__).parent / "data" / "mlsys26.json").read_text())


def _finishes(
    seed: str, backend: str, semantics: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> list[list[int]]:
    options = write(int(seed), folder)
    options += [f"--network-backend=congestion-{backend}", f"--semantics={semantics}"]
    assert main(["astra-sim", *options, f"--logging-folder={folder / 'log'}"]) == 0
    return [list(line) for line in finishes(capsys.readouterr().out)]


@pytest.mark.parametrize("seed", RECORDED)
def test_every_finish_line_is_that_of_the_branch(
    seed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for backend, lines in RECORDED[seed].items():
        assert lines == _finishes(seed, backend, "astra-sim@mlsys26", tmp_path, capsys), backend


def test_the_record_has_both_backends() -> None:
    assert len(RECORDED) >= 20
    assert all(set(of_seed) == {"unaware", "aware"} for of_seed in RECORDED.values())
