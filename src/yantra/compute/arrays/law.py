"""The law of a systolic array: folds, cycles, utilisation and reads of its scratchpads.

A product of M x K by K x N runs in folds: tiles of the two dimensions that stay in the array, while
the third streams through. Sizes are whole numbers or columns of them (numpy), so a million products
are one call. Closed form; it knows no memory, so nothing here waits.
Sources: Samajdar et al., "A systematic methodology for characterizing scalability of DNN
accelerators using SCALE-Sim", ISPASS 2020; the cycles are those that SCALE-Sim 3.0.0 counts, which
for output stationary are R less per fold than the paper's equation 3.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Dataflow = Literal["os", "ws", "is"]
WeightLoad = Literal["exposed", "hidden"]

DATAFLOWS: tuple[Dataflow, ...] = ("os", "ws", "is")


class Array(NamedTuple):
    """A grid of processing elements, and what stays in it: outputs, weights or inputs."""

    rows: int
    columns: int
    dataflow: Dataflow = "ws"


class Mapped(NamedTuple):
    """How a product lies on an array: on its rows, on its columns, and streamed."""

    rows: Any
    columns: Any
    streamed: Any


def mapped(m: Any, n: Any, k: Any, dataflow: Dataflow) -> Mapped:
    """Return what of a product of M x K by K x N is on rows, on columns and streamed."""
    if dataflow == "os":
        return Mapped(m, n, k)
    return Mapped(k, n, m) if dataflow == "ws" else Mapped(k, m, n)


def folds(m: Any, n: Any, k: Any, array: Array) -> Any:
    """Return in how many tiles a product runs: ceil(Sr / R) * ceil(Sc / C)."""
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
    """Return the cycles of a product, `times` back to back, without waiting for memory.

    Exposed, as SCALE-Sim counts: folds * (T + R + C - 2) - 1 for output stationary, and
    folds * (T + 2 R + C - 2) - 1 for the others, which load R rows of what stays before each fold.
    The figure is the index of the last cycle. Hidden: the next tile is loaded while the present one
    computes, folds * max(T, R) + R + C - 1; output stationary has nothing to load and stays as is.
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
    """Return the part of the array's elements that the folds fill: M N K / (folds R C T)."""
    on = mapped(m, n, k, array.dataflow)
    return on.rows * on.columns / (folds(m, n, k, array) * (array.rows * array.columns))


def utilisation(m: Any, n: Any, k: Any, array: Array, taken: Any) -> Any:
    """Return the part used of the multiplications that cycles hold: M N K / (cycles R C)."""
    return m * n * k / (taken * (array.rows * array.columns))


class ScratchpadReads(NamedTuple):
    """Words that an array reads of its input and weight memories, and writes to that of outputs."""

    inputs: Any
    weights: Any
    outputs: Any


def scratchpad_reads(m: Any, n: Any, k: Any, array: Array) -> ScratchpadReads:
    """Return the words between the array and its scratchpads.

    What streams is read again for every fold across it; partial sums leave the array once per fold
    of K where outputs do not stay.
    """
    on = mapped(m, n, k, array.dataflow)
    down, across = up(on.rows, array.rows), up(on.columns, array.columns)
    if array.dataflow == "os":
        return ScratchpadReads(across * m * k, down * k * n, m * n)
    if array.dataflow == "ws":
        return ScratchpadReads(across * m * k, k * n, down * m * n)
    return ScratchpadReads(m * k, across * k * n, down * m * n)


def up(whole: Any, part: Any) -> Any:
    """Return ceil(whole / part) of whole numbers or columns of them."""
    return -(-whole // part)


def _larger(first: Any, second: int) -> Any:
    if isinstance(first, int):
        return max(first, second)
    import numpy as np

    return np.maximum(first, second)
