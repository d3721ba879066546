"""The law of what a device of a scenario draws (`yantra.compute.power`), with its cap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.errors import ConfigError
from yantra.compute.power import Power

if TYPE_CHECKING:
    from yantra.scenario.types import Device, Machine

WHERE = "cluster.device.power_cap"


def law_of(machine: Machine, device: Device, where: str = WHERE) -> Power | None:
    """Return a device's law, None where its machine states no power.

    Raises ConfigError for a cap without a power, or at most what the device draws without work.
    """
    cap = device.power_cap_w
    if machine.power_w is None:
        if cap is not None:
            raise ConfigError(where, "needs cluster.machine.power, the most without a cap")
        return None
    law = Power(machine.power_w, machine.idle_power_w)
    if cap is not None and cap <= law.idle_w:
        problem = f"must be above {law.idle_w:g} W, what the device draws without work"
        raise ConfigError(where, f"{problem}; got {cap:g} W")
    return law._replace(cap_w=cap)
