"""What traces look like, for comparing many: values by class, degrees, depth, motifs.

A token is a node's kind, the octave of its size and how far back its parents are; a motif is a row
of tokens in the order of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from math import log2, sqrt
from typing import NamedTuple

from yantra.chakra.schema import CollectiveType, Node, NodeType
from yantra.chakra.trace import Trace
from yantra.synth.passes import DENSE

MOTIF = 21
"""Tokens of a motif that is long enough to tell whose it is."""

_QUANTILES = 101
_FARTHEST = 4

Token = tuple[str, int, tuple[int, ...]]


def kind_of(node: Node) -> tuple[str, int]:
    """A node's class, and its size: of computations their time in ns, operations or bytes."""
    if node.type == NodeType.COMM_COLL:
        return CollectiveType(_whole(node, "comm_type")).name.lower(), _whole(node, "comm_size")
    if node.type != NodeType.COMP:
        return NodeType(node.type).name.lower(), _whole(node, "comm_size")
    took = _whole(node, "duration_ns") or node.duration_micros * 1000
    if took:
        return "timed", took
    ops, moved = _whole(node, "num_ops"), _whole(node, "tensor_size")
    return ("dense", ops) if ops >= DENSE * moved else ("light", moved)


def _whole(node: Node, name: str) -> int:
    value = node.get(name)
    return value if isinstance(value, int) else 0


class Figures(NamedTuple):
    """`values`: log2 of sizes by class; `depth`, `critical`: over all nodes, all work."""

    values: dict[str, list[float]]
    degrees: list[int]
    depth: float
    critical: float
    tokens: list[Token]


class Shape:
    """A trace's figures, made once; `totals` are log2 of sums by class."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @cached_property
    def figures(self) -> Figures:
        nodes = list(self.trace)
        where = {node.id: at for at, node in enumerate(nodes)}
        values: dict[str, list[float]] = {}
        degrees, tokens = [], []
        deep, long = [0] * len(nodes), [0.0] * len(nodes)
        work = 0.0
        for at, node in enumerate(nodes):
            kind, size = kind_of(node)
            parents = [where[n] for n in (*node.data_deps, *node.ctrl_deps) if n in where]
            values.setdefault(kind, []).append(log2(size + 1))
            degrees.append(len(parents))
            back = tuple(sorted(min(at - n, _FARTHEST) for n in set(parents)))
            tokens.append((kind, round(log2(size + 1)), back))
            own = float(size) if kind in ("dense", "timed") else 0.0
            work += own
            deep[at] = 1 + max((deep[n] for n in parents), default=0)
            long[at] = own + max((long[n] for n in parents), default=0.0)
        depth = max(deep, default=0) / max(len(nodes), 1)
        return Figures(values, degrees, depth, max(long, default=0.0) / (work or 1.0), tokens)

    @cached_property
    def totals(self) -> dict[str, float]:
        return {
            kind: log2(sum(2**value for value in some))
            for kind, some in self.figures.values.items()
        }

    def motifs(self, length: int) -> Counter[tuple[Token, ...]]:
        """Rows of `length` tokens, counted."""
        return rows_of(self.figures.tokens, length)


def rows_of(tokens: Sequence[Token], length: int) -> Counter[tuple[Token, ...]]:
    """Rows of `length` tokens, counted."""
    return Counter(tuple(tokens[at : at + length]) for at in range(len(tokens) - length + 1))


def apart(one: Iterable[float], other: Iterable[float]) -> tuple[float | None, float]:
    """How far two samples are apart: Wasserstein-1 by quantiles, None where one is empty, and
    Kolmogorov-Smirnov.
    """
    a, b = sorted(one), sorted(other)
    if not a or not b:
        return (0.0, 0.0) if a == b else (None, 1.0)
    shares = [at / (_QUANTILES - 1) for at in range(_QUANTILES)]
    between = [abs(_quantile(a, share) - _quantile(b, share)) for share in shares]
    return sum(between) / _QUANTILES, _kolmogorov(a, b)


def _quantile(values: Sequence[float], share: float) -> float:
    return values[min(int(share * len(values)), len(values) - 1)]


def _kolmogorov(a: Sequence[float], b: Sequence[float]) -> float:
    from bisect import bisect_right

    points = {*a, *b}
    return max(abs(bisect_right(a, x) / len(a) - bisect_right(b, x) / len(b)) for x in points)


def divergence(one: Counter[tuple[Token, ...]], other: Counter[tuple[Token, ...]]) -> float:
    """Jensen-Shannon distance of two histograms, from 0 to 1."""
    a, b = sum(one.values()) or 1, sum(other.values()) or 1
    total = 0.0
    for key in {*one, *other}:
        p, q = one[key] / a, other[key] / b
        middle = (p + q) / 2
        total += sum(share * log2(share / middle) / 2 for share in (p, q) if share)
    return sqrt(max(total, 0.0))


def distance(one: Shape, other: Shape) -> float:
    """How far apart two traces are: totals, depth and mean sizes, in octaves."""
    kinds = {*one.totals, *other.totals}
    far = [abs(one.totals.get(kind, 0.0) - other.totals.get(kind, 0.0)) for kind in kinds]
    return sum(far) / max(len(far), 1)
