"""Laws of what devices draw, for any device, time and work."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.compute.power import FLOOR, Power

SHARES = st.floats(0.0, 1.0)
POWERS = st.builds(
    lambda limit, floor: Power(limit, None if floor is None else floor * limit),
    st.floats(50.0, 2000.0),
    st.none() | SHARES,
)
TIMES = st.floats(1e-6, 1e4)
RATES = st.floats(0.0, 3e15)


@given(POWERS, TIMES, SHARES, RATES)
def test_power_is_between_idle_and_the_limit(
    power: Power, seconds: float, work: float, rate: float
) -> None:
    found = power.joules(seconds, work * seconds, rate * seconds) / seconds
    assert power.idle_w * (1 - 1e-9) <= found <= power.limit_w * (1 + 1e-9)


@given(POWERS, TIMES, SHARES, RATES)
def test_twice_the_time_of_the_same_activity_is_twice_the_energy(
    power: Power, seconds: float, work: float, rate: float
) -> None:
    one = power.joules(seconds, work * seconds, rate * seconds)
    two = power.joules(2 * seconds, 2 * work * seconds, 2 * rate * seconds)
    assert two == pytest.approx(2 * one)


@given(POWERS, TIMES)
def test_an_idle_device_draws_idle(power: Power, seconds: float) -> None:
    assert power.joules(seconds) == pytest.approx(power.idle_w * seconds)


@given(POWERS, TIMES, SHARES, SHARES, RATES)
def test_more_work_never_draws_less(
    power: Power, seconds: float, work: float, more: float, rate: float
) -> None:
    times = np.array([work, work + (1 - work) * more]) * seconds
    less, most = power.joules(np.full(2, seconds), times, rate * seconds)
    assert most >= less * (1 - 1e-12)


def test_the_law_at_work_is_what_was_fitted() -> None:
    """700 W, half of the time at work, 100 TFLOP/s."""
    found = Power(700.0).joules(1.0, 0.5, 1e14)
    assert found == pytest.approx(0.22 * 700 + 0.5 * 0.52 * 700 + 82)
    assert Power(700.0).idle_w == pytest.approx(FLOOR * 700)
    assert Power(700.0, 70.0).joules(2.0) == pytest.approx(140.0)
