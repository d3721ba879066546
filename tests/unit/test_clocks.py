"""Ranks that leave collectives together tell how their clocks differ, up to a minute."""

from __future__ import annotations

import random

import pytest

from yantra.tracing.clocks import End, on_one_clock

MINUTE_NS = 60 * 10**9


def _ends(
    draw: random.Random, ranks: int, offsets: list[float], drifts: list[float], noise_ns: float
) -> tuple[list[list[End]], list[int]]:
    """A hundred collectives of all ranks and of pairs, as the ranks' clocks saw them end."""
    found: list[list[End]] = [[] for _ in range(ranks)]
    true, now = [], 0.0
    for at in range(100):
        now += draw.uniform(1e5, 1e6)
        pair = draw.randrange(ranks // 2)
        members = range(ranks) if at % 3 == 0 else (2 * pair, 2 * pair + 1)
        group = "0" if at % 3 == 0 else f"{1 + pair}"
        for rank in members:
            end = now + draw.uniform(0, noise_ns)
            clock = end + offsets[rank] + drifts[rank] * end
            found[rank].append(End(group, ("ALL_REDUCE", 64), round(clock)))
        true.append(round(now))
    return found, true


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("drift", [0.0, 1e-4])
def test_corrected_ends_of_a_collective_are_as_close_as_the_true_ones(
    seed: int, drift: float
) -> None:
    draw = random.Random(seed)
    offsets = [draw.uniform(-MINUTE_NS, MINUTE_NS) for _ in range(8)]
    drifts = [draw.uniform(-drift, drift) for _ in range(8)]
    ends, _ = _ends(draw, 8, offsets, drifts, noise_ns=4000)
    clocks = on_one_clock(ends)
    assert clocks.how == "estimated" and clocks.spread_ns < 8000
    of_all = [
        [clocks.true_ns(rank, end.end_ns) for end in some if end.group == "0"]
        for rank, some in enumerate(ends)
    ]
    apart = [max(together) - min(together) for together in zip(*of_all, strict=True)]
    assert sorted(apart)[len(apart) // 2] < 6000 and max(apart) < 15_000


def test_clocks_that_agree_are_taken_as_they_are() -> None:
    ends, _ = _ends(random.Random(1), 8, [0.0] * 8, [0.0] * 8, noise_ns=4000)
    clocks = on_one_clock(ends)
    assert clocks.how == "agree" and clocks.true_ns(3, clocks.at_ns + 17) == 17


def test_offsets_pass_from_group_to_group() -> None:
    """Ranks 0 and 3 share no collective; 1 and 2 join them."""
    offsets = [0, 10**9, -(10**9), 5 * 10**9]
    ends: list[list[End]] = [[] for _ in range(4)]
    for at in range(20):
        pair = at % 3
        for rank in (pair, pair + 1):
            ends[rank].append(End(str(pair), ("ALL_GATHER", 8), 10**6 * at + offsets[rank]))
    assert on_one_clock(ends).offset_ns == pytest.approx(offsets)


def test_without_shared_collectives_skew_is_unknown() -> None:
    one_sided = [[End("0", ("BROADCAST", 8), 5)], [End("0", ("BROADCAST", 8), 10**9)]]
    apart = [[End("1", ("ALL_REDUCE", 8), 5)], [End("2", ("ALL_REDUCE", 8), 10**9)]]
    for ends in (one_sided, apart, [[], []]):
        assert on_one_clock(ends).how == "unknown"
