"""Times of the kernels of plans by a compute model, all that are new in one call.

A kernel is what its node of a trace says, and nothing else, so a plan's kernels have the times that
its run has, to the tick. Those of the optimizer are asked along a curve over their elements.

What another rate makes of a measured time is a law: a kernel takes as much longer as the larger of
its roofline's two times gets, and its launch as the latencies get.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from yantra import compute as computes
from yantra.base.fields import named
from yantra.compute.answers import ask
from yantra.compute.model import SIZES, Kernels, kernels
from yantra.compute.model import Device as Seen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from yantra.compile.slowdown import Slowdown
    from yantra.scenario import Device
    from yantra.workloads.operators.operations import Operation

_PRODUCT = ("batch", "m", "n", "k")
_ELEMENTS = np.unique(np.round(2.0 ** (np.arange(4 * 40 + 1) / 4)))
"""Where the curves of the optimizer's kernels have points: on lines in between a formula of bytes
that is a line itself has no error, and its one bend at most 2 %."""

Key = tuple[Any, ...]


class KernelTimes:
    """The times of kernels on a device, in ns; `longer` says how a time changes with rates."""

    def __init__(
        self,
        device: Device,
        slower: Slowdown,
        longer: Callable[[Operation], float] | None = None,
        like: KernelTimes | None = None,
    ) -> None:
        """Know no kernel yet, or those of `like`, which has the same device."""
        self._device, self._slower, self._longer = device, slower, longer
        self._asked: dict[Key, float] = {} if like is None else like._asked
        self._curves: dict[tuple[str, int], np.ndarray] = {}

    def learn(self, operations: Iterable[Operation]) -> None:
        """Ask for all kernels among operations that are not known yet."""
        new = {}
        for one in operations:
            if one.collective is None and not one.peer:
                key = _key(one)
                if key not in self._asked:
                    new[key] = one
        if new:
            times = self._ask(_columns(list(new.values())))
            self._asked.update(zip(new, times.tolist(), strict=True))

    def of(self, operation: Operation) -> float:
        """Return the time of a kernel, as the factors of the stack make it."""
        key = _key(operation)
        if key not in self._asked:
            self.learn([operation])
        ns = self._asked[key] * self._slower.factor(operation.kind)
        if self._longer is not None:
            ns *= self._longer(operation)
        return ns

    def at(self, made: Callable[[int], Operation], elements: Any) -> Any:
        """Return the times of kernels that `made` makes of a number of elements, 0 for none."""
        one = made(1)
        key = one.name, one.bytes_read  # gradients of other types are other kernels
        if key not in self._curves:
            some = [made(int(count)) for count in _ELEMENTS]
            self.learn(some)
            self._curves[key] = np.array([self.of(each) for each in some])
        times = np.interp(elements, _ELEMENTS, self._curves[key])
        return np.where(np.asarray(elements) > 0, times, 0.0)

    def _ask(self, columns: Kernels) -> np.ndarray:
        where = "cluster.device.compute"
        seen = Seen(self._device.peak_flops, self._device.memory_bytes_per_s)
        model = computes.model_of(self._device.compute, where)
        return ask(model, columns, seen, named(self._device.compute), where).middle


def _key(one: Operation) -> Key:
    return (
        one.kind, one.dtype, one.phase, one.tensor_flops + one.vector_flops,
        one.bytes_read + one.bytes_written, one.shape, one.sizes,
    )  # fmt: skip


def _columns(operations: Sequence[Operation]) -> Kernels:
    """Return the kernels that the nodes of operations are; a node has at least 1 of each amount."""
    sizes: dict[str, Any] = {name: np.zeros(len(operations), np.int64) for name in SIZES}
    for row, one in enumerate(operations):
        for name, size in zip(_PRODUCT[4 - len(one.shape) :], one.shape, strict=True):
            sizes[name][row] = size
        for name, size in one.sizes:
            if size and name in sizes:
                sizes[name][row] = size
    return kernels(
        flops=[max(one.tensor_flops + one.vector_flops, 1) for one in operations],
        bytes=[max(one.bytes_read + one.bytes_written, 1) for one in operations],
        op_class=[one.kind for one in operations],
        dtype=[one.dtype for one in operations],
        phase=[one.phase for one in operations],
        **sizes,
    )
