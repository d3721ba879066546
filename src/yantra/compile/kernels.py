"""How long kernels take: asked of a compute model once for each device, for all that differ.

What a model of the core's own (`native`) says is computed node by node while nodes are lowered, so
such models are not asked, and no trace is read for them any further than before.
"""

from __future__ import annotations

from math import inf

from yantra import _core
from yantra import compute as computes
from yantra.base.fields import Plugin, kind_of, named
from yantra.base.tuples import NamedTuple
from yantra.compile.graphs import Graphs
from yantra.compile.problems import refuse
from yantra.compile.removal import NOTHING, Without
from yantra.compile.slowdown import slowdown_of
from yantra.compute import model as asked
from yantra.compute.model import ComputeModel, Estimates, Kernels
from yantra.scenario import Device, Scenario
from yantra.scenario.quirks import Quirk

WHERE = "cluster.device.compute"


class TimedKernels(NamedTuple):
    """The kernels that differ of the ranks of one device, and what its model says of them.

    `basis` is what the estimates rest on, in words; empty where the model does not say. `answered`
    is what the model said before a stack made it longer, `at` the number of the device.
    """

    device: Device
    kernels: Kernels
    estimates: Estimates
    basis: str
    answered: Estimates
    at: int


class Asked(NamedTuple):
    """What a compute model was asked for another model of the same graphs, under `without`."""

    timed: tuple[TimedKernels, ...]
    without: Without

    def of(self, at: int, device: Device, without: Without) -> TimedKernels | None:
        """Return what was answered of a device; None where the question was another one."""
        if (self.without ^ without) & _RATES:
            return None
        return next((one for one in self.timed if (one.at, one.device) == (at, device)), None)


_RATES = frozenset(("peak", "memory_bandwidth"))
"""Causes whose removal changes what a model is asked."""


def asks_a_model(scenario: Scenario) -> bool:
    """Return whether the kernels of a scenario are looked at, or the core computes their times."""
    slower = slowdown_of(scenario).changes_kernels
    asked_for = (slower or native_of(device) is None for device in scenario.all_devices())
    return not scenario.replay_only and any(asked_for)


def native_of(device: Device) -> str | None:
    """Return the form in which the core computes the kernels of a device, None if a model does.

    The core knows no options: with some its models are asked as others are.
    """
    own = None if isinstance(device.compute, Plugin) and device.compute.options else device.compute
    return None if own is None else _form_of(device)


def _form_of(device: Device) -> str | None:
    return computes.models.get(kind_of(device.compute), WHERE).native


class KernelTimes:
    """What the devices of a scenario make of its kernels; `tell` says it to the lowering."""

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
        self._slower = slowdown_of(scenario)
        self._without = without
        self._tables: dict[int, _core.KernelTable] = {}
        timed = []
        for at, device in enumerate(self._devices if graphs.kernels else ()):
            if native_of(device) is None or self._slower.changes_kernels:
                model = computes.model_of(device.compute, WHERE)
                table = self._tables[at] = _table_of(
                    graphs, at, model, quirks, may_communicate=scenario.semantics == "yantra"
                )
                timed.append(self._ask(table, model, at))
                table.set_ns(timed[-1].estimates.middle, scale)
        self.timed = tuple(timed)

    def tell(self, options: _core.LowerOptions, device: int) -> None:
        """Let nodes be lowered with the times of the kernels on a device, 0 that of most ranks."""
        asked_for = device in self._tables
        options.roofline = (
            _core.Roofline() if asked_for else roofline_of(self._devices[device], self._without)
        )
        options.take_kernels(self._tables.get(device))

    def _ask(self, table: _core.KernelTable, model: ComputeModel, at: int) -> TimedKernels:
        device = self._devices[at]
        known = self._known and self._known.of(at, device, self._without)
        if known is not None:
            return known._replace(estimates=self._longer(known.kernels, known.answered))
        from yantra.compute.answers import ask

        kernels = kernels_of(table)
        seen = asked.Device(
            peak_flops=inf if "peak" in self._without else device.peak_flops,
            memory_bytes_per_s=(
                inf if "memory_bandwidth" in self._without else device.memory_bytes_per_s
            ),
        )
        answered = ask(model, kernels, seen, named(device.compute), WHERE)
        estimates = self._longer(kernels, answered)
        basis = model.basis(kernels, seen)
        return TimedKernels(device, kernels, estimates, basis, answered, at)

    def _longer(self, kernels: Kernels, answered: Estimates) -> Estimates:
        is_longer = self._slower.changes_kernels
        return self._slower.of(kernels, answered) if is_longer else answered


def has_roofs(device: Device) -> bool:
    """Return whether kernels of a device have a part by its peak and one by its bandwidth."""
    return computes.models.get(kind_of(device.compute), WHERE).splits_by_rates


def roofline_of(
    device: Device, without: Without = NOTHING, *, measured: bool = False
) -> _core.Roofline:
    """Return the roofline of a device, less what takes no time.

    With `measured` also of one whose kernels are asked of a model that splits by the same rates.
    """
    roofline = _core.Roofline()
    roofline.enabled = _form_of(device) == "roofline" or (measured and has_roofs(device))
    roofline.peak_flops = inf if "peak" in without else device.peak_flops
    is_free = "memory_bandwidth" in without
    roofline.memory_bytes_per_s = inf if is_free else device.memory_bytes_per_s
    return roofline


def kernels_of(table: _core.KernelTable) -> Kernels:
    """Return the rows of a table as columns of numpy."""
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
    *,
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
