"""Names of collective algorithms: ours with windows, and ASTRA-sim's spelling."""

from __future__ import annotations

import pytest

from yantra.base.errors import ConfigError
from yantra.collectives import find
from yantra.collectives.algorithms import algorithms
from yantra.collectives.algorithms.direct import Direct
from yantra.collectives.algorithms.ring import Ring
from yantra.collectives.names import parse_implementation


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("ring", ("ring", False, None)),
        ("direct", ("direct", False, None)),
        ("direct4", ("direct", False, 4)),
        ("direct16", ("direct", False, 16)),
        ("direct004", ("direct", False, 4)),
        ("halvingDoubling", ("halving_doubling", False, None)),
        ("doubleBinaryTree", ("double_binary_tree", False, None)),
        ("oneRing", ("ring", True, None)),
        ("oneDirect", ("direct", True, None)),
        ("oneDirect12345", ("direct", True, 12345)),
        ("oneHalvingDoubling", ("halving_doubling", True, None)),
    ],
)
def test_astra_sim_names_are_read(text: str, meaning: tuple[str, bool, int | None]) -> None:
    implementation = parse_implementation(text)
    assert implementation == meaning
    assert implementation.algorithm in algorithms.names()


@pytest.mark.parametrize(
    ("text", "guess"),
    [
        ("Ring", "; did you mean 'ring'?"),
        ("ring4", "; did you mean 'ring'?"),
        ("halving_doubling", "; did you mean 'halvingDoubling'?"),
        ("oneDoubleBinaryTree", "; did you mean 'doubleBinaryTree'?"),
        ("direct-1", "; did you mean 'direct'?"),
        ("direct4x", "; did you mean 'direct'?"),
        ("", ""),
        ("7", ""),
    ],
)
def test_other_names_are_refused_with_a_guess(text: str, guess: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_implementation(text, where="all-reduce-implementation[0]")
    assert str(caught.value) == (
        f"all-reduce-implementation[0]: no collective algorithm is named '{text}'; expected one of "
        "ring, direct, halvingDoubling, doubleBinaryTree, oneRing, oneDirect, oneHalvingDoubling, "
        f"or direct or oneDirect with a window, as in direct4{guess}"
    )


@pytest.mark.parametrize("text", ["direct0", "direct123456"])
def test_a_window_that_cannot_be_is_refused(text: str) -> None:
    for read in (parse_implementation, find):
        with pytest.raises(ConfigError) as caught:
            read(text, "x")
        assert str(caught.value) == (
            f"x: '{text}' has an impossible window; expected 1 to 99999 messages, "
            f"got {text[6:]}; write 'direct' for no limit"
        )


def test_find_reads_a_window() -> None:
    assert find("direct").window is None
    direct = find("direct4")
    assert isinstance(direct, Direct)
    assert direct.window == 4
    assert isinstance(find("ring"), Ring)


def test_find_refuses_a_window_where_there_is_none() -> None:
    with pytest.raises(ConfigError) as caught:
        find("ring4", "collectives.all_reduce[0]")
    assert str(caught.value) == (
        "collectives.all_reduce[0]: 'ring' takes no window; expected 'ring', got 'ring4'"
    )


def test_find_says_which_names_there_are() -> None:
    with pytest.raises(ConfigError, match=r"^x: no collective algorithm is named 'rnig'.*'ring'"):
        find("rnig", "x")
