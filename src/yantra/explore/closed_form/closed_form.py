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

from contextlib import nullcontext
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.garbage import uncollected
from yantra.chakra import CollectiveType
from yantra.explore.closed_form.device_layers import DeviceLayers, Layers
from yantra.explore.closed_form.distinct import distinct
from yantra.explore.closed_form.micro_batches import Amounts, Key, amounts_of
from yantra.explore.closed_form.passes import KEY, Part, Works, part_of
from yantra.explore.closed_form.replicas import Domain, Each, Held, costs_of, groups_of
from yantra.explore.closed_form.space import RECOMPUTE, Columns
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.step.optimizer import norm_operation, update_operation
from yantra.workloads.training.step.sharding import sharding_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yantra.explore.closed_form.machine import Machine
    from yantra.workloads.operators.operations import Operation, StageWork
    from yantra.workloads.training.step.sharding import Sharding

_BLOCK = 1 << 14
_MICRO_BATCH = KEY.index("micro_batch")


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
        self.model = model
        self.machine = machine
        self._works = works or Works(model, sequence or model.sequence)
        self._layers = DeviceLayers(self._works.kinds)
        self._parts: dict[tuple[int, ...], np.ndarray] = {}
        self._known: dict[tuple[int, int], np.ndarray] = {}
        self._kernels: dict[Key, np.ndarray] = {}
        plan = Plan(dtype=machine.dtype)
        self._held = sharding_of(plan)
        held = self._held
        self._each = Each(
            held.weight_bytes,
            held.gradient_bytes,
            lambda count: norm_operation(count, held),
            lambda count: update_operation(count, "", plan, held),
        )

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
        first, back = distinct(keys)
        rows = [tuple(map(int, keys[at])) for at in first]
        missing = [row for row in rows if row not in self._parts]
        with uncollected() if missing else nullcontext():
            self._learn(missing)
            table = np.stack([self._parts[row] for row in rows])
        fields = np.ascontiguousarray(table.transpose(1, 2, 0))
        front, *kinds, tail = (Part(*(row[back] for row in part)) for part in fields)
        m = global_batch / (c["micro_batch"] * c["dp"])
        layers = self._layers.of(columns["pp"], columns["vpp"])
        sizes = _Devices(front, kinds, tail, layers, c["pp"] == 1)
        return sizes, c, m, _memory(sizes, c, m, self._held), sizes.border

    def _block(self, columns: Columns, global_batch: int) -> Judged:
        sizes, c, m, memory, border = self._sizes(columns, global_batch)
        stride = columns["tp"] * columns["cp"] * columns["dp"]
        message = self._messages(stride, columns["pp"], border)
        passes, slowest = _pipeline(sizes, c, m, message)
        behind = self._around(sizes, columns, c, message)
        work = m * slowest
        kernels = np.minimum(m * np.max(sizes.kernels, axis=0), work)
        bubble = passes - work
        return Judged(passes + behind, memory, kernels, work - kernels, bubble, behind)

    def _plan(self, key: tuple[int, ...]) -> Plan:
        tp, cp, ep, micro_batch, again, parts = key
        names: Any = RECOMPUTE
        return Plan(
            tp=tp, cp=cp, ep=ep, dp=ep, micro_batch=micro_batch, recompute=names[again],
            sequence_parallel=bool(parts) and tp > 1, dtype=self.machine.dtype,
        )  # fmt: skip

    def _learn(self, keys: list[tuple[int, ...]]) -> None:
        """Find the parts of some keys: works of all, their kernels asked for at once, times."""
        splits: dict[tuple[int, ...], list[int]] = {}
        for key in keys:
            splits.setdefault(_split(key), []).append(key[_MICRO_BATCH])
        found = []
        for split, sizes in splits.items():
            made = self._amounts(split, sorted(sizes))
            some = [(sorted(sizes), made)] if made else []
            for size in () if made else sizes:
                some.append(([size], self._amounts(split, [size]) or []))
            found += [(split, batches, parts) for batches, parts in some]
        self._ask([of for _, _, parts in found for _, of in parts])
        for split, batches, parts in found:
            plan = self._plan(_key(split, 1))
            columns = [self._part(plan, work, of, len(batches)) for work, of in parts]
            for at, size in enumerate(batches):
                self._parts[_key(split, size)] = np.array([of[:, at] for of in columns])

    def _amounts(self, split: tuple[int, ...], sizes: list[int]) -> Any:
        return amounts_of(lambda size: self._works.of(self._plan(_key(split, size))), sizes)

    def _ask(self, every: list[Amounts]) -> None:
        """Ask for the times of all kernels that were not met before."""
        new: dict[Key, list[Operation]] = {}
        for of in every:
            for at, one in enumerate(of.operations):
                key = None if one.communicates else of.key(at)
                if key is not None and key not in self._kernels and key not in new:
                    new[key] = of.kernels(at)
        self.machine.learn(one for some in new.values() for one in some)
        for key, some in new.items():
            self._kernels[key] = np.array([self.machine.kernel_ns(one) for one in some])

    def _part(self, plan: Plan, work: StageWork, of: Amounts, count: int) -> np.ndarray:
        """Return the fields of a part (fields, micro-batches)."""
        key = id(work), count  # works are kept, so that a number means one
        if key not in self._known:
            times = [self._times(plan, of, at) for at in range(len(of.operations))]
            fields = part_of(work, of, times)
            self._known[key] = np.stack([np.broadcast_to(one, count) for one in fields])
        return self._known[key]

    def _times(self, plan: Plan, of: Amounts, at: int) -> np.ndarray:
        """Return how long an operation takes, for each micro-batch."""
        operation, sent = of.operations[at], of.sent(at)
        if operation.collective is not None:
            tp, cp, ep = plan.tp, plan.cp, plan.ep
            groups = {"tp": (tp, 1), "cp": (cp, tp), "tp_cp": (tp * cp, 1), "ep": (ep, 1)}
            size, stride = groups.get(operation.group, (1, 1))
            return np.asarray(self.machine.collective_ns(operation.collective, size, stride, sent))
        if operation.peer:
            return np.asarray(self.machine.message_ns(plan.tp, sent.astype(float)))
        return self._kernels[of.key(at)]

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
        self, sizes: _Devices, columns: Columns, c: dict[str, np.ndarray], message: np.ndarray
    ) -> np.ndarray:
        """Return what comes on top of the passes: weights, gradients, the optimizer."""
        copies = columns["dp"] * columns["cp"]
        domains = [Domain(sizes.held(False), copies, groups_of(copies, columns["tp"]))]
        if sizes.expert[0].any() or sizes.expert[2].any():
            size = copies * columns["tp"] // columns["ep"]
            domains.append(Domain(sizes.held(True), size, groups_of(size, columns["ep"])))
        opening = closing = last = np.zeros(len(copies))
        overlaps = columns["overlap"] > 0
        between = (c["pp"] - 1) * message
        late = np.maximum(message - sizes.lead, 0.0)
        arrival = (sizes.whole_forward - sizes.forward[2]) / c["vpp"] + between
        drain = (sizes.whole_backward - sizes.backward[2]) / c["vpp"] + between
        for device in (0, 1):
            passes = sizes.forward[2 * device], sizes.backward[2 * device]
            costs = costs_of(self.machine, domains, columns, device, passes, late, self._each)
            there = (c["pp"] > 1) | (device == 0)
            # Without overlap weights are gathered behind the optimizer, which waits for all ranks.
            before = np.where(overlaps, costs.gathers - device * arrival, 0.0)
            # Each bucket is gathered as soon as it is updated, so the first or the last is exposed.
            both = costs.gathers, costs.update
            exposed = np.minimum(*both) / (c["vpp"] * len(domains))
            after = np.where(overlaps, costs.update, np.maximum(*both) + exposed)
            own = costs.reductions + costs.norm
            opening = np.maximum(opening, np.where(there, before, 0.0))
            closing = np.maximum(closing, np.where(there, own - device * drain, 0.0))
            last = np.maximum(last, np.where(there, after, 0.0))
        # All ranks add up their norms, each a number it wrote, before any updates its weights.
        each, ranks = float(self._each.norm(1).bytes_written), self.machine.ranks
        norm = self.machine.collective_ns(CollectiveType.ALL_REDUCE, ranks, 1, each)
        result: np.ndarray = opening + closing + norm + last
        if sizes.tied.any():
            result = result + self._tied(sizes.tied, columns)
        return result

    def _tied(self, elements: np.ndarray, columns: Columns) -> np.ndarray:
        """Return the sum of a tied embedding's gradient over the first and the last stage."""
        far = columns["tp"] * columns["cp"] * columns["dp"] * (columns["pp"] - 1)
        first = self.machine.timed(CollectiveType.ALL_REDUCE, 2, 1)
        if first is not None:
            return self._tied_as_measured(elements, far)
        two = np.minimum(columns["pp"], 2)
        # Of two ranks, each sends the other a half, and what it added up of the other half.
        half = self._held.gradient_bytes / 2 * elements
        return np.where(far > 0, 2.0 * self._messages(far, two, half), 0.0)

    def _tied_as_measured(self, elements: np.ndarray, far: np.ndarray) -> np.ndarray:
        result = np.zeros(len(far))
        sizes = self._held.gradient_bytes * elements
        for stride in np.unique(far[far > 0]):
            rows = np.flatnonzero(far == stride)
            kind = CollectiveType.ALL_REDUCE
            result[rows] = self.machine.collective_ns(kind, 2, int(stride), sizes[rows])
        return result


def _split(key: tuple[int, ...]) -> tuple[int, ...]:
    """Return a key without its micro-batch."""
    return (*key[:_MICRO_BATCH], *key[_MICRO_BATCH + 1 :])


def _key(split: tuple[int, ...], micro_batch: int) -> tuple[int, ...]:
    return (*split[:_MICRO_BATCH], micro_batch, *split[_MICRO_BATCH:])


def _blocks(columns: Columns) -> Iterator[Columns]:
    for at in range(0, len(columns["tp"]), _BLOCK):
        yield {name: of[at : at + _BLOCK] for name, of in columns.items()}


class _Rows(NamedTuple):
    """Times of the three devices, and of all, for some plans; see `_Devices`."""

    forward: list[np.ndarray]
    backward: list[np.ndarray]
    whole_forward: np.ndarray
    whole_backward: np.ndarray
    lead: np.ndarray


class _Held(NamedTuple):
    """What a device holds, per row: elements by domain, activations of a micro-batch, its peak."""

    dense: np.ndarray
    expert: np.ndarray
    table: np.ndarray
    saves: np.ndarray
    peak: np.ndarray


class _Devices:
    """The first, a middle and the last device of each pipeline: times, elements, activations."""

    def __init__(
        self, front: Part, kinds: list[Part], tail: Part, layers: Layers, alone: np.ndarray
    ) -> None:
        def of(name: str, counts: np.ndarray) -> np.ndarray:
            terms = (n * getattr(kind, name) for n, kind in zip(counts, kinds, strict=True))
            return reduce(np.add, terms)

        def spread(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            ends = getattr(front, name), getattr(tail, name)
            first = of(name, layers.first) + ends[0] + np.where(alone, ends[1], 0.0)
            last = of(name, layers.last) + ends[1] + np.where(alone, ends[0], 0.0)
            return first, of(name, layers.usual), last

        def mean(name: str) -> np.ndarray:
            if len(kinds) == 1:
                return np.asarray(getattr(kinds[0], name))
            return np.asarray(of(name, layers.all) / layers.all.sum(axis=0))

        def peak(counts: np.ndarray) -> np.ndarray:
            if len(kinds) == 1:
                return np.asarray(kinds[0].peak)
            there = (np.where(n > 0, k.peak, 0.0) for n, k in zip(counts, kinds, strict=True))
            return reduce(np.maximum, there)

        self.forward, self.backward = spread("forward"), spread("backward")
        self.kernels = spread("kernels")
        self.dense, self.expert, table = spread("dense"), spread("expert"), spread("table")
        self.dense[0][...] -= np.where(alone, tail.tied, 0.0)
        self.tied = np.asarray(tail.tied)
        self.front_dense, self.front_expert = front.dense, front.expert
        ends = layers.first, layers.last
        self.layer_weights = [[of(name, at) for at in ends] for name in ("dense", "expert")]
        self.grains = mean("dense_grain"), mean("expert_grain")
        # All devices together; the largest in the middle is not the usual one.
        self.whole_forward = of("forward", layers.all) + front.forward + tail.forward
        self.whole_backward = of("backward", layers.all) + front.backward + tail.backward
        self.lead, self.border = mean("lead"), mean("border")
        self.counts = layers.first.sum(axis=0), layers.last.sum(axis=0)
        # Of activations: what layers keep, and what the ends keep in their one chunk.
        self.front_saves, self.tail_saves = front.saves, tail.saves
        first, last = (
            _Held(self.dense[at], self.expert[at], table[at], of("saves", n), peak(n))
            for at, n in ((0, layers.first), (2, layers.last))
        )
        middle = [
            _Held(of("dense", n), of("expert", n), of("table", n), of("saves", n), peak(n))
            for n in layers.middle
        ]
        self.holds, self.at = [first, *middle, last], layers.at
        self.tail_peak = np.maximum(tail.peak, np.where(alone, first.peak, last.peak) - tail.saves)

    def rows(self, rows: np.ndarray) -> _Rows:
        """Return the times of some rows."""
        return _Rows(
            [one[rows] for one in self.forward],
            [one[rows] for one in self.backward],
            self.whole_forward[rows],
            self.whole_backward[rows],
            self.lead[rows],
        )

    def held(self, expert: bool) -> tuple[Held, Held]:
        """Return the weights of one domain that the first and the last device hold."""
        of = self.expert if expert else self.dense
        front = np.asarray(self.front_expert if expert else self.front_dense)
        grain = np.asarray(self.grains[expert])
        first, last = self.layer_weights[expert]
        return (
            Held(of[0], first, front, grain, self.counts[0]),
            Held(of[2], last, np.zeros_like(front), grain, self.counts[1]),
        )


def _pipeline(
    sizes: _Devices, c: dict[str, np.ndarray], m: np.ndarray, message: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the time of all passes, and of one micro-batch on the slowest device."""
    p, v = c["pp"], c["vpp"]
    both = [f + b for f, b in zip(sizes.forward, sizes.backward, strict=True)]
    whole = sizes.whole_forward + sizes.whole_backward
    slowest = np.maximum(np.maximum(both[0], both[2]), np.where(p > 2, both[1], 0.0))
    # A device computes again while it awaits the gradient: the first p - 1 are idle, others wait.
    late = np.maximum(message - sizes.lead, 0.0)
    back = (p - 1) * (message - sizes.lead) + (v - 1) * p * late
    passed = slowest + (whole - slowest) / v + (p * v - 1) * message + back
    # The next chunk of a micro-batch needs a trip over all devices, while they work on p others.
    # What each chunk computes again it does before its gradient comes, so it is not on that trip.
    led = v * sizes.lead
    longest = reduce(np.maximum, (*sizes.forward, *(b - led for b in sizes.backward)))
    times = passed + (m - 1) * np.maximum(slowest, longest + v * message)
    alone = np.flatnonzero(v == 1)
    if len(alone):
        of = sizes.rows(alone)
        times[alone] = _one_chunk(of, p[alone], m[alone], message[alone], slowest[alone])
    return times, slowest


def _one_chunk(
    sizes: _Rows, p: np.ndarray, m: np.ndarray, message: np.ndarray, slowest: np.ndarray
) -> np.ndarray:
    """Return the time of all passes where devices have one chunk each: that of the busiest.

    Device k waits for what is before it, works m times, and waits twice for what is behind it: for
    its first backward pass, which the further forward passes that it may hold shorten, and, if it
    began one after that, for its last, which backward passes that are there shorten.
    """
    whole = sizes.whole_forward + sizes.whole_backward
    worst = np.zeros_like(m)
    front = np.zeros_like(m)
    for device, (place, there) in enumerate(
        ((np.zeros_like(p), p > 0), (np.minimum(p - 1, 1), p > 2), (p - 1, p > 1))
    ):
        forward, backward = sizes.forward[device], sizes.backward[device]
        own = forward + backward
        before = front if device < 2 else whole - own
        behind = np.maximum(whole - before - own, 0.0) + 2 * (p - 1 - place) * message
        before = before - place * sizes.lead
        behind = np.maximum(behind - (p - 1 - place) * sizes.lead, 0.0)
        held = np.minimum(p - place, m) - 1
        at_end = np.where(m > p - place, np.maximum(behind - held * backward, 0.0), 0.0)
        waits = np.maximum(behind - held * forward, 0.0) + at_end
        time = before + 2 * place * message + m * own + waits
        worst = np.maximum(worst, np.where(there, time, 0.0))
        front = own
    # A device holds at most p micro-batches, so a further one waits for the round trip of a first.
    late = np.maximum(whole + 2 * (p - 1) * message - p * slowest, 0.0)
    result: np.ndarray = worst + np.floor((m - 1) / p) * late
    return result


def _memory(sizes: _Devices, c: dict[str, np.ndarray], m: np.ndarray, each: Sharding) -> np.ndarray:
    """Return the bytes of the worst of the first, the different middle and the last devices."""
    p, v = c["pp"], c["vpp"]
    copies = c["dp"] * c["cp"]
    shards = [np.where(c["zero"] >= 1, n, 1.0) for n in (copies, copies * c["tp"] / c["ep"])]
    weight = float(each.weight_bytes)
    factors = [weight + each.gradient_bytes + each.state_bytes / shard for shard in shards]
    none = np.zeros_like(p)
    worst = np.zeros_like(m)
    for held, at in zip(sizes.holds, (none, *sizes.at, p - 1), strict=True):
        behind = p - 1 - at
        interleaved = np.minimum((v - 1) * p + 2 * behind + 1, m * v)
        flying = np.where(v > 1, interleaved, np.minimum(behind + 1, m))
        active = flying * held.saves / v
        if at is none:
            # Two groups are in the first chunk before the first one comes back to it.
            first = np.where(v > 1, np.minimum(2 * p, m), flying)
            active = active + first * sizes.front_saves
        if held is sizes.holds[0] or held is sizes.holds[-1]:
            tail = sizes.tail_saves + sizes.tail_peak
            active = active + np.where(behind == 0, tail, held.peak)
        else:
            active = active + held.peak
        fixed = held.dense * factors[0] + held.expert * factors[1] + weight * held.table
        worst = np.maximum(worst, np.where((at > 0) | (at is none), fixed + active, 0.0))
    return worst
