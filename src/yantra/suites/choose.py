"""Chooses k traces that stand for all: k-medoids over standardised features, without chance.

Equal traces count once, so that copies change nothing. A weight is the share of traces that one
stands for; coverage is each one's distance to its own.

Source: Kaufman, Rousseeuw, "Finding Groups in Data", 1990, chapter 2 (build, then swap).
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from yantra.base.documents import Path, parse_own_json, read_text
from yantra.base.errors import ConfigError, expected_got
from yantra.base.output import write_text
from yantra.library.features import NAMES
from yantra.suites.traces import Given

_FORM = "yantra-suite"
_MOST = 4_000  # distances of all pairs are held: 128 MB


class Chosen(NamedTuple):
    """A representative: `weight` of all 1, `covers` others by name and distance."""

    name: str
    file: str
    digest: str
    weight: float
    covers: tuple[tuple[str, float], ...]

    @property
    def farthest(self) -> float:
        """The largest distance of one that it stands for."""
        return max((distance for _, distance in self.covers), default=0.0)


class Suite(NamedTuple):
    """`of` traces are stood for; `copies` were left out. `scale`: the mean distance of two of
    all, with which distances compare."""

    chosen: tuple[Chosen, ...]
    of: int
    copies: int
    scale: float

    @property
    def mean(self) -> float:
        """The mean distance to one's representative."""
        return sum(far for one in self.chosen for _, far in one.covers) / self.of

    @property
    def coverage(self) -> float:
        """1 where all are covered exactly, 0 where a representative is as far as any trace."""
        return 1 - self.mean / self.scale if self.scale else 1.0

    def as_dict(self) -> dict[str, Any]:
        """Plain values, which `read` reads."""
        return {
            "form": _FORM, "of": self.of, "copies": self.copies, "scale": self.scale,
            "coverage": self.coverage, "mean_distance": self.mean,
            "traces": [one._asdict() | {"farthest": one.farthest} for one in self.chosen],
        }  # fmt: skip


def choose(traces: Sequence[Given], count: int) -> Suite:
    """Raises ConfigError for more than there are."""
    distinct = list({one.digest: one for one in reversed(traces)}.values())[::-1]
    distinct.sort(key=lambda one: one.digest)
    if not 1 <= count <= len(distinct):
        problem = expected_got(f"from 1 to {len(distinct)}, the different traces", count)
        raise ConfigError("-k", problem)
    if len(distinct) > _MOST:
        raise ConfigError("traces", f"{len(distinct)} are too many; expected at most {_MOST}")
    far = distances(distinct)
    medoids = sorted(medoids_of(far, count), key=lambda at: distinct[at].name)
    own = far[:, medoids].argmin(axis=1)
    own[medoids] = range(count)
    chosen = []
    for place, at in enumerate(medoids):
        mine = np.flatnonzero(own == place).tolist()
        covers = sorted((distinct[one].name, round(float(far[one, at]), 4)) for one in mine)
        weight = len(mine) / len(distinct)
        name, file, digest, _ = distinct[at]
        chosen.append(Chosen(name, file, digest, weight, tuple(covers)))
    pairs = len(distinct) * (len(distinct) - 1)
    scale = float(far.sum() / pairs) if pairs else 0.0
    return Suite(tuple(chosen), len(distinct), len(traces) - len(distinct), scale)


def distances(traces: Sequence[Given]) -> np.ndarray:
    """Of all pairs: Euclidean, over features of mean 0 and deviation 1 each."""
    values = np.array([[one.features[name] for name in NAMES] for one in traces])
    spread = values.std(axis=0)
    scaled = (values - values.mean(axis=0)) / np.where(spread > 1e-9, spread, 1)
    squares = (scaled**2).sum(axis=1)
    far = np.sqrt(np.maximum(squares[:, None] + squares - 2 * scaled @ scaled.T, 0))
    far = (far + far.T) / 2
    np.fill_diagonal(far, 0)
    return np.where(far < 1e-6, 0, far)


def medoids_of(far: np.ndarray, count: int) -> list[int]:
    """Places of `count` medoids: each best first one, then the best swap until none helps."""
    medoids: list[int] = []
    nearest = np.full(len(far), np.inf)
    for _ in range(count):
        cost = np.minimum(nearest, far).sum(axis=1)
        cost[medoids] = np.inf
        medoids.append(int(cost.argmin()))
        nearest = np.minimum(nearest, far[medoids[-1]])
    total = nearest.sum()
    while True:
        best = (total - 1e-9, -1, -1)
        for place in range(count):
            others = medoids[:place] + medoids[place + 1 :]
            rest = far[:, others].min(axis=1) if others else np.full(len(far), np.inf)
            cost = np.minimum(rest, far).sum(axis=1)
            cost[medoids] = np.inf
            best = min(best, (float(cost.min()), place, int(cost.argmin())))
        if best[1] < 0:
            return medoids
        total, medoids[best[1]] = best[0], best[2]


def write(suite: Suite, path: Path) -> None:
    """Files are relative to the suite's folder."""
    folder = os.path.dirname(os.path.abspath(path))
    tree = suite.as_dict()
    for one in tree["traces"]:
        one["file"] = one["file"] and os.path.relpath(one["file"], folder)
    write_text(path, json.dumps(tree, indent=1) + "\n")


def read(path: Path) -> Suite:
    """Raises ConfigError for another file."""
    name = os.fspath(path)
    tree = parse_own_json(read_text(path), name)
    if tree.get("form") != _FORM:
        problem = "expected a suite, as yantra suite select -o writes it"
        raise ConfigError(name, problem)
    folder = os.path.dirname(os.path.abspath(path))
    try:
        chosen = tuple(
            Chosen(one["name"], one["file"] and os.path.join(folder, one["file"]), one["digest"],
                   float(one["weight"]), tuple((str(a), float(b)) for a, b in one["covers"]))
            for one in tree["traces"]
        )  # fmt: skip
        suite = Suite(chosen, tree["of"], tree["copies"], float(tree["scale"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(name, f"not as yantra suite select writes it: {error!r}") from None
    if not chosen or not all(one.weight > 0 for one in chosen):
        raise ConfigError(f"{name}: traces", "expected traces with weights above 0")
    return suite
