"""What no scheduler can beat: bounds of a replica's times and rate, from its tables.

A request takes its prompt's iteration alone to the first token, and an iteration of one sequence
between two tokens. n sequences that decode share an iteration, so no replica emits faster than the
most of n / T(n) over those n whose KV fits and whose iteration keeps the promise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.serving.iteration.tables import bilinear

if TYPE_CHECKING:
    from yantra.serving.iteration import Tables


class Load(NamedTuple):
    """Requests of so many tokens in the mean, at so many a second."""

    prompt: float
    output: float
    rate: float

    @property
    def context(self) -> float:
        """Tokens of a sequence while it decodes, in the mean."""
        return self.prompt + self.output / 2


class Bounds(NamedTuple):
    """Of one replica; seconds, and requests per second for each kind of pool."""

    ttft_s: float
    tpot_s: float
    prefill_rate: float
    decode_rate: float

    @property
    def rate(self) -> float:
        """Requests per second of a replica that does both."""
        return 1 / (1 / self.prefill_rate + 1 / self.decode_rate)


def bounds(tables: Tables, load: Load, most: int, tpot_s: float | None, lanes: int) -> Bounds:
    counts = np.unique(np.round(np.geomspace(1, most, 48)))
    took = _decoding(tables, counts, load.context) / 1e9
    allowed = np.ones(len(counts), bool) if tpot_s is None else took <= tpot_s
    best = float((counts / took)[allowed].max()) if allowed.any() else 0.0
    prompt = _prefilling(tables, load.prompt) / 1e9
    alone = _prefilling(tables, max(load.prompt, 1.0), whole=True) / 1e9
    return Bounds(
        ttft_s=alone,
        tpot_s=float(took[0]),
        prefill_rate=lanes / prompt,
        decode_rate=lanes * best / max(load.output - 1, 1),
    )


def _decoding(of: Tables, counts: np.ndarray, context: float) -> np.ndarray:
    grid = of.decode_n, of.decode_context, of.decode_ns
    attention = bilinear(*grid, counts, np.full_like(counts, context))
    dense = np.interp(counts, of.dense_tokens, of.dense_ns)
    emit = np.interp(counts, of.emit_n, of.emit_ns)
    host = of.host_ns_per_iteration + counts * (of.host_ns_per_sequence + of.host_ns_per_token)
    return np.asarray(dense + attention + emit + host)


def _prefilling(of: Tables, prompt: float, *, whole: bool = False) -> float:
    tokens = np.array([float(prompt)])
    last = float(of.dense_tokens[-1])
    rate = float(np.min(of.dense_ns / of.dense_tokens))
    dense = rate * prompt
    if whole:
        dense = float(np.interp(min(prompt, last), of.dense_tokens, of.dense_ns))
        dense += rate * max(prompt - last, 0.0)
    reach = np.minimum(tokens, float(of.prefill_tokens[-1]))
    attention = bilinear(of.prefill_tokens, of.prefill_past, of.prefill_ns, reach, np.zeros(1))
    return dense + float(attention[0])
