"""Drafts: how many of them an iteration accepts, drawn for each request.

With independent acceptance a, j of k drafts are right with probability a^j (1 - a), and all with
a^k, so an iteration emits (1 - a^(k + 1)) / (1 - a) tokens in the mean (Leviathan, Kalman and
Matias, ICML 2023, equation 1).
"""

from __future__ import annotations

import numpy as np

CYCLE = 64
"""Draws of a request, which it goes through in a circle."""


def accepted(requests: int, drafts: int, acceptance: float, seed: int) -> np.ndarray:
    draws = np.random.Generator(np.random.PCG64(seed)).random((requests, CYCLE))
    if acceptance >= 1:
        return np.full((requests, CYCLE), drafts)
    if acceptance <= 0:
        return np.zeros((requests, CYCLE), np.int64)
    lengths = np.floor(np.log1p(-draws) / np.log(acceptance)).astype(np.int64)
    return np.asarray(np.minimum(lengths, drafts))


def mean_emitted(drafts: int, acceptance: float) -> float:
    if acceptance >= 1:
        return drafts + 1.0
    return (1 - acceptance ** (drafts + 1)) / (1 - acceptance)
