"""The parts of a model by the keys of plans: bytes, and times on a machine.

Kernels are timed only for plans that memory leaves; keys whose operations differ in numbers alone
are timed together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.compile.slowdown import EXPERTS, least_times
from yantra.explore.closed_form.amounts import Amounts
from yantra.explore.closed_form.distinct import distinct
from yantra.explore.closed_form.passes import KEY, Key, Made, Part, Works, timed
from yantra.workloads.operators.cuda_graphs import launched, scopes_of

if TYPE_CHECKING:
    from yantra.explore.closed_form.machine import Machine
    from yantra.explore.closed_form.space import Columns
    from yantra.workloads.operators.operations import Operation, StageWork

_PLACE = {name: at for at, name in enumerate(Part._fields)}


class _Chosen(NamedTuple):
    """Some keys of what was made, with their amounts and kernels.

    `width`: gradients are narrow.
    """

    made: Made
    at: list[int]
    width: int
    amounts: list[Amounts]


class _Table:
    """Parts (parts, fields) of keys, in the order they came."""

    def __init__(self) -> None:
        self.places: dict[Key, int] = {}
        self.fields = np.zeros((0, 0, 0))

    def add(self, keys: Sequence[Key], fields: np.ndarray) -> None:
        begin = len(self.places)
        self.places |= {key: begin + at for at, key in enumerate(keys)}
        old = self.fields if begin else fields[..., :0]
        self.fields = np.concatenate([old, fields], axis=2)

    def parts(self, keys: np.ndarray, rows: np.ndarray) -> list[Part]:
        places = np.array([self.places[tuple(key)] for key in keys.tolist()])[rows]
        return [Part(*(field[places] for field in part)) for part in self.fields]


class Tables:
    """The parts of a model; `widths` says which gradient types are narrow."""

    def __init__(self, works: Works, machine: Machine, widths: Sequence[int]) -> None:
        self._works, self._machine = works, machine
        self._widths = np.array(widths)
        self._untimed, self._timed = _Table(), _Table()

    def meet(self, columns: Columns) -> None:
        self._meet(_different(_keys(columns)))

    def _meet(self, keys: list[Key]) -> None:
        new = [key for key in keys if key not in self._untimed.places]
        found = self._works.of(new, self._machine.dtype)
        if found:
            met = [made.keys[at] for made, places in found for at in places]
            parts = [made.untimed[:, :, places] for made, places in found]
            self._untimed.add(met, np.concatenate(parts, axis=2))

    def learn(self, columns: Columns) -> None:
        wanted: dict[int, list[Key]] = {}
        for *numbers, width in _different(self._with_widths(columns)):
            if (*numbers, width) not in self._timed.places:
                wanted.setdefault(width, []).append(tuple(numbers))
        if not wanted:
            return
        chosen = []
        for width, keys in wanted.items():
            self._meet(keys)
            found = self._works.of(keys, self._machine.dtype)
            chosen += [self._chosen(made, at, width) for made, at in found]
        kernels = self._kernels_of(chosen)
        fields = [self._part(*both) for both in zip(chosen, kernels, strict=True)]
        learnt = [(*one.made.keys[at], one.width) for one in chosen for at in one.at]
        self._timed.add(learnt, np.concatenate(fields, axis=2))

    def bytes_of(self, columns: Columns, rows: np.ndarray) -> list[Part]:
        """Return the parts of some rows without times.

        `columns` have every key once; call `meet` first.
        """
        return self._untimed.parts(_keys(columns), rows)

    def times_of(self, columns: Columns, rows: np.ndarray) -> list[Part]:
        return self._timed.parts(self._with_widths(columns), rows)

    def _with_widths(self, columns: Columns) -> np.ndarray:
        return np.column_stack([_keys(columns), self._widths[columns["gradient_dtype"]]])

    def _chosen(self, made: Made, at: list[int], width: int) -> _Chosen:
        some = [of if len(at) == len(made.keys) else of.at(at) for of in made.amounts]
        return _Chosen(made, at, width, [of.with_half_gradients() if width else of for of in some])

    def _kernels_of(self, chosen: list[_Chosen]) -> list[list[list[np.ndarray | None]]]:
        blocks = [[list(of.blocks()) for of in one.amounts] for one in chosen]
        every = (one for parts in blocks for part in parts for one in part if one is not None)
        times = iter(self._machine.kernels_ns(list(every)))
        return [
            [[None if one is None else next(times) for one in part] for part in parts]
            for parts in blocks
        ]

    def _launch_ns(self, works: Sequence[StageWork]) -> float:
        """Return the time of a launch, spread over the kernels that CUDA graphs launch, too."""
        scopes = scopes_of(self._works.held.cuda_graphs)
        if not scopes or not self._machine.launch_ns:
            return self._machine.launch_ns
        every = alone = 0
        for work, count in zip(works, self._counts(), strict=True):
            for one in (work.forward, work.backward):
                kernels, without = launched(one.operations, scopes)
                every, alone = every + count * kernels, alone + count * without
        return self._machine.launch_ns * alone / max(every, 1)

    def _counts(self) -> tuple[int, ...]:
        kinds = self._works.kinds
        return (1, *(kinds.count(kind) for kind in range(max(kinds) + 1)), 1)

    def _least(
        self, kernels: list[list[np.ndarray | None]], keys: int, works: Sequence[StageWork]
    ) -> np.ndarray:
        launch_ns = self._launch_ns(works)
        if not launch_ns or self._machine.host_waits(_has_experts(works)):
            return np.full(keys, launch_ns)
        times, counts = [], []
        for part, count in zip(kernels, self._counts(), strict=True):
            own = [one for one in part if one is not None]
            times += own
            counts += [count] * len(own)
        least: np.ndarray = least_times(np.stack(times), np.array(counts), launch_ns)
        return least

    def _part(self, one: _Chosen, kernels: list[list[np.ndarray | None]]) -> np.ndarray:
        """Return the parts of some keys (parts, fields, keys)."""
        least = self._least(kernels, len(one.at), one.made.works)
        fields = one.made.untimed[:, :, one.at].copy()
        groups = _groups([one.made.keys[at] for at in one.at])
        hides = self._works.held.overlap_experts != "none"
        parts = zip(fields, one.made.works, one.amounts, kernels, strict=True)
        for part, work, of, own in parts:
            times = self._times(of, own, least, groups)
            for name, values in timed(work, times, self._machine.taken, hides=hides).items():
                part[_PLACE[name]] = values
            part[_PLACE["drawn"]] = self._drawn(of, own, times)
        return fields

    def _drawn(
        self, of: Amounts, kernels: list[np.ndarray | None], times: list[np.ndarray]
    ) -> np.ndarray | float:
        law = self._machine.power
        if law is None:
            return 0.0
        drawn: np.ndarray | float = 0.0
        for at, (ns, is_kernel) in enumerate(zip(times, kernels, strict=True)):
            if is_kernel is not None:
                seconds = ns / 1e9
                drawn = drawn + law.joules(seconds, seconds, of.rows[of.starts[at]])
                drawn = drawn - law.idle_w * seconds
        return drawn

    def _times(
        self,
        of: Amounts,
        kernels: list[np.ndarray | None],
        least: np.ndarray,
        groups: dict[str, tuple[np.ndarray, np.ndarray]],
    ) -> list[np.ndarray]:
        return [
            np.where(ns > 0, np.maximum(ns, least), ns)
            if ns is not None
            else self._sent(operation, of.sent(at), groups)
            for at, (operation, ns) in enumerate(zip(of.operations, kernels, strict=True))
        ]

    def _sent(
        self,
        operation: Operation,
        sent: np.ndarray,
        groups: dict[str, tuple[np.ndarray, np.ndarray]],
    ) -> np.ndarray:
        sizes, strides = groups.get(operation.group, groups[""])
        if operation.collective is not None:
            return self._machine.collectives_ns(operation.collective, sizes, strides, sent)
        found = np.zeros(len(sent))
        tp = groups["tp"][0]
        for stride in np.unique(tp).tolist():
            rows = tp == stride
            found[rows] = self._machine.message_ns(stride, sent[rows].astype(float))
        return found


def _has_experts(works: Iterable[StageWork]) -> bool:
    every = (one for work in works for one in (work.forward, work.backward))
    return any(one.kind == EXPERTS for made in every for one in made.operations)


def _groups(keys: Sequence[Key]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    columns = np.array(keys).T
    tp, cp, ep, etp = (columns[KEY.index(name)] for name in ("tp", "cp", "ep", "etp"))
    one = np.ones_like(tp)
    return {
        "tp": (tp, one), "cp": (cp, tp), "tp_cp": (tp * cp, one), "etp": (etp, one),
        "ep": (ep, etp), "": (one, one),
    }  # fmt: skip


def _keys(columns: Columns) -> np.ndarray:
    return np.stack([columns[name] for name in KEY], axis=1)


def _different(keys: np.ndarray) -> list[Key]:
    first, _ = distinct(keys)
    return [tuple(row) for row in keys[first].tolist()]
