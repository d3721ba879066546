"""What the user asks for: a phase and its numbers -> the requests of a replica.

| phase | a replica's part of `batch` is | |---|---| | prefill | prompts of `prompt` tokens,
`context` of each in the cache before | | decode | sequences of `context` tokens that generate one
token per iteration | | mixed | the same, and beside them `prompts` prompts in chunks | |
disaggregated | prompts for one grid, whose sequences generate on the other |
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from yantra.base.errors import ConfigError, expected_got
from yantra.base.records import Record
from yantra.workloads.serving.iterations import Request

Phase = Literal["prefill", "decode", "mixed", "disaggregated"]
PHASES: tuple[Phase, ...] = get_args(Phase)
MOST_ITERATIONS = 100_000


class Job(Record):
    """`batch` and `prompts` count sequences over all replicas; lengths are in tokens.

    `max_num_batched_tokens` bounds an iteration of one replica; `iterations` None: until the
    prompts are done, or one. Raises ConfigError.
    """

    phase: Phase
    batch: int
    prompt: int
    context: int
    prompts: int
    iterations: int | None = None
    max_num_batched_tokens: int | None = None

    def __post_init__(self) -> None:
        if self.phase not in PHASES:
            raise ConfigError("phase", expected_got(f"one of {', '.join(PHASES)}", self.phase))
        _at_least(1, "batch", self.batch)
        _at_least(1, "prompt", self.prompt)
        _at_least(1 if self.phase in ("decode", "mixed") else 0, "context", self.context)
        _at_least(1 if self.phase == "mixed" else 0, "prompts", self.prompts)
        for name in ("iterations", "max_num_batched_tokens"):
            if getattr(self, name) is not None:
                _at_least(1, name, getattr(self, name))
        if (self.iterations or 0) > MOST_ITERATIONS:
            raise ConfigError("iterations", f"expected at most {MOST_ITERATIONS}")
        if self.phase == "disaggregated" and self.context:
            raise ConfigError("context", "disaggregated: prompts start with an empty cache")

    @property
    def length(self) -> int:
        prompts = self.prompt if self.phase in ("prefill", "disaggregated") else 0
        return self.context + prompts

    def requests(self, replicas: int, where: str = "") -> list[Request]:
        each = _share(self.batch, replicas, f"{where}batch")
        if self.phase in ("prefill", "disaggregated"):
            return [Request(self.context, self.prompt)] * each
        waiting = _share(self.prompts, replicas, "prompts") if self.phase == "mixed" else 0
        return [Request(self.context)] * each + [Request(0, self.prompt)] * waiting


def _share(number: int, replicas: int, name: str) -> int:
    each, rest = divmod(number, replicas)
    if rest:
        near = max(round(number / replicas), 1) * replicas
        problem = f"{number} sequences on dp = {replicas} replicas are no equal shares"
        raise ConfigError(name, f"{problem}; nearest: {near}")
    return each


def _at_least(least: int, name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= 2**40:
        raise ConfigError(name, expected_got(f"a whole number of at least {least}", value))
