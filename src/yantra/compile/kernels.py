"""Kernel times: a compute model is asked once per device, for all distinct kernels."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

from yantra import _core
from yantra import compute as computes
from yantra.base.fields import Plugin, kind_of, named
from yantra.compile.graphs import Graphs
from yantra.compile.problems import refuse
from yantra.compile.removal import NOTHING, Without
from yantra.compile.slowdown import slowdown_of
from yantra.compute import model as asked
from yantra.compute.model import ComputeModel, Estimates, Kernels
from yantra.scenario import Device, Scenario
from yantra.scenario.quirks import Quirk

if TYPE_CHECKING:
    from yantra.compute.model import Reals

WHERE = "cluster.device.compute"


class TimedKernels(NamedTuple):
    """Distinct kernels of a device's ranks, and its model's answer.

    `basis`: what estimates rest on, or "". `answered`: before a stack's slowdown and a cap; `at`:
    number of the device. `soonest`: the least that a cap may make of the middle.
    """

    device: Device
    kernels: Kernels
    estimates: Estimates
    basis: str
    answered: Estimates
    at: int
    soonest: Reals


class Asked(NamedTuple):
    """What was asked for another model of the same graphs."""

    timed: tuple[TimedKernels, ...]
    without: Without

    def of(self, at: int, device: Device, without: Without) -> TimedKernels | None:
        """The answer for a device; None if the question differed."""
        if (self.without ^ without) & _RATES:
            return None
        return next((one for one in self.timed if (one.at, one.device) == (at, device)), None)


_RATES = frozenset(("peak", "memory_bandwidth"))
"""Causes whose removal changes the question."""


def asks_a_model(scenario: Scenario) -> bool:
    slower = slowdown_of(scenario).changes_kernels
    asked_for = (slower or _needs_model(device) for device in scenario.all_devices())
    return not scenario.replay_only and any(asked_for)


def _needs_model(device: Device) -> bool:
    return native_of(device) is None or device.power_cap_w is not None


def native_of(device: Device) -> str | None:
    """The core's form of a device's kernels, None for a model."""
    own = None if isinstance(device.compute, Plugin) and device.compute.options else device.compute
    return None if own is None else _form_of(device)


def _form_of(device: Device) -> str | None:
    return computes.models.get(kind_of(device.compute), WHERE).native


class KernelTimes:
    """A scenario's kernel times; `tell` gives them to the lowering."""

    def __init__(
        self,
        scenario: Scenario,
        graphs: Graphs,
        quirks: frozenset[Quirk],
        without: Without,
        scale: _core.TimeScale,
        known: Asked | None = None,
    ) -> None:
        self._known = known
        self._devices = scenario.all_devices()
        workload = getattr(graphs, "workload", None)
        self._slower = slowdown_of(scenario).launching(getattr(workload, "launched", 1.0))
        self._without, self._machine = without, scenario.machine
        self._tables: dict[int, _core.KernelTable] = {}
        timed = []
        for at, device in enumerate(self._devices if graphs.kernels else ()):
            if _needs_model(device) or self._slower.changes_kernels:
                model = computes.model_of(device.compute, WHERE)
                may_communicate = scenario.semantics == "yantra"
                table = self._tables[at] = _table_of(graphs, at, model, quirks, may_communicate)
                timed.append(self._ask(table, model, at))
                table.set_ns(timed[-1].estimates.middle, scale)
        self.timed = tuple(timed)

    def tell(self, options: _core.LowerOptions, device: int) -> None:
        """Lower with a device's kernel times; 0 is most ranks'."""
        asked_for = device in self._tables
        options.roofline = (
            _core.Roofline() if asked_for else roofline_of(self._devices[device], self._without)
        )
        options.take_kernels(self._tables.get(device))

    def _ask(self, table: _core.KernelTable, model: ComputeModel, at: int) -> TimedKernels:
        device = self._devices[at]
        known = self._known and self._known.of(at, device, self._without)
        if known is not None:
            estimates, soonest = self._longer(known.kernels, known.answered, device)
            return known._replace(estimates=estimates, soonest=soonest)
        from yantra.compute.answers import ask

        kernels = kernels_of(table)
        seen = asked.Device(
            peak_flops=inf if "peak" in self._without else device.peak_flops,
            memory_bytes_per_s=(
                inf if "memory_bandwidth" in self._without else device.memory_bytes_per_s
            ),
        )
        answered = ask(model, kernels, seen, named(device.compute), WHERE)
        estimates, soonest = self._longer(kernels, answered, device)
        basis = model.basis(kernels, seen)
        return TimedKernels(device, kernels, estimates, basis, answered, at, soonest)

    def _longer(
        self, kernels: Kernels, answered: Estimates, device: Device
    ) -> tuple[Estimates, Reals]:
        slower = self._slower
        if device.power_cap_w is None:
            longer = slower.of(kernels, answered) if slower.changes_kernels else answered
            return longer, longer.middle
        from yantra.compile.capped import capped

        launched, own = slower.parts()
        return capped(self._machine, device, kernels, own.of(kernels, answered), launched)


def needs_of(device: Device) -> frozenset[str]:
    """What the model of a device's kernels must know of each: flops, bytes."""
    form = native_of(device)
    if form is not None:
        return frozenset(("flops", "bytes")) if form == "roofline" else frozenset()
    return frozenset(computes.model_of(device.compute, WHERE).needs)


def has_roofs(device: Device) -> bool:
    """Whether kernels have a part by peak and one by bandwidth."""
    return computes.models.get(kind_of(device.compute), WHERE).splits_by_rates


def roofline_of(
    device: Device, without: Without = NOTHING, *, measured: bool = False
) -> _core.Roofline:
    """A device's roofline without removed causes.

    `measured`: also for a model that splits by the same rates.
    """
    roofline = _core.Roofline()
    roofline.enabled = _form_of(device) == "roofline" or (measured and has_roofs(device))
    roofline.peak_flops = inf if "peak" in without else device.peak_flops
    is_free = "memory_bandwidth" in without
    roofline.memory_bytes_per_s = inf if is_free else device.memory_bytes_per_s
    return roofline


def kernels_of(table: _core.KernelTable) -> Kernels:
    import numpy as np

    from yantra.base.columns import signed

    sizes = {name: signed(table.size(name), f"{name} of a kernel") for name in asked.SIZES}
    amounts = {
        name: signed(getattr(table, name), f"{name} of a kernel")
        for name in asked.WHOLE_COLUMNS
        if name not in asked.SIZES
    }
    return Kernels(
        op_class=np.array(table.op_class),
        op_classes=("", *table.op_classes),
        dtype=np.array(table.dtype),
        dtypes=("", *table.dtypes),
        phase=np.array(table.phase),
        phases=("", *table.phases),
        **amounts,
        **sizes,
    )


def _table_of(
    graphs: Graphs,
    device: int,
    model: ComputeModel,
    quirks: frozenset[Quirk],
    may_communicate: bool,
) -> _core.KernelTable:
    table = _core.KernelTable(
        flops="flops" in model.needs,
        bytes="bytes" in model.needs,
        missing_is_cpu_op_means_cpu=Quirk.TUTORIAL_HOTI2024 in quirks,
        whole_microseconds=Quirk.WHOLE_MICROSECONDS in quirks,
        may_communicate=may_communicate,
    )
    for graph, ranks, source in graphs.counted(device):
        refuse(table.add(graph, ranks), graph, source)
    return table
