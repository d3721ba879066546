"""What pipeline devices take and hold: the parts of a model times their layers."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from yantra.explore.closed_form.layouts import Layers
from yantra.explore.closed_form.replicas import Held
from yantra.explore.closed_form.sharded import Passes


class Chunks(NamedTuple):
    """Times of passes with several chunks a device, forward and backward, in ns.

    Of the first, middle and last device `opening` is the first chunk; of the middle and last
    `final` is the last one, and `crossing` one micro-batch's time across all others. `widest` is
    the longest first chunk, `mixed` the excess over the last device of those before it in the
    chunks between. `usual` are both passes of the last device's first chunk while it waits,
    `slower` the first device's excess there.
    """

    opening: list[np.ndarray]
    final: list[np.ndarray]
    crossing: list[np.ndarray]
    widest: np.ndarray
    mixed: np.ndarray
    usual: list[np.ndarray]
    slower: list[np.ndarray]


class Rows(NamedTuple):
    """Times of the three devices, and of all; see `Devices`.

    `before` and `behind`: what each pass of a chunk gathers and reduces (`Passes`).
    """

    forward: list[np.ndarray]
    backward: list[np.ndarray]
    whole_forward: np.ndarray
    whole_backward: np.ndarray
    lead: np.ndarray
    before: np.ndarray
    behind: np.ndarray


class Devices:
    """The first, a middle and the last device: times and elements.

    `p` and `v` are devices and chunks of each; times include gathers and reductions.
    """

    def __init__(self, passes: Passes, layers: Layers, p: np.ndarray, v: np.ndarray) -> None:
        front, *kinds, tail = passes.parts
        alone = p == 1
        self.front, self.kinds, self.tail = front, kinds, tail
        self._layers, self._alone = layers, alone
        self._more = {"forward": passes.forward, "backward": passes.backward}
        self.before, self._behind = passes.before, passes.behind
        self._p, self._v = p, v
        self.forward, self.backward = (
            tuple(one + v * more for one in self._spread(way)) for way, more in self._more.items()
        )
        self.kernels = self._spread("kernels")
        self.hides = self._spread("hides")
        self.dense, self.expert = self._spread("dense"), self._spread("expert")
        self.dense[0][...] -= np.where(alone, tail.tied, 0.0)
        self.tied = np.asarray(tail.tied)
        # The largest middle device is not the usual one.
        self.whole_forward, self.whole_backward = (
            self._of(way, layers.all) + getattr(front, way) + getattr(tail, way) + p * v * more
            for way, more in self._more.items()
        )
        self.drawn = self._of("drawn", layers.all) + front.drawn + tail.drawn
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
        layers, hops = self._layers, self._p[rows] - 1
        opening, final, crossing = ([np.zeros(len(rows)) for _ in range(n)] for n in (3, 2, 2))
        widest, mixed = np.zeros(len(rows)), np.zeros(len(rows))
        usual, slower = [], []
        for way in ("forward", "backward"):
            times = [getattr(kind, way)[rows] for kind in self.kinds]

            def of(counts: np.ndarray, times: list[np.ndarray] = times) -> np.ndarray:
                terms = (n * time for n, time in zip(counts[:, rows], times, strict=True))
                return reduce(np.add, terms)

            front, tail = (getattr(end, way)[rows] for end in (self.front, self.tail))
            more = self._more[way][rows]
            hop = more - self.before[rows]
            if way == "backward":
                hop = hop - self._behind[rows]
            first, last = of(layers.first[0]) + front + more, of(layers.first[1]) + more
            others = of(layers.others) + more
            for sums, one in zip(opening, (first, of(layers.middle[0]) + more, last), strict=True):
                sums += one
            ends = of(layers.middle[1]) + more, of(layers.final[1]) + tail + more
            for sums, one in zip(final, ends, strict=True):
                sums += one
            turn = 2.0 * np.minimum(*ends) - ends[0] + hop - more
            crossing[0] += of(layers.across[1]) + front + (hops - 1) * hop + turn
            crossing[1] += of(layers.across[0]) + front + hops * hop
            widest += np.maximum(first, others)
            mixed += of(layers.mixed)
            usual.append(last + hop - more)
            slower.append(first - others)
        return Chunks(opening, final, crossing, widest, mixed, usual, slower)

    def rows(self, rows: np.ndarray) -> Rows:
        return Rows(
            [one[rows] for one in self.forward],
            [one[rows] for one in self.backward],
            self.whole_forward[rows],
            self.whole_backward[rows],
            self.lead[rows],
            self.before[rows],
            self._behind[rows],
        )

    def held(self, rows: np.ndarray, *, expert: bool) -> tuple[Held, Held]:
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
