"""What a life costs: hours of devices and spares at a price, by part and by token.

A price is a hired device's, or capital, power and running as `fabric/clusters/ownership.py` has
them; `network_price` and `storage_price` come on top. What nobody states is None, never a guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.fabric.clusters.ownership import HOURS_OF_A_YEAR, Rates, rates_of
from yantra.fabric.clusters.types import Number

if TYPE_CHECKING:
    from yantra.fabric.clusters.types import Cluster
    from yantra.lives.settings import Settings

_OWNED = {"years": "", "utilisation": "", "pue": "", "electricity": "USD/kWh", "running": "USD/h"}
PARTS = ("hire", "capital", "power", "running", "network", "storage")


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


def price_of(cluster: Cluster, said: Settings) -> Price:
    """The price of a device's hour. Raises ConfigError for a capital without what it needs."""
    cluster = _with_yours(cluster, said)
    rates = rates_of(cluster)
    owned = dict(cluster.ownership)
    parts: dict[str, float | None] = dict.fromkeys(PARTS)
    if cluster.price is not None:
        parts["hire"] = rates.usd_per_h
    elif cluster.capital is not None:
        hours = owned["years"].value * HOURS_OF_A_YEAR * owned["utilisation"].value
        parts["capital"] = cluster.capital.value / hours
        parts["power"] = _power(rates, owned["electricity"].value)
        parts["running"] = owned["running"].value if "running" in owned else None
    parts["network"], parts["storage"] = said.network_price, said.storage_price
    return Price(tuple(parts.items()), rates.basis)


def _power(rates: Rates, electricity: float) -> float:
    return (rates.power_w or 0.0) / 1e3 * rates.pue * electricity


def _with_yours(cluster: Cluster, said: Settings) -> Cluster:
    owned = dict(cluster.ownership)
    for name, unit in _OWNED.items():
        value = getattr(said, name)
        if value is not None:
            owned[name] = _yours(value, unit)
    changes: dict[str, Any] = {"ownership": tuple(owned.items())}
    if said.price is not None:
        changes["price"] = _yours(said.price, "USD/h")
    if said.capital is not None:
        changes |= {"capital": _yours(said.capital, "USD"), "price": None}
    return cluster.replace(**changes)


def _yours(value: float, unit: Any) -> Number:
    written = f"{value:g} {unit}".strip()
    return Number(value=value, unit=unit, written=written, source="yours", basis="yours")
