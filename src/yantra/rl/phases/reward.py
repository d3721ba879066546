"""Rewards: samples queue in the order in which they end, for workers of the CPU, sandboxes, or
servers of a reward model with GPUs of their own.

A server is the narrowest that holds the model's weights in bf16. A sample takes its share of the
forward pass of a full batch. With workers as well, a sample is rewarded when both have done it.
Trade-off: on a worker a sample takes a stated time, however long it is; batches are always full;
where rewards are part of the loop, the busier of both queues counts alone.
"""

from __future__ import annotations

from functools import lru_cache
from heapq import heapify, heapreplace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.errors import CapacityError, ConfigError, expected_got
from yantra.rl.phases.around import sizes_of
from yantra.rl.phases.passes import line, passes_of

if TYPE_CHECKING:
    from yantra.fabric.clusters.types import Cluster

_WEIGHT = 2.0  # bytes
_WIDEST = 16


class Reward(NamedTuple):
    """Who rewards: workers with a stated time, or a model on GPUs of its own."""

    seconds: float = 0.0
    """Of a sample on a worker."""
    workers: int = 1
    """Workers, or servers of the model."""
    overlaps: bool = True
    """Whether rewards start before all samples have ended."""
    gpus: int = 0
    """Of the reward model."""
    knots: tuple[tuple[int, ...], tuple[float, ...]] = ((), ())
    """Tokens, and seconds of a server for a sample of so many."""
    beside: Reward | None = None
    """Workers that reward each sample as well."""

    @property
    def queues(self) -> tuple[Reward, ...]:
        """Each alone: what rewards, and the workers beside it."""
        alone = self._replace(beside=None)
        if self.beside is None:
            return (alone,)
        return alone, self.beside._replace(overlaps=self.overlaps)

    def busier(self, tokens: np.ndarray) -> Reward:
        """The queue that such samples keep longer."""
        return max(self.queues, key=lambda one: one.busy(tokens, 1.0))

    def each_s(self, tokens: np.ndarray) -> np.ndarray:
        """Seconds of each sample of so many tokens, with its prompt."""
        if not self.gpus:
            return np.full(len(tokens), self.seconds)
        at, seconds = (np.array(one) for one in self.knots)
        return line(tokens, at, seconds)

    def ends_s(self, finished_s: np.ndarray, tokens: np.ndarray | None = None) -> float:
        """When the last of samples that ended at these times is rewarded."""
        last = float(finished_s.max())
        if self.beside is not None:
            return max(one.ends_s(finished_s, tokens) for one in self.queues)
        each = self.each_s(np.ones(len(finished_s)) if tokens is None else tokens)
        if not each.any():
            return last
        order = np.argsort(finished_s, kind="stable")
        starts = finished_s[order] if self.overlaps else np.full(len(order), last)
        free = [0.0] * self.workers
        heapify(free)
        for at, takes in zip(starts.tolist(), each[order].tolist(), strict=True):
            heapreplace(free, max(free[0], at) + takes)
        return max(free)

    def busy(self, tokens: np.ndarray, seconds: float) -> float:
        """Share of a step that servers work."""
        return float(self.each_s(tokens).sum()) / (self.workers * seconds)


def served(
    reward: Reward,
    model: Any,
    cluster: Cluster,
    gpus: int,
    *,
    longest: int,
    batch: int,
    stack: str,
) -> Reward:
    """Reward with a model on so many GPUs, so many samples at once.

    Raises ConfigError for GPUs that servers do not fill, CapacityError where no server holds it.
    """
    where = "--set reward_gpus"
    need = sizes_of(model).parameters * _WEIGHT
    widths = [1 << one for one in range(_WIDEST.bit_length())]
    tp = next((one for one in widths if need / one <= cluster.usable_bytes), None)
    if tp is None or tp > gpus:
        problem = f"{model.name} needs {need / 2**30:.0f} GiB, devices of {cluster.name} have"
        raise CapacityError(where, f"{problem} {cluster.usable_bytes / 2**30:.0f}; give more GPUs")
    if gpus % tp:
        problem = expected_got(f"a multiple of the {tp} GPUs of a server of {model.name}", gpus)
        raise ConfigError(where, problem)
    tokens, seconds = _passes(model, cluster, tp, longest, batch, stack)
    return reward._replace(gpus=gpus, workers=gpus // tp, knots=(tokens, seconds))


@lru_cache(maxsize=8)
def _passes(
    model: Any, cluster: Cluster, tp: int, longest: int, batch: int, stack: str
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """A sample's share of forward passes of a batch, of a few lengths."""
    lengths = [max(longest >> some, 64) for some in (4, 3, 2, 1, 0)]
    found = {
        int(of.tokens[0]): float(line(batch * of.tokens[:1], of.tokens, of.scored)[0]) / batch
        for length in lengths
        for of in [
            passes_of(
                model, cluster, tp, {"tp": tp}, length=length, most=batch * length, stack=stack
            )
        ]
    }
    return tuple(sorted(found)), tuple(found[one] for one in sorted(found))
