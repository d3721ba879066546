"""Which layers pipeline devices have, and how many micro-batches' activations they hold.

Layers go to stages by `yantra.workloads.training.step.layers`; stage s is on device s modulo p. Of
middle devices with equal layers the first holds most, and stands for all.

The schedule's order says what is held (`yantra.workloads.schedules.interleaved`): after w forward
passes, backward pass i finds the activations of w + 1 + i forward less those of i backward passes.
Moments that another moment dominates are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from yantra.explore.closed_form.distinct import distinct
from yantra.workloads.training.step.layers import layer_ranges

_GROUPS = 3
"""Groups of p micro-batches, beyond which an interleaved schedule repeats itself: what is in flight
at once are less than two."""
KEY = ("pp", "vpp", "embedding_as_layer", "loss_as_layer")


class Layers(NamedTuple):
    """Layer counts by kind; the last axis of every field is the pipeline.

    `own` are those of the first device, the fullest middle one, and the last (3, kinds, rows),
    `all` those of all devices (kinds, rows). `first` and `final` are those of the first and last
    chunk of the first and last device (2, kinds, rows), `middle` both of the middle one, `others`
    the most of any further device in the first chunk (kinds, rows). `across` (2, kinds, rows) is
    what a micro-batch crosses around the last device and around the middle one. `mixed` is the
    others' excess over the last device in chunks between.
    """

    own: np.ndarray
    first: np.ndarray
    final: np.ndarray
    middle: np.ndarray
    across: np.ndarray
    others: np.ndarray
    mixed: np.ndarray
    all: np.ndarray


class Holder(NamedTuple):
    """One of the distinct devices of some pipelines: number `rows`, with `layers` (kinds, rows).

    The moments of row r start at `begins[r]`. Each has layers times the micro-batches in flight,
    `held` (kinds, moments), micro-batches at the model's ends, `fronts` and `tails`, the backward
    pass's layers by kind, `within` (kinds, moments), and whether that includes an end, `at_front`,
    `at_tail`.
    """

    rows: np.ndarray
    is_first: np.ndarray
    is_last: np.ndarray
    layers: np.ndarray
    begins: np.ndarray
    held: np.ndarray
    fronts: np.ndarray
    tails: np.ndarray
    within: np.ndarray
    at_front: np.ndarray
    at_tail: np.ndarray


class _Devices:
    """The distinct devices of pipelines, concatenated, with what they hold.

    Place i has `counts[i]` devices from `begins[i]` on. Each device has `numbers`, `layers`
    (devices, kinds), and moments: `sizes` rows of `_moments` from `starts` on.
    """

    def __init__(self, kinds: int) -> None:
        self._places: dict[tuple[int, ...], int] = {}
        self.begins = self.counts = self.numbers = self.starts = self.sizes = np.zeros(0, np.int64)
        self.layers, self.moments = np.zeros((0, kinds), int), np.zeros((0, 2 * kinds + 4), int)

    def places(
        self, keys: list[tuple[int, ...]], make: Callable[[tuple[int, ...]], list[_Device]]
    ) -> np.ndarray:
        new = {key: make(key) for key in keys if key not in self._places}
        if new:
            self._add(new)
        return np.array([self._places[key] for key in keys])

    def _add(self, new: dict[tuple[int, ...], list[_Device]]) -> None:
        devices = [device for some in new.values() for device in some]
        counts = np.array([len(some) for some in new.values()])
        sizes = np.array([len(one.moments) for one in devices])
        self._places |= {key: len(self.begins) + at for at, key in enumerate(new)}
        begins = len(self.numbers) + counts.cumsum() - counts
        starts = len(self.moments) + sizes.cumsum() - sizes
        self.begins = np.concatenate([self.begins, begins])
        self.counts = np.concatenate([self.counts, counts])
        self.starts = np.concatenate([self.starts, starts])
        self.sizes = np.concatenate([self.sizes, sizes])
        self.numbers = np.concatenate([self.numbers, [one.number for one in devices]])
        self.layers = np.concatenate([self.layers, [one.layers for one in devices]])
        self.moments = np.concatenate([self.moments, *(one.moments for one in devices)])


class _Device(NamedTuple):
    """A device unlike those before it; `moments` are rows of `_moments`."""

    number: int
    layers: np.ndarray
    moments: np.ndarray


class Layouts:
    """The layers of pipelines; `kinds` is the kind of each layer."""

    def __init__(self, kinds: Sequence[int], *, ahead: bool = False) -> None:
        """Know no pipeline yet; `ahead` devices hold one more micro-batch each."""
        self._ahead = int(ahead)
        self._kinds = int(max(kinds)) + 1
        each = np.eye(self._kinds, dtype=np.int64)[np.array(kinds)]
        self._until = np.concatenate([np.zeros((1, self._kinds), np.int64), each.cumsum(axis=0)])
        self._stages: dict[tuple[int, ...], np.ndarray] = {}
        self._layers: dict[tuple[int, ...], np.ndarray] = {}
        self._devices = _Devices(self._kinds)

    def layers(self, rows: np.ndarray) -> Layers:
        first, back = distinct(rows)
        made = np.stack([self._counts(tuple(rows[at].tolist())) for at in first], axis=-1)[
            ..., back
        ]
        return Layers(made[:3], made[3:5], made[5:7], made[7:9], made[9:11], *made[11:])

    def holders(self, rows: np.ndarray, m: np.ndarray) -> list[Holder]:
        p, v = rows[:, 0], rows[:, 1]
        shown = np.minimum(m, np.where(v > 1, _GROUPS, 1) * p + np.where(v > 1, 0, self._ahead))
        keys = np.column_stack([rows, shown])
        first, back = distinct(keys)
        of_key = self._devices.places([tuple(key) for key in keys[first].tolist()], self._different)
        place = of_key[back]
        most = int(self._devices.counts[of_key].max())
        return [self._holder(place, p, number) for number in range(most)]

    def _holder(self, place: np.ndarray, p: np.ndarray, number: int) -> Holder:
        every, kinds = self._devices, self._kinds
        chosen = np.flatnonzero(every.counts[place] > number)
        of = every.begins[place[chosen]] + number
        times = every.sizes[of]
        ends = times.cumsum()
        begins = ends - times
        moments = every.moments[np.arange(ends[-1]) + (every.starts[of] - begins).repeat(times)].T
        devices = every.numbers[of]
        return Holder(
            chosen,
            devices == 0,
            devices == p[chosen] - 1,
            every.layers[of].T,
            begins,
            moments[:kinds],
            moments[kinds],
            moments[kinds + 1],
            moments[kinds + 2 : 2 * kinds + 2],
            moments[-2] > 0,
            moments[-1] > 0,
        )

    def _of_stages(self, key: tuple[int, ...]) -> np.ndarray:
        if key not in self._stages:
            p, v, front, tail = key
            ranges = layer_ranges(len(self._until) - 1, p * v, front=bool(front), tail=bool(tail))
            cuts = np.array(ranges)
            counts = self._until[cuts[:, 1]] - self._until[cuts[:, 0]]
            self._stages[key] = counts.reshape(v, p, self._kinds)
        return self._stages[key]

    def _counts(self, key: tuple[int, ...]) -> np.ndarray:
        if key not in self._layers:
            stages = self._of_stages(key)
            of_devices, p = stages.sum(axis=0), stages.shape[1]
            most = of_devices[1:-1].sum(axis=1)[::-1]
            usual = p - 2 - int(np.argmax(most)) if p > 2 else 0
            first, last = stages[0], stages[-1]
            around = first[:usual].sum(axis=0) + last[usual + 1 : -1].sum(axis=0)
            more = stages[1:-1, :-1].sum(axis=1) - (p - 1) * stages[1:-1, -1]
            self._layers[key] = np.stack([
                *of_devices[[0, usual, -1]], first[0], first[-1], last[0], last[-1],
                first[usual], last[usual], first[:-1].sum(axis=0), around,
                _widest(first[1:]), more[more.sum(axis=1) > 0].sum(axis=0),
                of_devices.sum(axis=0),
            ]).astype(float)  # fmt: skip
        return self._layers[key]

    def _different(self, key: tuple[int, ...]) -> list[_Device]:
        stages, m = self._of_stages(key[:-1]), key[-1]
        p = stages.shape[1]
        numbers = [0, *_differing(stages), *([p - 1] if p > 1 else [])]
        return [
            _Device(
                int(at),
                stages[:, at].sum(axis=0),
                _moments(stages[:, at], int(at), p, m, self._ahead),
            )
            for at in numbers
        ]


def _differing(stages: np.ndarray) -> list[int]:
    inner = stages[:, 1:-1].transpose(1, 0, 2)
    if not len(inner):
        return []
    _, first = np.unique(inner.reshape(len(inner), -1), axis=0, return_index=True)
    return sorted((first + 1).tolist())


def _widest(devices: np.ndarray) -> np.ndarray:
    if not len(devices):
        return np.zeros(devices.shape[1], np.int64)
    widest: np.ndarray = devices[len(devices) - 1 - int(np.argmax(devices.sum(axis=1)[::-1]))]
    return widest


def _moments(chunks: np.ndarray, device: int, p: int, m: int, ahead: int = 0) -> np.ndarray:
    """Return the moments of a device's peak; `chunks` are its layers (v, kinds)."""
    v = len(chunks)
    is_first, is_last = device == 0, device == p - 1
    if v == 1:
        flying = min(p - device + ahead, m)
        ends = [flying * is_first, flying * is_last]
        return np.array([[*(flying * chunks[0]), *ends, *chunks[0], is_first, is_last]])
    warm_up = min(2 * (p - device - 1) + (v - 1) * p + ahead, m * v)
    number = np.arange(m * v)
    # What is held is linear while both passes stay in their chunks.
    if p > 2:
        number = number[(number % p % (p - 1) == 0) | ((number + warm_up) % p % (p - 1) == 0)]
    forward = _done(np.minimum(number + warm_up + 1, m * v), p, v)
    held = forward - _done(number, p, v)[:, ::-1]
    chunk = v - 1 - number // p % v
    within = chunks[chunk]
    columns = [held @ chunks, (held[:, 0] * is_first)[:, None], (held[:, -1] * is_last)[:, None]]
    columns += [within, ((chunk == 0) & is_first)[:, None], ((chunk == v - 1) & is_last)[:, None]]
    return _not_less(np.concatenate(columns, axis=1).astype(np.int64))


def _done(count: np.ndarray, p: int, v: int) -> np.ndarray:
    rounds, rest = np.divmod(count, p * v)
    done: np.ndarray = p * rounds[:, None] + np.clip(rest[:, None] - p * np.arange(v), 0, p)
    return done


def _not_less(moments: np.ndarray) -> np.ndarray:
    ordered = moments[np.lexsort(moments.T)]
    every: np.ndarray = ordered[np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))]
    if len(every) == 1:
        return every
    more = (every[:, None, -2:] == every[None, :, -2:]).all(axis=2)
    for column in every.T[:-2]:
        more &= column[:, None] <= column
    kept: np.ndarray = every[more.sum(axis=1) == 1]
    return kept
