"""How long the operations of an iteration take: kernels by the compute model, collectives by what
was measured or simulated of them alone, both as `yantra run` has them on a stack.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from yantra import compute as computes
from yantra.base.fields import Plugin, named
from yantra.compile.capped import capped
from yantra.compile.slowdown import slowdown_on
from yantra.compute.answers import ask
from yantra.compute.families.machine import OF_ANOTHER
from yantra.compute.model import Device as Seen
from yantra.explore.closed_form.kernel_times import columns_of, distinct_columns
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.on_stack import parts_for
from yantra.explore.closed_form.scale import Scale
from yantra.workloads.templates.grid import Group

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from yantra.compile.slowdown import Slowdown
    from yantra.explore.closed_form.amounts import Block
    from yantra.scenario import Device
    from yantra.serving.iteration.works import Piece
    from yantra.workloads.operators.operations import Operation
    from yantra.workloads.plan.plan import Dtype
    from yantra.workloads.serving.plan import InferencePlan

_VIEWS = {"tp": "dense", "ep": "expert", "etp": "expert"}
_WHERE = "cluster.device.compute"
_AS_STATED = Scale()


class Speeds:
    """Times on one cluster, in ns; `factors` replace those of the stack where given.

    `scale` multiplies the device's peak and memory alone.
    """

    def __init__(
        self,
        cluster: Any,
        plan: InferencePlan,
        model: Any,
        stack: str,
        factors: Slowdown | None = None,
        framework: str | None = None,
        scale: Scale = _AS_STATED,
    ) -> None:
        parts = parts_for(cluster, plan.ranks, plan.dtype, stack)
        of_rate: Dtype = "fp4" if plan.dtype == "nvfp4" else plan.dtype
        self._machine_of = partial(Machine, cluster, dtype=of_rate, stack=stack)
        self._machine = self._machine_of(plan.ranks)
        self.framework = framework
        if framework:
            self._machine.serve_with(framework)
        self._machine.know(model)
        device: Device = parts["device"]
        self._stated = parts["machine"]
        self._device = _running(
            device.replace(
                peak_flops=device.peak_flops * scale.peak,
                memory_bytes_per_s=device.memory_bytes_per_s * scale.memory,
            ),
            framework,
        )
        self._seen = Seen(self._device.peak_flops, self._device.memory_bytes_per_s)
        self._kernels = computes.model_of(self._device.compute, _WHERE)
        self._slower = factors or slowdown_on(parts.get("stack"), parts["topology"])
        stated = parts.get("stack")
        self._stack, self._plan = stated, plan
        self._grid = plan.grid()
        self._moves_any = False
        self._groups: dict[str, tuple[int, int]] = {}
        self._asked: dict[tuple[Any, ...], np.ndarray] = {}

    @property
    def interval(self) -> float:
        if self._stack is None:
            return 0.0
        of_jobs = self._stack.graphs_interval if self._stack.graphs else 0.0
        return float(of_jobs or self._stack.interval_of(self._plan.tp, None))

    @property
    def tables(self) -> str:
        """Whose kernels were measured, or empty."""
        title = getattr(self._kernels, "title", None)
        return "" if title is None else title(self._seen)

    def transfer(self, pieces: Sequence[Piece]) -> float:
        """The half-width, as a logarithm, of these pieces' kernels if their tables are another
        device's; 0 if they are its own.
        """
        if OF_ANOTHER not in self.tables:
            return 0.0
        columns = columns_of(
            [block for piece in pieces for block in piece.amounts.blocks() if block]
        )
        name = named(self._device.compute)
        found = ask(self._kernels, columns, self._seen, name, _WHERE)
        known = (found.low > 0) & np.isfinite(found.high)
        width = np.log(found.high[known] / found.low[known]) / 2
        return float(np.average(width, weights=found.middle[known] * columns.count[known]))

    @property
    def rests_on(self) -> str:
        """What times come from, as far as they were asked."""
        measured = self._machine.measures_all
        tables = self.tables
        is_own = tables and OF_ANOTHER not in tables
        if is_own and measured and self._moves_any:
            return "measured kernels and collectives"
        kernels = f"measured kernels of {tables}" if tables else "kernels by the roofline"
        if not self._moves_any:
            return kernels
        return f"{kernels}; collectives {'measured' if measured else 'simulated'}"

    @property
    def taken(self) -> float:
        return self._machine.taken

    def of(self, pieces: Sequence[Piece], names: Collection[str]) -> list[list[np.ndarray]]:
        blocks = [
            [
                block if operation.name in names else None
                for block, operation in zip(one.amounts.blocks(), one.operations, strict=True)
            ]
            for one in pieces
        ]
        self._ask([block for some in blocks for block in some if block is not None])
        found = []
        for piece, some in zip(pieces, blocks, strict=True):
            none = np.zeros(len(piece.places))
            times = []
            for at, (block, operation) in enumerate(zip(some, piece.operations, strict=True)):
                if operation.name not in names:
                    times.append(none)
                elif block is None:
                    times.append(self._moves(operation, piece.amounts.sent(at)))
                else:
                    times.append(self._asked[block.key])
            found.append(times)
        self._asked.clear()
        return found

    def message_ns(self, size_bytes: Any) -> Any:
        stride = self._grid.axis(self._grid.view_of(("pp",)), "pp").stride
        return self._machine.message_ns(stride, size_bytes)

    def to_others(self, devices: int) -> Callable[[Any], Any]:
        ranks = 1 << (self._plan.ranks + devices - 1).bit_length()
        machine = self._machine_of(ranks)
        return lambda size_bytes: machine.message_ns(self._plan.ranks, size_bytes)

    def _ask(self, blocks: Sequence[Block]) -> None:
        new = list({block.key: block for block in blocks}.values())
        if not new:
            return
        back = [distinct_columns(one.rows) for one in new]
        fewer = [one._replace(rows=one.rows[:, at]) for one, (at, _) in zip(new, back, strict=True)]
        columns = columns_of(fewer)
        answered = ask(self._kernels, columns, self._seen, named(self._device.compute), _WHERE)
        if self._device.power_cap_w is None:
            ns = self._slower.of(columns, answered).middle
        else:
            launched, always = self._slower.parts()
            slower = always.of(columns, answered)
            ns = capped(self._stated, self._device, columns, slower, launched)[0].middle
        ends = np.cumsum([one.rows.shape[1] for one in fewer])
        for one, own, (_, place) in zip(new, np.split(ns, ends[:-1]), back, strict=True):
            self._asked[one.key] = own[place]

    def _moves(self, operation: Operation, sent: np.ndarray) -> np.ndarray:
        assert operation.collective is not None
        self._moves_any = True
        size, stride = self._group(operation.group)
        ns: np.ndarray = np.asarray(
            self._machine.collective_ns(operation.collective, size, stride, sent), float
        )
        return ns

    def _group(self, name: str) -> tuple[int, int]:
        if name not in self._groups:
            group = Group(_VIEWS[name], (name,), grid=self._grid.name)
            ranks = self._grid.members(self._grid.first_rank, group)
            stride = ranks[1] - ranks[0] if len(ranks) > 1 else 1
            self._groups[name] = len(ranks), stride
        return self._groups[name]


def _running(device: Device, framework: str | None) -> Device:
    if named(device.compute) != "measured":
        return device
    options = dict(device.compute.options) if isinstance(device.compute, Plugin) else {}
    options |= {"framework": framework, "products": None}
    return device.replace(compute=Plugin(kind="measured", options=tuple(options.items())))
