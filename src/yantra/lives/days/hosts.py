"""Places jobs on hosts, all of a job at once: on the fullest host or pod that still has room."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int64]]


class Placed(NamedTuple):
    """GPUs by host, and by pod the hosts of a job that crosses pods, else none."""

    hosts: Ints
    gpus: Ints
    pods: dict[int, int]


class Hosts:
    """Free GPUs by host; `pod` hosts share a switch, 0 all of them."""

    def __init__(self, hosts: int, host_gpus: int, pod: int = 0) -> None:
        self.each = host_gpus
        self.free = np.full(hosts, host_gpus, np.int64)
        self.pod = np.arange(hosts) // pod if pod else np.zeros(hosts, np.int64)

    def copy(self) -> Hosts:
        """Another with as much free."""
        other = Hosts.__new__(Hosts)
        other.each, other.free, other.pod = self.each, self.free.copy(), self.pod
        return other

    @property
    def free_gpus(self) -> int:
        return int(self.free.sum())

    def place(self, gpus: int) -> Placed | None:
        """Take so many GPUs, or none if they are not there together."""
        whole, rest = divmod(gpus, self.each)
        chosen = self._whole(whole) if whole else np.zeros(0, np.int64)
        if chosen is None:
            return None
        taken = np.full(len(chosen), self.each, np.int64)
        if rest:
            left = self.free.copy()
            left[chosen] = 0
            fits = np.where(left >= rest, left, self.each + 1)
            last = int(fits.argmin())
            if fits[last] > self.each:
                return None
            chosen, taken = np.append(chosen, last), np.append(taken, rest)
        self.free[chosen] -= taken
        used, counts = np.unique(self.pod[chosen], return_counts=True)
        crosses = dict(zip(used.tolist(), counts.tolist(), strict=True)) if len(used) > 1 else {}
        return Placed(chosen, taken, crosses)

    def give_back(self, placed: Placed) -> None:
        self.free[placed.hosts] += placed.gpus

    def _whole(self, wanted: int) -> Ints | None:
        empty = np.nonzero(self.free == self.each)[0]
        if len(empty) < wanted:
            return None
        counts = np.bincount(self.pod[empty], minlength=int(self.pod[-1]) + 1)
        enough = np.nonzero(counts >= wanted)[0]
        if len(enough):
            best = enough[counts[enough].argmin()]
            order = np.nonzero(self.pod[empty] == best)[0]
        else:  # as few pods as there may be
            order = np.argsort(-counts[self.pod[empty]], kind="stable")
        return np.asarray(empty[order][:wanted], np.int64)
