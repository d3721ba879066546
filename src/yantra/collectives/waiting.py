"""An order in which waiting events can happen, or a cycle (Kahn, CACM 1962)."""

from __future__ import annotations

from collections.abc import Sequence


def ordered(before: Sequence[Sequence[int]]) -> tuple[list[int], set[int]]:
    left = [len(earlier) for earlier in before]
    after: list[list[int]] = [[] for _ in before]
    for event, awaited in enumerate(before):
        for earlier in awaited:
            after[earlier].append(event)
    sequence = [event for event, count in enumerate(left) if count == 0]
    for event in sequence:  # grows while it is walked
        for later in after[event]:
            left[later] -= 1
            if left[later] == 0:
                sequence.append(later)
    return sequence, {event for event, count in enumerate(left) if count}


def cycle_in(before: Sequence[Sequence[int]], stuck: set[int]) -> list[int]:
    at = min(stuck)
    walked: dict[int, int] = {}
    while at not in walked:
        walked[at] = len(walked)
        at = next(earlier for earlier in before[at] if earlier in stuck)
    return list(walked)[walked[at] :]
