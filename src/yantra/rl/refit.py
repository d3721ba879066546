"""Messages of a refit: who sends how many bytes to whom, so that generation has the new weights.

    made = messages(tensors, Training(tp=2, dp=4), Generation(tp=4, replicas=2), Dtype())

Each part that training ranks hold, cut with the rectangle that a generating rank wants, is sent to
it once. Trade-off: messages are totals of a pair of ranks, in whole bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError, expected_got
from yantra.base.records import Record
from yantra.rl.checks import check_choice, check_names, is_whole
from yantra.rl.layouts import Class, Generation, Tensor, Training, classes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_SOURCES = ("lowest", "spread")
_CONVERT = ("before", "after")
_WIDTHS = (
    "vocab", "hidden", "layers", "qkv", "attention", "ffn",
    "tied", "experts", "expert_ffn", "dense_layers",
)  # fmt: skip
"""What `tensors_of` takes; the first six are needed."""


class Dtype(Record):
    """Bits of an element: of training, and of generation for matrices and for the rest."""

    train_bits: int = 16
    generation_bits_matrices: int = 16
    generation_bits_other: int = 16
    convert: Literal["before", "after"] = "before"
    """Whether a message has the type of generation, or that of training."""

    def sent(self, tensor: Tensor) -> int:
        """Return the bits of an element of a tensor on its way."""
        if self.convert == "after":
            return self.train_bits
        if tensor.is_matrix:
            return self.generation_bits_matrices
        return self.generation_bits_other

    def check(self) -> None:
        """Raise ConfigError for what cannot be."""
        check_choice("dtype.convert", self.convert, _CONVERT)
        for name in ("train_bits", "generation_bits_matrices", "generation_bits_other"):
            if not is_whole(getattr(self, name), 1):
                problem = expected_got("a whole number of bits from 1", getattr(self, name))
                raise ConfigError(f"dtype.{name}", problem)


@dataclass(frozen=True)
class Messages:
    """Columns of int64; generating rank r of replica p is `first + p * tp + r`."""

    source: np.ndarray
    """By message, ascending, like `destination` and `bytes`."""
    destination: np.ndarray
    bytes: np.ndarray
    local_rank: np.ndarray
    """Ranks that hold something that they want, and how much."""
    local_bytes: np.ndarray
    bytes_per_replica: np.ndarray
    """Received and local."""
    ranks: int
    """GPUs of both sides; those of training come first."""
    first: int
    """The first generating rank."""

    @property
    def sent(self) -> int:
        """Bytes of all messages."""
        return int(self.bytes.sum())

    @property
    def kept(self) -> int:
        """Bytes that are where they are wanted."""
        return int(self.local_bytes.sum())

    @property
    def busiest_source(self) -> int:
        """Bytes that the busiest rank sends."""
        return max(_sums(self.source, self.bytes)[1].tolist(), default=0)

    def as_json(self) -> dict[str, Any]:
        """Return them as plain lists."""
        rows = np.stack([self.source, self.destination, self.bytes], axis=1)
        return {
            "messages": rows.tolist(),
            "local": np.stack([self.local_rank, self.local_bytes], axis=1).tolist(),
            "bytes_per_replica": self.bytes_per_replica.tolist(),
            "sent": self.sent,
            "kept": self.kept,
            "busiest_source": self.busiest_source,
        }


def messages(
    tensors: Sequence[Tensor],
    train: Training,
    generation: Generation,
    dtype: Dtype,
    *,
    colocated: bool = False,
    source: Literal["lowest", "spread"] = "spread",
) -> Messages:
    """Return the messages of a refit.

    `source` says who sends a part that several ranks hold: the lowest, or by replica and rank in
    turn; a destination that holds it sends nothing. Raises ConfigError for layouts that cannot be.
    """
    check_choice("source", source, _SOURCES)
    dtype.check()
    classes = classes_of(tensors, train, generation)
    if colocated and generation.ranks > train.ranks:
        expected = f"at most the {train.ranks} GPUs of training, which are the same"
        raise ConfigError("generation.replicas", expected_got(expected, generation.ranks))
    first = 0 if colocated else train.ranks
    ranks = max(train.ranks, first + generation.ranks)
    found = [_sent(one, generation, dtype, first, source) for one in classes]
    begin, end, bits = (np.concatenate(column) for column in zip(*found, strict=True))
    pairs, bits = _sums(begin * ranks + end, bits)
    begin, end, size = pairs // ranks, pairs % ranks, -(-bits // 8)
    is_local = begin == end
    replica, per_replica = _sums((end - first) // generation.tp, size)
    whole = np.zeros(generation.replicas, np.int64)
    whole[replica] = per_replica
    return Messages(
        source=begin[~is_local],
        destination=end[~is_local],
        bytes=size[~is_local],
        local_rank=end[is_local],
        local_bytes=size[is_local],
        bytes_per_replica=whole,
        ranks=ranks,
        first=first,
    )


class _Sent(NamedTuple):
    begin: np.ndarray
    end: np.ndarray
    bits: np.ndarray


def _sent(one: Class, generation: Generation, dtype: Dtype, first: int, source: str) -> _Sent:
    held, wanted = one.held.rectangles[:, None], one.wanted[None]
    low, high = np.maximum(held, wanted), np.minimum(held, wanted)
    rows = np.maximum(high[..., 1] - low[..., 0], 0)
    elements = rows * np.maximum(high[..., 3] - low[..., 2], 0)
    part, rank = np.nonzero(elements)
    bits = elements[part, rank] * (dtype.sent(one.tensor) * one.many)
    replica = np.arange(generation.replicas)[None]
    end = first + replica * generation.tp + rank[:, None]
    holders = one.held.holders[part]
    turn = (replica + rank[:, None]) % holders.shape[1] if source == "spread" else 0 * end
    begin = np.take_along_axis(holders, turn, axis=1)
    if first == 0:
        is_held = (holders[:, None, :] == end[..., None]).any(axis=2)
        begin = np.where(is_held, end, begin)
    bits = np.broadcast_to(bits[:, None], end.shape)
    return _Sent(begin.ravel(), end.ravel(), bits.ravel())


def _sums(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different keys, ascending, and the sum of the values of each."""
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    begin = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[begin], np.add.reduceat(values, begin) if len(begin) else values


def tensors_of(
    *,
    vocab: int,
    hidden: int,
    layers: int,
    qkv: int,
    attention: int,
    ffn: int,
    tied: bool = False,
    experts: int = 0,
    expert_ffn: int = 0,
    dense_layers: int = 0,
) -> list[Tensor]:
    """Return the tensors of a plain transformer, rows x columns.

    `qkv` and `attention` are the widths before and after attention; with `experts`, layers from
    `dense_layers` on have a router and experts in place of one feed-forward network.
    """
    found = [Tensor("embed", vocab, hidden, "rows", "both" if tied else "first")]
    for layer in range(layers):
        found += [
            Tensor("norm1", hidden, 1, "none", layer),
            Tensor("qkv", qkv, hidden, "rows", layer, is_matrix=True),
            Tensor("o", hidden, attention, "columns", layer, is_matrix=True),
            Tensor("norm2", hidden, 1, "none", layer),
        ]
        wide, several = (expert_ffn, experts) if experts and layer >= dense_layers else (ffn, 0)
        if several:
            found.append(Tensor("router", experts, hidden, "none", layer))
        found += [
            Tensor("up", wide, hidden, "rows", layer, is_matrix=True, experts=several),
            Tensor("down", hidden, wide, "columns", layer, is_matrix=True, experts=several),
        ]
    found.append(Tensor("final_norm", hidden, 1, "none", "last"))
    if not tied:
        found.append(Tensor("head", vocab, hidden, "rows", "last"))
    return found


def of_json(tree: dict[str, Any]) -> Messages:
    """Return the messages of a plain tree: `model`, `train`, `generation`, `dtype`, `colocated`,
    `source`. Raises ConfigError for what is missing, unknown or wrong.
    """
    parts = ("model", "train", "generation", "dtype")
    known = (*parts, "colocated", "source", "name", "expected")
    check_names("", tree, known, parts)
    check_names("model", tree["model"], _WIDTHS, _WIDTHS[:6])
    for name, value in tree["model"].items():
        least = 1 if name in _WIDTHS[:6] else 0
        if name != "tied" and not is_whole(value, least):
            expected = f"a whole number from {least}"
            raise ConfigError(f"model.{name}", expected_got(expected, value))
    check_names("train", tree["train"], Training.field_names)
    check_names("generation", tree["generation"], Generation.field_names)
    check_names("dtype", tree["dtype"], Dtype.field_names)
    train = dict(tree["train"])
    train["layers_per_stage"] = tuple(train.get("layers_per_stage", ()))
    return messages(
        tensors_of(**tree["model"]),
        Training(**train),
        Generation(**tree["generation"]),
        Dtype(**tree["dtype"]),
        colocated=tree.get("colocated", False),
        source=tree.get("source", "spread"),
    )
