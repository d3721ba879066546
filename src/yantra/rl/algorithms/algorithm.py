"""What an algorithm of post-training asks of a step beside samples of the policy.

Trade-off: an algorithm says seconds of whole phases, not of single samples.
"""

from __future__ import annotations

from typing import NamedTuple


class Alone(NamedTuple):
    """Seconds of the trainer with the samples of a step and one model."""

    scoring: float
    """Of a forward pass over all samples, for their log-probabilities."""
    training: float
    """Of all optimizer steps, which take each sample once."""


class Work(NamedTuple):
    """Seconds of the trainer in a step."""

    policy: float
    """Log-probabilities of the policy, computed again."""
    reference: float
    """Log-probabilities of the reference."""
    critic: float
    """Scores of a critic and of a reward model."""
    training: float
    """Optimizer steps of all models that are trained."""


class Algorithm:
    """One algorithm. What a class says of `policy` and `reference` a user may change."""

    title: str = ""
    """What it is called; the name of its class if empty."""
    source: str = ""
    """The paper, with its section."""
    policy: bool = True
    """Whether log-probabilities of the policy are computed again, by the trainer."""
    reference: bool = True
    """Whether there is a reference, whose log-probabilities are computed."""
    critic: bool = False
    """A model of the policy's size is scored and trained, too."""
    reward_model: bool = False
    """A model of the policy's size scores each sample."""

    def __init__(self, policy: bool | None = None, reference: bool | None = None) -> None:
        """Take what a user says of `policy` and `reference`, if anything."""
        self.title = self.title or type(self).__name__
        self.policy = self.policy if policy is None else policy
        self.reference = self.reference if reference is None else reference

    def work(self, alone: Alone) -> Work:
        """Seconds of the trainer in a step."""
        return Work(
            policy=alone.scoring if self.policy else 0.0,
            reference=alone.scoring if self.reference else 0.0,
            critic=alone.scoring * (self.critic + self.reward_model),
            training=alone.training * (2 if self.critic else 1),
        )

    def thrown(self, filtered: float) -> float:
        """Share of groups that are thrown away, each for another one, where all rewards of a share
        `filtered` of groups are equal.
        """
        return filtered
