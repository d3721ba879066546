"""Llama 3's 54 days on 16,384 GPUs: 466 interruptions, 419 unexpected, over 90 % effective time."""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest

from yantra.explore.study.goodput import best_interval
from yantra.fabric.failures import Rates, load
from yantra.lives.draws import DAY_NS, NS, drawn
from yantra.lives.play import Lives, play
from yantra.lives.policy import Policy

HOSTS, DAYS, MET, UNEXPECTED = 2048, 54, 466, 419
BY_COMPONENT = {"gpu": 184, "hbm": 72, "switch_or_link": 35, "software": 56, "planned": 47}


def lives_of(rates: Rates, spares: int) -> Lives:
    """Asynchronous checkpoints to 2 TB/s, of the 14 bytes a parameter of 405B."""
    tau = best_interval(DAYS * 86_400 / MET, 0.59)
    policy = Policy(
        tau=round(tau * NS), block=590_000_000, save=round(14 * 405e9 / 2e12 * NS), spares=spares,
        in_place=rates.recoverable.value, notice=600 * NS, slower=rates.slower.value,
    )  # fmt: skip
    return play(rates, drawn(rates, HOSTS, DAYS * DAY_NS, 1000, 1), policy)


def test_other_fleets_rates_hold_llama3s_interruptions_and_its_effective_time() -> None:
    begun = process_time()
    found = lives_of(load("fleets"), 76)
    met = found.counts.sum(axis=0)
    low, high = np.quantile(met, (0.05, 0.95))
    assert low < UNEXPECTED < MET < high
    assert 1 / 1.5 < met.mean() / MET < 1.5
    assert found.useful.mean() / (DAYS * DAY_NS) > 0.90
    assert process_time() - begun < 30.0


def test_its_own_rates_give_its_own_counts() -> None:
    rates = load("llama3")
    found = lives_of(rates, 76)
    assert found.counts.sum(axis=0).mean() == pytest.approx(MET, rel=0.05)
    means = dict(
        zip([one.name for one in rates.components], found.counts.mean(axis=1), strict=True)
    )
    assert sum(means.values()) - means["planned"] == pytest.approx(UNEXPECTED, rel=0.05)
    for name, events in BY_COMPONENT.items():
        assert means[name] == pytest.approx(events, rel=0.05)
    assert found.useful.mean() / (DAYS * DAY_NS) > 0.90


def test_files_of_rates_say_what_llama3s_table_and_the_trace_say() -> None:
    own, fleets = load("llama3"), load("fleets")
    assert sum(one.events for one in own.components) == MET
    assert sum(one.events for one in own.components if one.does != "planned") == UNEXPECTED
    assert sum(one.events for one in fleets.components) == 584
    assert "llama3" not in dict(fleets.sources)
    hours = np.interp(np.linspace(0.0, 1.0, 10_001), fleets.repair_at, fleets.repair_h)
    assert hours.mean() == pytest.approx(132.8, rel=0.05)  # of the trace's 584 repairs
