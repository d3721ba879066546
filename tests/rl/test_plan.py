"""The plan that is found against all plans of a small space."""

from __future__ import annotations

from typing import Any

import pytest

from yantra.base.errors import ConfigError
from yantra.rl.answer import answered
from yantra.rl.answer import as_dict as as_dict_of_one
from yantra.rl.plan import _Search, as_dict, lines, planned
from yantra.rl.question import Question, made


def _question(**more: Any) -> Question:
    return made(
        "llama3-8b", "hgx-h100", gpus=8, prompts=32, generations=8, prompt_tokens=100,
        lengths="lognormal:mean=300,sigma=0.9,cap=2048", train_batch=128, **more,
    )  # fmt: skip


def _every(search: _Search) -> list[float]:
    """Seconds of all splits with all widths and plans, and of all when colocated."""
    gpus = search.question.gpus
    found = [
        (search.mode, generating, one, trainer)
        for generating in range(1, gpus)
        for one in search.free
        if generating % one.generator.devices == 0
        for trainer in search.trainers(gpus - generating)[:3]
    ]
    found += [
        ("sync", gpus, one, trainer) for one in search.wide for trainer in search.trainers(gpus)[:3]
    ]
    return [answered(search._made(*one)).seconds for one in found]


@pytest.mark.parametrize("staleness", [1, 2])
def test_the_choice_is_as_good_as_the_best_of_all(staleness: int) -> None:
    question = _question()
    best = planned(question, staleness).answers[0].seconds
    assert best <= 1.03 * min(_every(_Search(question, staleness)))


@pytest.mark.parametrize("framework", ["nemo-rl", "verl"])
def test_each_plan_takes_as_long_as_it_does_alone(framework: str) -> None:
    question = _question(framework=framework)
    for found in planned(question, 2).answers:
        of = found.question
        alone = _question(
            framework=framework, mode=of.mode, train=of.train,
            generate=dict(of.generate) | ({} if of.is_colocated else {"gpus": of.generating}),
            staleness=2 if of.mode == "async" else None,
        )  # fmt: skip
        assert as_dict_of_one(answered(alone)) == as_dict_of_one(found)


def test_what_a_usd_buys_is_no_less_on_fewer_gpus() -> None:
    question = _question()
    fast, cheap = (planned(question, 1, one) for one in ("samples", "usd"))
    assert cheap.answers[0].samples_per_s <= fast.answers[0].samples_per_s
    values = [one.samples_per_usd or 0.0 for one in cheap.answers]
    assert values == sorted(values, reverse=True)
    assert values[0] >= (fast.answers[0].samples_per_usd or 0.0)
    assert {one.question.gpus for one in cheap.answers} >= {4, 8}
    best = cheap.answers[0]
    assert values[0] == pytest.approx(256 / (best.usd or 0.0))
    assert f"{values[0]:,.4g} samples/USD" in "\n".join(lines(cheap, 1))


def test_without_a_price_nothing_is_bought() -> None:
    question = _question()
    free = question._replace(cluster=question.cluster.replace(price=None))
    with pytest.raises(ConfigError, match="price"):
        planned(free, 1, "usd")


def test_without_staleness_steps_are_synchronous() -> None:
    found = planned(_question(), 0)
    assert {one.question.mode for one in found.answers} == {"sync"}
    told = list(lines(found, 3))
    assert told[-1] == "staleness buys nothing: the best step is synchronous"
    assert as_dict(found, 2)["best"][0]["step_s"] == pytest.approx(found.answers[0].seconds)
