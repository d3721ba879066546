"""How tokens spread over experts: the closed form against draws from the same law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.compute.families.grouped_gemm import Layer, load_of
from yantra.compute.families.spread import busiest, law, loads


def drawn(rows: int, tokens: int, experts: int, devices: int, exponent: float) -> float:
    least, most = (1.0, 0.8 * tokens) if rows > experts else (0.01, 2.0)
    power = 1 - exponent
    shares = np.random.default_rng(0).random((4000, experts))
    loads = ((most**power - least**power) * shares + least**power) ** (1 / power)
    loads /= loads.sum(axis=1, keepdims=True)
    each = loads.reshape(4000, devices, experts // devices).sum(axis=2)
    return float(each.max(axis=1).mean() * devices)


# Beside what the closed form gave when it was compared, so that a change is noticed.
@pytest.mark.parametrize(
    ("skew", "tokens", "top_k", "experts", "devices", "recorded"),
    [
        (101, 16384, 8, 128, 2, 1.0939787872249251),
        (101, 16384, 8, 128, 32, 3.9267071084941922),
        (101, 16384, 8, 128, 128, 9.846279590785734),
        (101, 256, 8, 128, 8, 1.4826394576776316),
        (101, 16384, 10, 512, 32, 2.274200007762632),
        (101, 4, 8, 128, 32, 2.778474118142063),
        (120, 16384, 8, 128, 2, 1.1367552028719334),
        (120, 16384, 8, 128, 32, 5.803815027166762),
        (120, 16384, 8, 128, 128, 18.002007984087047),
        (120, 256, 8, 128, 8, 1.584141107501875),
        (120, 16384, 10, 512, 32, 3.1094971433045444),
        (120, 4, 8, 128, 32, 3.210241582573281),
    ],
)
def test_the_busiest_device_has_what_draws_give_it(
    skew: int, tokens: int, top_k: int, experts: int, devices: int, recorded: float
) -> None:
    rows = tokens * top_k
    given = [np.array([float(part)]) for part in (rows, tokens, experts, skew)]
    made = busiest(
        law(given[0], given[1], given[2], given[3]),
        np.array([experts / devices]),
        np.array([float(devices)]),
    )
    assert made[0] == pytest.approx(drawn(rows, tokens, experts, devices, skew / 100), rel=0.08)
    assert made[0] == pytest.approx(recorded, rel=1e-9)


@given(
    tokens=st.integers(1, 1 << 16),
    top_k=st.sampled_from([1, 2, 8, 22]),
    total=st.sampled_from([32, 128, 512]),
    devices=st.sampled_from([1, 4, 32]),
    skew=st.integers(0, 120),
)
def test_no_device_has_more_rows_than_there_are_nor_fewer_than_the_mean(
    tokens: int, top_k: int, total: int, devices: int, skew: int
) -> None:
    one = np.ones(1)
    rows = tokens * top_k / devices
    layer = Layer(
        hidden=4096 * one, inner=1536 * one, experts=total / devices * one, top_k=top_k * one,
        rows=rows * one, tokens=tokens * one, gates=2 * one, skew=skew * one,
    )  # fmt: skip
    load = load_of(layer)
    assert min(rows, tokens * total / devices) * (1 - 1e-9) <= load.rows[0]
    assert load.rows[0] <= min(tokens * top_k, tokens * total / devices) * (1 + 1e-9)
    assert sum(each[0] for each in load.each) / len(load.each) * layer.experts[0] == pytest.approx(
        load.rows[0]
    )
    assert 0 < load.active[0] <= layer.experts[0] * (1 + 1e-9)
    if skew == 0 or devices == 1:
        assert load.rows[0] == pytest.approx(rows)


def test_the_more_skewed_the_busier_and_the_more_unequal() -> None:
    skew = np.array([0.0, 50.0, 101.0, 110.0, 120.0])
    of = law(np.full(5, 8.0 * 4096), np.full(5, 4096.0), np.full(5, 128.0), skew)
    made = busiest(of, np.full(5, 4.0), np.full(5, 32.0))
    assert made[0] == 1.0
    assert (np.diff(made) > 0).all()
    most = loads(of, np.full(5, 64.0))[-1]
    assert most[0] == 1.0
    assert (np.diff(most) > 0).all()
    alone = loads(of, np.ones(5))
    assert np.ptp(alone) == pytest.approx(0.0, abs=1e-12)
