"""What a step may have beside generation and training: tools, rewards, checkpoints.

Trade-off: a checkpoint of a trainer is written while it waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from yantra.base.errors import ConfigError, expected_got
from yantra.rl.phases.reward import Reward, served

if TYPE_CHECKING:
    from yantra.fabric.clusters.types import Cluster
    from yantra.rl.lengths import Lengths

CONVERTS = ("before", "after")


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
    convert: str = "before"
    """Whether new weights take generation's type before or after they are sent."""

    def check(self, gpus: int) -> None:
        """Raise ConfigError for what cannot be on so many GPUs."""
        for name in ("turns", "reward_workers"):
            if getattr(self, name) < 1:
                raise ConfigError(f"--set {name}", expected_got("at least 1", getattr(self, name)))
        where = "--set reward_gpus"
        if self.reward_model is not None and not self.reward_gpus:
            problem = "a reward model of your own needs GPUs of its own; give --set reward_gpus=8"
            raise ConfigError("--set reward_model", problem)
        if self.reward_gpus and (self.reward_s or self.reward_workers > 1):
            raise ConfigError(where, "samples are rewarded by a model or by workers; leave one out")
        if self.reward_gpus >= gpus:
            raise ConfigError(where, expected_got(f"fewer than the {gpus} GPUs", self.reward_gpus))
        if self.checkpoint_every and not self.storage:
            problem = "clusters do not say how fast their storage is; give --set storage='40 GB/s'"
            raise ConfigError("--set checkpoint_every", problem)
        if self.storage and not self.checkpoint_every:
            problem = "nothing is stored; give --set checkpoint_every=10"
            raise ConfigError("--set storage", problem)
        if self.convert not in CONVERTS:
            problem = expected_got(f"one of {', '.join(CONVERTS)}", self.convert)
            raise ConfigError("--set convert", problem)

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

        reward = Reward(self.reward_s, self.reward_workers)
        if not self.reward_gpus:
            return reward
        judge = find(self.reward_model or model)
        return served(reward, judge, cluster, self.reward_gpus, longest=longest, stack=stack)
