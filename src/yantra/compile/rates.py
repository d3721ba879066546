"""Kernel rates for the type of a workload's products.

Files and commands take them with the workload (`yantra.scenario.named`); Python's clusters carry
all types' (`Machine.rates`), chosen here.
"""

from __future__ import annotations

from typing import Any

from yantra.base.errors import ConfigError
from yantra.base.fields import Plugin, kind_of
from yantra.compile.graphs import Graphs
from yantra.compile.templates import TemplateGraphs
from yantra.scenario import Device, Scenario


def rated(scenario: Scenario) -> Scenario:
    """The scenario with its workload type's rates, if the machine has rates.

    Raises ConfigError if that type is missing.
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
    faster = rates[dtype] / rates[str(machine.dtype)]  # a peak may have been changed
    device, stack = scenario.device, scenario.stack
    if stack is not None:
        from yantra.scenario.named import terms_of_type

        stack = terms_of_type(stack, machine.name, str(dtype))
    by_type = scenario.semantics != "astra-sim"
    return scenario.replace(
        machine=plain.replace(dtype=dtype, peak_flops=peaks[dtype]),
        stack=stack,
        device=device.replace(
            peak_flops=device.peak_flops * faster,
            compute=_compute(device, str(dtype), rates if by_type else {}),
        ),
    )


def _compute(device: Device, dtype: str, rates: dict[str, float]) -> Any:
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
