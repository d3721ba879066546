"""What the devices of pipelines take and hold: the parts of a model times the layers they have."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from yantra.explore.closed_form.layouts import Layers
from yantra.explore.closed_form.replicas import Held
from yantra.explore.closed_form.sharded import Passes


class Chunks(NamedTuple):
    """Times of passes of pipelines with several chunks a device, in ns.

    `pace` is what one micro-batch takes where each chunk takes as long as on its slowest device,
    and `crossing` what one takes to cross all devices but the slowest in one chunk, there and back.
    """

    pace: np.ndarray
    crossing: np.ndarray


class Rows(NamedTuple):
    """Times of the three devices, and of all, for some plans; see `Devices`."""

    forward: list[np.ndarray]
    backward: list[np.ndarray]
    whole_forward: np.ndarray
    whole_backward: np.ndarray
    lead: np.ndarray


class Devices:
    """The first, a middle and the last device of each pipeline: times and elements.

    `p` and `v` are devices and chunks of each; all times have what each chunk's passes take on top.
    """

    def __init__(self, passes: Passes, layers: Layers, p: np.ndarray, v: np.ndarray) -> None:
        front, *kinds, tail = passes.parts
        alone = p == 1
        self.front, self.kinds, self.tail = front, kinds, tail
        self._layers, self._alone = layers, alone
        self._more = {"forward": passes.forward, "backward": passes.backward}
        self._p, self._v = p, v
        self.forward, self.backward = (
            tuple(one + v * more for one in self._spread(way)) for way, more in self._more.items()
        )
        self.kernels = self._spread("kernels")
        self.dense, self.expert = self._spread("dense"), self._spread("expert")
        self.dense[0][...] -= np.where(alone, tail.tied, 0.0)
        self.tied = np.asarray(tail.tied)
        # All devices together; the largest in the middle is not the usual one.
        self.whole_forward, self.whole_backward = (
            self._of(way, layers.all) + getattr(front, way) + getattr(tail, way) + p * v * more
            for way, more in self._more.items()
        )
        self.lead, self.border = self._mean("lead"), self._mean("border")

    def _of(self, name: str, counts: np.ndarray) -> np.ndarray:
        terms = (n * getattr(kind, name) for n, kind in zip(counts, self.kinds, strict=True))
        return reduce(np.add, terms)

    def _spread(self, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        ends = getattr(self.front, name), getattr(self.tail, name)
        own = self._layers.own
        first = self._of(name, own[0]) + ends[0] + np.where(self._alone, ends[1], 0.0)
        last = self._of(name, own[2]) + ends[1] + np.where(self._alone, ends[0], 0.0)
        return first, self._of(name, own[1]), last

    def _mean(self, name: str) -> np.ndarray:
        if len(self.kinds) == 1:
            return np.asarray(getattr(self.kinds[0], name))
        counts = self._layers.all
        return np.asarray(self._of(name, counts) / counts.sum(axis=0))

    def chunks(self, rows: np.ndarray) -> Chunks:
        """Return the times of the chunks of some rows."""
        layers = self._layers
        pace, most = np.zeros(len(rows)), [np.zeros(len(rows)) for _ in range(3)]
        for way in ("forward", "backward"):
            times = [getattr(kind, way)[rows] for kind in self.kinds]

            def of(counts: np.ndarray, times: list[np.ndarray] = times) -> np.ndarray:
                terms = (n * time for n, time in zip(counts[:, rows], times, strict=True))
                return reduce(np.add, terms)

            first = np.maximum(
                of(layers.first[0]) + getattr(self.front, way)[rows], of(layers.others[0])
            )
            final = np.maximum(
                of(layers.final[1]) + getattr(self.tail, way)[rows], of(layers.others[1])
            )
            more, p = self._more[way][rows], self._p[rows]
            pace += first + final + of(layers.between) + self._v[rows] * more
            ends = getattr(self.front, way)[rows], getattr(self.tail, way)[rows], 0.0
            widest = first, final, of(layers.inner)
            for sums, counts, end, one in zip(most, layers.across, ends, widest, strict=True):
                sums += of(counts) + end - one + (p - 1) * more
        return Chunks(pace, reduce(np.maximum, most))

    def rows(self, rows: np.ndarray) -> Rows:
        """Return the times of some rows."""
        return Rows(
            [one[rows] for one in self.forward],
            [one[rows] for one in self.backward],
            self.whole_forward[rows],
            self.whole_backward[rows],
            self.lead[rows],
        )

    def held(self, rows: np.ndarray, *, expert: bool) -> tuple[Held, Held]:
        """Return the weights of one domain that the first and the last device of rows hold."""
        name = "expert" if expert else "dense"
        of = self.expert if expert else self.dense
        front = np.asarray(getattr(self.front, name))
        grain = self._mean(f"{name}_grain")
        ends = self._layers.first, self._layers.final
        first, last = (
            Held(
                all=of[2 * at],
                layers=self._of(name, self._layers.own[2 * at]),
                front=np.zeros_like(front) if at else front,
                opening=self._of(name, ends[0][at]),
                ending=self._of(name, ends[1][at]),
                grain=grain,
                layer_count=self._layers.own[2 * at].sum(axis=0),
            )
            for at in (0, 1)
        )
        return Held(*(one[rows] for one in first)), Held(*(one[rows] for one in last))
