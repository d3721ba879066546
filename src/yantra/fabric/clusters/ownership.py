"""What an hour of a device costs, by part, and the energy of a step.

A device is hired at a price an hour, or it is bought: then an hour costs

    capital / (years x 8766 x utilisation) + power x PUE x electricity + running

where the capital of a device includes its share of hosts, links and switches, and power theirs as
far as it is stated. `network` and `storage` come on top of either. Energy is that of devices by
`yantra.compute.power`, with the PUE of the building on top.

Trade-off: an hour of a device that is bought counts its full power. Hours of a year as in COMET's
and LIBRA's cost models: 8766 (365.25 days).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import ConfigError
from yantra.compute.power import Power

if TYPE_CHECKING:
    from yantra.fabric.clusters.types import Cluster, Number

HOURS_OF_A_YEAR = 8766.0
_J_PER_KWH = 3.6e6
_NEEDED = ("years", "utilisation", "pue", "electricity")
PARTS = ("hire", "capital", "power", "running", "network", "storage")
_ON_TOP = ("network", "storage")


class Price(NamedTuple):
    """Of an hour of a device in USD, by part; None: not stated, or within `hire`."""

    parts: tuple[tuple[str, float | None], ...]
    basis: str | None

    @property
    def usd_per_h(self) -> float | None:
        """None if neither a hire nor a capital is stated."""
        known = dict(self.parts)
        if known["hire"] is None and known["capital"] is None:
            return None
        return sum(value for value in known.values() if value is not None)


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
    """Return the rates of a cluster. Raises ConfigError as `price_of`."""
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
    price = price_of(cluster)
    return of._replace(usd_per_h=price.usd_per_h, basis=price.basis)


def price_of(cluster: Cluster) -> Price:
    """The price of a device's hour.

    Raises ConfigError where a machine is bought and something about owning it is not stated.
    """
    owned = dict(cluster.ownership)
    parts: dict[str, float | None] = dict.fromkeys(PARTS)
    basis = None
    if cluster.price is not None:
        parts["hire"], basis = cluster.price.value, cluster.price.basis
    elif cluster.capital is not None:
        parts |= _owned(cluster)
        basis = cluster.capital.basis
    parts |= {name: owned[name].value for name in _ON_TOP if name in owned}
    return Price(tuple(parts.items()), basis)


def _owned(cluster: Cluster) -> dict[str, float]:
    owned = dict(cluster.ownership)
    for name in _NEEDED:
        if name not in owned:
            problem = f"{cluster.name} has a capital price; an hour of it needs this, too"
            raise ConfigError(f"ownership.{name}", f"missing; {problem}")
    watts = most_w(cluster)
    if watts is None or cluster.capital is None:
        raise ConfigError("device.power", f"missing; an hour of {cluster.name} needs it")
    hours = owned["years"].value * HOURS_OF_A_YEAR * owned["utilisation"].value
    found = {
        "capital": cluster.capital.value / hours,
        "power": watts / 1e3 * owned["pue"].value * owned["electricity"].value,
    }
    return found | ({"running": owned["running"].value} if "running" in owned else {})


def most_w(cluster: Cluster) -> float | None:
    """The most that a device draws with its stated shares of host and switches, without PUE."""
    law = power_of(cluster)
    if law is None:
        return None
    around = [cluster.host_power, *(level.power for level in cluster.network)]
    return law.most_w + sum(one.value for one in around if one is not None)


def usd_per_h(cluster: Cluster) -> float | None:
    """What an hour of a device costs with all parts, None if nobody states it."""
    return price_of(cluster).usd_per_h


def yours(value: float, unit: Any, written: str = "") -> Number:
    """A number that the user gives."""
    from yantra.fabric.clusters.types import Number

    said = written or f"{value:g} {unit}".strip()
    return Number(value=value, unit=unit, written=said, source="yours", basis="yours")


def priced(cluster: Cluster, hourly: float, written: str = "") -> Cluster:
    """The cluster at a whole price of a device's hour, in place of all that its file states."""
    kept = tuple(pair for pair in cluster.ownership if pair[0] not in _ON_TOP)
    return cluster.replace(price=yours(hourly, "USD/h", written), ownership=kept)


def power_of(cluster: Cluster) -> Power | None:
    """Return the law of a cluster's device, None where it states no power."""
    if cluster.power is None:
        return None
    floor = None if cluster.idle_power is None else cluster.idle_power.value
    cap = None if cluster.power_cap is None else cluster.power_cap.value
    return Power(cluster.power.value, floor, cap)


def kwh(joules: float) -> float:
    return joules / _J_PER_KWH
