"""The batches in flight in a pipeline: lanes.

A sequence stays in its lane; lanes take turns to fill the stages, as in vLLM.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from yantra.workloads.serving.iterations import Iteration, Request, Share, iterations_of


class Play(NamedTuple):
    number: int
    lane: int
    iteration: Iteration
    needs: int
    makes: int


def lane_of(sequence: int, sequences: int, lanes: int) -> int:
    each, more = divmod(sequences, lanes)
    if sequence < more * (each + 1):
        return sequence // (each + 1)
    return more + (sequence - more * (each + 1)) // each


def plays_of(
    requests: Sequence[Request],
    lanes: int,
    *,
    budget: int | None = None,
    count: int | None = None,
    generates: bool = True,
) -> tuple[Play, ...]:
    members = _members(requests, lanes)

    def rounds_of(mine: Sequence[int], count: int | None) -> tuple[Iteration, ...]:
        chosen = [requests[number] for number in mine]
        return iterations_of(chosen, budget=budget, count=count, generates=generates)

    if count is None and generates:
        count = max(len(rounds_of(mine, None)) for mine in members)
    return _plays(
        [[_renumbered(iteration, mine) for iteration in rounds_of(mine, count)] for mine in members]
    )


def steady_plays(plays: Sequence[Play], lanes: int) -> tuple[int, tuple[Play, ...]]:
    """Another number of iterations of a replica, and its passes."""
    rounds = [[play.iteration for play in plays if play.lane == lane] for lane in range(lanes)]
    has_prompts = any(share.is_prompt for play in plays for share in play.iteration)
    count = max(map(len, rounds))
    if has_prompts:
        return 2 * count, _plays([mine * 2 for mine in rounds])
    if count == 1:
        return 2, _plays([[mine[0], _next(mine[0])] for mine in rounds])
    return 1, _plays([mine[:1] for mine in rounds])


def _next(iteration: Iteration) -> Iteration:
    return tuple(share._replace(past=share.past + share.new) for share in iteration)


def _plays(rounds: Sequence[Sequence[Iteration]]) -> tuple[Play, ...]:
    lanes = len(rounds)
    return tuple(
        Play(
            turn * lanes + lane,
            lane,
            mine[turn],
            _passed(mine, turn - 1),
            _passed(mine, turn),
        )
        for turn in range(max(map(len, rounds)))
        for lane, mine in enumerate(rounds)
        if turn < len(mine)
    )


def _members(requests: Sequence[Request], lanes: int) -> list[list[int]]:
    members: list[list[int]] = [[] for _ in range(lanes)]
    for has_prompt in (False, True):
        alike = [at for at, request in enumerate(requests) if bool(request.prompt) == has_prompt]
        for at, number in enumerate(alike):
            members[lane_of(at, len(alike), lanes)].append(number)
    return members


def _renumbered(iteration: Iteration, members: Sequence[int]) -> tuple[Share, ...]:
    return tuple(share._replace(sequence=members[share.sequence]) for share in iteration)


def _passed(iterations: Sequence[Iteration], turn: int) -> int:
    if turn < 0 or turn + 1 >= len(iterations):
        return 0
    emitted = {share.sequence for share in iterations[turn] if share.emits}
    return sum(share.sequence in emitted for share in iterations[turn + 1])
