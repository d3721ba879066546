"""What each forward pass of an engine works on: one token of every generating sequence, then
waiting prompts in order, as far as `max_num_batched_tokens` allows.

Source: Agrawal et al., "Sarathi-Serve", OSDI 2024; the scheduler of vLLM v1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from yantra.base.errors import ConfigError
from yantra.workloads.operators.graph import Batch, Sequences


class Request(NamedTuple):
    """A sequence at the start: `past` tokens in the cache, `prompt` tokens to put there."""

    past: int
    prompt: int = 0


class Share(NamedTuple):
    """`emits`: a token is chosen at its end."""

    sequence: int
    new: int
    past: int
    emits: bool
    is_prompt: bool


Iteration = tuple[Share, ...]


def iterations_of(
    requests: Sequence[Request],
    *,
    budget: int | None = None,
    count: int | None = None,
    generates: bool = True,
) -> tuple[Iteration, ...]:
    """`budget` is an iteration's most tokens, None for no bound. `generates`: after its prompt a
    sequence makes one token per iteration. Raises ConfigError where generating sequences leave no
    room for a waiting prompt.
    """
    past = [request.past for request in requests]
    left = [request.prompt for request in requests]
    done: list[Iteration] = []
    while len(done) < count if count is not None else any(left):
        shares = []
        room = budget
        for number in range(len(requests)):
            if not left[number] and (generates or not requests[number].prompt):
                shares.append(Share(number, 1, past[number], emits=True, is_prompt=False))
        if room is not None:
            room = _room(room, len(shares), any(left))
        for number, waiting in enumerate(left):
            new = waiting if room is None else min(waiting, room)
            if new:
                shares.append(Share(number, new, past[number], new == waiting, is_prompt=True))
                room = None if room is None else room - new
        if not shares:
            break
        for share in shares:
            past[share.sequence] += share.new
            left[share.sequence] -= share.new if share.is_prompt else 0
        done.append(tuple(shares))
    return tuple(done)


def _room(budget: int, generating: int, is_waiting: bool) -> int:
    if generating + is_waiting > budget:
        what = f"{generating} sequences that generate a token each"
        waiting = ", and one token of a prompt" if is_waiting else ""
        raise ConfigError(
            "max_num_batched_tokens",
            f"expected at least {generating + is_waiting} for {what}{waiting}; got {budget}",
        )
    return budget - generating


def batch_of(iteration: Iteration, multiple: int = 1) -> Batch:
    groups = Counter((share.new, share.past, share.emits) for share in iteration)
    tokens = sum(share.new for share in iteration)
    return Batch(
        tuple(Sequences(number, *group) for group, number in groups.items()),
        all_logits=False,
        padding=-tokens % multiple,
    )
