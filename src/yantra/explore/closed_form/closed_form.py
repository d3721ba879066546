"""Step time and memory of many plans at once, by a formula over columns.

Memory is exact for what it counts: weights, gradients and optimizer state by shards, activations in
flight by the schedule, and the most a backward pass has on top. Time is

    opening + m x slowest device + what it waits for others + closing

where it waits for what is before it in the pipeline and, for the first and the last micro-batch,
for what is behind it, as far as passes of others do not fill the time (Narayanan et al., SC 2021).
Interleaving passes the pipeline with 1/v of a device's work at a time, and every hop has a message.
What a backward pass computes again before it needs its gradient, it does while it waits. Opening
and closing are weights, gradients and the optimizer (`replicas.py`).

Trade-off: groups do not wait for each other here, stages are the first, the largest in the middle,
and the last, and messages are hidden in the middle of an interleaved schedule. How far that is from
simulation, `benchmarks/closed_form_error.py` measures.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.chakra import CollectiveType
from yantra.explore.closed_form import layouts, memory
from yantra.explore.closed_form.devices import Devices
from yantra.explore.closed_form.distinct import distinct
from yantra.explore.closed_form.layouts import Layouts
from yantra.explore.closed_form.passes import Part, Works
from yantra.explore.closed_form.pipeline import pipeline
from yantra.explore.closed_form.replicas import (
    Costs,
    Domain,
    Each,
    Kernels,
    costs_of,
    groups_of,
    least_of,
)
from yantra.explore.closed_form.sharded import WEIGHTS, Passes, Sharers, sharded
from yantra.explore.closed_form.space import GRADIENTS, Columns
from yantra.explore.closed_form.tables import Tables
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.step.optimizer import norm_operation, update_operation
from yantra.workloads.training.step.sharding import sharding_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yantra.explore.closed_form.machine import Machine
    from yantra.workloads.training.step.sharding import Sharding

_BLOCK = 1 << 14
_NEED = "need"
_WIDE = 4  # bytes of a gradient, of which others have half


class Judged(NamedTuple):
    """Step time in ns and memory of the worst device in bytes, one of each per plan.

    The time in parts that add up: kernels of the slowest device, communication within its layers
    that nothing hides, the pipeline's bubble with its messages, and what comes before the passes
    and behind them.
    """

    time_ns: np.ndarray
    memory_bytes: np.ndarray
    kernels_ns: np.ndarray
    communication_ns: np.ndarray
    bubble_ns: np.ndarray
    behind_ns: np.ndarray


class ClosedForm:
    """The closed form of a model on a machine; tables fill as keys and groups are met."""

    def __init__(
        self,
        model: Any,
        machine: Machine,
        sequence: int | None = None,
        works: Works | None = None,
    ) -> None:
        machine.know(model)
        self.model = model
        self.machine = machine
        self._works = works or Works(model, sequence or model.sequence)
        self._layouts = Layouts(self._works.kinds)
        names: Any = GRADIENTS
        plans = [Plan(dtype=machine.dtype, gradient_dtype=name) for name in names]
        self._held = [sharding_of(plan) for plan in plans]
        widths = [int(one.gradient_bytes < _WIDE) for one in self._held]
        self._tables = Tables(self._works, machine, widths)
        self._update = tuple(map(_kernels, plans, self._held))

    def memory(self, columns: Columns, global_batch: int) -> np.ndarray:
        """Return the memory of every plan; nothing is timed and no group is measured for it."""
        self._tables.meet(columns)
        found = []
        for block in _blocks(columns):
            parts = self._tables.parts(block, timed=False)
            found.append(self._memory(parts, block, _micro_batches(block, global_batch)))
        return np.concatenate(found)

    def judge(self, columns: Columns, global_batch: int, need: np.ndarray | None = None) -> Judged:
        """Return time and memory of every plan; blocks of them stay in the cache.

        `need` is the memory of the plans where `memory` has said it, so that it is not asked again.
        """
        self._tables.learn(columns)
        given = columns if need is None else {**columns, _NEED: need}
        blocks = [self._block(block, global_batch) for block in _blocks(given)]
        return Judged(*map(np.concatenate, zip(*blocks, strict=True)))

    def _memory(self, parts: list[Part], columns: Columns, m: np.ndarray) -> np.ndarray:
        c = _floats(columns)
        front, *kinds, tail = parts
        each, copies = self._held[0], c["dp"] * c["cp"]
        weight, gradients = float(each.weight_bytes), self._gradients(columns)
        zero, sharers = c["zero"], (copies, copies * c["tp"] / (c["ep"] * c["etp"]))
        sizes = ((1, each.state_bytes), (2, gradients), (WEIGHTS, weight))
        dense, expert = (
            reduce(np.add, (size / np.where(zero >= level, n, 1.0) for level, size in sizes))
            for n in sharers
        )
        whole = None
        if (zero > 1).any():
            each_of = ((2, gradients), (WEIGHTS, gradients), (WEIGHTS, weight))
            some = [np.where(zero == level, size, 0.0) for level, size in each_of]
            least = np.where(c["overlap"] > 0, least_of(copies), np.inf)
            whole = memory.Whole(some[0], some[1], some[2], least, sharers[1] > 1)
        pipelines = np.stack([columns[name] for name in layouts.KEY], axis=1)
        holders = self._layouts.holders(pipelines, m)
        fixed = memory.Fixed(dense, expert, weight)
        return memory.worst(front, kinds, tail, holders, fixed, whole)

    def _block(self, block: Columns, global_batch: int) -> Judged:
        columns, c, m = block, _floats(block), _micro_batches(block, global_batch)
        parts = self._tables.parts(block, timed=True)
        need = block[_NEED] if _NEED in block else self._memory(parts, columns, m)
        pipelines = np.stack([columns[name] for name in layouts.KEY], axis=1)
        passes = self._with_weights(parts, columns)
        sizes = Devices(passes, self._layouts.layers(pipelines), c["pp"], c["vpp"])
        stride = columns["tp"] * columns["cp"] * columns["dp"]
        message = self._messages(stride, columns["pp"], sizes.border)
        message = np.maximum(message - passes.before, 0.0)
        worked, slowest = pipeline(sizes, c, m.astype(float), message)
        behind = self._around(sizes, columns, c, message, m, worked)
        work = m * slowest
        kernels = np.minimum(m * np.max(sizes.kernels, axis=0), work)
        bubble = worked - work
        return Judged(worked + behind, need, kernels, work - kernels, bubble, behind)

    def _with_weights(self, parts: list[Part], columns: Columns) -> Passes:
        """Return the passes of the parts, with weights that they gather."""
        rows = np.flatnonzero(columns["zero"] == WEIGHTS)
        if not len(rows):
            none = np.zeros(len(columns["zero"]))
            return Passes(parts, none, none, none)
        columns = {name: of[rows] for name, of in columns.items()}
        copies, hides = columns["dp"] * columns["cp"], columns["overlap"] > 0
        inside = columns["ep"] * columns["etp"]
        size = copies * columns["tp"] // inside
        groups = groups_of(copies, columns["tp"]), groups_of(size, inside)
        sharers = Sharers(copies, groups[0], size, groups[1])
        weight, gradients = float(self._held[0].weight_bytes), self._gradients(columns)
        layers = len(self._works.kinds) / (columns["pp"] * columns["vpp"])
        return sharded(self.machine, parts, rows, hides, layers, sharers, weight, gradients)

    def _gradients(self, columns: Columns) -> np.ndarray:
        """Return the bytes of a gradient, of every plan."""
        each = np.array([float(one.gradient_bytes) for one in self._held])
        return each[columns["gradient_dtype"]]

    def _messages(
        self, stride: np.ndarray, stages: np.ndarray, size_bytes: np.ndarray
    ) -> np.ndarray:
        pairs = np.stack([stride, stages], axis=1)
        first, back = distinct(pairs)
        lines = np.array(
            [
                self.machine.hop_line(*map(int, pairs[at])) if pairs[at][1] > 1 else (0.0, 0.0)
                for at in first
            ]
        )
        result: np.ndarray = lines[back, 0] + lines[back, 1] * size_bytes
        return result

    def _around(
        self,
        sizes: Devices,
        columns: Columns,
        c: dict[str, np.ndarray],
        message: np.ndarray,
        m: np.ndarray,
        worked: np.ndarray,
    ) -> np.ndarray:
        """Return what comes on top of the passes: weights, gradients, the optimizer."""
        level = columns["zero"]
        copies = columns["dp"] * columns["cp"]
        domains = [Domain(sizes.held(False), copies, groups_of(copies, columns["tp"]))]
        if sizes.expert[0].any() or sizes.expert[2].any():
            inside = columns["ep"] * columns["etp"]
            size = copies * columns["tp"] // inside
            domains.append(Domain(sizes.held(True), size, groups_of(size, inside)))
        opening = closing = last = np.zeros(len(copies))
        overlaps = columns["overlap"] > 0
        between = (c["pp"] - 1) * message
        late = np.maximum(message - sizes.lead, 0.0)
        arrival = (sizes.whole_forward - sizes.forward[2]) / c["vpp"] + between
        drain = (sizes.whole_backward - sizes.backward[2]) / c["vpp"] + between
        gradients = self._gradients(columns)
        weight = float(self._held[0].weight_bytes)
        each = Each(weight, gradients, columns["gradient_dtype"], self._update)
        for device in (0, 1):
            passes = sizes.forward[2 * device], sizes.backward[2 * device]
            costs = costs_of(self.machine, domains, columns, device, passes, late, each)
            there = (c["pp"] > 1) | (device == 0)
            # Without overlap weights are gathered behind the optimizer, which waits for all ranks.
            gathers = np.where(level == WEIGHTS, 0.0, costs.gathers)  # which the passes have
            before = np.where(overlaps, gathers - device * arrival, 0.0)
            # Each bucket is gathered as soon as it is updated, so the first or the last is exposed.
            both = gathers, costs.update
            exposed = np.minimum(*both) / (c["vpp"] * len(domains))
            after = np.where(overlaps, costs.update, np.maximum(*both) + exposed)
            chain = _begins(passes, c, m, device) + m * costs.reduced
            own = _reductions(costs, level, overlaps, m, chain - worked) + costs.norm
            opening = np.maximum(opening, np.where(there, before, 0.0))
            closing = np.maximum(closing, np.where(there, own - device * drain, 0.0))
            last = np.maximum(last, np.where(there, after, 0.0))
        # All ranks add up their norms, each a number it wrote, before any updates its weights.
        wrote, ranks = float(self._update[0].norm(1).bytes_written), self.machine.ranks
        norm = self.machine.collective_ns(CollectiveType.ALL_REDUCE, ranks, 1, wrote)
        result: np.ndarray = opening + closing + norm + last
        if sizes.tied.any():
            result = result + self._tied(gradients * sizes.tied, columns)
        return result

    def _tied(self, sizes: np.ndarray, columns: Columns) -> np.ndarray:
        """Return the sum of a tied embedding's gradient over the first and the last stage.

        `sizes` are its bytes.
        """
        far = columns["tp"] * columns["cp"] * columns["dp"] * (columns["pp"] - 1)
        first = self.machine.timed(CollectiveType.ALL_REDUCE, 2, 1)
        if first is not None:
            return self._tied_as_measured(sizes, far)
        two = np.minimum(columns["pp"], 2)
        # Of two ranks, each sends the other a half, and what it added up of the other half.
        half = sizes / 2
        return np.where(far > 0, 2.0 * self._messages(far, two, half), 0.0)

    def _tied_as_measured(self, sizes: np.ndarray, far: np.ndarray) -> np.ndarray:
        result = np.zeros(len(far))
        for stride in np.unique(far[far > 0]):
            rows = np.flatnonzero(far == stride)
            kind = CollectiveType.ALL_REDUCE
            result[rows] = self.machine.collective_ns(kind, 2, int(stride), sizes[rows])
        return result


def _kernels(plan: Plan, held: Sharding) -> Kernels:
    return Kernels(
        lambda count: norm_operation(count, held),
        lambda count: update_operation(count, "", plan, held),
    )


def _begins(
    passes: tuple[np.ndarray, np.ndarray], c: dict[str, np.ndarray], m: np.ndarray, device: int
) -> np.ndarray:
    """Return when the first (0) or the last device (1) begins to reduce, at the earliest.

    That is when its first backward pass ends; within it where the pass is cut into buckets.
    """
    p, v = c["pp"], c["vpp"]
    ahead = (v - 1) * p + (1 - device) * np.where(v > 1, 2, 1) * (p - 1) + 1
    whole = np.where((v > 1) | (device > 0), passes[1], 0.0)
    begins: np.ndarray = (np.minimum(ahead, m * v) * passes[0] + whole) / v
    return begins


def _reductions(
    costs: Costs, level: np.ndarray, overlaps: np.ndarray, m: np.ndarray, beyond: np.ndarray
) -> np.ndarray:
    """Return the reductions that nothing hides; `beyond` the passes one after the other end.

    Where gradients are sharded each micro-batch has some; where weights are, its passes have them.
    """
    if not (level > 1).any():
        return costs.reductions
    each = np.where(overlaps, np.maximum(costs.reductions, beyond), m * costs.reduced)
    found: np.ndarray = np.where(level == WEIGHTS, 0.0, np.where(level > 1, each, costs.reductions))
    return found


def _floats(columns: Columns) -> dict[str, np.ndarray]:
    return {name: column.astype(np.float64) for name, column in columns.items()}


def _micro_batches(columns: Columns, global_batch: int) -> np.ndarray:
    count: np.ndarray = global_batch // (columns["micro_batch"] * columns["dp"])
    return count


def _blocks(columns: Columns) -> Iterator[Columns]:
    for at in range(0, len(columns["tp"]), _BLOCK):
        yield {name: of[at : at + _BLOCK] for name, of in columns.items()}
