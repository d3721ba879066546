"""The parts of an iteration's time as functions of counts, for many counts at once.

    iteration = dense(tokens) + decode(sequences, context) + sum over chunks of prompts of
                prompt(tokens, past) + emit(sequences whose token is chosen) + host

`dense` is all that depends on the number of tokens alone: products, norms, experts, collectives.

Trade-off: decoding sequences count by their mean context, and chunks of one iteration as kernels of
their own, which share one launch.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.serving.iteration.walk import Work, summed, walked
from yantra.serving.iteration.works import HEAD, Piece, Works

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any

    from yantra.serving.iteration.speeds import Speeds

_TOKENS, _CONTEXTS = 1 << 13, (16, 32, 40_000)
_USUAL = 32, 1024
"""Sequences that decode, and tokens behind each, by which kernels of other devices are judged."""
"""Of the batches by which operations are told apart: more tokens than a model has experts, contexts
within and beyond any window."""


class Sorts(NamedTuple):
    dense: frozenset[str]
    emit: frozenset[str]


class ClosedForm:
    """One model's iterations under a plan, at some speeds; columns of float64, times in ns."""

    def __init__(self, works: Works, speeds: Speeds) -> None:
        self._works, self._speeds = works, speeds
        self._run_by = speeds.framework
        self.stages = works.plan.pp
        self.model, self.plan = works.model, works.plan
        self._sorts = [_sorts(works, stage) for stage in range(self.stages)]

    @property
    def transfer(self) -> float:
        """How far off kernels of decoding may be for tables of another device, as a logarithm."""
        one = np.array([_USUAL[0]]), np.array([_USUAL[1]])
        return self._speeds.transfer(self._works.decodes(0, *one))

    def dense_of(self, tokens: np.ndarray, stages: Sequence[int]) -> Work:
        """`dense` of some stages, one after the other."""
        return reduce(Work.plus, (self.dense(tokens, stage) for stage in stages))

    def decode_of(self, sequences: np.ndarray, context: np.ndarray, stages: Sequence[int]) -> Work:
        """`decode` of some stages."""
        return reduce(Work.plus, (self.decode(sequences, context, stage) for stage in stages))

    def prompt_of(self, tokens: np.ndarray, past: np.ndarray, stages: Sequence[int]) -> Work:
        """`prompt` of some stages."""
        return reduce(Work.plus, (self.prompt(tokens, past, stage) for stage in stages))

    def emit_of(self, sequences: np.ndarray, stages: Sequence[int]) -> Work:
        """`emit` of some stages."""
        return reduce(Work.plus, (self.emit(sequences, stage) for stage in stages))

    def dense(self, tokens: np.ndarray, stage: int) -> Work:
        """What depends on an iteration's tokens alone."""
        names, taken = self._sorts[stage].dense, self._speeds.taken
        pieces = self._works.decodes(stage, tokens, np.full_like(tokens, _CONTEXTS[0]))
        by = self._run_by
        made = self._timed(pieces, names, lambda piece, ns: walked(piece, ns, names, by, taken))
        if stage + 1 < self.stages:
            made.ns[-1] += self._speeds.message_ns(self._border(pieces, len(tokens)))
        return made

    def chosen(self, tokens: np.ndarray, is_chosen: Callable[[str], bool]) -> Work:
        names = frozenset(filter(is_chosen, self._sorts[0].dense))
        pieces = self._works.decodes(0, tokens, np.full_like(tokens, _CONTEXTS[0]))
        return self._timed(pieces, names, lambda piece, ns: summed(piece, ns, names, self._run_by))

    def decode(self, sequences: np.ndarray, context: np.ndarray, stage: int) -> Work:
        """What sequences with one new token each add; `context` tokens of each are cached."""
        return self._rest(self._works.decodes(stage, sequences, context), stage)

    def prompt(self, tokens: np.ndarray, past: np.ndarray, stage: int) -> Work:
        """What a chunk of a prompt adds, of `tokens` (at least 2) behind `past` cached ones."""
        return self._rest(self._works.prompts(stage, tokens, past), stage)

    def _rest(self, pieces: list[Piece], stage: int) -> Work:
        """What depends on more than tokens."""
        sorts = self._sorts[stage]
        every = {one.name for piece in pieces for one in piece.operations}
        names = every - sorts.dense - sorts.emit
        return self._timed(pieces, names, lambda piece, ns: summed(piece, ns, names, self._run_by))

    def emit(self, sequences: np.ndarray, stage: int) -> Work:
        """What choosing a token of each of so many sequences takes on the devices."""
        chosen = self._sorts[stage].emit
        if not chosen:
            return Work.nothing(len(sequences))
        pieces, by = self._works.heads(sequences), self._run_by
        return self._timed(pieces, chosen, lambda piece, ns: summed(piece, ns, chosen, by))

    def _timed(
        self,
        pieces: list[Piece],
        names: Collection[str],
        work: Callable[[Piece, Sequence[np.ndarray]], Work],
    ) -> Work:
        made = Work.nothing(sum(len(piece.places) for piece in pieces))
        for piece, ns in zip(pieces, self._speeds.of(pieces, names), strict=True):
            of = work(piece, ns)
            made.ns[:, piece.places] = of.ns
            made.flops[piece.places] = of.flops
            made.bytes[piece.places] = of.bytes
            made.ran[piece.places] = of.ran
        return made

    def _border(self, pieces: list[Piece], cases: int) -> np.ndarray:
        made = np.zeros(cases)
        for piece in pieces:
            made[piece.places] = piece.amounts.border
        return made


def _sorts(works: Works, stage: int) -> Sorts:
    tokens = np.array([_TOKENS])
    contexts = [np.array([context]) for context in _CONTEXTS]
    prompts = [_rows(*works.prompts(stage, tokens, past)) for past in contexts]
    seen = [_rows(*works.decodes(stage, tokens, past)) for past in contexts] + prompts
    (longer,) = works.prompts(stage, 2 * tokens, contexts[0])
    more = _rows(longer)
    head = {one.name for one in longer.operations if one.unit == HEAD}
    emit = {name for name in head if _same(prompts[0], more, name)}
    first = seen[0]
    dense = {name for name in first if all(_same(first, other, name) for other in seen)}
    return Sorts(frozenset(dense - emit), frozenset(emit))


def _same(one: dict[str, np.ndarray], other: dict[str, np.ndarray], name: str) -> bool:
    return name in other and bool(np.array_equal(one[name], other[name]))


def _rows(piece: Piece) -> dict[str, np.ndarray]:
    starts: Any = piece.amounts.starts
    return {
        one.name: piece.amounts.rows[first:end]
        for one, first, end in zip(piece.operations, starts, starts[1:], strict=False)
    }
