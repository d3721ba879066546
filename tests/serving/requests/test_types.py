"""Requests as columns: taking, scaling, joining and repeating keep what they should."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.serving.requests.samples import requests, small, tokens
from yantra.base.errors import ConfigError
from yantra.serving.requests import OWN, Requests, concatenated


def common(them: Requests, one: int, other: int) -> int:
    """How many tokens two prompts begin with together."""
    pairs = zip(tokens(them, one), tokens(them, other), strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(them.prompt[[one, other]]))


@given(requests(longest=30), st.data())
def test_taking_keeps_lengths_and_what_is_shared(them: Requests, data: st.DataObject) -> None:
    kept = sorted(data.draw(st.sets(st.sampled_from(range(len(them))))) if len(them) else [])
    taken = them.take(np.array(kept, np.int64))
    for name in ("arrival_ns", "prompt", "output", "limit", "priority", "user", "session"):
        assert np.array_equal(getattr(taken, name), getattr(them, name)[kept])
    for one in range(len(kept)):
        for other in range(one):
            assert common(taken, one, other) == common(them, kept[one], kept[other])
        before = them.after[kept[one]]
        assert taken.after[one] == (kept.index(before) if before in kept else -1)


@given(requests(longest=30))
def test_taking_twice_never_makes_strangers_share(them: Requests) -> None:
    last = np.arange(1, len(them))
    once, again = them.take(last), them.take(last).take(np.arange(1, len(last)))
    for one in range(len(again)):
        for other in range(one):
            assert common(again, one, other) == common(once, one + 1, other + 1)


@given(requests())
def test_taking_all_is_the_same(them: Requests) -> None:
    assert them.take(np.arange(len(them))) == them
    assert them.take(np.ones(len(them), bool)) == them
    assert them.take(np.arange(len(them))[::-1]) == them


@given(requests(), st.floats(1e-3, 1e3))
def test_scaling_divides_arrivals_and_keeps_the_rest(them: Requests, factor: float) -> None:
    scaled = them.scaled(factor)
    expected = np.rint(them.arrival_ns / factor)
    assert np.array_equal(scaled.arrival_ns, expected.astype(np.int64))
    assert scaled.replaced(arrival_ns=them.arrival_ns) == them
    assert them.scaled(1) == them


@given(requests(most=4, longest=20), requests(most=4, longest=20))
def test_parts_share_nothing_unless_asked(one: Requests, other: Requests) -> None:
    both = concatenated([one, other])
    assert len(both) == len(one) + len(other)
    assert np.array_equal(both.arrival_ns, np.sort(np.append(one.arrival_ns, other.arrival_ns)))
    order = np.argsort(np.append(one.arrival_ns, other.arrival_ns), kind="stable")
    firsts, lasts = np.flatnonzero(order < len(one)), np.flatnonzero(order >= len(one))
    assert both.take(firsts) == one
    for first in firsts.tolist():
        for last in lasts.tolist():
            assert common(both, first, last) == 0
            assert both.session[first] < 0 or both.session[first] != both.session[last]
    assert [common(both, a, b) for a in lasts for b in lasts] == [
        common(other, a, b) for a in range(len(other)) for b in range(len(other))
    ]


@given(requests(most=4))
def test_one_part_alone_is_itself(them: Requests) -> None:
    assert concatenated([them]) == them


def test_halves_that_share_make_the_whole() -> None:
    whole = small(spans=([0, 1, 2, 3], [4, 5, 4], [60, 60, 60]), session=[1, 2, 1])
    halves = [whole.take([0]), whole.take([1, 2])]
    assert concatenated(halves, shares=True) == whole
    assert concatenated(halves).ideal_hits(60) == 0
    assert whole.ideal_hits(60) == 1 / 6


def test_repeating_keeps_the_rate_and_renews_content_unless_it_is_shared() -> None:
    once = small(spans=([0, 1, 2, 3], [4, 5, 4], [100, 100, 100]))
    twice = once.repeated(2)
    assert twice.arrival_ns.tolist() == [at * 10**9 for at in range(6)]
    assert twice.ideal_hits(100) == 2 / 6
    assert once.repeated(2, shares=True).ideal_hits(100) == 4 / 6
    assert once.repeated(3, 7).arrival_ns.max() == 2 * 10**9 + 14
    assert once.repeated(1) == once


def test_what_followed_one_left_out_arrives_by_itself() -> None:
    chained = small(after=[-1, 0, 1], delay_ns=[0, 5, 6])
    taken = chained.take([0, 2])
    assert taken.after.tolist() == [-1, -1]
    assert taken.delay_ns.tolist() == [0, 0]


def test_a_turn_goes_on_from_the_one_before() -> None:
    turns = small(prompt=[10, 25, 40], output=[5, 5, 5], spans=([0, 1, 3, 6], *_spans()))
    assert common(turns, 0, 1) == 10
    assert tokens(turns, 2)[:25] == tokens(turns, 1)
    assert tokens(turns, 1)[:15] == tokens(turns, 0, 15)


def _spans() -> tuple[list[int], list[int]]:
    return [9, 9, OWN, 9, OWN, OWN + 1], [4, 4, 15, 4, 15, 30]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"arrival_ns": [0, 5, 4]}, "requests[2].arrival_ns: expected 5 or later, as the one bef"),
        ({"arrival_ns": [-1, 5, 6]}, "requests[0].arrival_ns: expected a time from 0 on, got -1"),
        ({"prompt": [1, 0, 1]}, "requests[1].prompt: expected from 1 to 1000000000 tokens, got 0"),
        ({"output": 2 * 10**9}, "requests[0].output: expected from 1 to 1000000000 tokens, got 2"),
        ({"limit": 9}, "requests[0].limit: expected the output or more, got 9"),
        ({"session": -2}, "requests[0].session: expected -1 or a number, got -2"),
        ({"after": [-1, 1, 0]}, "requests[1].after: expected -1 or an earlier request, got 1"),
        ({"delay_ns": [0, 0, -1]}, "requests[2].delay_ns: expected a time from 0 on, got -1"),
        ({"delay_ns": [0, 1.5, 0]}, "requests: expected whole numbers below 2^63 in every column"),
        ({"prompt": [1, 2**64, 3]}, "requests: expected whole numbers below 2^63 in every col"),
        ({"prompt": [1, 2]}, "requests.prompt: expected 3 numbers, got shape (2,)"),
        (
            {"spans": ([0, 1, 1, 1], [3], [101])},
            "requests[0].span_end: expected a position within the prompt, got 101",
        ),
        (
            {"spans": ([0, 2, 2, 2], [3, 4], [9, 9])},
            "requests[0].span_end: expected a position behind the last span's end, got 9",
        ),
        (
            {"spans": ([0, 0, 1, 1], [OWN + 1], [9])},
            "requests[1].span_source: expected a number from 0 to 2^62, or 2^62 + an earlier req",
        ),
        (
            {"output": [10, 1, 1], "prompt": [10, 99, 9], "spans": ([0, 0, 1, 1], [OWN], [21])},
            "requests[1].span_end: expected no more than the tokens of the request named, got 21",
        ),
        ({"spans": ([0, 2, 1, 1], [3], [9])}, "requests.span_start: expected numbers that rise"),
    ],
)
def test_a_column_that_contradicts_another_is_refused(columns: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        small(**columns)
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda them: them.take([0, 3]), "requests.take: expected indices from 0 to 2, got 0 to 3"),
        (lambda them: them.take([1, 1]), "requests.take: expected each index once, got 1 twice"),
        (lambda them: them.scaled(0), "requests.scaled: must be above 0; got 0"),
        (lambda them: them.scaled(1e-12), "requests.scaled: arrivals end beyond 2^63 ns at 1e-12"),
        (lambda them: them.repeated(0), "requests.repeated: expected at least 1 time, got 0"),
        (lambda _: concatenated([]), "requests.concatenated: expected at least one part, got none"),
        (lambda them: them.take([]).statistics(), "requests.statistics: expected at least one re"),
        (lambda them: them.ideal_hits(0), "requests.ideal_hits: expected blocks of 1 token or mor"),
    ],
)
def test_what_cannot_be_done_is_said(wrong: Any, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        wrong(small())
    assert str(refused.value).startswith(said)


def test_columns_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        small().prompt[0] = 3
