"""What a user asks of a step of post-training; `made` checks and completes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import ConfigError, expected_got, hint
from yantra.rl.algorithms import Algorithm, algorithms, thrown_by
from yantra.rl.beside import Beside
from yantra.rl.frameworks import Framework
from yantra.rl.frameworks import load as load_framework
from yantra.rl.lengths import Lengths, lengths_of
from yantra.rl.modes import Mode, mode_of, modes
from yantra.rl.phases.passes import FIELDS
from yantra.rl.phases.reward import Reward

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yantra.fabric.clusters.types import Cluster
    from yantra.rl.phases.rounds import Rounds

_REFITS = ("whole", "direct")
_MOST_GPUS = 1 << 17
_ROUNDS = ("oversampling", "most_rounds")


class Question(NamedTuple):
    """A step: `prompts` x `generations` samples of a model on `gpus` of a cluster."""

    model: Any
    cluster: Cluster
    gpus: int
    prompts: int
    generations: int
    lengths: Lengths
    prompt_tokens: int
    mode: str
    """A name, or the path of a file."""
    generating: int
    """GPUs that generate; all of them when colocated."""
    generate: Mapping[str, Any]
    """Fields of an inference plan, and options of the engine."""
    train: Mapping[str, Any]
    """Fields of a training plan."""
    train_batch: int
    """Samples of an optimizer step."""
    micro_tokens: int
    """The most tokens of a packed micro-batch of training."""
    score_tokens: int
    """The same of log-probabilities."""
    algorithm: Algorithm
    framework: Framework
    stack: str
    reward: Reward
    filtered: float
    """Share of groups that are thrown away as all their rewards are equal."""
    seed: int
    staleness: int
    """What the mode counts, that generation may be ahead."""
    at_once: int
    """Groups that run, or run and wait (partial), at once; 0: as many as the mode says."""
    refit_rule: str
    """What generation does for a refit: `drain`, `pause`, `in-flight`."""
    refit: str
    """`whole`: all devices receive the whole model; `direct`: each what it wants."""
    kv: str
    """What a refit does to the KV of what runs: `keep`, `recompute`."""
    beside: Beside

    @property
    def samples(self) -> int:
        """That a step trains."""
        return self.prompts * self.generations

    @property
    def is_colocated(self) -> bool:
        """Whether the same GPUs generate and train."""
        return mode_of(self.mode).colocated

    @property
    def waits(self) -> bool:
        """Whether nothing is generated while there is training."""
        return mode_of(self.mode).waits

    @property
    def training(self) -> int:
        """GPUs that train."""
        return self.shared if self.is_colocated else self.shared - self.generating

    @property
    def shared(self) -> int:
        """GPUs but those of a reward model alone."""
        return self.gpus - self.reward.gpus

    @property
    def rounds(self) -> Rounds:
        """How synchronous steps replace groups that are thrown away."""
        return self.beside.rounds

    @property
    def longest(self) -> int:
        """Tokens of the longest sample, with its prompt."""
        return self.prompt_tokens + self.lengths.cap

    def in_mode(self, mode: str, staleness: int | None, **others: Any) -> Question:
        """The same in a mode, with what this changes, and other fields. Raises ConfigError."""
        rule = mode_of(mode)
        reward = self.reward._replace(overlaps=self.framework.overlaps or not rule.waits)
        ahead = _ahead(mode, rule, staleness)
        return self._replace(mode=mode, staleness=ahead, reward=reward, **others)


def made(
    model: str,
    cluster: str,
    *,
    gpus: int,
    prompts: int,
    generations: int,
    lengths: str,
    prompt_tokens: int = 1,
    mode: str = "sync",
    generate: Mapping[str, Any] | None = None,
    train: Mapping[str, Any] | None = None,
    train_batch: int | None = None,
    micro_tokens: int | None = None,
    score_tokens: int | None = None,
    algorithm: str = "grpo",
    framework: str = "nemo-rl",
    stack: str | None = None,
    reference: bool | None = None,
    policy: bool | None = None,
    filtered: float = 0.0,
    seed: int = 1,
    staleness: int | None = None,
    at_once: int = 0,
    refit_rule: str = "pause",
    refit: str | None = None,
    kv: str = "keep",
    **others: Any,
) -> Question:
    """Return a checked question; others are those of `Beside`.

    What is left out: half of the GPUs generate when split, an optimizer step takes all samples, a
    micro-batch as many tokens as the longest sample, log-probabilities too. Raises ConfigError.
    """
    from yantra.fabric.clusters import load as load_cluster
    from yantra.workloads.models.catalogue import find

    _check(gpus, prompts, generations, filtered)
    rule, chosen = mode_of(mode), load_framework(framework)
    known = algorithms.get(algorithm, "--set algorithm")(policy, reference)
    speeds, batch = stack or chosen.stack, _batch(train_batch, prompts, generations)
    generated, trained = dict(generate or {}), dict(train or {})
    beside, machines = Beside(**others), load_cluster(cluster)
    beside.check(gpus, mode, waits=rule.waits)
    shared = gpus - beside.reward_gpus
    half = generated.pop("gpus", None)
    generating = shared if rule.colocated else _generating(half, shared)
    _check_train(trained)
    asked = beside.lengths(lengths_of(lengths))
    longest = prompt_tokens + asked.cap
    micro = micro_tokens or longest
    reward = beside.reward(model, machines, longest, speeds)
    known.reward_model &= not reward.gpus
    return Question(
        find(model), machines, gpus, prompts, generations, asked, prompt_tokens, mode,
        generating, generated, trained, batch, micro, score_tokens or micro, known, chosen,
        speeds, reward, thrown_by(known, filtered), seed, 0, at_once,
        refit_rule, _refit(refit or chosen.refit), kv, beside,
    ).in_mode(mode, staleness)  # fmt: skip


def _batch(given: int | None, prompts: int, generations: int) -> int:
    samples = prompts * generations
    batch = samples if given is None else given
    if samples % batch or batch % generations:
        expected = f"whole groups of {generations} that divide the {samples:,} samples of a step"
        raise ConfigError("train_batch", expected_got(expected, batch))
    return batch


def _check(gpus: int, prompts: int, generations: int, filtered: float) -> None:
    for name, value in (("--gpus", gpus), ("--prompts", prompts), ("--generations", generations)):
        if not 1 <= value <= _MOST_GPUS:
            raise ConfigError(name, expected_got(f"a whole number of 1 to {_MOST_GPUS}", value))
    if not 0 <= filtered < 1:
        raise ConfigError("filtered", expected_got("a share from 0 to less than 1", filtered))


def modes_of(asked: Mapping[str, Any]) -> list[Question]:
    """Return a question in every mode that its GPUs allow, and in the one that it names; two steps
    or mini-batches ahead if it does not say how many.
    """
    given = dict(asked)
    ahead = given.pop("staleness", None)
    names = dict.fromkeys((*modes.names(), given.pop("mode", "sync")))
    return [
        made(
            **{name: value for name, value in given.items() if rule.waits or name not in _ROUNDS},
            mode=one,
            staleness=(ahead or 2) if rule.counts else None,
        )
        for one, rule in ((one, mode_of(one)) for one in names)
        if rule.colocated or given["gpus"] > 1
    ]


def _refit(given: str) -> str:
    if given not in _REFITS:
        raise ConfigError("refit", expected_got(f"one of {', '.join(_REFITS)}", given))
    return given


def _ahead(mode: str, rule: Mode, staleness: int | None) -> int:
    if rule.counts:
        if staleness is None:
            raise ConfigError("--staleness", f"is not given; the mode {mode} needs it")
        return staleness
    if staleness is not None:
        problem = f"{mode} says itself how stale samples are; leave it out, or take async"
        raise ConfigError("--staleness", problem)
    return rule.ahead


def _generating(given: Any, gpus: int) -> int:
    count = gpus // 2 if given is None else given
    if not isinstance(count, int) or not 1 <= count < gpus:
        expected = f"1 to {gpus - 1} of the {gpus} GPUs"
        raise ConfigError("--generate: gpus", expected_got(expected, count))
    return count


def _check_train(given: Mapping[str, Any]) -> None:
    for name in given:
        if name not in FIELDS:
            problem = f"{name}: no field of a trainer's plan; expected {', '.join(FIELDS)}"
            raise ConfigError("--train", problem + hint(name, FIELDS))
