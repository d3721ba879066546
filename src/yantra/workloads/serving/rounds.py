"""The iterations of all replicas and lanes, in tokens: numbers, and text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from yantra.workloads.serving.engine import Engine
from yantra.workloads.serving.iterations import Share


class Round(NamedTuple):
    prompt_tokens: int
    generating: int
    emitted: int


def rounds_of(engine: Engine) -> list[Round]:
    shares: dict[int, list[Share]] = {}
    for play in engine.plays:
        shares.setdefault(play.number // engine.lanes, []).extend(play.iteration)
    replicas = engine.stages.plan.dp
    return [
        Round(
            replicas * sum(share.new for share in together if share.is_prompt),
            replicas * sum(not share.is_prompt for share in together),
            replicas * sum(share.emits for share in together),
        )
        for together in shares.values()
    ]


def totals_of(rounds: Sequence[Round]) -> dict[str, int]:
    return {
        "iterations": len(rounds),
        "tokens": sum(one.prompt_tokens + one.generating for one in rounds),
        "emitted_tokens": sum(one.emitted for one in rounds),
    }


def draw(rounds: Sequence[Round], name: str = "") -> str:
    lines = []
    at = 0
    for what, alike in groupby(rounds):
        last = at + len(list(alike)) - 1
        numbers = f"iteration {at}" if last == at else f"iterations {at} to {last}"
        lines.append(
            f"{name} {numbers}: {what.prompt_tokens} tokens of prompts, {what.generating} of "
            f"sequences that generate, {what.emitted} chosen\n".lstrip()
        )
        at = last + 1
    return "".join(lines)
