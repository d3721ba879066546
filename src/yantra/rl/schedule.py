"""Schedule: what a job did, in columns of whole ticks.

Trade-off: rows are samples and groups that were submitted; -1 is what had not come by the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from yantra.rl.job import Job

FATES = ("running", "buffered", "trained", "filtered", "stale", "surplus")
"""What a group came to: `stale` by the age rule, `surplus` over what a step takes."""
REPLICA_CAUSES = (
    "generation", "switch", "logp", "ref", "train", "refit", "tail", "tool", "reward", "trainer",
)  # fmt: skip
"""What a replica spends its ticks in, or waits for; they add up to the end. `tool`: of samples."""
TRAINER_CAUSES = (
    "wait-generation", "wait-reward", "wait-stop", "logp", "ref", "train", "refit",
)  # fmt: skip
"""The same of a trainer with its own GPUs."""


@dataclass(frozen=True)
class Schedule:
    """Columns by step, sample, group, mini-batch and replica."""

    job: Job
    status: Literal["ok", "starved"]
    """`starved`: nothing runs, the trainer waits, and no group may start."""
    end: int
    """The last step's, or when nothing could go on."""
    taken: np.ndarray
    """By step: when its batch was taken."""
    ended: np.ndarray
    """By step: its end. A step's time is the difference of two."""
    group: np.ndarray
    """By sample: its group."""
    number: np.ndarray
    """By sample: its number in the group."""
    submitted: np.ndarray
    """By sample, like `begun`, `finished` and `rewarded`."""
    begun: np.ndarray
    finished: np.ndarray
    rewarded: np.ndarray
    piece_begin: np.ndarray
    """By sample, and one more: its first piece, the tokens made with one version of the weights."""
    piece_version: np.ndarray
    piece_tokens: np.ndarray
    fate: np.ndarray
    """By group: a place in `FATES`."""
    resolved: np.ndarray
    """By group: its last reward."""
    left: np.ndarray
    """By group: the start of its mini-batch, or when it was thrown away."""
    step: np.ndarray
    """By group: the step that trained it."""
    minibatch_step: np.ndarray
    """By mini-batch, like `minibatch_start` and `minibatch_end`."""
    minibatch_start: np.ndarray
    minibatch_end: np.ndarray
    minibatch_version: np.ndarray
    """By mini-batch: those trained before it."""
    minibatch_group_begin: np.ndarray
    """By mini-batch, and one more: its first place in `minibatch_groups`."""
    minibatch_groups: np.ndarray
    stale_begin: np.ndarray
    """By mini-batch, and one more: its first place in `stale`."""
    stale: np.ndarray
    """By sample trained, in the order of mini-batches: mini-batches that it is stale."""
    replica_ticks: np.ndarray
    """By replica and `REPLICA_CAUSES`."""
    trainer_ticks: np.ndarray
    """By `TRAINER_CAUSES`; all 0 when colocated."""
    tokens: int
    """Made by the end."""
    recomputed: int
    """Tokens whose KV was made anew."""
    operations: np.ndarray
    """By replica: of its iterations, where the cost knows them."""
    heavy_ns: np.ndarray
    """By replica: in kernels that read weights or keys, where the cost knows them."""
    preempted: np.ndarray
    """By replica: samples that lost their seat, as KV was short."""

    @property
    def begun_not_left(self) -> int:
        """Integral of the samples begun and not left by their group, in samples x ticks."""
        left = self.left[self.group]
        stay = np.where(left < 0, self.end, left) - self.begun
        stay = stay[self.begun >= 0]
        return (int((stay >> 31).sum()) << 31) + int((stay & (2**31 - 1)).sum())

    def fates(self) -> dict[str, int]:
        """Return the number of groups by fate."""
        many = np.bincount(self.fate, minlength=len(FATES))
        return {name: int(count) for name, count in zip(FATES, many, strict=True) if count}

    def replicas(self) -> list[dict[str, int]]:
        """Return ticks by cause, of each replica; causes that took none are left out."""
        return [_by_cause(REPLICA_CAUSES, row) for row in self.replica_ticks]

    def trainer(self) -> dict[str, int]:
        """Return ticks by cause, of the trainer; empty when colocated."""
        return _by_cause(TRAINER_CAUSES, self.trainer_ticks)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain lists, as `docs/reference/rollouts.md` has them."""
        return {
            "status": self.status,
            "end": self.end,
            "steps": [list(row) for row in _rows(self.taken, self.ended)],
            "samples": self._sample_rows(),
            "groups": self._group_rows(),
            "minibatches": self._minibatch_rows(),
            "replicas": self.replicas(),
            "trainer": self.trainer(),
            "counts": {
                "groups": self.fates(),
                "tokens": self.tokens,
                "recomputed": self.recomputed,
                "begun_not_left_sample_ticks": self.begun_not_left,
            },
        }

    def _sample_rows(self) -> list[list[Any]]:
        pieces = [list(row) for row in _rows(self.piece_version, self.piece_tokens)]
        begin = self.piece_begin.tolist()
        columns = (self.submitted, self.begun, self.finished, self.rewarded)
        return [
            [group, number, *map(_or_none, times), pieces[begin[at] : begin[at + 1]]]
            for at, (group, number, *times) in enumerate(_rows(self.group, self.number, *columns))
        ]

    def _group_rows(self) -> list[list[Any]]:
        columns = _rows(self.fate, self.resolved, self.left, self.step)
        return [
            [at, FATES[fate], *map(_or_none, others)] for at, (fate, *others) in enumerate(columns)
        ]

    def _minibatch_rows(self) -> list[dict[str, Any]]:
        groups, stale = self.minibatch_groups.tolist(), self.stale.tolist()
        first, begin = self.minibatch_group_begin.tolist(), self.stale_begin.tolist()
        columns = (
            self.minibatch_step, self.minibatch_start, self.minibatch_end, self.minibatch_version,
        )  # fmt: skip
        names = ("step", "start", "end", "version")
        return [
            {
                **dict(zip(names, row, strict=True)),
                "groups": groups[first[at] : first[at + 1]],
                "staleness": stale[begin[at] : begin[at + 1]],
            }
            for at, row in enumerate(_rows(*columns))
        ]


def _rows(*columns: np.ndarray) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _or_none(value: int) -> int | None:
    return None if value < 0 else value


def _by_cause(names: tuple[str, ...], ticks: np.ndarray) -> dict[str, int]:
    return {name: took for name, took in zip(names, ticks.tolist(), strict=True) if took}
