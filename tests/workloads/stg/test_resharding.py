"""The rule of communication between two shardings, case by case."""

from __future__ import annotations

import pytest

from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType
from yantra.workloads.importers.stg.expressions import Shape
from yantra.workloads.importers.stg.parse import parse_shape
from yantra.workloads.importers.stg.resharding import collectives

SAME = "a, b", "1"
SPLIT = "a/tp, b", "1"
SPLIT_ELSEWHERE = "a, b/tp", "1"
PARTIAL = "a, b", "c/tp"

GATHER, REDUCE = CollectiveType.ALL_GATHER, CollectiveType.ALL_REDUCE
SCATTER, EXCHANGE = CollectiveType.REDUCE_SCATTER, CollectiveType.ALL_TO_ALL


def sharding(texts: tuple[str, str]) -> tuple[Shape, Shape]:
    return parse_shape(texts[0]), parse_shape(texts[1])


@pytest.mark.parametrize(
    ("have", "need", "expected"),
    [
        (SAME, SAME, None),
        (SAME, SPLIT, None),
        (SPLIT, SAME, GATHER),
        (SPLIT, SPLIT, None),
        (SPLIT, SPLIT_ELSEWHERE, EXCHANGE),
        (PARTIAL, SAME, REDUCE),
        (PARTIAL, SPLIT, SCATTER),
        (PARTIAL, PARTIAL, None),
    ],
)
def test_one_axis(
    have: tuple[str, str], need: tuple[str, str], expected: CollectiveType | None
) -> None:
    steps = collectives(sharding(have), sharding(need), ["tp"])
    assert [step.type for step in steps] == ([] if expected is None else [expected])
    assert all(step.axis == "tp" for step in steps)


@pytest.mark.parametrize("have", [SAME, SPLIT])
def test_partial_sums_cannot_be_made_of_whole_tensors(have: tuple[str, str]) -> None:
    with pytest.raises(ConfigError, match="sheet: expected partial sums over tp"):
        collectives(sharding(have), sharding(PARTIAL), ["tp"], "sheet")


def test_axes_come_one_after_the_other_in_their_order() -> None:
    have, need = ("a, b", "c/(dp*cp*tp)"), ("a/dp, b", "1")
    steps = collectives(sharding(have), sharding(need), ["dp", "tp", "cp"])
    assert [tuple(step) for step in steps] == [("dp", SCATTER), ("tp", REDUCE), ("cp", REDUCE)]


def test_another_axis_on_the_same_size_does_not_make_it_another_dimension() -> None:
    steps = collectives(sharding(("s/(cp*tp)", "1")), sharding(("s/cp", "1")), ["tp", "cp"])
    assert [tuple(step) for step in steps] == [("tp", GATHER)]


def test_an_axis_of_one_rank_is_not_looked_at() -> None:
    assert collectives(sharding(PARTIAL), sharding(SAME), []) == ()
