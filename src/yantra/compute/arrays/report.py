"""One layer on one array, reported as SCALE-Sim reports it: cycles, stalls, reads of both memories.

Source: the reports of SCALE-Sim 3.0.0, rows in tests/golden/data/scale_sim.csv.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from yantra.base.errors import UnsupportedError
from yantra.base.records import Record
from yantra.compute.arrays import law
from yantra.compute.arrays.law import Array, up
from yantra.compute.arrays.layers import NOTHING, Layer
from yantra.compute.arrays.prefetch import SETS, Prefetcher, Writer, reads_without_waiting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

MOST_WORDS = 2 * 10**8
"""Words followed, some minutes of work; larger layers are refused."""


class Buffers(NamedTuple):
    """The sizes of the scratchpads in words."""

    inputs: int
    weights: int
    outputs: int


class Report(Record):
    """SCALE-Sim's report of a layer; cycles include stalls, memory is in words."""

    cycles: int
    stall_cycles: int
    utilisation: float
    mapping_efficiency: float
    sram_input_reads: int
    sram_weight_reads: int
    sram_output_writes: int
    dram_input_reads: int
    dram_weight_reads: int
    dram_output_writes: int


def report(layer: Layer, array: Array, buffers: Buffers, bandwidth: int | None = None) -> Report:
    """`bandwidth` is of memory, words per cycle for each of the three scratchpads; None: always
    enough. Raises UnsupportedError for layers that read more than MOST_WORDS words.
    """
    size = layer.m, layer.n, layer.k
    near = law.scratchpad_reads(*size, array)
    compute = law.cycles(*size, array)
    if bandwidth is None:
        far = _far_reads(layer, array, buffers)
        stalls, written = 0, _written(layer, array, buffers.outputs)
    else:
        _refuse_more_than_can_be_followed(near)
        stalls, *far, written = _stalled(layer, array, buffers, bandwidth)
    through = array.rows + array.columns
    return Report(
        cycles=compute + stalls,
        stall_cycles=stalls,
        utilisation=law.utilisation(*size, array, compute + stalls),
        mapping_efficiency=law.mapping_efficiency(*size, array),
        sram_input_reads=near.inputs,
        sram_weight_reads=near.weights,
        # SCALE-Sim adds R + C to the writes of every fold of outputs that stay.
        sram_output_writes=near.outputs
        + (law.folds(*size, array) * through if array.dataflow == "os" else 0),
        dram_input_reads=far[0],
        dram_weight_reads=far[1],
        dram_output_writes=written,
    )


def _refuse_more_than_can_be_followed(near: law.ScratchpadReads) -> None:
    words = near.inputs + near.weights + near.outputs
    if words > MOST_WORDS:
        raise UnsupportedError(
            f"the layer moves {words:,} words, and at most {MOST_WORDS:,} are followed one by one; "
            "use the compute model systolic, or a smaller layer"
        )


def _far_reads(layer: Layer, array: Array, buffers: Buffers) -> list[int]:
    near = law.scratchpad_reads(layer.m, layer.n, layer.k, array)
    reads = []
    for different, size, demands in (
        (layer.different_inputs, buffers.inputs, _input_demands),
        (layer.k * layer.n, buffers.weights, _weight_demands),
    ):
        if different < SETS // 2 * (size // SETS):
            reads.append(different)
        else:
            _refuse_more_than_can_be_followed(near)
            reads.append(reads_without_waiting(demands(layer, array), size))
    return reads


def _written(layer: Layer, array: Array, size: int) -> int:
    near = law.scratchpad_reads(layer.m, layer.n, layer.k, array)
    if near.outputs <= size // 2:
        return int(near.outputs)
    _refuse_more_than_can_be_followed(near)
    outputs = Writer(size, array.columns)
    for cycle, words in enumerate(_output_counts(layer, array)):
        outputs.wait(cycle, words)
    outputs.finish()
    return outputs.written


def _stalled(
    layer: Layer, array: Array, buffers: Buffers, bandwidth: int
) -> tuple[int, int, int, int]:
    inputs = Prefetcher(_input_fetches(layer, array), buffers.inputs, bandwidth)
    weights = Prefetcher(_weight_fetches(layer, array), buffers.weights, bandwidth)
    outputs = Writer(buffers.outputs, bandwidth)
    asked = zip(
        _by_cycle(_input_demands(layer, array)),
        _by_cycle(_weight_demands(layer, array)),
        _output_counts(layer, array),
        strict=True,
    )
    stalls = 0
    for cycle, (some, others, results) in enumerate(asked):
        now = cycle + stalls
        stalls += max(inputs.wait(now, some), weights.wait(now, others), outputs.wait(now, results))
    outputs.finish()
    return stalls, inputs.fetched, weights.fetched, outputs.written


def _by_cycle(demands: Iterator[Words]) -> Iterator[list[int]]:
    for demand in demands:
        for line in demand:
            yield line[line != NOTHING].tolist()


def _folds(layer: Layer, array: Array) -> Iterator[tuple[int, int]]:
    on = law.mapped(layer.m, layer.n, layer.k, array.dataflow)
    for across in range(up(on.columns, array.columns)):
        for down in range(up(on.rows, array.rows)):
            yield down, across


def _tile(matrix: Words, at: int, width: int) -> Words:
    import numpy as np

    part = matrix[:, at * width : (at + 1) * width]
    return np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=NOTHING)


def _skewed(tile: Words, before: int, after: int) -> Words:
    """Lane c begins c cycles later."""
    import numpy as np

    length, lanes = tile.shape
    out = np.full((before + length + after + lanes - 1, lanes), NOTHING, dtype=np.int64)
    for lane in range(lanes):
        out[before + lane : before + lane + length, lane] = tile[:, lane]
    return out


def _stationary(matrix: Words, down: int, across: int, array: Array, streamed: int) -> Words:
    import numpy as np

    part = _tile(matrix, across, array.columns)[down * array.rows : (down + 1) * array.rows]
    missing = array.rows - part.shape[0]
    tile = np.pad(part, ((0, missing), (0, 0)), constant_values=NOTHING)[::-1]
    idle = streamed + array.rows + array.columns - 2
    return np.pad(tile, ((0, idle), (0, 0)), constant_values=NOTHING)


def _input_demands(layer: Layer, array: Array) -> Iterator[Words]:
    inputs, rows, columns = layer.inputs(), array.rows, array.columns
    for down, across in _folds(layer, array):
        if array.dataflow == "os":
            yield _skewed(_tile(inputs.T, down, rows), 0, columns - 1)
        elif array.dataflow == "ws":
            yield _skewed(_tile(inputs, down, rows), rows, columns - 1)
        else:
            yield _stationary(inputs.T, down, across, array, layer.n)


def _weight_demands(layer: Layer, array: Array) -> Iterator[Words]:
    weights, rows, columns = layer.weights(), array.rows, array.columns
    for down, across in _folds(layer, array):
        if array.dataflow == "os":
            yield _skewed(_tile(weights, across, columns), 0, rows - 1)
        elif array.dataflow == "ws":
            yield _stationary(weights, down, across, array, layer.m)
        else:
            yield _skewed(_tile(weights.T, down, rows), rows, columns - 1)


def _output_counts(layer: Layer, array: Array) -> Iterator[int]:
    import numpy as np

    for down, across in _folds(layer, array):
        rows = min(array.rows, layer.m - down * array.rows) if array.dataflow == "os" else 0
        wide = layer.m if array.dataflow == "is" else layer.n
        columns = min(array.columns, wide - across * array.columns)
        if array.dataflow == "os":
            tile = np.full((array.rows, array.columns), NOTHING)
            tile[array.rows - rows :, :columns] = 0  # the last row leaves first
            before = layer.k - 1
        else:
            streamed = layer.m if array.dataflow == "ws" else layer.n
            tile = np.full((streamed, array.columns), NOTHING)
            tile[:, :columns] = 0
            before = 2 * array.rows - 1
        yield from (_skewed(tile, before, 0) != NOTHING).sum(axis=1).tolist()


def _input_fetches(layer: Layer, array: Array) -> Words:
    inputs = layer.inputs()
    if array.dataflow == "is":
        return _stacked(inputs.T, array.columns).ravel()
    return _diagonally(_stacked(inputs.T if array.dataflow == "os" else inputs, array.rows))


def _weight_fetches(layer: Layer, array: Array) -> Words:
    weights = layer.weights()
    if array.dataflow == "ws":
        return _stacked(weights, array.columns).ravel()
    if array.dataflow == "os":
        return _diagonally(_stacked(weights, array.columns))
    return _diagonally(_stacked(weights.T, array.rows))


def _stacked(matrix: Words, width: int) -> Words:
    import numpy as np

    count = up(matrix.shape[1], width)
    return np.concatenate([_tile(matrix, at, width) for at in range(count)])


def _diagonally(matrix: Words) -> Words:
    import numpy as np

    row, column = np.indices(matrix.shape)
    return matrix.ravel()[np.lexsort((column.ravel(), (row + column).ravel()))]
