"""How tokens spread over experts: the closed form against draws from the same law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.compute.families.grouped_gemm import Layer, load_of
from yantra.compute.families.spread import busiest, law, loads


def drawn(rows: int, tokens: int, experts: int, devices: int, exponent: float) -> float:
    """Return the busiest device's rows over the mean of all, as the mean of 400 draws."""
    least, most = (1.0, 0.8 * tokens) if rows > experts else (0.01, 2.0)
    power = 1 - exponent
    shares = np.random.default_rng(0).random((400, experts))
    loads = ((most**power - least**power) * shares + least**power) ** (1 / power)
    loads /= loads.sum(axis=1, keepdims=True)
    each = loads.reshape(400, devices, experts // devices).sum(axis=2)
    return float(each.max(axis=1).mean() * devices)


@pytest.mark.parametrize("skew", [101, 120])
@pytest.mark.parametrize(
    ("tokens", "top_k", "experts", "devices"),
    [(16384, 8, 128, 2), (16384, 8, 128, 32), (16384, 8, 128, 128), (256, 8, 128, 8),
     (16384, 10, 512, 32), (4, 8, 128, 32)],
)  # fmt: skip
def test_the_busiest_device_has_what_draws_give_it(
    tokens: int, top_k: int, experts: int, devices: int, skew: int
) -> None:
    rows = tokens * top_k
    given = [np.array([float(part)]) for part in (rows, tokens, experts, skew)]
    made = busiest(
        law(given[0], given[1], given[2], given[3]),
        np.array([experts / devices]),
        np.array([float(devices)]),
    )
    assert made[0] == pytest.approx(drawn(rows, tokens, experts, devices, skew / 100), rel=0.12)


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
