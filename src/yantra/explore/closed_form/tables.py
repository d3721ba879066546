"""The parts of a model for the keys that plans have: bytes, and times on a machine.

Tables fill as keys are met. Bytes are made for many plans and times for those that are left when
memory has been asked, so of what is too large for a device no kernel is ever asked for. The works
of all micro-batches of a split are made together, and kernels of all of them asked for at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.compile.slowdown import least_times
from yantra.explore.closed_form.distinct import distinct, starts
from yantra.explore.closed_form.micro_batches import Amounts, Key, amounts_of
from yantra.explore.closed_form.passes import KEY, Part, Works, part_of
from yantra.explore.closed_form.space import CP_KINDS, RECOMPUTE, Columns
from yantra.workloads.plan.plan import Plan

if TYPE_CHECKING:
    from yantra.explore.closed_form.machine import Machine
    from yantra.workloads.operators.operations import Operation, StageWork

_MICRO_BATCH = KEY.index("micro_batch")

Numbers = tuple[int, ...]
"""A key, or a split, which is a key without its micro-batch."""


class _Made(NamedTuple):
    """The works of the parts of a split, with their amounts for some micro-batches."""

    batches: Numbers
    parts: list[tuple[StageWork, Amounts]]


class Tables:
    """The parts of a model; `widths` says of each type of gradients whether they are narrow."""

    def __init__(self, works: Works, machine: Machine, widths: Sequence[int]) -> None:
        self._works, self._machine = works, machine
        self._widths = np.array(widths)
        self._made: dict[Numbers, list[_Made]] = {}
        self._bytes: dict[Numbers, np.ndarray] = {}
        self._timed: dict[Numbers, np.ndarray] = {}
        self._known: dict[tuple[int, Numbers, int, tuple[float, ...]], np.ndarray] = {}
        self._kernels: dict[Key, np.ndarray] = {}

    def meet(self, columns: Columns) -> None:
        """Make the bytes of all keys of some plans."""
        splits: dict[Numbers, set[int]] = {}
        for key in _rows(_keys(columns)):
            if key not in self._bytes:
                splits.setdefault(_split(key), set()).add(key[_MICRO_BATCH])
        for split, sizes in splits.items():
            some = self._make(split, sorted(sizes))
            self._made[split] = [*self._made.get(split, []), *some]
            for batches, parts in some:
                fields = [_stacked(part_of(work, of), len(batches)) for work, of in parts]
                for at, size in enumerate(batches):
                    self._bytes[_key(split, size)] = np.array([of[:, at] for of in fields])

    def learn(self, columns: Columns) -> None:
        """Find the times of all keys of some plans."""
        self.meet(columns)
        wanted: dict[tuple[Numbers, int], set[int]] = {}
        for *numbers, width in _rows(self._with_widths(columns)):
            key = tuple(numbers)
            if (*key, width) not in self._timed:
                wanted.setdefault((_split(key), width), set()).add(key[_MICRO_BATCH])
        if not wanted:
            return
        found = [
            (split, width, *self._some(one, sizes, width))
            for (split, width), sizes in wanted.items()
            for one in self._made[split]
            if sizes.intersection(one.batches)
        ]
        self._ask(of for *_, parts in found for _, of in parts)
        for split, width, batches, parts in found:
            plan = self._plan(_key(split, 1))
            least = self._least(parts, len(batches))
            fields = [self._part(plan, work, of, batches, width, least) for work, of in parts]
            for at, size in enumerate(batches):
                key = *_key(split, size), width
                self._timed[key] = np.array([of[:, at] for of in fields])

    def parts(self, columns: Columns, *, timed: bool) -> list[Part]:
        """Return the front, the kinds of layers and the tail of every plan, with times or without.

        `learn` or `meet` knows the plans.
        """
        keys = self._with_widths(columns) if timed else _keys(columns)
        first, back = distinct(keys)
        known = self._timed if timed else self._bytes
        table = np.stack([known[tuple(keys[at].tolist())] for at in first])
        fields = np.ascontiguousarray(table.transpose(1, 2, 0))
        return [Part(*(row[back] for row in part)) for part in fields]

    def _with_widths(self, columns: Columns) -> np.ndarray:
        return np.column_stack([_keys(columns), self._widths[columns["gradient_dtype"]]])

    def _plan(self, key: Numbers) -> Plan:
        tp, cp, ep, etp, kind, micro_batch, again, parts = key
        names: Any = RECOMPUTE
        kinds: Any = CP_KINDS
        return Plan(
            tp=tp, cp=cp, ep=ep, etp=etp, dp=ep * etp, micro_batch=micro_batch,
            recompute=names[again], cp_kind=kinds[kind],
            sequence_parallel=bool(parts) and tp > 1, dtype=self._machine.dtype,
        )  # fmt: skip

    def _make(self, split: Numbers, sizes: list[int]) -> list[_Made]:
        """Return the works of a split: of all micro-batches together, or of each where it must."""

        def amounts(some: list[int]) -> Any:
            return amounts_of(lambda size: self._works.of(self._plan(_key(split, size))), some)

        made = amounts(sizes)
        if made:
            return [_Made(tuple(sizes), made)]
        return [_Made((size,), amounts([size]) or []) for size in sizes]

    def _some(
        self, made: _Made, sizes: set[int], width: int
    ) -> tuple[Numbers, list[tuple[StageWork, Amounts]]]:
        """Return the amounts of some micro-batches, for wide (0) or narrow (1) gradients."""
        at = [place for place, size in enumerate(made.batches) if size in sizes]
        batches = tuple(made.batches[place] for place in at)
        chosen = [
            (work, of if len(at) == len(made.batches) else of.at(at)) for work, of in made.parts
        ]
        return batches, [(work, of.with_half_gradients() if width else of) for work, of in chosen]

    def _ask(self, every: Iterable[Amounts]) -> None:
        """Ask for the times of all kernels that were not met before."""
        new: dict[Key, list[Operation]] = {}
        for of in every:
            for at, one in enumerate(of.operations):
                key = None if one.communicates else of.key(at)
                if key is not None and key not in self._kernels and key not in new:
                    new[key] = of.kernels(at)
        self._machine.learn(one for some in new.values() for one in some)
        for key, some in new.items():
            self._kernels[key] = np.array([self._machine.kernel_ns(one) for one in some])

    def _least(self, parts: list[tuple[StageWork, Amounts]], batches: int) -> tuple[float, ...]:
        """Return the least time of a kernel, for each micro-batch, as launches of a model ask."""
        launch_ns = self._machine.launch_ns
        if not launch_ns or self._machine.host_waits:
            return (launch_ns,) * batches
        kinds = self._works.kinds
        of_part = (1, *(kinds.count(kind) for kind in range(max(kinds) + 1)), 1)
        times, counts = [], []
        for (_, of), count in zip(parts, of_part, strict=True):
            own = [at for at, one in enumerate(of.operations) if not one.communicates]
            times += [self._kernels[of.key(at)] for at in own]
            counts += [count] * len(own)
        return tuple(least_times(np.stack(times), np.array(counts), launch_ns).tolist())

    def _part(
        self,
        plan: Plan,
        work: StageWork,
        of: Amounts,
        batches: Numbers,
        width: int,
        least: tuple[float, ...],
    ) -> np.ndarray:
        """Return the fields of a part (fields, micro-batches); `least` are times of a kernel."""
        key = id(work), batches, width, least  # works are kept, so that a number means one
        if key not in self._known:
            floor = np.array(least)
            times = [self._times(plan, of, at, floor) for at in range(len(of.operations))]
            self._known[key] = _stacked(part_of(work, of, times), len(batches))
        return self._known[key]

    def _times(self, plan: Plan, of: Amounts, at: int, least: np.ndarray) -> np.ndarray:
        """Return how long an operation takes, for each micro-batch; a kernel at least `least`."""
        operation, sent = of.operations[at], of.sent(at)
        if operation.collective is not None:
            tp, cp, ep, etp = plan.tp, plan.cp, plan.ep, plan.etp
            groups = {"tp": (tp, 1), "cp": (cp, tp), "tp_cp": (tp * cp, 1)}
            groups |= {"etp": (etp, 1), "ep": (ep, etp)}
            size, stride = groups.get(operation.group, (1, 1))
            machine = self._machine
            return np.asarray(machine.collective_ns(operation.collective, size, stride, sent))
        if operation.peer:
            return np.asarray(self._machine.message_ns(plan.tp, sent.astype(float)))
        ns = self._kernels[of.key(at)]
        return np.where(ns > 0, np.maximum(ns, least), ns)


def _keys(columns: Columns) -> np.ndarray:
    return np.stack([columns[name] for name in KEY], axis=1)


def _rows(keys: np.ndarray) -> list[Numbers]:
    """Return the different rows; neighbours are most often alike."""
    some = keys[starts(keys)]
    first, _ = distinct(some)
    return [tuple(row) for row in some[first].tolist()]


def _stacked(fields: Part, count: int) -> np.ndarray:
    return np.stack([np.broadcast_to(one, count) for one in fields])


def _split(key: Numbers) -> Numbers:
    """Return a key without its micro-batch."""
    return (*key[:_MICRO_BATCH], *key[_MICRO_BATCH + 1 :])


def _key(split: Numbers, micro_batch: int) -> Numbers:
    return (*split[:_MICRO_BATCH], micro_batch, *split[_MICRO_BATCH:])
