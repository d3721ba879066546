"""Times of a pipeline's passes: the slowest device's work and waits.

Trade-off: three devices, the first, a middle one, and the last; an interleaved schedule's first and
last group of micro-batches count through waits alone.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from yantra.explore.closed_form.devices import Chunks, Devices, Rows


def pipeline(
    sizes: Devices, c: dict[str, np.ndarray], m: np.ndarray, message: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
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
        times[several] = _chunks(of, chunks, *counts)
    return times, slowest


def hidden_ns(
    sizes: Devices, c: dict[str, np.ndarray], m: np.ndarray, slowest: np.ndarray
) -> np.ndarray:
    """Return by how much all passes are shorter where each hides messages behind another.

    The last device begins with (v - 1) p + 1 forward passes that none is beside, and ends likewise.
    """
    p, v = c["pp"], c["vpp"]
    each = zip(sizes.forward, sizes.backward, sizes.hides, strict=True)
    first, middle, last = (f + b - hides for f, b, hides in each)
    hidden = np.maximum(np.maximum(first, last), np.where(p > 2, middle, 0.0))
    count = np.maximum(m - ((v - 1) * p + 1) / v, 0.0)
    result: np.ndarray = count * (slowest - hidden)
    return result


def _chunks(
    sizes: Rows,
    chunks: Chunks,
    p: np.ndarray,
    v: np.ndarray,
    m: np.ndarray,
    message: np.ndarray,
) -> np.ndarray:
    """Return the time of all passes with several chunks a device: the busiest one's.

    A device waits while a micro-batch crosses the others, which gather and reduce meanwhile. The
    slowest first chunk of the others feeds its first group of p micro-batches, and drains its last.
    The last device waits for any fuller chunk, those before it for the last device's last chunk.
    The first device works on while its first micro-batch is away.
    """
    lead, before = sizes.lead, sizes.before
    waits = (p - 1) * (2.0 * message - lead)  # recomputes while it awaits the gradient
    behind_weights = message - before
    chunk = np.maximum(behind_weights, 0.0) + np.maximum(behind_weights - lead, 0.0)
    waits = waits + (v - 1) * p * chunk
    forward = [f - v * before for f in sizes.forward]
    backward = [b - v * (before + sizes.behind + lead) for b in sizes.backward]
    trip = reduce(np.maximum, (*forward, *backward)) + v * message
    works = [f + b for f, b in zip(sizes.forward, sizes.backward, strict=True)]
    first, middle, last = (work + (m - 1) * np.maximum(work, trip) for work in works)
    apart = [(p - 1) * np.maximum(chunks.widest - opening, 0.0) for opening in chunks.opening[1:]]
    turns = (p - 1) * np.maximum(chunks.final[1] - chunks.final[0], 0.0)
    middle = middle + chunks.crossing[0] + apart[0] + turns
    last = last + chunks.crossing[1] + apart[1] + chunks.mixed
    (there, back), (more, back_more) = chunks.usual, chunks.slower
    away = np.maximum((p - 1) * (back - there - more), 0.0)
    away = away + np.maximum((p - 2) * (there - back_more), 0.0)
    busiest = np.maximum(last, np.where(p > 2, middle, 0.0))
    result: np.ndarray = np.maximum(busiest, np.where(m > p, first + away, 0.0)) + waits
    return result


def one_chunk(
    sizes: Rows, p: np.ndarray, m: np.ndarray, message: np.ndarray, slowest: np.ndarray
) -> np.ndarray:
    """Return the time of all passes with one chunk a device: the busiest one's.

    Device k waits for those before it, works m times, and waits twice for those behind: for its
    first backward pass, shortened by the forward passes it may hold, and, if it began one after
    that, for its last, shortened by backward passes at hand. Gathers and reductions overlap with
    waits.
    """
    hidden = 2.0 * sizes.before + sizes.behind
    whole = sizes.whole_forward + sizes.whole_backward - p * hidden
    worst = np.zeros_like(m)
    front = np.zeros_like(m)
    for device, (place, there) in enumerate(
        ((np.zeros_like(p), p > 0), (np.minimum(p - 1, 1), p > 2), (p - 1, p > 1))
    ):
        forward, backward = sizes.forward[device], sizes.backward[device]
        own = forward + backward - hidden
        before = front if device < 2 else whole - own
        behind = np.maximum(whole - before - own, 0.0) + 2 * (p - 1 - place) * message
        before = before - place * sizes.lead
        behind = np.maximum(behind - (p - 1 - place) * sizes.lead - sizes.before, 0.0)
        held = np.minimum(p - place, m) - 1
        at_end = np.where(m > p - place, np.maximum(behind - held * backward, 0.0), 0.0)
        waits = np.maximum(behind - held * forward, 0.0) + at_end
        time = before + 2 * place * message + m * (own + hidden) + waits
        worst = np.maximum(worst, np.where(there, time, 0.0))
        front = own
    # With p micro-batches at most, a further one waits for the first's round trip.
    late = np.maximum(whole + 2 * (p - 1) * message - p * slowest, 0.0)
    result: np.ndarray = worst + np.floor((m - 1) / p) * late
    return result
