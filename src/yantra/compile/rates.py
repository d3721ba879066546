"""The type of a workload's products -> the rates that its kernels run at.

A scenario file and a command know the workload before they describe its cluster, and take the rates
of its type (`yantra.scenario.named`). In Python the parts of a cluster are made alone, so they
carry the rates of all types (`Machine.rates`), of which the workload's is taken here. Where neither
is so, products run at the rates that somebody chose, and the run says it.
"""

from __future__ import annotations

from yantra.base.errors import ConfigError
from yantra.base.fields import Plugin, kind_of
from yantra.compile.graphs import Graphs
from yantra.compile.templates import TemplateGraphs
from yantra.scenario import Device, Scenario

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def rated(scenario: Scenario) -> Scenario:
    """Return the scenario with the rates of its workload's type, if its machine carries rates.

    Raises ConfigError where it has none of that type.
    """
    machine = scenario.machine
    if not machine.rates:
        return scenario
    from yantra.scenario.training import stated_dtype

    dtype = stated_dtype(scenario.workload)
    plain = machine.replace(rates=())
    if dtype in (None, machine.dtype):
        return scenario.replace(machine=plain)
    peaks = {name: peak for name, peak, _ in machine.rates}
    rates = {name: rate for name, _, rate in machine.rates}
    if dtype not in rates:
        from yantra.fabric.clusters.parts import no_rate

        choose = "choose one for them: cluster_parts(..., dtype=...)"
        raise ConfigError("workload", f"{no_rate(str(dtype), str(machine.name), rates)}; {choose}")
    faster = rates[dtype] / rates[str(machine.dtype)]  # of a peak that may have been changed
    device = scenario.device
    by_type = scenario.semantics != "astra-sim"
    return scenario.replace(
        machine=plain.replace(dtype=dtype, peak_flops=peaks[dtype]),
        device=device.replace(
            peak_flops=device.peak_flops * faster,
            compute=_compute(device, str(dtype), rates if by_type else {}),
        ),
    )


def _compute(device: Device, dtype: str, rates: dict[str, float]) -> Any:
    """Return the compute model for products of another type."""
    from yantra.compute.products import NARROW

    chosen = device.compute
    given = dict(chosen.options) if isinstance(chosen, Plugin) else {}
    if kind_of(chosen) == "measured":
        narrow = {"products": dtype} if dtype in NARROW else {}
        return Plugin(kind="measured", options=tuple((given | {"dtype": dtype} | narrow).items()))
    if chosen == "roofline" and dtype in NARROW and rates:
        options = {"dtype": dtype, "products": dtype} | rates
        return Plugin(kind="roofline", options=tuple(options.items()))
    return chosen


def other_type(scenario: Scenario, graphs: Graphs) -> list[str]:
    """Tell where products run in another type than the workload states: somebody chose it."""
    machine = scenario.machine
    if not machine.dtype:
        return []
    if all(kind_of(device.compute) == "recorded" for device in scenario.all_devices()):
        return []
    from yantra.scenario.training import stated_dtype

    dtype = (
        graphs.workload.dtype
        if isinstance(graphs, TemplateGraphs)
        else stated_dtype(scenario.workload)
    )
    if dtype in (None, machine.dtype):
        return []
    return [
        f"workload: its products are in {dtype}, but run at the rates of {machine.dtype}, which "
        f"was chosen (cluster.dtype): MFU is of the peak of {machine.dtype}, and bytes "
        f"stay those of {dtype}"
    ]
