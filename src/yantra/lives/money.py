"""What a life costs: hours of devices and spares at a price, by part and by token.

A price is what `fabric/clusters/ownership.py` makes of the cluster's file and of the settings,
which come first; `network_price` and `storage_price` are on top of a price that you give.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra.fabric.clusters.ownership import Price, price_of, priced, yours

if TYPE_CHECKING:
    from yantra.fabric.clusters.types import Cluster
    from yantra.lives.settings import Settings

_OWNED = {
    "years": ("years", ""),
    "utilisation": ("utilisation", ""),
    "pue": ("pue", ""),
    "electricity": ("electricity", "USD/kWh"),
    "running": ("running", "USD/h"),
    "network_price": ("network", "USD/h"),
    "storage_price": ("storage", "USD/h"),
}


def price_said(cluster: Cluster, said: Settings) -> Price:
    """The price of a device's hour. Raises ConfigError for a capital without what it needs."""
    if said.price is not None:
        cluster = priced(cluster, said.price)
    changes: dict[str, Any] = {}
    if said.capital is not None:
        changes = {"capital": yours(said.capital, "USD"), "price": None}
    owned = dict(cluster.ownership)
    for name, (field, unit) in _OWNED.items():
        if (value := getattr(said, name)) is not None:
            owned[field] = yours(value, unit)
    return price_of(cluster.replace(**changes, ownership=tuple(owned.items())))
