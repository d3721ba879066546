"""What happens to the hosts of a job in many lives: events by component, in order of time.

Each component has random numbers of its own, an event a row, so a life meets the same events
whatever other components, policies or spares there are, and more of a component's when its rate
rises. Arrivals are Poisson; rates are gamma by their counts, times the level of the fleet, which
all components of a life share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from yantra.fabric.failures import Component, Rates

    Ints = np.ndarray[Any, np.dtype[np.int64]]
    Floats = np.ndarray[Any, np.dtype[np.float64]]

NS = 1_000_000_000
DAY_NS = 86_400 * NS
_BEYOND = 6.0
"""Spreads of a Poisson count above its mean that there is room for."""
_LEVEL, _RESTART, _STEP = -1, -2, -3


class Events(NamedTuple):
    """Rows are events in order of time, columns lives; padded with events at `horizon`."""

    horizon: int
    """End of a life in ns."""
    at: Ints
    """In ns. Slow ranks are here when they begin."""
    component: Ints
    """Index of the rates' components."""
    repair: Ints
    """How long hosts are away, in ns."""
    mended: Floats
    """Uniform, below the share that needs no other host: it has none."""
    foreseen: Floats
    """Uniform, of who is seen in advance."""
    restart: Ints
    """A life's restart in ns."""
    step: Floats
    """A life's step time over the expected one."""


def drawn(
    rates: Rates, hosts: int, horizon: int, lives: int, seed: int, step_spread: float = 0.0
) -> Events:
    """Draw what happens to `hosts` in ns up to `horizon`; `step_spread` is of a logarithm."""
    mean, spread = rates.level()
    normal = _source(seed, _LEVEL).standard_normal(lives)
    level = np.exp(mean + spread * normal)
    low, high = np.log(rates.restart_low.value), np.log(rates.restart_high.value)
    restart = np.exp(low + (high - low) * _source(seed, _RESTART).random(lives))
    step = np.exp(step_spread * _source(seed, _STEP).standard_normal(lives))
    exposed = hosts * (horizon / DAY_NS) / rates.host_days
    columns = [
        _of_component(rates, at, one, level * exposed, horizon, lives, seed)
        for at, one in enumerate(rates.components)
        if one.events
    ]
    if not columns:
        nothing = np.zeros((0, lives), np.int64)
        none = np.zeros((0, lives))
        return Events(horizon, nothing, nothing, nothing, none, none, _ns(restart), step)
    joined = [np.concatenate(parts) for parts in zip(*columns, strict=True)]
    order = np.argsort(joined[0], axis=0, kind="stable")[: _most(joined[0], horizon)]
    at, component, repair, mended, foreseen = (
        np.take_along_axis(part, order, axis=0) for part in joined
    )
    return Events(horizon, at, component, repair, mended, foreseen, _ns(restart), step)


def _of_component(
    rates: Rates, index: int, of: Component, level: Floats, horizon: int, lives: int, seed: int
) -> tuple[Ints, Ints, Ints, Floats, Floats]:
    key = crc32(of.name.encode())
    source = _source(seed, key)
    expected = source.standard_gamma(float(of.events), lives) * level
    most = float(expected.max())
    shape = (int(most + _BEYOND * np.sqrt(most) + 10.0), lives)
    arrivals = np.cumsum(source.standard_exponential(shape), axis=0) / expected
    at = np.minimum(arrivals * horizon, horizon).astype(np.int64)
    marks = [_source(seed, key, mark).random(shape) for mark in (1, 2, 3)]
    hours = np.interp(marks[0], rates.repair_at, rates.repair_h)
    component = np.full(shape, index, np.int64)
    return at, component, _ns(hours * 3600.0), marks[1], marks[2]


def _source(seed: int, *key: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64([seed, *(one & 0xFFFFFFFF for one in key)]))


def _ns(seconds: Floats) -> Ints:
    return np.asarray(np.rint(seconds * NS), np.int64)


def _most(at: Ints, horizon: int) -> int:
    return int((at < horizon).sum(axis=0).max())
