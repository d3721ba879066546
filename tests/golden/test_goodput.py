"""Goodput and first estimates of memory against numbers computed independently."""

from __future__ import annotations

import csv
from math import exp, inf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.explore.study.first_estimates import footprint, gemm_traffic, hybrid_bandwidth
from yantra.explore.study.goodput import (
    at_work,
    best_goodput,
    best_interval,
    daly_interval,
    goodput,
    mtti_of,
    young_interval,
)

DATA = Path(__file__).parent / "data"


def rows(name: str) -> list[dict[str, str]]:
    lines = (DATA / name).read_text().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


@pytest.mark.parametrize("row", rows("goodput.csv"))
def test_intervals_and_goodput_are_those_of_young_and_daly(row: dict[str, str]) -> None:
    of = {name: float(value) for name, value in row.items()}
    hours = of["mtbf_hours_per_device"]
    mtti = 3600 * mtti_of({"devices": (int(of["devices"]), hours)})
    d, restart = of["checkpoint_s"], of["restart_s"]
    daly, best = daly_interval(mtti, d), best_goodput(mtti, d, restart)
    assert mtti == pytest.approx(of["job_mtti_s"], rel=1e-12)
    assert young_interval(mtti, d) == pytest.approx(of["young_tau_s"], rel=1e-6)
    assert daly == pytest.approx(of["daly_tau_s"], rel=1e-6)
    assert goodput(mtti, d, restart, daly) == pytest.approx(of["goodput_at_daly"], abs=5e-9)
    assert best.interval_s == pytest.approx(of["best_tau_s"], rel=1e-5)
    assert best.share == pytest.approx(of["goodput_at_best"], abs=5e-9)


@pytest.mark.parametrize(
    ("mtti", "d", "restart", "tau", "share"),
    [
        (11_124.0, 60.0, 300.0, 1115.7, 0.875762),
        (11_124.0, 300.0, 600.0, 2387.4, 0.744137),
        (86_400.0, 120.0, 600.0, 4474.0, 0.941655),
        (27_000.0, 600.0, 1800.0, 5299.1, 0.751894),
    ],
)
def test_goodput_has_the_six_published_digits(
    mtti: float, d: float, restart: float, tau: float, share: float
) -> None:
    interval = daly_interval(mtti, d)
    assert interval == pytest.approx(tau, abs=0.05)
    assert goodput(mtti, d, restart, interval) == pytest.approx(share, abs=5e-7)


times = st.floats(1.0, 1e6)


@given(mtti=times, d=st.floats(0.01, 1e3), restart=st.floats(0, 1e4), other=times)
def test_no_interval_is_better_than_the_best(
    mtti: float, d: float, restart: float, other: float
) -> None:
    best = best_goodput(mtti, d, restart).share
    assert 0.0 <= best <= 1.0
    assert best >= goodput(mtti, d, restart, other) * (1 - 1e-12)
    assert best >= goodput(mtti, d, restart, daly_interval(mtti, d)) * (1 - 1e-12)


@given(mtti=times, d=st.floats(0.01, 1e3), restart=st.floats(0, 1e4), factor=st.floats(1.0, 10.0))
def test_law_9_goodput_rises_with_the_time_between_failures(
    mtti: float, d: float, restart: float, factor: float
) -> None:
    less, more = (best_goodput(time, d, restart).share for time in (mtti, mtti * factor))
    assert more >= less * (1 - 1e-12)
    assert best_interval(mtti, d) <= mtti


@given(mtbf=st.floats(1e6, 1e9), devices=st.integers(1, 20_000), more=st.integers(1, 20_000))
def test_law_9_goodput_is_at_most_1_and_falls_with_the_number_of_devices(
    mtbf: float, devices: int, more: int
) -> None:
    fewer, many = (
        best_goodput(mtti_of({"devices": (count, mtbf)}), 60.0, 300.0).share
        for count in (devices, devices + more)
    )
    assert many <= fewer <= 1.0


@given(mtti=times, share=st.floats(1e-4, 0.1), restart=st.floats(0, 1e4))
def test_law_9_the_interval_of_daly_is_no_worse_than_that_of_young_within_a_hundredth(
    mtti: float, share: float, restart: float
) -> None:
    d = share * mtti
    daly, young = (
        goodput(mtti, d, restart, interval)
        for interval in (daly_interval(mtti, d), young_interval(mtti, d))
    )
    assert daly >= young * 0.99


def test_a_job_that_never_fails_pays_its_checkpoints_alone() -> None:
    assert mtti_of({}) == inf
    assert goodput(inf, 10.0, 100.0, 90.0) == 0.9
    assert best_goodput(inf, 10.0, 100.0) == (inf, 1.0, 1.0)
    assert at_work(inf, 10.0, 100.0, 90.0) == 0.9


@given(mtti=times, d=st.floats(0.01, 1e3), restart=st.floats(0, 1e4))
def test_work_is_what_is_useful_and_what_is_lost(mtti: float, d: float, restart: float) -> None:
    best = best_goodput(mtti, d, restart)
    assert best.share * (1 - 1e-9) <= best.at_work <= exp(-restart / mtti)
    calm = at_work(1e9 * mtti, d, restart, best.interval_s)
    assert calm == pytest.approx(goodput(inf, d, restart, best.interval_s), rel=1e-4)


def test_goodput_without_hope_is_zero() -> None:
    assert goodput(1.0, 1e4, 1.0, 1.0) == 0.0
    for wrong in ((0.0, 1.0, 1.0), (1.0, -1.0, 1.0), (1.0, 1.0, inf)):
        with pytest.raises(ConfigError, match="expected"):
            best_goodput(*wrong)


def _vector(row: dict[str, str]) -> float:
    a, b, c, d = (float(row[name] or 0) for name in "abcd")
    if row["kind"] == "hybrid_bandwidth":
        return hybrid_bandwidth(a, b, c)
    if row["kind"] == "gemm_traffic":
        return gemm_traffic(a, b, c, d)
    found = footprint(a, int(b), int(c), int(d))
    assert (found.weights, found.gradients) == pytest.approx((float(row["e"]), float(row["f"])))
    return found.total


@pytest.mark.parametrize("row", rows("comet_memory.csv"))
def test_first_estimates_of_memory_are_those_of_comet(row: dict[str, str]) -> None:
    assert _vector(row) == pytest.approx(float(row["result"]), rel=1e-9)


@pytest.mark.parametrize(
    ("model", "data", "gigabytes"),
    [
        (64, 16, (250.0, 74.2, 44.9, 15.6)),
        (32, 32, (500.0, 136.7, 76.2, 15.6)),
        (16, 64, (1000.0, 261.7, 138.7, 15.6)),
        (8, 128, (2000.0, 511.7, 263.7, 15.6)),
        (4, 256, (4000.0, 1011.7, 513.7, 15.6)),
    ],
)
def test_a_trillion_parameters_take_the_memory_of_comets_table(
    model: int, data: int, gigabytes: tuple[float, ...]
) -> None:
    found = [footprint(1e12, model, data, zero).total / 1e9 for zero in range(4)]
    assert found == pytest.approx(gigabytes, abs=0.05)
