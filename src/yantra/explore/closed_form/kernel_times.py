"""Times of the kernels of plans by a compute model, new ones in one call.

Kernels of the optimizer lie on a curve over their elements.

At other rates a measured kernel scales as the larger of its roofline's two times, its launch as
latencies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from yantra import compute as computes
from yantra.base.fields import named
from yantra.compute.answers import ask
from yantra.compute.model import SIZES, Kernels, kernels
from yantra.compute.model import Device as Seen
from yantra.explore.closed_form.amounts import Block, block_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yantra.compile.slowdown import Slowdown
    from yantra.scenario import Device
    from yantra.workloads.operators.operations import Operation

_PRODUCT = ("batch", "m", "n", "k")
_ELEMENTS = np.unique(np.round(2.0 ** (np.arange(4 * 40 + 1) / 4)))
"""Where the curves of the optimizer's kernels have points: on lines in between a formula of bytes
that is a line itself has no error, and its one bend at most 2 %."""

Key = tuple[Any, ...]


class KernelTimes:
    """Kernel times on a device, in ns; `longer` scales them with rates."""

    def __init__(
        self,
        device: Device,
        slower: Slowdown,
        longer: Callable[[Block], np.ndarray] | None = None,
        like: KernelTimes | None = None,
    ) -> None:
        self._device, self._slower, self._longer = device, slower, longer
        self._asked: dict[Key, np.ndarray] = {} if like is None else like._asked
        self._curves: dict[tuple[str, int], np.ndarray] = {}

    def of(self, blocks: Sequence[Block]) -> list[np.ndarray]:
        keys = [one.key for one in blocks]
        new = {key: one for key, one in zip(keys, blocks, strict=True) if key not in self._asked}
        if new:
            self._asked.update(zip(new, self._ask(list(new.values())), strict=True))
        found = []
        for key, one in zip(keys, blocks, strict=True):
            ns = self._asked[key] * self._slower.factor(one.kind)
            found.append(ns if self._longer is None else ns * self._longer(one))
        return found

    def at(self, made: Callable[[int], Operation], elements: Any) -> Any:
        one = made(1)
        key = one.name, one.bytes_read  # gradients of other types are other kernels
        if key not in self._curves:
            (self._curves[key],) = self.of([block_of([made(int(count)) for count in _ELEMENTS])])
        times = np.interp(elements, _ELEMENTS, self._curves[key])
        return np.where(np.asarray(elements) > 0, times, 0.0)

    def _ask(self, blocks: Sequence[Block]) -> list[np.ndarray]:
        alike: dict[tuple[object, ...], list[int]] = {}
        for at, one in enumerate(blocks):
            alike.setdefault((*one[:-1], len(one.rows)), []).append(at)
        different, places = [], []
        for some in alike.values():
            rows = np.concatenate([blocks[at].rows for at in some], axis=1)
            first, back = distinct_columns(rows)
            different.append(blocks[some[0]]._replace(rows=rows[:, first]))
            places.append(back)
        times = self._ask_model(different)
        found: list[Any] = [None] * len(blocks)
        begin = 0
        for some, one, back in zip(alike.values(), different, places, strict=True):
            every = times[begin : begin + one.rows.shape[1]][back]
            begin += one.rows.shape[1]
            ends = np.cumsum([blocks[at].rows.shape[1] for at in some])
            for at, own in zip(some, np.split(every, ends[:-1]), strict=True):
                found[at] = own
        return found

    def _ask_model(self, blocks: Sequence[Block]) -> np.ndarray:
        where = "cluster.device.compute"
        seen = Seen(self._device.peak_flops, self._device.memory_bytes_per_s)
        model = computes.model_of(self._device.compute, where)
        return ask(model, columns_of(blocks), seen, named(self._device.compute), where).middle


def distinct_columns(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.lexsort(rows)
    ordered = rows[:, order]
    begins = np.ones(len(order), bool)
    begins[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    back = np.empty(len(order), np.intp)
    back[order] = np.cumsum(begins) - 1
    return order[begins], back


def columns_of(blocks: Sequence[Block]) -> Kernels:
    """Return operations as kernels; like a node, each has at least 1 of every amount."""
    counts = [one.rows.shape[1] for one in blocks]
    sizes: dict[str, Any] = {name: np.zeros(sum(counts), np.int64) for name in SIZES}
    begin = 0
    for one, count in zip(blocks, counts, strict=True):
        shape = len(one.rows) - 2 - len(one.names)
        named_rows = zip((*_PRODUCT[4 - shape :], *one.names), one.rows[2:], strict=True)
        for name, row in named_rows:
            if name in sizes:
                own = sizes[name][begin : begin + count]
                own[:] = np.where(row != 0, row, own)
        begin += count
    amounts = np.maximum(np.concatenate([one.rows[:2] for one in blocks], axis=1), 1)
    names: dict[str, Any] = {
        field: [name for one, n in zip(blocks, counts, strict=True) for name in [of(one)] * n]
        for field, of in _NAMES.items()
    }
    return kernels(flops=amounts[0], bytes=amounts[1], **names, **sizes)


_NAMES: dict[str, Callable[[Block], str]] = {
    "op_class": lambda one: one.kind,
    "dtype": lambda one: one.dtype,
    "phase": lambda one: one.phase,
}
