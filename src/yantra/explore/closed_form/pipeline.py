"""Times of the passes of a pipeline: the slowest device's work, and what it waits for others.

Trade-off: devices are the first, one in the middle, and the last; messages of a full interleaved
schedule are hidden.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from yantra.explore.closed_form.devices import Chunks, Devices, Rows


_AHEAD = 4
"""Passes by which a device may be ahead of the next: two forward and two backward ones."""


def pipeline(
    sizes: Devices, c: dict[str, np.ndarray], m: np.ndarray, message: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the time of all passes, and of one micro-batch on the slowest device."""
    p, v = c["pp"], c["vpp"]
    both = [f + b for f, b in zip(sizes.forward, sizes.backward, strict=True)]
    slowest = np.maximum(np.maximum(both[0], both[2]), np.where(p > 2, both[1], 0.0))
    times = np.zeros_like(slowest)
    alone, several = np.flatnonzero(v == 1), np.flatnonzero(v > 1)
    if len(alone):
        of = sizes.rows(alone)
        times[alone] = one_chunk(of, p[alone], m[alone], message[alone], slowest[alone])
    if len(several):
        of, chunks = sizes.rows(several), sizes.chunks(several)
        counts = (one[several] for one in (p, v, m, message))
        times[several] = _chunks(of, chunks, slowest[several], *counts)
    return times, slowest


def _chunks(
    sizes: Rows,
    chunks: Chunks,
    slowest: np.ndarray,
    p: np.ndarray,
    v: np.ndarray,
    m: np.ndarray,
    message: np.ndarray,
) -> np.ndarray:
    """Return the time of all passes where devices have several chunks.

    Devices go through a chunk at about the same time. Where that takes longer than a micro-batch on
    the slowest device, as other devices are slowest in other chunks, devices wait for each other
    until they are apart: in a first group of p micro-batches, but for the few that each device may
    be ahead of the next. From then on the slowest device is all that counts.
    """
    # A device computes again while it awaits the gradient: the first p - 1 are idle, others wait.
    late = np.maximum(message - sizes.lead, 0.0)
    back = (p - 1) * (message - sizes.lead) + (v - 1) * p * late
    passed = chunks.crossing + (p * v - 1) * message + back
    # The next chunk of a micro-batch needs a trip over all devices, while they work on p others.
    # What each chunk computes again it does before its gradient comes, so it is not on that trip.
    led = v * sizes.lead
    longest = reduce(np.maximum, (*sizes.forward, *(b - led for b in sizes.backward)))
    each = np.maximum(slowest, longest + v * message)
    apart = np.maximum(p - _AHEAD, 0) * np.maximum(chunks.pace - each, 0.0)
    result: np.ndarray = passed + slowest + (m - 1) * each + apart
    return result


def one_chunk(
    sizes: Rows, p: np.ndarray, m: np.ndarray, message: np.ndarray, slowest: np.ndarray
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
