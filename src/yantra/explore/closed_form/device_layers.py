"""How many layers of each kind devices of a pipeline have: the first, some in the middle, the last.

Of those in the middle with equal layers the one nearest to the first stands for all: it holds the
most micro-batches. Layers go to stages as `yantra.workloads.training.step.layers` says, and stage s
is on device s modulo p.

Trade-off: chunks of one device are not told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from yantra.explore.closed_form.distinct import distinct
from yantra.workloads.training.step.layers import layer_ranges


class Layers(NamedTuple):
    """Counts of each kind (kinds, rows) on the first and the last device and on all.

    Of the middle: `usual` is the device with most layers; `middle` has counts of all that differ
    (devices, kinds, rows), and `at` which device each of them is (devices, rows), 0 where a row has
    fewer.
    """

    first: np.ndarray
    usual: np.ndarray
    last: np.ndarray
    all: np.ndarray
    middle: np.ndarray
    at: np.ndarray


class DeviceLayers:
    """The layers of devices for any number of stages; `kinds` is the kind of each layer."""

    def __init__(self, kinds: Sequence[int]) -> None:
        self._kinds = np.array(kinds)
        self._count = int(self._kinds.max()) + 1
        self._made: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}

    def of(self, p: np.ndarray, v: np.ndarray) -> Layers:
        """Return the layers of pipelines of p devices with v chunks each."""
        pairs = np.stack([p, v], axis=1)
        first, back = distinct(pairs)
        made = [self._one(*map(int, pairs[at])) for at in first]
        most = max(len(at) for _, at in made)
        counts = np.zeros((4 + most, self._count, len(made)))
        places = np.zeros((most, len(made)), dtype=np.int64)
        for row, (of, at) in enumerate(made):
            counts[: len(of), :, row] = of
            places[: len(at), row] = at
        whole = np.ascontiguousarray(counts[:, :, back])
        return Layers(whole[0], whole[1], whole[2], whole[3], whole[4:], places[:, back])

    def _one(self, p: int, v: int) -> tuple[np.ndarray, np.ndarray]:
        """Return counts as in `Layers`, one after the other, and the places of the middle ones."""
        if (p, v) not in self._made:
            devices = np.zeros((p, self._count))
            for stage, (first, end) in enumerate(layer_ranges(len(self._kinds), p * v)):
                devices[stage % p] += np.bincount(self._kinds[first:end], minlength=self._count)
            inner = devices[1:-1]
            _, differ = np.unique(inner, axis=0, return_index=True)
            places = np.sort(differ) + 1
            usual = inner[-1 - int(np.argmax(inner.sum(axis=1)[::-1]))] if p > 2 else devices[0]
            ends = [devices[0], usual, devices[-1], devices.sum(axis=0)]
            self._made[p, v] = np.stack([*ends, *devices[places]]), places
        return self._made[p, v]
