"""The law of a systolic array: folds, cycles, utilisation and reads of its scratchpads.

A product of M x K by K x N runs in folds: tiles of two dimensions stay, the third streams through.
Sources: Samajdar et al., "A systematic methodology for characterizing scalability of DNN
accelerators using SCALE-Sim", ISPASS 2020; SCALE-Sim 3.0.0's cycles, for output stationary R less
per fold than the paper's equation 3.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Dataflow = Literal["os", "ws", "is"]
WeightLoad = Literal["exposed", "hidden"]

DATAFLOWS: tuple[Dataflow, ...] = ("os", "ws", "is")


class Array(NamedTuple):
    """A grid of processing elements, and what stays: outputs, weights or inputs."""

    rows: int
    columns: int
    dataflow: Dataflow = "ws"


class Mapped(NamedTuple):
    rows: Any
    columns: Any
    streamed: Any


def mapped(m: Any, n: Any, k: Any, dataflow: Dataflow) -> Mapped:
    """A product of M x K by K x N on an array."""
    if dataflow == "os":
        return Mapped(m, n, k)
    return Mapped(k, n, m) if dataflow == "ws" else Mapped(k, m, n)


def folds(m: Any, n: Any, k: Any, array: Array) -> Any:
    on = mapped(m, n, k, array.dataflow)
    return up(on.rows, array.rows) * up(on.columns, array.columns)


def cycles(
    m: Any,
    n: Any,
    k: Any,
    array: Array,
    weight_load: WeightLoad = "exposed",
    times: Any = 1,
) -> Any:
    """Cycles of a product, `times` back to back, without waiting for memory.

    Exposed, as SCALE-Sim (index of the last): folds * (T + R + C - 2) - 1 for output stationary,
    else, R rows loaded before each fold, folds * (T + 2 R + C - 2) - 1. Hidden, loads overlap:
    folds * max(T, R) + R + C - 1; output stationary is unchanged.
    """
    on = mapped(m, n, k, array.dataflow)
    count = times * up(on.rows, array.rows) * up(on.columns, array.columns)
    through = array.rows + array.columns
    if array.dataflow == "os":
        return count * (on.streamed + through - 2) - 1
    if weight_load == "exposed":
        return count * (on.streamed + array.rows + through - 2) - 1
    return count * _larger(on.streamed, array.rows) + through - 1


def mapping_efficiency(m: Any, n: Any, k: Any, array: Array) -> Any:
    """M N K / (folds R C T): elements that the folds fill."""
    on = mapped(m, n, k, array.dataflow)
    return on.rows * on.columns / (folds(m, n, k, array) * (array.rows * array.columns))


def utilisation(m: Any, n: Any, k: Any, array: Array, taken: Any) -> Any:
    """M N K / (cycles R C): multiplications in use."""
    return m * n * k / (taken * (array.rows * array.columns))


class ScratchpadReads(NamedTuple):
    """Words read of inputs and weights, and written of outputs."""

    inputs: Any
    weights: Any
    outputs: Any


def scratchpad_reads(m: Any, n: Any, k: Any, array: Array) -> ScratchpadReads:
    """What streams is read for every fold across it; unless outputs stay, partial sums leave once
    per fold of K.
    """
    on = mapped(m, n, k, array.dataflow)
    down, across = up(on.rows, array.rows), up(on.columns, array.columns)
    if array.dataflow == "os":
        return ScratchpadReads(across * m * k, down * k * n, m * n)
    if array.dataflow == "ws":
        return ScratchpadReads(across * m * k, k * n, down * m * n)
    return ScratchpadReads(m * k, across * k * n, down * m * n)


def up(whole: Any, part: Any) -> Any:
    return -(-whole // part)


def _larger(first: Any, second: int) -> Any:
    if isinstance(first, int):
        return max(first, second)
    import numpy as np

    return np.maximum(first, second)
