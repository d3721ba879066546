"""Who holds which part of which tensor: training and generation layouts, as rectangles.

Trade-off: tensors of one shape in one place are one class, so a model of hundreds of experts has a
few dozen. Tensor parallelism cuts rows or columns, part r of n being [r N // n, (r + 1) N // n).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError, expected_got
from yantra.base.records import Record
from yantra.rl.checks import is_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Place = int | Literal["first", "last", "both"]


class Tensor(NamedTuple):
    """One tensor of a model, or one of each expert of a layer."""

    name: str
    rows: int
    columns: int
    cut: Literal["rows", "columns", "none"]
    """What tensor parallelism cuts; `none` is whole on every rank."""
    place: Place
    """Its layer; or on the first pipeline stage, the last, or (tied embeddings) both."""
    is_matrix: bool = False
    """Whether generation has it in the type of matrices."""
    experts: int = 0
    """There is one for each of so many; 0: there is one, of no expert."""


class Training(Record):
    """Rank (stage * dp + d) * tp + r; experts are whole, in blocks over a stage's ranks."""

    tp: int = 1
    pp: int = 1
    ep: int = 1
    dp: int = 1
    """Replicas of a stage's tensors; with `fsdp` each has a share of the rows."""
    fsdp: bool = False
    layers_per_stage: tuple[int, ...] = ()
    """Empty: equally many."""

    @property
    def ranks(self) -> int:
        """GPUs."""
        return self.pp * self.dp * self.tp

    def stages(self, layers: int) -> list[int]:
        """Return the stage of each layer. Raises ConfigError if they do not add up."""
        if not self.layers_per_stage:
            if layers % self.pp:
                expected = f"a divisor of {layers} layers, or layers_per_stage"
                raise ConfigError("train.pp", expected_got(expected, self.pp))
            return [layer * self.pp // layers for layer in range(layers)]
        many = list(self.layers_per_stage)
        if len(many) != self.pp or sum(many) != layers or not all(map(is_whole, many)):
            expected = f"{self.pp} numbers that add up to {layers}"
            raise ConfigError("train.layers_per_stage", expected_got(expected, many))
        return [stage for stage, count in enumerate(many) for _ in range(count)]

    def check(self, experts: Iterable[int]) -> None:
        """Raise ConfigError for degrees that cannot be, for tensors of so many experts."""
        _check_degrees("train", tp=self.tp, pp=self.pp, ep=self.ep, dp=self.dp)
        if self.dp * self.tp % self.ep:
            expected = f"a divisor of dp * tp, {self.dp * self.tp}"
            raise ConfigError("train.ep", expected_got(expected, self.ep))
        _check_experts("train.ep", self.ep, experts)


class Generation(Record):
    """Replica p has the ranks first + p * tp + r."""

    tp: int = 1
    ep: int = 1
    """1: experts are cut like dense matrices; tp: rank r has block r of the experts, whole."""
    replicas: int = 1

    @property
    def ranks(self) -> int:
        """GPUs."""
        return self.replicas * self.tp

    def check(self, experts: Iterable[int]) -> None:
        """Raise ConfigError for degrees that cannot be, for tensors of so many experts."""
        _check_degrees("generation", tp=self.tp, ep=self.ep, replicas=self.replicas)
        if self.ep not in (1, self.tp):
            raise ConfigError("generation.ep", expected_got(f"1 or tp, {self.tp}", self.ep))
        _check_experts("generation.ep", self.ep, experts)


class Parts(NamedTuple):
    """Rectangles of a class of tensors, and the ranks that hold each, ascending."""

    rectangles: np.ndarray
    """By part: first row, row behind the last, the same of columns."""
    holders: np.ndarray
    """By part and number."""


class Class(NamedTuple):
    """Tensors of one shape that the same ranks hold and want, `many` times."""

    tensor: Tensor
    many: int
    held: Parts
    wanted: np.ndarray
    """By rank of a generating replica: its rectangle; empty if it wants none."""


def classes_of(tensors: Sequence[Tensor], train: Training, generation: Generation) -> list[Class]:
    """Return a model's tensors by class. Raises ConfigError for layouts that cannot be."""
    experts = {tensor.experts for tensor in tensors} - {0}
    train.check(experts)
    generation.check(experts)
    layers = 1 + max((t.place for t in tensors if isinstance(t.place, int)), default=-1)
    stage_of = train.stages(layers)
    counts: dict[tuple[Tensor, tuple[int, ...], int, int], int] = {}
    for tensor in tensors:
        stages = _stages(tensor.place, stage_of, train.pp)
        alike = tensor._replace(name=tensor.name.rpartition(".")[2], place=0)
        for block, wants, many in _blocks(tensor.experts, train.ep, generation.ep):
            key = alike, stages, block, wants
            counts[key] = counts.get(key, 0) + many
    return [
        Class(
            tensor,
            alike,
            _experts(tensor, train, stages[0], block)
            if tensor.experts
            else _dense(tensor, train, stages),
            _wanted(tensor, generation, wants),
        )
        for (tensor, stages, block, wants), alike in counts.items()
    ]


def _stages(place: Place, stage_of: list[int], pp: int) -> tuple[int, ...]:
    if isinstance(place, int):
        return (stage_of[place],)
    both = {"first": {0}, "last": {pp - 1}, "both": {0, pp - 1}}[place]
    return tuple(sorted(both))


def _blocks(experts: int, held: int, wanted: int) -> Iterable[tuple[int, int, int]]:
    """Yield blocks of the training and the generation side, and the experts in both."""
    if not experts:
        yield 0, 0, 1
        return
    pairs = np.arange(experts) // (experts // held) * wanted
    pairs += np.arange(experts) // (experts // wanted)
    for pair, many in zip(*np.unique(pairs, return_counts=True), strict=True):
        yield int(pair) // wanted, int(pair) % wanted, int(many)


def _cut(length: int, parts: int) -> np.ndarray:
    """Return begin and end of equal parts."""
    edges = np.arange(parts + 1) * length // parts
    return np.stack([edges[:-1], edges[1:]], axis=1)


def _by_rank(tensor: Tensor, tp: int) -> np.ndarray:
    """Return the rectangle of each rank of tensor parallelism; one if it is not cut."""
    made = np.tile(np.array([0, tensor.rows, 0, tensor.columns], np.int64), (tp, 1))
    if tensor.cut == "rows":
        made[:, :2] = _cut(tensor.rows, tp)
    elif tensor.cut == "columns":
        made[:, 2:] = _cut(tensor.columns, tp)
    else:
        made = made[:1]
    return made


def _chunked(rectangles: np.ndarray, chunks: int) -> np.ndarray:
    """Split the rows of each rectangle into chunks of ceil(rows / n), the last shorter."""
    low, high = rectangles[:, None, 0], rectangles[:, None, 1]
    size = -((low - high) // chunks)
    made = np.repeat(rectangles[:, None], chunks, axis=1)
    made[..., 0] = np.minimum(low + size * np.arange(chunks), high)
    made[..., 1] = np.minimum(low + size * np.arange(1, chunks + 1), high)
    return made.reshape(-1, 4)


def _dense(tensor: Tensor, train: Training, stages: tuple[int, ...]) -> Parts:
    ranks = np.arange(train.dp)[:, None] * train.tp + np.arange(train.tp)
    first = np.array(stages)[:, None, None] * train.dp * train.tp
    ranks = first + ranks  # by stage, d, r
    rectangles = _by_rank(tensor, train.tp)
    by_part = ranks.transpose(2, 1, 0)  # r, d, stage
    if tensor.cut == "none":
        by_part = by_part.transpose(1, 0, 2).reshape(1, train.dp, -1)
    if train.fsdp:
        holders = by_part.reshape(len(rectangles) * train.dp, -1)
        rectangles = _chunked(rectangles, train.dp)
    else:
        holders = by_part.reshape(len(rectangles), -1)
    return Parts(rectangles, np.sort(holders, axis=1))


def _experts(tensor: Tensor, train: Training, stage: int, block: int) -> Parts:
    several = train.dp * train.tp // train.ep
    holders = stage * train.dp * train.tp + block + train.ep * np.arange(several)
    whole = np.array([[0, tensor.rows, 0, tensor.columns]], np.int64)
    if train.fsdp:
        return Parts(_chunked(whole, several), holders[:, None])
    return Parts(whole, holders[None])


def _wanted(tensor: Tensor, generation: Generation, block: int) -> np.ndarray:
    if not tensor.experts or generation.ep == 1:
        made = _by_rank(tensor, generation.tp)
        return np.tile(made, (generation.tp // len(made), 1))
    made = np.zeros((generation.tp, 4), np.int64)
    made[block] = 0, tensor.rows, 0, tensor.columns
    return made


def _check_degrees(where: str, **degrees: int) -> None:
    for name, value in degrees.items():
        if not is_whole(value, 1):
            raise ConfigError(f"{where}.{name}", expected_got("a whole number from 1", value))


def _check_experts(where: str, ep: int, experts: Iterable[int]) -> None:
    for many in experts:
        if many % ep:
            raise ConfigError(where, expected_got(f"a divisor of {many} experts", ep))
