"""Any value passes for a page's measured numbers; everything else must be as shown."""

from __future__ import annotations

import pytest

from tests.docs.pages import _compared

SHOWN = "total ~12.5 ms in ~3 steps (2 ranks)\n...\nend\n"


@pytest.mark.parametrize(
    ("printed", "same"),
    [
        ("total 12.5 ms in 3 steps (2 ranks)\nend\n", True),
        ("total    1 s in 40 steps (2 ranks)\nany\nlines\nend\n", True),
        ("total 12.5 ms in 3 steps (3 ranks)\nend\n", False),
        ("total 12.5 kg in 3 steps (2 ranks)\nend\n", False),
        ("total x ms in 3 steps (2 ranks)\nend\n", False),
        ("total 12.5 ms in 3 steps (2 ranks)\nany\n", False),
    ],
)
def test_a_measured_number_may_be_any_other(printed: str, same: bool) -> None:
    _, left, right = _compared("page", printed, SHOWN)
    assert (left == right) == same


def test_without_measured_numbers_every_character_counts() -> None:
    _, left, right = _compared("page", "a  b\n", "a b\n")
    assert left != right
