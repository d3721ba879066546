"""Job: how groups are generated, rewarded and trained, as a frozen value with its checks.

The loops, the rules of refit and what an instant does in which order are those of
`docs/reference/rollouts.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from yantra import _core
from yantra.base.errors import ConfigError, expected_got
from yantra.base.records import Record
from yantra.rl.checks import check_choice, is_whole
from yantra.rl.laws import A_TICK, Law, Ticks
from yantra.serving.fleet import PS, Linear

if TYPE_CHECKING:
    from yantra.rl.groups import Groups
    from yantra.rl.laws import Curve

Loop = Literal["sync", "k-off", "async", "partial"]

CHOICES: dict[str, tuple[str, ...]] = {
    "loop": ("sync", "k-off", "async", "partial"),
    "placement": ("split", "colocated"),
    "routing": ("shared", "round-robin", "least"),
    "refit_rule": ("drain", "pause", "in-flight"),
    "kv": ("keep", "recompute"),
    "order": ("accepted", "submitted"),
    "refill": ("one", "round"),
}
"""Words that a field of a job may be."""

_COUNTS = ("replicas", "seats", "steps", "groups_per_step", "groups_per_minibatch")
_NEEDED = {
    "k-off": ("k",),
    "async": ("max_concurrent",),
    "partial": ("in_flight_groups",),
}
_NEEDED_BY = {"capacity": ("staleness",), "buffer": ("max_age",)}
_OPTIONAL = (
    "reward_servers", "k", "staleness", "max_concurrent", "max_age", "in_flight_groups",
    "kv_tokens", "iteration_tokens",
)  # fmt: skip
_LEAST = {"staleness": 0, "max_age": 0, "k": 0}


FEEDS = {"sync": "batches", "k-off": "batches", "partial": "in-flight"}
"""The rule by which groups are submitted, of each loop that has its own."""


def feeds() -> tuple[str, ...]:
    """Return the rules by which an asynchronous loop may submit groups.

    Each is a file of `native/post_training/feeds` that registers itself.
    """
    return tuple(name for name, _ in _core.rollout_feeds() if name not in FEEDS.values())


class Job(Record):
    """All times are whole ticks. `check()` says what is wrong with it."""

    groups: Groups
    iteration: Any
    """What an iteration takes: `Ticks`, or a cost of `yantra.serving` (ticks are then ps)."""
    loop: Loop = "sync"
    placement: Literal["split", "colocated"] = "split"
    """Whether replicas and trainer have their own GPUs, or all GPUs do each phase."""
    replicas: int = 1
    """Of the generating engine."""
    seats: int = 1
    """Samples that a replica runs at once."""
    steps: int = 1
    """RL steps to run."""
    groups_per_step: int = 1
    """P: groups that the trainer takes for a step."""
    groups_per_minibatch: int = 1
    """B: groups of an optimizer step; P / B of them an RL step."""
    routing: Literal["shared", "round-robin", "least"] = "shared"
    """Who gets a sample: one queue for all, each in turn, or who has the fewest."""
    logp: Law | Curve = Law()
    """Log-probabilities of the policy, over all samples of the step."""
    ref: Law | Curve = Law()
    """Log-probabilities of the reference, over all samples of the step."""
    train: Law | Curve = Law()
    """An optimizer step, over the samples of its mini-batch."""
    refit: int = 0
    """Ticks from the end of training until the replicas have the new weights."""
    switch: int = 0
    """Ticks from generation to training and back, when colocated; when split, none are taken."""
    reward_servers: int | None = None
    """Samples that are rewarded at once; None: all."""
    reward_overlap: bool = True
    """Whether rewards start while samples are generated."""
    refit_rule: Literal["drain", "pause", "in-flight"] = "drain"
    """What generation does for a refit, when split: it ends all samples, stops, or goes on."""
    kv: Literal["keep", "recompute"] = "keep"
    """What a refit does to the KV of samples in a seat."""
    order: Literal["accepted", "submitted"] | None = None
    """In which groups are trained; None: accepted for async and partial, else submitted."""
    refill: Literal["one", "round"] = "one"
    """What replaces filtered groups (sync): another one each, or P more when all are resolved."""
    k: int | None = None
    """Steps by which generation may be ahead (k-off)."""
    staleness: int | None = None
    """Eta: mini-batches by which a group may be stale (async, feed capacity)."""
    max_concurrent: int | None = None
    """Groups that may be submitted and not resolved (async)."""
    feed: str = "capacity"
    """The rule by which groups are submitted (async), one of `feeds()`."""
    max_age: int | None = None
    """Mini-batches after which a group is thrown away; None: never."""
    in_flight_groups: int | None = None
    """F: groups running or buffered (partial)."""
    kv_tokens: int | None = None
    """Tokens of KV that a replica holds, else it preempts who came last; None: no bound."""
    iteration_tokens: int | None = None
    """Tokens of an iteration, by which prompts are cut; None: no bound."""
    share_prompts: bool = False
    """Whether samples of a group share the prompt's KV, while one of them has a seat there."""

    @property
    def takes(self) -> Literal["accepted", "submitted"]:
        """The order in which groups are trained."""
        return self.order or ("accepted" if self.loop in ("async", "partial") else "submitted")

    def check(self) -> None:
        """Raise ConfigError for the first field that is wrong."""
        for name, choices in CHOICES.items():
            if name != "order" or self.order is not None:
                check_choice(name, getattr(self, name), choices)
        check_choice("feed", self.feed, feeds())
        for name in _COUNTS:
            self._check_count(name, 1)
        for name in _OPTIONAL:
            if getattr(self, name) is not None:
                self._check_count(name, _LEAST.get(name, 1))
        for name in ("refit", "switch"):
            if not is_whole(getattr(self, name)):
                raise ConfigError(name, expected_got("whole ticks from 0", getattr(self, name)))
        for name in ("logp", "ref", "train"):
            getattr(self, name).check(name)
        if not len(self.groups):
            raise ConfigError("groups", "there are none; expected at least one")
        if self.groups_per_step % self.groups_per_minibatch:
            expected = f"a divisor of groups_per_step, {self.groups_per_step}"
            raise ConfigError(
                "groups_per_minibatch", expected_got(expected, self.groups_per_minibatch)
            )
        self._check_limits()
        self._check_loop()

    def _check_limits(self) -> None:
        groups = self.groups
        if self.kv_tokens is not None:
            whole = groups.tokens
            at = int(whole.argmax())
            if whole[at] > self.kv_tokens:
                expected = f"at least the {whole[at]:,} tokens of sample {at}"
                raise ConfigError("kv_tokens", expected_got(expected, self.kv_tokens))
        if self.iteration_tokens is not None and self.iteration_tokens < self.seats:
            expected = f"at least one for each of {self.seats} seats"
            raise ConfigError("iteration_tokens", expected_got(expected, self.iteration_tokens))
        if isinstance(self.iteration, Ticks):
            self.iteration.check("iteration")
        elif isinstance(self.iteration, Linear) and not any(round(x * PS) for x in self.iteration):
            raise ConfigError("iteration", f"takes no time; expected {A_TICK}")

    def _check_count(self, name: str, least: int) -> None:
        if not is_whole(getattr(self, name), least) or getattr(self, name) >= 2**31:
            problem = expected_got(f"a whole number from {least}", getattr(self, name))
            raise ConfigError(name, problem)

    def _check_loop(self) -> None:
        needed: tuple[str, ...] = _NEEDED.get(self.loop, ())
        if self.loop == "async":
            needed += _NEEDED_BY.get(self.feed, ())
        for name in needed:
            if getattr(self, name) is None:
                raise ConfigError(name, f"is not given; the loop '{self.loop}' needs it")
        if self.placement == "colocated" and self.loop in ("k-off", "async"):
            problem = "replicas and trainer share GPUs, so generation cannot go on beside training"
            raise ConfigError("placement", f"{problem} in '{self.loop}'; expected split")
        if self.refill == "round" and self.loop != "sync":
            raise ConfigError("refill", f"rounds are for sync; '{self.loop}' has one by one")
