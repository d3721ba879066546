"""What a step may have beside generation and training: tools, rewards, rounds, checkpoints.

Trade-off: an asynchronous checkpoint costs its copy to the host, and must be written before the
next begins; a validation has the lengths of training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from yantra.base.errors import ConfigError, expected_got
from yantra.rl.phases.reward import Reward, served
from yantra.rl.phases.rounds import Rounds

if TYPE_CHECKING:
    from yantra.fabric.clusters.types import Cluster
    from yantra.rl.lengths import Lengths

CONVERTS = ("before", "after")
WRITES = ("wait", "async")
_VALIDATION = ("validate_every", "validate_samples")


class Beside(NamedTuple):
    """As `--set` has them; seconds, bytes a second."""

    turns: int = 1
    tool_delay_s: float = 0.0
    tool_tokens: int = 0
    reward_s: float = 0.0
    reward_workers: int = 1
    reward_gpus: int = 0
    reward_model: str | None = None
    checkpoint_every: int = 0
    """Steps; 0: never."""
    storage: float = 0.0
    """Rate of the whole cluster."""
    checkpoint: str = "wait"
    """Whether trainers wait until a checkpoint is written, or until it is on the host."""
    validate_every: int = 0
    """Steps; 0: never."""
    validate_samples: int = 0
    """Of a validation."""
    validate_batch: int = 0
    """Samples that it generates at once; 0: all."""
    reward_batch: int = 1
    """Samples that a server of a reward model scores at once."""
    oversampling: float = 1.0
    most_rounds: int = 0
    packing: bool = True
    """Whether samples share micro-batches; else each counts as the longest."""
    async_engine: bool = False
    """Whether the engine has a process of its own in synchronous steps, too."""

    @property
    def rounds(self) -> Rounds:
        """Of sampling."""
        return Rounds(self.oversampling, self.most_rounds)

    convert: str = "before"
    """Whether new weights take generation's type before or after they are sent."""

    def check(self, gpus: int, mode: str, *, waits: bool) -> None:
        """Raise ConfigError for what cannot be on so many GPUs, and in a mode."""
        self.rounds.check(waits, mode)
        for name in ("turns", "reward_workers", "reward_batch"):
            if getattr(self, name) < 1:
                raise ConfigError(f"--set {name}", expected_got("at least 1", getattr(self, name)))
        where = "--set reward_gpus"
        if self.reward_model is not None and not self.reward_gpus:
            problem = "a reward model of your own needs GPUs of its own; give --set reward_gpus=8"
            raise ConfigError("--set reward_model", problem)
        if self.reward_batch > 1 and not self.reward_gpus:
            problem = "servers of a reward model score batches; give --set reward_gpus=8"
            raise ConfigError("--set reward_batch", problem)
        if self.reward_gpus >= gpus:
            raise ConfigError(where, expected_got(f"fewer than the {gpus} GPUs", self.reward_gpus))
        if self.checkpoint_every and not self.storage:
            problem = "clusters do not say how fast their storage is; give --set storage='40 GB/s'"
            raise ConfigError("--set checkpoint_every", problem)
        if self.storage and not self.checkpoint_every:
            problem = "nothing is stored; give --set checkpoint_every=10"
            raise ConfigError("--set storage", problem)
        for name, words in (("convert", CONVERTS), ("checkpoint", WRITES)):
            if getattr(self, name) not in words:
                problem = expected_got(f"one of {', '.join(words)}", getattr(self, name))
                raise ConfigError(f"--set {name}", problem)
        if self.checkpoint != "wait" and not self.checkpoint_every:
            raise ConfigError("--set checkpoint", "nothing is stored; give checkpoint_every")
        self._check_validation()

    def _check_validation(self) -> None:
        given = [name for name in _VALIDATION if getattr(self, name)]
        if len(given) == 1 or (self.validate_batch and not given):
            lacking = next(name for name in _VALIDATION if name not in given)
            raise ConfigError(f"--set {lacking}", "is not given; a validation needs it")
        if self.validate_batch > self.validate_samples:
            expected = f"at most the {self.validate_samples} samples of a validation"
            raise ConfigError("--set validate_batch", expected_got(expected, self.validate_batch))

    def lengths(self, of: Lengths) -> Lengths:
        """Those of samples, in turns. Raises ConfigError."""
        if self.turns > 1:
            return of.in_turns(self.turns, self.tool_delay_s, self.tool_tokens)
        if self.tool_delay_s or self.tool_tokens:
            problem = "tools work between turns, and there is one; give --set turns=4"
            raise ConfigError("--set tool_delay", problem)
        return of

    def reward(self, model: str, cluster: Cluster, longest: int, stack: str) -> Reward:
        """Who rewards samples; `model`, if nothing else is said. Raises ConfigError."""
        from yantra.workloads.models.catalogue import find

        workers = Reward(self.reward_s, self.reward_workers)
        if not self.reward_gpus:
            return workers
        judge = find(self.reward_model or model)
        return served(
            Reward(workers=0, beside=workers if self.reward_s else None), judge, cluster,
            self.reward_gpus, longest=longest, batch=self.reward_batch, stack=stack,
        )  # fmt: skip
