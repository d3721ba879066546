"""Step time and memory of many plans at once, by a formula over columns.

Memory is exact for what it counts: weights, gradients and optimizer state by shards, activations in
flight by the schedule, and the most a backward pass has on top. Time is

    fill + (m - 1) x period + what gradients and weights cost beyond what hides them + optimizer

where fill is one micro-batch's way through all stages and back, and the period that of the slowest
device; without interleaving also a round trip over the stages that hold micro-batches meanwhile,
since each holds one less than the one before (Narayanan et al., SC 2021). Interleaving passes the
pipeline with 1/v of a device's work at a time.

Trade-off: groups do not wait for each other here, and stages are the first, the largest in the
middle, and the last. How far that is from simulation, `judged.py` measures and states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.chakra import CollectiveType
from yantra.explore.passes import KEY, Part, Works, parts_of
from yantra.explore.space import RECOMPUTE, Columns
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.step.optimizer import norm_operation, update_operation
from yantra.workloads.training.step.sharding import sharding_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yantra.explore.machine import Machine
    from yantra.workloads.operators.operations import Operation

_BLOCK = 1 << 14
_WIDEST = 1 << 18  # codes of rows that are looked up in a table and not sorted
_BUCKET = 40e6
_BUCKET_PER_RANK = 1e6


class Judged(NamedTuple):
    """Step time in ns and memory of the worst device in bytes, one of each per plan.

    The time in parts that add up: kernels of the slowest device, communication within its layers
    that nothing hides, the pipeline's bubble with its messages, and what comes behind the passes.
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
        self.model = model
        self.machine = machine
        self._works = works or Works(model, sequence or model.sequence)
        self._parts: dict[tuple[int, ...], np.ndarray] = {}
        update = update_operation(1, "", Plan(), sharding_of(Plan()))
        norm = norm_operation(1, sharding_of(Plan()))
        self._update = update.bytes_read + update.bytes_written + norm.bytes_read

    def memory(self, columns: Columns, global_batch: int) -> np.ndarray:
        """Return the memory of every plan; no group is measured for it."""
        return np.concatenate([self._sizes(block, global_batch)[3] for block in _blocks(columns)])

    def judge(self, columns: Columns, global_batch: int) -> Judged:
        """Return time and memory of every plan; blocks of them stay in the cache."""
        blocks = [self._block(block, global_batch) for block in _blocks(columns)]
        return Judged(*map(np.concatenate, zip(*blocks, strict=True)))

    def _sizes(
        self, columns: Columns, global_batch: int
    ) -> tuple[_Devices, dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
        """Return devices, columns, micro-batches, memory, and the bytes between stages."""
        c = {name: column.astype(np.float64) for name, column in columns.items()}
        keys = np.stack([columns[name] for name in KEY], axis=1)
        first, back = _distinct(keys)
        table = np.stack([self._entry(tuple(map(int, keys[at]))) for at in first])
        fields = np.ascontiguousarray(table.transpose(1, 2, 0))
        front, layer, tail = (Part(*(row[back] for row in part)) for part in fields)
        m = global_batch / (c["micro_batch"] * c["dp"])
        counts = _layer_counts(columns, len(self.model.layers))
        sizes = _Devices(front, layer, tail, counts, c["pp"] == 1)
        return sizes, c, m, _memory(sizes, c, m), np.asarray(layer.border)

    def _block(self, columns: Columns, global_batch: int) -> Judged:
        sizes, c, m, memory, border = self._sizes(columns, global_batch)
        stride = columns["tp"] * columns["cp"] * columns["dp"]
        message = np.where(c["pp"] > 1, self._messages(stride, border), 0.0)
        passes, slowest = _pipeline(sizes, c, m, message)
        behind = self._finish(sizes, columns, c)
        work = m * slowest
        kernels = np.minimum(m * np.max(sizes.kernels, axis=0), work)
        bubble = passes - work
        return Judged(passes + behind, memory, kernels, work - kernels, bubble, behind)

    def _entry(self, key: tuple[int, ...]) -> np.ndarray:
        if key not in self._parts:
            tp, cp, ep, micro_batch, again = key
            names: Any = RECOMPUTE
            plan = Plan(tp=tp, cp=cp, ep=ep, dp=ep, micro_batch=micro_batch, recompute=names[again])
            groups = {
                "tp": (tp, 1),
                "cp": (cp, tp),
                "tp_cp": (tp * cp, 1),
                "ep": (ep, 1),
            }

            def duration(operation: Operation) -> float:
                if operation.collective is not None:
                    size, stride = groups.get(operation.group, (1, 1))
                    kind, amount = operation.collective, operation.size_bytes
                    return float(self.machine.collective_ns(kind, size, stride, amount))
                if operation.peer:
                    return float(self.machine.message_ns(tp, operation.size_bytes))
                return self.machine.kernel_ns(operation)

            self._parts[key] = np.array(parts_of(self._works, plan, duration))
        return self._parts[key]

    def _messages(self, stride: np.ndarray, size_bytes: np.ndarray) -> np.ndarray:
        strides, back = np.unique(stride, return_inverse=True)
        lines = np.array(
            [
                (self.machine.message_ns(int(one), 0.0), self.machine.message_ns(int(one), 1.0))
                for one in strides
            ]
        )
        start, slope = lines[:, 0], lines[:, 1] - lines[:, 0]
        result: np.ndarray = start[back] + slope[back] * size_bytes
        return result

    def _finish(self, sizes: _Devices, columns: Columns, c: dict[str, np.ndarray]) -> np.ndarray:
        """Return what comes on top of the passes: gradients, weights, the optimizer."""
        copies = columns["dp"] * columns["cp"]
        whole = copies * columns["tp"]
        domains = [(sizes.dense, copies, _groups(copies, columns["tp"]))]
        if sizes.expert[0].any() or sizes.expert[2].any():
            size = whole // columns["ep"]
            domains.append((sizes.expert, size, _groups(size, columns["ep"])))
        sharded = columns["zero"] >= 1
        worst = np.zeros(len(copies))
        for device, is_first in ((0, True), (2, False)):
            exposed = optimizer = np.zeros(len(copies))
            # The last passes of a chunk hide what those before it reduce: p passes each.
            hides = sizes.backward[device] / c["vpp"] * (1 + (c["vpp"] - 1) * c["pp"])
            for elements, size, groups in domains:
                own = elements[device]
                if not own.any():
                    continue
                limit = (
                    np.maximum(_BUCKET, _BUCKET_PER_RANK * copies) if is_first else own / c["vpp"]
                )
                last = np.minimum(1.0, limit / np.maximum(own, 1.0))
                reduced, gathered = self._synchronised(own, size, groups, sharded)
                behind = np.maximum(reduced * last, reduced - hides * (1 - last))
                exposed = np.maximum(exposed, behind + gathered * last)
                updated = np.where(sharded, own / size, own)
                optimizer = optimizer + self.machine.bytes_ns(self._update * updated)
            lag = 0.0 if is_first else sizes.drain
            there = is_first | (c["pp"] > 1)
            worst = np.maximum(worst, np.where(there, exposed + optimizer - lag, 0.0))
        return worst

    def _synchronised(
        self, elements: np.ndarray, size: np.ndarray, groups: _Groups, sharded: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the times that gradients take to be reduced, and weights to be gathered."""
        reduced, gathered = np.zeros_like(elements), np.zeros_like(elements)
        for kind, rows, amount, times in (
            (CollectiveType.ALL_REDUCE, np.flatnonzero(~sharded), 4 * elements, reduced),
            (CollectiveType.REDUCE_SCATTER, np.flatnonzero(sharded), 4 * elements, reduced),
            (CollectiveType.ALL_GATHER, np.flatnonzero(sharded), 2 * elements / size, gathered),
        ):
            if len(rows):
                times[rows] = self._group(kind, groups, rows, amount[rows])
        return reduced, gathered

    def _group(
        self, kind: CollectiveType, groups: _Groups, rows: np.ndarray, amount: np.ndarray
    ) -> np.ndarray:
        """Return the time of a collective of each row's group, for those rows."""
        back = groups.back[rows]
        lines = np.zeros((len(groups.size), 2))
        for at in np.flatnonzero(np.bincount(back, minlength=len(lines))):
            lines[at] = self.machine.line_of(kind, int(groups.size[at]), int(groups.stride[at]))
        start, slope = lines[:, 0][back], lines[:, 1][back]
        result: np.ndarray = np.maximum(start + slope * amount, 0.0)
        return result


def _blocks(columns: Columns) -> Iterator[Columns]:
    for at in range(0, len(columns["tp"]), _BLOCK):
        yield {name: of[at : at + _BLOCK] for name, of in columns.items()}


class _Groups(NamedTuple):
    """The different groups of some rows, and which of them each row has."""

    size: np.ndarray
    stride: np.ndarray
    back: np.ndarray


def _groups(size: np.ndarray, stride: np.ndarray) -> _Groups:
    first, back = _distinct(np.stack([size, stride], axis=1))
    return _Groups(size[first], stride[first], back)


class _Devices:
    """The first, a middle and the last device of each pipeline: times, elements, activations."""

    def __init__(
        self, front: Part, layer: Part, tail: Part, counts: np.ndarray, alone: np.ndarray
    ) -> None:
        def spread(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            of = getattr(layer, name)
            ends = getattr(front, name), getattr(tail, name)
            first = counts[0] * of + ends[0] + np.where(alone, ends[1], 0.0)
            last = counts[2] * of + ends[1] + np.where(alone, ends[0], 0.0)
            return np.asarray(first), np.asarray(counts[1] * of), np.asarray(last)

        self.forward, self.backward = spread("forward"), spread("backward")
        self.kernels = spread("kernels")
        self.dense, self.expert = spread("dense"), spread("expert")
        # Of activations: what layers keep, and what the ends keep in their one chunk.
        self.layer_saves = [count * layer.saves for count in counts]
        self.front_saves, self.tail_saves = front.saves, tail.saves
        self.peak = layer.peak
        self.tail_peak = np.maximum(tail.peak, layer.peak - tail.saves)
        self.drain: np.ndarray = np.zeros_like(counts[0])


def _pipeline(
    sizes: _Devices, c: dict[str, np.ndarray], m: np.ndarray, message: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the time of all passes, and of one micro-batch on the slowest device."""
    p, v = c["pp"], c["vpp"]
    both = [f + b for f, b in zip(sizes.forward, sizes.backward, strict=True)]
    middle = np.maximum(p - 2, 0)
    whole = both[0] + middle * both[1] + np.where(p > 1, both[2], 0.0)
    slowest = np.maximum(np.maximum(both[0], both[2]), np.where(p > 2, both[1], 0.0))
    round_trip = (whole + 2 * (p - 1) * message) / p
    period = np.where(v > 1, slowest, np.maximum(slowest, round_trip))
    others = whole - slowest
    fill = slowest + others / v + 2 * (p * v - 1) * message / v
    sizes.drain = (middle * sizes.backward[1] + sizes.backward[0] + (p - 1) * message) / v
    sizes.drain = np.where(p > 1, sizes.drain, 0.0)
    return fill + (m - 1) * period, slowest


def _memory(sizes: _Devices, c: dict[str, np.ndarray], m: np.ndarray) -> np.ndarray:
    """Return the bytes of the worst of the three devices."""
    p, v = c["pp"], c["vpp"]
    copies = c["dp"] * c["cp"]
    expert_copies = copies * c["tp"] / c["ep"]
    alone = p == 1
    worst = np.zeros_like(m)
    for at, behind in enumerate((p - 1, np.maximum(p - 2, 0), np.zeros_like(p))):
        interleaved = np.minimum((v - 1) * p + 2 * behind + 1, m * v)
        flying = np.where(v > 1, interleaved, np.minimum(behind + 1, m))
        active = flying * sizes.layer_saves[at] / v
        if at == 0:
            first = np.where(v > 1, np.minimum(np.maximum(flying - (v - 1) * p, 1), m), flying)
            active = active + first * sizes.front_saves
        is_last = alone if at == 0 else np.full(len(p), at == 2)
        active = active + np.where(is_last, sizes.tail_saves + sizes.tail_peak, sizes.peak)
        shards = [np.where(c["zero"] >= 1, of, 1.0) for of in (copies, expert_copies)]
        fixed = sizes.dense[at] * (6.0 + 12.0 / shards[0])
        fixed = fixed + sizes.expert[at] * (6.0 + 12.0 / shards[1])
        there = np.where((at == 1) & (p <= 2), 0.0, 1.0) * np.where((at == 2) & alone, 0.0, 1.0)
        worst = np.maximum(worst, there * (fixed + active))
    return worst


def _layer_counts(columns: Columns, layers: int) -> np.ndarray:
    """Return the layers of the first, the largest middle and the last device."""
    p, v = columns["pp"], columns["vpp"]
    stages = p * v
    each, left = np.divmod(layers, stages)
    first = v * each + np.where(left > 0, left // p, 0) + ((left > stages - 2) & (stages > 1))
    middle = v * each + np.where(left > 0, (left - 1) // p + 1, 0)
    last = v * each + (left - p + 1 + p) // p
    last = np.where(p > 1, np.minimum(last, v * each + v), first)
    return np.stack([first, middle, last]).astype(np.float64)


def _distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each distinct row stands, and which of them every row is."""
    span = rows.max(axis=0) + 1
    code = np.zeros(len(rows), dtype=np.int64)
    for at in range(rows.shape[1]):
        code = code * span[at] + rows[:, at]
    if int(np.prod(span.astype(float))) > _WIDEST:
        _, first, back = np.unique(code, return_index=True, return_inverse=True)
        return first, back
    place = np.full(int(span.prod()), -1, dtype=np.int64)
    place[code] = np.arange(len(code))  # where a code stands last; any of its rows would do
    met = np.flatnonzero(place >= 0)
    first = place[met]
    place[met] = np.arange(len(met))
    return first, place[code]
