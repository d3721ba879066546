"""Blocks of plans, and which of their rows represent others.

Most results depend on few columns, so they are computed for distinct rows; this file says which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from yantra.explore.closed_form import layouts
from yantra.explore.closed_form.distinct import distinct_of
from yantra.explore.closed_form.passes import KEY
from yantra.explore.closed_form.space import Columns

WEIGHTS = 3
"""The level of ZeRO that shards weights, too."""
_BLOCK = 1 << 16
_SWITCHES = ("gradient_dtype", "overlap")
_HELD = ("tp", "cp", "ep", "etp", "dp", *layouts.KEY, "sequence_parallel", *_SWITCHES)


class Rows(NamedTuple):
    """Rows that represent others: their places, and each row's representative."""

    first: np.ndarray
    back: np.ndarray

    def of(self, columns: Columns) -> Columns:
        return {name: of[self.first] for name, of in columns.items()}


class Block:
    """Some plans, with representatives of those that are alike in Of those that are alike in what a
    table depends on one is in

    * `keys`: bytes of a model's parts;
    * `keyed`: their times, which depend on the gradients' type too;
    * `shapes`: the layers of devices and what they do;
    * `paths`: the passes, longer if they gather weights.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        sharded = columns["zero"] == WEIGHTS
        switches = [columns[name] for name in _SWITCHES]
        self.keys = _rows([columns[name] for name in KEY])
        self.keyed = _rows([self.keys.back, switches[0]])
        places = [columns[name] for name in (*layouts.KEY, "dp")]
        self.shapes = _rows([self.keys.back, *places])
        self.paths = _rows([self.shapes.back, *switches, sharded])

    def payers(self) -> Rows:
        """Return plans that differ in what gradients and weights cost after the passes.

        Sharded weights cost within the passes, so others represent such plans.
        """
        level = self.columns["zero"]
        switches = (self.columns[name] for name in _SWITCHES)
        first, back = _rows([self.shapes.back, *switches, level > 0])
        others = np.flatnonzero(level != WEIGHTS)
        first[back[others]] = others
        return Rows(first, back)

    @staticmethod
    def owners(columns: Columns) -> Rows:
        return _rows([columns["zero"] > 0, *(columns[name] for name in _HELD)])


def blocks_of(columns: Columns) -> Iterator[Block]:
    for at in range(0, len(columns["tp"]), _BLOCK):
        yield Block({name: of[at : at + _BLOCK] for name, of in columns.items()})


def joined(every: Sequence[Columns]) -> Columns:
    return {name: np.concatenate([one[name] for one in every]) for name in every[0]}


def _rows(columns: list[np.ndarray]) -> Rows:
    return Rows(*distinct_of(columns))
