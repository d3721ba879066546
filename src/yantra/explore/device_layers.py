"""How many layers of each kind the first, a middle and the last device of a pipeline have.

The middle one is that with most layers, of several the last. Layers go to stages as
`yantra.workloads.training.step.layers` says, and stage s is on device s modulo p.

Trade-off: devices in the middle whose layers are of other kinds than that one's are not seen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from yantra.explore.distinct import distinct
from yantra.workloads.training.step.layers import layer_ranges

PLACES = ("first", "middle", "last", "all")


class DeviceLayers:
    """The layers of devices for any number of stages; `kinds` is the kind of each layer."""

    def __init__(self, kinds: Sequence[int]) -> None:
        self._kinds = np.array(kinds)
        self._count = int(self._kinds.max()) + 1
        self._made: dict[tuple[int, int], np.ndarray] = {}

    def of(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the counts of each kind (places, kinds, rows) for p devices of v chunks."""
        pairs = np.stack([p, v], axis=1)
        first, back = distinct(pairs)
        table = np.stack([self._one(*map(int, pairs[at])) for at in first], axis=2)
        counts: np.ndarray = np.ascontiguousarray(table[:, :, back])
        return counts

    def _one(self, p: int, v: int) -> np.ndarray:
        if (p, v) not in self._made:
            devices = np.zeros((p, self._count))
            for stage, (first, end) in enumerate(layer_ranges(len(self._kinds), p * v)):
                devices[stage % p] += np.bincount(self._kinds[first:end], minlength=self._count)
            inner = devices[1:-1] if p > 2 else devices[:1]
            most = inner.sum(axis=1)
            middle = inner[np.flatnonzero(most == most.max())[-1]]
            self._made[p, v] = np.stack([devices[0], middle, devices[-1], devices.sum(axis=0)])
        return self._made[p, v]
