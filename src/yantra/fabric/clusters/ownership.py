"""What an hour of a device costs, and the energy of a step.

A device is hired at a price an hour, or it is bought: then an hour costs

    capital / (years x 8766 x utilisation) + power x PUE x electricity + running

where the capital of a device includes its share of hosts, links and switches. Energy is that of
devices by `yantra.compute.power`, with the PUE of the building on top.

Trade-off: an hour of a device that is bought counts its full power. Hours of a year as in COMET's
and LIBRA's cost models: 8766 (365.25 days).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from yantra.base.errors import ConfigError
from yantra.compute.power import Power

if TYPE_CHECKING:
    from yantra.fabric.clusters.types import Cluster

HOURS_OF_A_YEAR = 8766.0
_J_PER_KWH = 3.6e6
_NEEDED = ("years", "utilisation", "pue", "electricity")


class Rates(NamedTuple):
    """What a device costs in USD an hour, and draws in W at work and without; None: not stated.

    `basis` says whose the price is: published, derived, estimate or yours; `power_basis` likewise.
    """

    usd_per_h: float | None = None
    power_w: float | None = None
    idle_w: float | None = None
    cap_w: float | None = None
    pue: float = 1.0
    mtbf_s: float | None = None
    basis: str | None = None
    power_basis: str | None = None

    def cost_usd(self, seconds: float, devices: int) -> float | None:
        return None if self.usd_per_h is None else self.usd_per_h * devices * seconds / 3600.0

    def energy_j(self, seconds: float, devices: int, kernel_j: float = 0.0) -> float | None:
        """Return the energy of so many devices; kernels of each draw so many J above its floor."""
        if self.power_w is None:
            return None
        law = Power(self.power_w, self.idle_w, self.cap_w)
        each = min(law.idle_w * seconds + kernel_j, law.most_w * seconds)
        return each * devices * self.pue


def rates_of(cluster: Cluster) -> Rates:
    """Return the rates of a cluster: its price an hour, or what owning it costs.

    Raises ConfigError where a machine is bought and something about owning it is not stated.
    """
    owned = dict(cluster.ownership)
    power = cluster.power.value if cluster.power else None
    of = Rates(
        power_w=power,
        idle_w=cluster.idle_power.value if cluster.idle_power else None,
        cap_w=cluster.power_cap.value if cluster.power_cap else None,
        pue=owned["pue"].value if "pue" in owned else 1.0,
        mtbf_s=cluster.mtbf.value if cluster.mtbf else None,
        power_basis=cluster.power.basis if cluster.power else None,
    )
    if cluster.price is not None:
        return of._replace(usd_per_h=cluster.price.value, basis=cluster.price.basis)
    if cluster.capital is None:
        return of
    for name in _NEEDED:
        if name not in owned:
            problem = f"{cluster.name} has a capital price; an hour of it needs this, too"
            raise ConfigError(f"ownership.{name}", f"missing; {problem}")
    if power is None:
        raise ConfigError("device.power", f"missing; an hour of {cluster.name} needs it")
    hours = owned["years"].value * HOURS_OF_A_YEAR * owned["utilisation"].value
    energy = power / 1e3 * of.pue * owned["electricity"].value
    running = owned["running"].value if "running" in owned else 0.0
    hourly = cluster.capital.value / hours + energy + running
    return of._replace(usd_per_h=hourly, basis=cluster.capital.basis)


def power_of(cluster: Cluster) -> Power | None:
    """Return the law of a cluster's device, None where it states no power."""
    if cluster.power is None:
        return None
    floor = None if cluster.idle_power is None else cluster.idle_power.value
    cap = None if cluster.power_cap is None else cluster.power_cap.value
    return Power(cluster.power.value, floor, cap)


def kwh(joules: float) -> float:
    return joules / _J_PER_KWH
