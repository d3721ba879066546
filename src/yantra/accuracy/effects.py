"""Factors of a stack on a machine, from the steps of all: what contexts share, they share in part.

The logarithm of measured / predicted of a step with shares h of products, attention and the rest is
h f plus noise. The logarithms f of the three factors are sums of effects of what the context is:
its maker, stack, release, machine, precision and kind, alone and together. Each effect is normal
with the deviation of `SHARED`, on all three alike, or of `OWN`, on each of them, so f in any
context follows from the steps of others by best linear unbiased prediction (Henderson, Biometrics
31, 1975), which is kriging over contexts:

    f = K H' (H K H' + N)^-1 e,   D = K - K H' (H K H' + N)^-1 H K

Products in 16 bits have a mean before any step, that of `yantra.fabric.stacks.balance` for a
machine; f is the rest.
D is what is not known of f. It is large where nothing near was measured, and the interval is as
wide. Steps of one model in a context are one observation; its noise is what models differ by and,
over their number, what steps do. Observations further off than `FAR` deviations count less.

Trade-off: deviations are round numbers, the same for all makers; that releases move mixtures of
experts more than dense models is the one exception.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from yantra.accuracy.fit import Factors, Parts
from yantra.accuracy.rows import Row
from yantra.fabric.stacks.balance import PRIOR, products_on
from yantra.fabric.stacks.types import DENSE, EIGHT_BITS

Reals = NDArray[np.float64]

SIXTEEN = "16 bits"
MODEL, STEP = 0.04, 0.04
FAR = 2.0
RELEASE_MOE = 0.15
SHARED: tuple[tuple[tuple[str, ...], float], ...] = (
    ((), 0.08),
    (("machine",), 0.06),
    (("maker",), 0.08),
    (("stack",), 0.06),
    (("machine", "precision"), 0.04),
    (("maker", "machine"), 0.04),
    (("maker", "kind", "precision"), 0.06),
    (("maker", "kind", "machine"), 0.08),
    (("maker", "kind", "release"), 0.03),
)
OWN: tuple[tuple[tuple[str, ...], tuple[float, float, float]], ...] = (
    (("maker",), (0.06, 0.15, 0.30)),
    (("machine",), (0.02, 0.03, 0.03)),
    (("maker", "kind"), (0.03, 0.05, 0.05)),
)


class Context(NamedTuple):
    """What steps are alike in; `machine` is empty for any other."""

    maker: str
    stack: str
    release: str
    machine: str
    precision: str
    kind: str


def precision(row: Row) -> str:
    """Return `4 bits`, `8 bits` or `16 bits` by the type of products."""
    if row.dtype == "fp4":
        return "4 bits"
    return "8 bits" if row.dtype in EIGHT_BITS else SIXTEEN


def context_of(row: Row) -> Context:
    """Return the context of a row; stacks whose jobs share a name have one maker."""
    made_by = row.file.names[-1] if row.file.name != "unknown" and row.file.names else row.stack
    return Context(made_by, row.stack, row.release, row.cluster, precision(row), row.kind)


class Fit(NamedTuple):
    """Factors in a context, and the covariance of their logarithms."""

    factors: Factors
    left: Reals

    def deviation(self, parts: Parts) -> float:
        """Return the standard deviation of the logarithm of a step's time."""
        h = np.array([getattr(self.factors, name) * getattr(parts, name) for name in _PARTS])
        h /= h.sum()
        return float(np.sqrt(h @ self.left @ h + MODEL**2 + STEP**2))


_PARTS = ("products", "attention", "rest")


def mean_of(context: Context) -> Reals:
    """Return what is known of the logarithms of factors before any step, relative to A100s."""
    if not context.machine or context.precision != SIXTEEN:
        return np.zeros(3)
    return np.array([log(products_on(context.machine) / PRIOR), 0.0, 0.0])


class Observed:
    """Steps of all contexts, one observation for each model in one."""

    def __init__(self, parts: Iterable[Parts]) -> None:
        groups: dict[tuple[Context, str], list[Parts]] = defaultdict(list)
        for one in parts:
            groups[context_of(one.row), one.row.fold].append(one)
        self._contexts = [context for context, _ in groups]
        self._rows = [found[0].row for found in groups.values()]
        self._counts = np.array([len(found) for found in groups.values()])
        every = [one for found in groups.values() for one in found]
        self._parts = np.array([[getattr(one, name) for name in _PARTS] for one in every])
        self._log_s = np.log([one.row.seconds for one in every])
        self._mean = np.array([mean_of(context) for context in self._contexts])
        self._known = covariance(self._contexts, self._contexts)

    def at(self, context: Context, counts: Callable[[Row], bool]) -> Fit:
        """Return the factors in a context from the observations that count."""
        use = np.array([at for at, row in enumerate(self._rows) if counts(row)], dtype=int)
        own = covariance([context], [context])[0, 0]
        if not len(use):
            products, attention, rest = np.exp(mean_of(context)).tolist()
            return Fit(Factors(products, attention, rest), own)
        known = self._known[np.ix_(use, use)]
        logs = self._mean.copy()
        noise = MODEL**2 + STEP**2 / self._counts[use]
        for is_last in (False, False, True):
            e, h = (of[use] for of in self._linear(logs))
            seen = np.einsum("ia,ijab,jb->ij", h, known, h) + np.diag(noise)
            gain = np.linalg.solve(seen, e - (h * self._mean[use]).sum(axis=1))
            logs[use] = self._mean[use] + np.einsum("ijab,jb,j->ia", known, h, gain)
            if not is_last:
                far = np.abs(e - (h * logs[use]).sum(axis=1)) / np.sqrt(noise)
                noise *= np.maximum(far / FAR, 1.0)
        across = np.einsum("jab,jb->ja", covariance([context], self._contexts)[0][use], h)
        of_stack = [at for at in use if self._contexts[at].stack == context.stack]
        models = {(self._rows[at].fold, self._rows[at].cluster) for at in of_stack}
        steps = int(self._counts[of_stack].sum())
        products, attention, rest = map(float, np.exp(mean_of(context) + across.T @ gain))
        left = own - across.T @ np.linalg.solve(seen, across)
        return Fit(Factors(products, attention, rest, rows=steps, models=len(models)), left)

    def _linear(self, logs: Reals) -> tuple[Reals, Reals]:
        """Return e and the rows of H of all observations, near the logarithms of factors."""
        times = self._parts * np.exp(np.repeat(logs, self._counts, axis=0))
        whole = times.sum(axis=1)
        starts = np.concatenate([[0], np.cumsum(self._counts)[:-1]])
        shares = np.add.reduceat(times / whole[:, None], starts) / self._counts[:, None]
        off = np.add.reduceat(self._log_s - np.log(whole), starts) / self._counts
        return off + (shares * logs).sum(axis=1), shares


def covariance(ones: Sequence[Context], others: Sequence[Context]) -> Reals:
    """Return K: a 3 x 3 matrix for each pair of contexts."""
    found = np.zeros((len(ones), len(others), 3, 3))
    moe = np.array([one.kind != DENSE for one in ones], dtype=bool)
    for fields, deviation in SHARED:
        square = np.full(len(ones), deviation**2)
        if "release" in fields:
            square[moe] = RELEASE_MOE**2
        found += (_alike(ones, others, fields) * square[:, None])[:, :, None, None]
    for fields, deviations in OWN:
        own = np.diag(np.square(deviations))
        found += _alike(ones, others, fields)[:, :, None, None] * own
    return found


def _alike(
    ones: Sequence[Context], others: Sequence[Context], fields: Sequence[str]
) -> NDArray[np.bool_]:
    keys = [[tuple(getattr(one, name) for name in fields) for one in of] for of in (ones, others)]
    number: dict[tuple[str, ...], int] = {}
    left, right = (np.array([number.setdefault(key, len(number)) for key in of]) for of in keys)
    return np.asarray(left[:, None] == right)
