"""What holds for every systolic array: symmetry, bounds, and what more of anything does."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.fields import Plugin
from yantra.compute import model_of
from yantra.compute.arrays import Array, cycles, folds, mapped, mapping_efficiency
from yantra.compute.arrays.law import DATAFLOWS, scratchpad_reads
from yantra.compute.arrays.layers import NOTHING, Convolution, Gemm
from yantra.compute.arrays.report import Buffers, report
from yantra.compute.model import Device, kernels
from yantra.compute.roofline import Roofline

SIZES = st.integers(1, 5000)
SIDES = st.sampled_from([1, 3, 8, 16, 32, 100, 128, 256])
FLOWS = st.sampled_from(DATAFLOWS)
SMALL = st.integers(1, 40)


@given(SIZES, SIZES, SIZES, SIDES, SIDES)
def test_output_stationary_is_symmetric_under_transposition(
    m: int, n: int, k: int, rows: int, columns: int
) -> None:
    turned = cycles(n, m, k, Array(columns, rows, "os"))
    assert cycles(m, n, k, Array(rows, columns, "os")) == turned


@given(SIZES, SIZES, SIZES, SIDES, SIDES)
def test_weights_that_stay_are_inputs_that_stay_transposed(
    m: int, n: int, k: int, rows: int, columns: int
) -> None:
    weights, inputs = Array(rows, columns, "ws"), Array(rows, columns, "is")
    for load in ("exposed", "hidden"):
        assert cycles(m, n, k, weights, load) == cycles(n, m, k, inputs, load)  # type: ignore[arg-type]


@given(SIZES, SIZES, SIZES, SIDES, SIDES, FLOWS)
def test_folds_hold_every_multiplication(
    m: int, n: int, k: int, rows: int, columns: int, flow: Any
) -> None:
    array = Array(rows, columns, flow)
    streamed = mapped(m, n, k, flow).streamed
    assert folds(m, n, k, array) * rows * columns * streamed >= m * n * k
    assert 0 < mapping_efficiency(m, n, k, array) <= 1


@given(SIZES, SIZES, SIZES, SIDES, SIDES, FLOWS)
def test_more_of_any_size_never_takes_fewer_cycles(
    m: int, n: int, k: int, rows: int, columns: int, flow: Any
) -> None:
    array = Array(rows, columns, flow)
    taken = cycles(m, n, k, array)
    for more in ((m + 1, n, k), (m, n + 1, k), (m, n, k + 1)):
        assert cycles(*more, array) >= taken


@given(SIZES, SIZES, SIZES, SIDES, SIDES)
def test_hiding_the_load_of_weights_never_costs_more_than_filling_the_pipeline(
    m: int, n: int, k: int, rows: int, columns: int
) -> None:
    array = Array(rows, columns, "ws")
    assert cycles(m, n, k, array, "hidden") <= cycles(m, n, k, array, "exposed") + 2


@given(SIZES, SIZES, SIZES, SIDES, SIDES, FLOWS)
def test_columns_of_products_are_answered_as_one_by_one(
    m: int, n: int, k: int, rows: int, columns: int, flow: Any
) -> None:
    array = Array(rows, columns, flow)
    one = np.array([m]), np.array([n]), np.array([k])
    for load in ("exposed", "hidden"):
        assert cycles(*one, array, load)[0] == cycles(m, n, k, array, load)  # type: ignore[arg-type]


@given(SMALL, SMALL, SMALL, st.sampled_from([4, 8, 16]), FLOWS, st.sampled_from([10, 20, 40]))
def test_memory_only_ever_adds_stalls_and_more_of_it_never_more(
    m: int, n: int, k: int, side: int, flow: Any, bandwidth: int
) -> None:
    layer, array = Gemm(m=m, n=n, k=k), Array(side, side, flow)
    small, large = Buffers(200, 200, 200), Buffers(10**5, 10**5, 10**5)
    free = report(layer, array, large)
    assert free.cycles == cycles(m, n, k, array)
    assert report(layer, array, small, bandwidth).cycles >= free.cycles
    assert report(layer, array, large, bandwidth).stall_cycles == 0
    assert free.dram_input_reads == m * k
    assert free.dram_weight_reads == k * n
    assert report(layer, array, small).dram_input_reads >= m * k


@given(SMALL, SMALL, SMALL, FLOWS)
def test_scratchpads_are_read_at_least_once_a_word(m: int, n: int, k: int, flow: Any) -> None:
    reads = scratchpad_reads(m, n, k, Array(8, 8, flow))
    assert reads.inputs >= m * k
    assert reads.weights >= k * n
    assert reads.outputs >= m * n


@given(
    st.integers(3, 20), st.integers(3, 20), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2)
)
def test_padding_is_added_to_the_input(
    height: int, width: int, window: int, stride: int, padding: int
) -> None:
    parts = {"filter_height": window, "filter_width": window, "channels": 2, "filters": 5}
    padded = Convolution(height=height, width=width, stride=stride, padding=padding, **parts)
    larger = Convolution(
        height=height + 2 * padding, width=width + 2 * padding, stride=stride, **parts
    )
    assert padded.gemm() == larger.gemm()
    assert np.array_equal(padded.inputs(), larger.inputs())
    assert padded.inputs().shape == (padded.m, padded.k)
    assert padded.different_inputs == len(set(padded.inputs().ravel().tolist()) - {NOTHING})


def times(options: dict[str, Any], m: int, n: int, k: int, batch: int = 1) -> tuple[float, float]:
    moved = 2 * batch * (m * k + k * n + m * n)
    rows = kernels(
        [2 * batch * m * n * k], [moved], "gemm", "bf16", m=[m], n=[n], k=[k], batch=[batch]
    )
    device = Device(1e14, 1e12)
    model = model_of(Plugin(kind="systolic", options=tuple(options.items())))
    low, middle, high = model.estimate(rows, device)
    assert low[0] <= middle[0] <= high[0]
    return float(middle[0]), float(Roofline().estimate(rows, device).middle[0])


MODELS = st.fixed_dictionaries(
    {"rows": SIDES, "columns": SIDES, "arrays": st.sampled_from([1, 2, 6, 8]), "dataflow": FLOWS},
    optional={
        "partition": st.sampled_from(["auto", "input", "weight", "output"]),
        "scratchpad_bytes": st.sampled_from([1 << 10, 1 << 20]),
    },
)


@given(MODELS, SIZES, SIZES, SIZES, st.integers(1, 9))
def test_no_product_beats_the_roofline(
    options: dict[str, Any], m: int, n: int, k: int, batch: int
) -> None:
    taken, bound = times(options, m, n, k, batch)
    assert taken >= bound * (1 - 1e-12)


@given(MODELS, SIZES, SIZES, SIZES, st.integers(1, 9))
def test_the_division_that_is_chosen_is_the_fastest(
    options: dict[str, Any], m: int, n: int, k: int, batch: int
) -> None:
    best, _ = times(options | {"partition": "auto"}, m, n, k, batch)
    assert best <= times(options, m, n, k, batch)[0]


@given(MODELS, SIZES, SIZES, SIZES)
def test_a_larger_scratchpad_never_takes_longer(
    options: dict[str, Any], m: int, n: int, k: int
) -> None:
    of_size = [times(options | {"scratchpad_bytes": size}, m, n, k)[0] for size in (2**8, 2**16)]
    assert of_size[0] >= of_size[1]
    unlimited = {name: value for name, value in options.items() if name != "scratchpad_bytes"}
    assert of_size[1] >= times(unlimited, m, n, k)[0]
