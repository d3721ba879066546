"""A sweep gives the same bytes on any number of threads, folded and not."""

from __future__ import annotations

import pytest

from tests.oracles.folded_jobs import folded_case
from yantra import simulate
from yantra.base.errors import YantraError
from yantra.export.json import json_text
from yantra.result import Result
from yantra.run.sweep import sweep
from yantra.scenario.types import Fold

CASES = 60


def text(_: int, result: Result) -> str:
    return json_text(result)


@pytest.mark.parametrize("fold", ["off", "auto", "require"])
def test_the_bytes_of_results_do_not_depend_on_threads(fold: Fold) -> None:
    scenarios = [folded_case(seed) for seed in range(CASES)]
    if fold == "auto":
        alone = [json_text(simulate(scenario)) for scenario in scenarios]
    else:
        alone = [str(found) for found in sweep(scenarios, 1, fold=fold, keep=text)]
    for threads in (1, 2, 4, 8):
        found = list(sweep(scenarios, threads, fold=fold, keep=text))
        assert [str(one) for one in found] == alone
        refused = sum(isinstance(one, YantraError) for one in found)
        assert refused < CASES // 2 if fold == "require" else refused == 0
