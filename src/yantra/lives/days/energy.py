"""What a day's cluster draws and costs: GPUs that jobs hold and free ones, hosts, switches, PUE.

A trace does not say how busy its jobs keep their GPUs: they draw from their floor, as free ones do,
to their limit, or what a job file's step draws. Hosts and switches draw the same at all times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from yantra.fabric.clusters.ownership import power_of, usd_per_h
from yantra.fabric.clusters.parts import around_of
from yantra.result.energy import J_PER_KWH

if TYPE_CHECKING:
    from yantra.fabric.clusters.types import Cluster
    from yantra.lives.days.play import Day

_HOUR = 3600.0


class Drawn(NamedTuple):
    """Of the building in the day's window; `kwh` None without a job file, USD without a price.

    `unknown` is what nobody states, which is left out.
    """

    least_kwh: float
    most_kwh: float
    kwh: float | None
    peak_w: float
    """With as many GPUs held as ever, at their limit."""
    grid_g_per_kwh: float | None
    unknown: tuple[str, ...]

    def kg_co2(self, kwh: float) -> float | None:
        grid = self.grid_g_per_kwh
        return None if grid is None else kwh * grid / 1e3


def drawn(day: Day, cluster: Cluster, held_w: float | None) -> Drawn | None:
    """`held_w` is what a held GPU draws, None if nobody knows. None without a device's power."""
    law, owned = power_of(cluster), dict(cluster.ownership)
    if law is None:
        return None
    around = around_of(cluster)
    pue = owned["pue"].value if "pue" in owned else 1.0
    others = sum(value or 0.0 for value in around.values())

    def kwh(watts: float) -> float:
        free = day.gpus * day.window - day.busy
        inside = watts * day.busy + law.idle_w * free + others * day.gpus * day.window
        return inside * pue / J_PER_KWH

    peak = law.most_w * day.most + law.idle_w * (day.gpus - day.most) + others * day.gpus
    missing = [name for name, value in around.items() if value is None]
    return Drawn(
        kwh(law.idle_w),
        kwh(law.most_w),
        None if held_w is None else kwh(held_w),
        peak * pue,
        owned["grid"].value if "grid" in owned else None,
        (*missing, *([] if "pue" in owned else ["pue"])),
    )


def usd_of(day: Day, cluster: Cluster) -> float | None:
    """What all GPUs cost, held or not."""
    hourly = usd_per_h(cluster)
    return None if hourly is None else hourly * day.gpus * day.window / _HOUR
