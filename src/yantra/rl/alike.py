"""Samples of a prompt are alike in length: draws with an intraclass correlation.

A prompt's draw and each sample's own make a normal number; who ranks where by it gets the length of
that rank, so the distribution stays as it is. The prompt's weight is found by halving, so that the
one-way analysis of variance of the drawn lengths has the correlation that is asked for (Shrout and
Fleiss, Psychological Bulletin 86 (1979), ICC(1, 1)).

Trade-off: a step of few prompts may have no draw so alike, or so unlike; it gets the nearest.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

_HALVINGS = 24


def intraclass(lengths: np.ndarray) -> float:
    """The correlation of samples of a prompt; a row of `lengths` is a prompt."""
    groups, each = lengths.shape
    means = lengths.mean(axis=1)
    between = each * float(((means - lengths.mean()) ** 2).sum()) / (groups - 1)
    within = float(((lengths - means[:, None]) ** 2).sum()) / (groups * (each - 1))
    whole = between + (each - 1) * within
    return (between - within) / whole if whole else 0.0


def alike(rising: np.ndarray, groups: int, icc: float, seed: int) -> np.ndarray:
    """Deal lengths to so many prompts, in the order of samples; fewer than two are as drawn."""
    generator = np.random.default_rng(seed)
    count = len(rising)
    if groups < 2 or count // groups < 2:
        return np.asarray(rising[generator.permutation(count)])
    prompt = generator.standard_normal(groups).repeat(count // groups)
    own = generator.standard_normal(count)
    low, high = 0.0, 1.0
    made = np.empty_like(rising)
    for _ in range(_HALVINGS):
        weight = (low + high) / 2
        made[np.argsort(sqrt(weight) * prompt + sqrt(1 - weight) * own)] = rising
        if intraclass(made.reshape(groups, -1)) < icc:
            low = weight
        else:
            high = weight
    return made
