"""Every law of `tests/laws` on every network (exceptions: tests/laws/known.py)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.campaign import Block, held, pairs
from tests.laws.known import KNOWN, Known

EXTERNAL = 4
"""Pairs on the external network, which starts a process for each run."""
PAIRS = 20
EXPECTED = [pair for pair in pairs() if pair not in {(one.law, one.network) for one in KNOWN}]


def _named(pair: tuple[str, str]) -> str:
    return "-".join(pair)


@pytest.mark.parametrize("pair", [p for p in EXPECTED if p[1] != "external"], ids=_named)
@settings(max_examples=PAIRS)
@given(st.integers(0, 2**40))
def test_it_holds(pair: tuple[str, str], seed: int) -> None:
    _hold(pair, seed)


@pytest.mark.parametrize("pair", [p for p in EXPECTED if p[1] == "external"], ids=_named)
@settings(max_examples=EXTERNAL)
@given(st.integers(0, 2**40))
def test_it_holds_on_a_program_outside(pair: tuple[str, str], seed: int) -> None:
    _hold(pair, seed)


def _hold(pair: tuple[str, str], seed: int) -> None:
    found = held(Block(*pair, first=seed, count=1))
    command = f"python -m tests.laws --case {pair[0]} {pair[1]} {seed}"
    assert not found.wrong, f"{found.wrong[0][1]}; see {command}"


@pytest.mark.parametrize("one", KNOWN, ids=lambda one: f"{one.law}-{one.network}")
def test_what_is_known_not_to_hold_does_not(one: Known) -> None:
    found = held(Block(one.law, one.network, first=one.seed, count=1))
    assert found.wrong, f"{one.law} holds on {one.network} in case {one.seed}: delete its line"
