"""What a finished study answers: what offers are worth, how sure its winner is, break points."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from math import exp, log, sqrt
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from yantra.base.errors import ConfigError
from yantra.explore.answers.breaks import (
    break_even,
    confirm,
    even_words,
    plans_by_rate,
)
from yantra.explore.answers.breaks import words as break_words
from yantra.explore.answers.next_dollar import NextDollar, Offer, next_dollar, read_offer
from yantra.explore.answers.next_dollar import words as dollar_words
from yantra.explore.answers.odds import _shares, chance, odds_of, read_within
from yantra.explore.answers.odds import words as odds_words
from yantra.explore.answers.widths import CLOSED_FORM, Width, widths_of
from yantra.explore.pages.study_page import study_page
from yantra.explore.study.point import scenario_of
from yantra.explore.study.study import Finished, front_of, run_study
from yantra.explore.study.study_file import Study, read_study, study_of
from yantra.explore.study.trial import figures, plans_of
from yantra.fabric import clusters, stacks
from yantra.run.simulate import simulate
from yantra.scenario.layout import STACK

TEXT = """
model: llama3-8b
global_batch: 32
sequence: 2048
clusters: [hgx-h100, dgx-a100-80gb]
ranks: [8, 16]
prices: {hgx-h100: 2.50 USD/h}
stack: roofline
objectives: [step_time]
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Finished]:
    folder = tmp_path_factory.mktemp("study")
    path = folder / "study.yaml"
    path.write_text(TEXT)
    study = read_study(str(path))
    return study, run_study(study, str(folder / "out"))


@pytest.fixture(scope="module")
def unpriced(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("unpriced")
    text = Path(clusters.path_of("dgx-a100-80gb")).read_text(encoding="utf-8")
    own = folder / "own.yaml"
    own.write_text(re.sub(r"(?m)^  price: .*\n", "", text), encoding="utf-8")
    path = folder / "study.yaml"
    path.write_text(TEXT.replace("dgx-a100-80gb", str(own)))
    return read_study(str(path))


def test_an_offer_at_the_most_it_may_cost_leaves_the_price_of_a_token(
    ran: tuple[Study, Finished],
) -> None:
    study, _ = ran
    answer = next_dollar(study, 0, [Offer("memory", 1.5, 0.1)])
    (worth,) = answer.worths
    assert answer.usd_per_h == 2.5 and worth.most_usd_per_h is not None
    now, then = (answer.usd_per_h * answer.time_ns, worth.time_ns)
    assert (answer.usd_per_h + worth.most_usd_per_h) * then == pytest.approx(now, rel=1e-12)
    assert worth.saved_ns == answer.time_ns - worth.time_ns > 0
    assert worth.value_ns_per_usd == pytest.approx(worth.saved_ns / (0.1 * 8))
    assert worth.pays is (worth.most_usd_per_h > 0.1)


def test_offers_of_every_rate_agree_with_the_plans_at_that_rate(
    ran: tuple[Study, Finished],
) -> None:
    study, _ = ran
    answer = next_dollar(study, 1)
    plans = plans_of(study, 1)
    assert {one.offer.rate for one in answer.worths} == {*plans.machine.rates, "ranks"}
    for one in answer.worths:
        if one.offer.rate != "ranks":
            there = plans.at(plans.scale.times(one.offer.rate, one.offer.factor))
            assert one.time_ns == float(there.judged.time_ns[there.best()])
        assert one.saved_ns >= -1e-3 * answer.time_ns  # chunks that save less are not taken
    doubled = next(one for one in answer.worths if one.offer.rate == "ranks")
    assert doubled.offer.usd_per_h == 2.5
    more = plans_of(study, 1, ranks=32)
    assert doubled.time_ns == float(more.judged.time_ns[more.best()])


def test_without_a_price_nothing_pays_or_not(unpriced: Study) -> None:
    study = unpriced
    answer: NextDollar = next_dollar(study, 2, [read_offer("peak x2 0.5 USD/h")])
    assert answer.worths[0].pays is None and answer.worths[0].most_usd_per_h is None
    assert "own.yaml states no price" in list(dollar_words(study, answer))[-1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("peak", "expected such as 'links 1 x2 0.15 USD/h'"),
        ("peak x0.5", "expected a factor above 1"),
        ("peak x1.2.3", "expected a factor above 1"),
        ("peak x2 0.5", "a number needs its unit"),
        ("peak x2 -1 USD/h", "USD/h"),
        ("ranks x1.5", "a whole factor and no price"),
        ("ranks x2 1 USD/h", "a whole factor and no price"),
    ],
)
def test_an_offer_that_cannot_be_is_one_line(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read_offer(text)
    assert said in str(raised.value) and "\n" not in str(raised.value)


def test_a_rate_that_is_not_there_is_named(ran: tuple[Study, Finished]) -> None:
    with pytest.raises(ConfigError, match="did you mean 'links 1'"):
        next_dollar(ran[0], 1, [Offer("link 1", 2.0)])


def test_the_chance_of_two_is_that_of_their_normal_logarithms() -> None:
    assert chance(1.0, 1.0, 0.1, 0.3) == pytest.approx(0.5)
    assert chance(1.0, 2.0, 0.1, 0.3) + chance(2.0, 1.0, 0.3, 0.1) == pytest.approx(1.0)
    # At the upper end of its own interval, a value against a certain one loses in 5 of 100 cases.
    assert chance(1.0, 1.1, 0.1, 0.0) == pytest.approx(0.95, abs=1e-9)
    assert (chance(1.0, 2.0, 0.0, 0.0), chance(2.0, 1.0, 0.0, 0.0)) == (1.0, 0.0)


def _study_of(values: list[float]) -> tuple[Study, Finished]:
    names = tuple(f"c{n}" for n in range(len(values)))
    study = Study("m", 1, names, (8,), None, (), (), ("step_time",), (), None, (60.0, 300.0))
    trials = [
        {"cluster": name, "ranks": 8, "scale": {}, "broken": [], "step_time": value}
        for name, value in zip(names, values, strict=True)
    ]
    return study, Finished(trials, [values.index(min(values))])


def test_odds_sum_to_one_and_are_those_of_pairs_where_there_are_two() -> None:
    study, finished = _study_of([1.0, 1.05])
    found = {one.trial: one for one in odds_of(study, finished, {"": 0.1, "c1": 0.2})}
    assert sum(one.best for one in found.values()) == pytest.approx(1.0, abs=1e-12)
    assert found[1].beats == pytest.approx(found[1].best, abs=1e-6)
    assert found[0].beats is None
    study, finished = _study_of([1.0, 1.0, 1.0, 50.0])
    found = {one.trial: one for one in odds_of(study, finished, {"": 0.1})}
    assert [round(found[n].best, 6) for n in range(4)] == [0.333333, 0.333333, 0.333333, 0.0]


def test_odds_of_three_agree_with_draws() -> None:
    study, finished = _study_of([1.0, 1.03, 1.1])
    found = {one.trial: one.best for one in odds_of(study, finished, {"": 0.1})}
    sigma = np.log(1.1) / NormalDist().inv_cdf(0.95)
    draws = np.log([1.0, 1.03, 1.1]) + sigma * np.random.default_rng(5).normal(size=(200_000, 3))
    shares = np.bincount(draws.argmin(axis=1), minlength=3) / len(draws)
    assert [found[n] for n in range(3)] == pytest.approx(list(shares), abs=4e-3)


def test_the_winner_of_the_study_is_the_likeliest(ran: tuple[Study, Finished]) -> None:
    found = odds_of(*ran)
    assert found[0].trial == ran[1].front[0]
    assert sum(one.best for one in found) == pytest.approx(1.0)
    assert next(iter(odds_words(*ran, found))).startswith("trial ")
    with pytest.raises(ConfigError, match="did you mean 'hgx-h100'"):
        odds_of(*ran, {"hgx-h10": 0.1})
    with pytest.raises(ConfigError, match="megatron-2022"):
        odds_of(*ran, stack="megatron-202")


def test_how_wide_a_trial_is_follows_from_the_interval_of_its_estimate() -> None:
    for name in ("unknown", "megatron-2021"):
        study, finished = _near_study(name)
        values = {n: one["step_time"] for n, one in enumerate(finished.trials)}
        found = widths_of(study, finished, values, None)
        for number, width in found.items():
            cluster = finished.trials[number]["cluster"]
            part = stacks.load(name).scenario_part(cluster)
            scenario = scenario_of(study, finished, number)
            assert scenario.stack == STACK.read(part, "stack", "")
            interval = simulate(scenario).interval
            assert interval is not None
            half = log(interval.high / interval.low) / 2
            assert width.of_cluster == pytest.approx(half / NormalDist().inv_cdf(0.95))
            assert width.within > exp(half) - 1 > CLOSED_FORM


def _near_study(stack: str) -> tuple[Study, Finished]:
    study = study_of(
        {
            "model": "llama3-8b",
            "global_batch": 8,
            "sequence": 1024,
            "clusters": ["hgx-h100", "hgx-h200"],
            "ranks": [8],
            "objectives": ["step_time"],
            "stack": stack,
        },
        "study",
    )
    return study, run_study(study)


def test_what_trials_of_a_cluster_share_changes_nothing_between_them() -> None:
    values = [1.0, 1.05]
    own = [Width(0.02), Width(0.02)]
    shared = [Width(0.02, 0.2, "a"), Width(0.02, 0.2, "a")]
    apart = [Width(0.02, 0.2, "a"), Width(0.02, 0.2, "b")]
    assert own[0].apart(own[1]) == shared[0].apart(shared[1]) < apart[0].apart(apart[1])
    first, second, third = (_shares(np.array(values), one)[1] for one in (own, shared, apart))
    assert first == pytest.approx(second, abs=4e-3)
    assert third == pytest.approx(
        1 - NormalDist().cdf(log(1.05) / apart[0].apart(apart[1])), abs=4e-3
    )


@pytest.mark.parametrize("text", ["10", "a=b%", "x%", "-5%"])
def test_an_interval_that_cannot_be_is_one_line(text: str) -> None:
    with pytest.raises(ConfigError, match="expected a percentage"):
        read_within(text)
    assert read_within("hgx-h100=12.5%") == ("hgx-h100", 0.125)


def test_plans_by_rate_join_and_none_is_beaten_inside(ran: tuple[Study, Finished]) -> None:
    study, _ = ran
    reaches = plans_by_rate(study, 1, "links 1", 0.02, 1.0)
    assert (reaches[0].low, reaches[-1].high) == (0.02, 1.0) and len(reaches) > 1
    plans = plans_of(study, 1)
    for one, following in pairwise(reaches):
        assert one.high == following.low and one.row != following.row
    for one in reaches:
        middle = plans.at(plans.scale.times("links 1", sqrt(one.low * one.high)))
        best = float(middle.judged.time_ns[middle.best()])
        assert float(middle.judged.time_ns[one.row]) <= best * 1.02
    assert len(list(break_words(study, 1, "links 1", reaches, []))) == len(reaches) + 2


def test_a_break_point_near_what_there_is_holds_in_simulation(
    ran: tuple[Study, Finished],
) -> None:
    study, _ = ran
    reaches = plans_by_rate(study, 1, "links 1", 0.1, 1.0)
    found = confirm(study, 1, "links 1", reaches)
    assert len(found) == len(reaches) - 1 >= 1
    for one in found:
        assert one.away in (1.05, 1.2, 1.5, 2.0)
        assert one.below_ns is not None and one.above_ns is not None
        below, above = one.below_ns[0] <= one.below_ns[1], one.above_ns[1] <= one.above_ns[0]
        assert one.holds is (below and above)
    assert any(one.holds for one in found)
    with pytest.raises(ConfigError, match="peak, memory or links"):
        confirm(study, 1, "latency", reaches)


def test_two_trials_cost_the_same_where_they_break_even(ran: tuple[Study, Finished]) -> None:
    study, _ = ran
    even = break_even(study, 1, 3, "peak", 0.1, 4.0)
    assert even.factor is not None and 0.1 < even.factor < 1.0
    plans, rival = plans_of(study, 1), plans_of(study, 3)
    there = plans.at(plans.scale.times("peak", even.factor))
    own, other = (figures(one, one.best())["step_time"] for one in (there, rival))
    assert own == pytest.approx(other, rel=2e-3)
    assert "breaks even with trial 3" in even_words(study, (1, 3), "peak", even)
    never = break_even(study, 1, 3, "latency", 0.9, 1.1)
    assert never.factor is None
    assert "does not break even" in even_words(study, (1, 3), "latency", never)


def test_an_objective_without_a_price_cannot_break_even(unpriced: Study) -> None:
    study = unpriced._replace(objectives=("usd_per_million_tokens",))
    with pytest.raises(ConfigError, match="trial 3 has no usd_per_million_tokens: own"):
        break_even(study, 1, 3, "peak", 0.5, 2.0)


def test_the_page_shows_each_trial_once_in_the_picture_and_tells_what_is_broken(
    ran: tuple[Study, Finished],
) -> None:
    study, finished = ran
    two = study._replace(objectives=("step_time", "ranks"))
    trials = [dict(one) for one in finished.trials]
    trials[3]["broken"] = ["step_time: <b> too much"]
    shown = Finished(trials, front_of(two, trials))
    page = study_page(two, shown, next_dollar(two, 1), odds_of(two, shown))
    data = re.search(r'id="page-data"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert data is not None
    points = json.loads(data[1])["page"]["points"]
    assert sorted(one["trial"] for one in points) == [0, 1, 2]
    assert [one["trial"] for one in points if one["front"]] == sorted(
        shown.front, key=lambda at: float(trials[at]["step_time"])
    )
    assert "step_time: &lt;b&gt; too much" in page and "<b> too much" not in page
    assert "4 trials, 2 on the front, 1 not feasible." in page
    for name in ("The front", "Trials", "The next dollar", "How sure the winner is"):
        assert f">{name}</h2>" in page
    one = study._replace(objectives=("step_time",))
    assert 'id="picture"' in page
    alone = study_page(one, finished, next_dollar(one, 1), odds_of(one, finished))
    assert 'id="picture"' not in alone
