"""Samples that are written down are those that numpy draws; different values are numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from yantra.base.distinct import distinct, middle, places, quantile
from yantra.run.draws import COLUMNS, SAMPLES, normals
from yantra.run.interval import _CLASSES, _normals


def test_the_samples_are_those_of_numpy_to_the_bit() -> None:
    assert len(_CLASSES) + 1 == COLUMNS
    assert (normals() == _normals(SAMPLES, COLUMNS)).all()


def test_every_column_has_each_share_once() -> None:
    drawn = np.sort(normals(), axis=0)
    assert (drawn == drawn[:, :1]).all() and (np.diff(drawn[:, 0]) > 0).all()
    assert (drawn == -drawn[::-1]).all()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", [np.int64, np.float64, "U8"])
def test_different_values_are_those_of_numpy(seed: int, kind: type) -> None:
    rng = np.random.default_rng(seed)
    for length in (0, 1, 2, 40):
        column = rng.integers(0, 1 + length // 3, length).astype(kind)
        values, first, which = np.unique(column, return_index=True, return_inverse=True)
        assert (distinct(column) == values).all()
        found = places(column)
        assert (found[0] == first).all() and (found[1] == which).all()


@pytest.mark.parametrize("length", [1, 2, 5, 40])
def test_the_middle_is_the_median_of_numpy_to_the_bit(length: int) -> None:
    column = np.random.default_rng(length).normal(size=length)
    assert middle(column) == np.median(column)


@pytest.mark.parametrize("length", [1, 2, 5, 64])
def test_a_quantile_is_that_of_numpy_to_the_bit(length: int) -> None:
    column = np.random.default_rng(length).normal(size=length)
    for share in (0.0, 0.05, 0.3, 0.5, 0.77, 0.95, 1.0):
        assert quantile(column, share) == np.quantile(column, share)
