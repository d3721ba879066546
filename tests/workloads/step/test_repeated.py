"""Equal layers copied from four equal those that are each built."""

from __future__ import annotations

from functools import partial
from itertools import islice, product

import pytest

from tests.workloads.every_model.plans import Trial, trials
from tests.zoo import some
from yantra.base.errors import ConfigError
from yantra.workloads.models.catalogue import find
from yantra.workloads.operators.operations import StageWork
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training import stage
from yantra.workloads.training.repeated import BUILT, longest_run
from yantra.workloads.training.stage import Chunk, setting_of, stage_work

TRIALS = 15


def built(trial: Trial, layers: tuple[int, int], *, front: bool, tail: bool) -> StageWork:
    setting = setting_of(trial.plan, trial.model.sequence)
    return Chunk(trial.model, setting, layers, front, tail).work()


@pytest.mark.parametrize(
    "ends", some(product([True, False], repeat=2), lambda one: one[0] != one[1])
)
def test_any_chunk_of_any_model_is_as_if_each_layer_were_built(ends: tuple[bool, bool]) -> None:
    front, tail = ends
    copied = set()
    for number, trial in enumerate(islice(trials(seed=5, full=True, most_work=10**9), TRIALS)):
        count = len(trial.model.layers)
        first = 0 if front else number % 3 % count
        end = count if tail else max(count - number % 2, first + 1)
        cut = {"front": front, "tail": tail}
        whole = partial(
            stage_work, trial.model, trial.plan, layers=(first, end), sequence=trial.model.sequence
        )
        try:
            wanted = built(trial, (first, end), **cut)
        except ConfigError:  # of a condition that no chunk without the end can scatter
            with pytest.raises(ConfigError):
                whole(**cut)
            continue
        assert whole(**cut) == wanted, str(trial)
        if longest_run(trial.model.layers[first:end]).length > BUILT:
            copied.add(trial.name)
    assert len(copied) > 5


@pytest.mark.parametrize("name", ["llama3-8b", "gpt3-13b", "mixtral-8x7b", "deepseek-v3"])
def test_a_model_of_equal_layers_has_a_pattern(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = find(name)
    made = []
    init = stage.Chunk.__init__

    def counted(self: Chunk, *given: object) -> None:
        made.append(given[2])
        init(self, *given)

    monkeypatch.setattr(stage.Chunk, "__init__", counted)
    for recompute in ("none", "selective", "operators", "full"):
        made.clear()
        plan = Plan(tp=2, cp=2, recompute=recompute)
        stage_work(model, plan, layers=(0, 30), front=True, tail=False, sequence=2048)
        assert all(end - first < 10 for first, end in made)
