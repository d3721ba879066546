"""What an hour of a device costs, hired or bought, and what it draws."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
from yantra.fabric import clusters
from yantra.fabric.clusters.find import load
from yantra.fabric.clusters.ownership import Rates, rates_of
from yantra.fabric.clusters.types import Cluster

MACHINES = Path(clusters.__file__).parent / "machines"
DEVICE = """  capital: {value: 43830 USD, basis: yours}
  power: {value: 1 kW, basis: yours}
"""
OWNED = """ownership:
  years: {value: 5, basis: yours}
  utilisation: {value: 0.8, basis: yours}
  pue: {value: 1.25, basis: yours}
  electricity: {value: 0.08 USD/kWh, basis: yours}
  running: {value: 0.15 USD/h, basis: yours}
"""


def changed(folder: Path, device: str, owned: str = "") -> Cluster:
    text = (MACHINES / "dgx-a100-80gb.yaml").read_text(encoding="utf-8")
    text = re.sub(r"(?m)^  (price|power): .*\n", "", text)
    path = folder / "mine.yaml"
    with_device = text.replace("device:\n", "device:\n" + device, 1)
    path.write_text(with_device + owned, encoding="utf-8")
    return load(str(path))


def test_a_bought_device_costs_its_years_its_energy_and_its_running(tmp_path: Path) -> None:
    cluster = changed(tmp_path, DEVICE, OWNED)
    rates = rates_of(cluster)
    assert rates.usd_per_h == pytest.approx(43830 / (5 * 8766 * 0.8) + 1.25 * 0.08 + 0.15)
    assert rates.basis == "yours"
    assert rates.cost_usd(1800.0, 4) == pytest.approx(2.0 * rates.usd_per_h)
    assert cluster.scenario_parts(8)["machine"]["price"] == "1.5 USD/h"


def test_a_hired_device_costs_its_price_whatever_it_would_cost_to_buy(tmp_path: Path) -> None:
    hired = DEVICE + "  price: {value: 2.5 USD/h, basis: yours}\n"
    assert rates_of(changed(tmp_path, hired)).usd_per_h == 2.5


@pytest.mark.parametrize("left_out", ["years", "utilisation", "pue", "electricity"])
def test_what_is_missing_of_owning_a_machine_is_named(tmp_path: Path, left_out: str) -> None:
    lines = [line for line in OWNED.splitlines() if left_out not in line]
    with pytest.raises(ConfigError, match=rf"ownership\.{left_out}: missing"):
        rates_of(changed(tmp_path, DEVICE, "\n".join(lines) + "\n"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "0.08 USD/kWh",
            "0.08",
            "ownership.electricity.value: a number needs its unit; expected a price of energy",
        ),
        ("0.8, ", "1.8, ", "ownership.utilisation.value: expected at most 1, got 1.8"),
        ("1.25", "0.25", "ownership.pue.value: expected at least 1, got 0.25"),
        (
            "value: 43830 USD",
            "value: 43830",
            "device.capital.value: a number needs its unit; expected a sum of money",
        ),
        ("basis: yours}\n  power", "basis: derived}\n  power", "device.capital.source: missing"),
    ],
)
def test_a_price_without_a_unit_or_beyond_bounds_is_refused(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        both = DEVICE.replace(old, new, 1), OWNED.replace(old, new, 1)
        changed(tmp_path, *both)
    assert said in str(raised.value)


def test_a_device_without_work_draws_its_idle_power() -> None:
    rates = Rates(power_w=700.0, idle_w=100.0, pue=1.2)
    assert rates.energy_j(10.0, 2) == pytest.approx(100 * 2 * 10 * 1.2)
    assert rates.energy_j(10.0, 2, 3000.0) == pytest.approx(400 * 2 * 10 * 1.2)
    assert rates.energy_j(10.0, 2, 9000.0) == pytest.approx(700 * 2 * 10 * 1.2)
    assert Rates().energy_j(10.0, 2) is None and Rates().cost_usd(10.0, 2) is None
