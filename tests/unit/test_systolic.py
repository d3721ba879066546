"""Systolic arrays as a compute model: worked cases, options, named clusters that have arrays."""

from __future__ import annotations

import json
from typing import Any

import pytest

from yantra import scenario as scenarios
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.base.fields import Plugin, kind_of
from yantra.compute import model_of
from yantra.compute.arrays import Array, Convolution, Gemm, cycles
from yantra.compute.arrays.report import Buffers, report
from yantra.compute.model import Device, Estimates, kernels
from yantra.scenario import Scenario
from yantra.scenario.settings import with_settings


def asked(m: int, n: int, k: int, batch: int = 1, size: int = 0, **options: Any) -> Estimates:
    """Return the estimate of 16 x 16 elements at 1 GHz, behind a memory of 1 byte a nanosecond."""
    rows = kernels([2 * batch * m * n * k], [size], "gemm", m=[m], n=[n], k=[k], batch=[batch])
    given = {"rows": 16, "columns": 16, "clock_hz": 1e9} | options
    model = model_of(Plugin(kind="systolic", options=tuple(given.items())))
    return model.estimate(rows, Device(peak_flops=1e15, memory_bytes_per_s=1e9))


def test_exposed_weights_take_the_cycles_of_scale_sim() -> None:
    # 16 folds of 64 + 2 * 16 + 16 - 2 cycles, counted from 0
    assert asked(64, 64, 64, weight_load="exposed").middle[0] == 16 * 110 - 1
    assert asked(64, 64, 64, dataflow="os").middle[0] == 16 * 94 - 1


def test_hidden_weights_take_what_streams_or_their_load() -> None:
    assert asked(64, 64, 64).middle[0] == 16 * 64 + 31
    assert asked(4, 64, 64).middle[0] == 16 * 16 + 31  # 4 rows stream while 16 are loaded


def test_products_of_a_batch_and_parts_of_one_go_to_several_arrays() -> None:
    one = asked(64, 64, 64).middle[0]
    assert asked(64, 64, 64, batch=4, arrays=4).middle[0] == one
    assert asked(256, 64, 64, arrays=4, partition="input").middle[0] == one
    assert asked(64, 256, 64, arrays=4, partition="weight").middle[0] == one
    assert asked(128, 128, 64, arrays=4, partition="output").middle[0] == one
    assert (
        asked(64, 16, 64, arrays=4, partition="weight").middle[0] == 4 * 64 + 31
    )  # 4 columns each


def test_traffic_that_takes_longer_than_the_folds_counts_after_the_first_one() -> None:
    size = 3 * 64 * 64 * 4  # 4 bytes a word
    answer = asked(64, 64, 64, size=size)
    assert answer.low[0] == size
    assert answer.middle[0] == size + 16 * 16 * 4
    assert answer.high[0] == size + 16 * 16 * 4 + 16 * 64 + 31


def test_a_scratchpad_that_does_not_hold_the_input_reads_it_once_per_column_of_folds() -> None:
    size = 3 * 64 * 64 * 4
    operand = 64 * 64 * 4
    whole = asked(64, 64, 64, size=size, scratchpad_bytes=2 * operand)
    assert whole.low[0] == size
    less = asked(64, 64, 64, size=size, scratchpad_bytes=2 * operand - 2)
    assert less.low[0] == size + 3 * operand


def test_kernels_without_a_shape_take_the_roofline() -> None:
    rows = kernels([10**6], [1000], "norm")
    answer = model_of("systolic").estimate(rows, Device(1e12, 1e9))
    assert answer == Estimates.exact(answer.middle)
    assert answer.middle[0] == 1000


def test_without_a_clock_full_arrays_reach_the_peak() -> None:
    m = n = k = 1 << 14
    rows = kernels([2 * m * n * k], [1], "gemm", m=[m], n=[n], k=[k])
    options = (("rows", 128), ("columns", 128), ("arrays", 8))
    taken = model_of(Plugin(kind="systolic", options=options)).estimate(rows, Device(4e14, 1e12))
    assert taken.middle[0] == pytest.approx(2 * m * n * k / 4e14 * 1e9, rel=1e-3)


def test_a_convolution_is_the_product_of_its_windows() -> None:
    layer = Convolution(
        height=14, width=14, filter_height=3, filter_width=3, channels=16, filters=32
    )
    assert layer.gemm() == Gemm(m=144, n=32, k=144)
    same = layer.replace(padding=1)
    assert same.gemm() == Gemm(m=196, n=32, k=144)
    array = Array(16, 16, "os")
    assert cycles(layer.m, layer.n, layer.k, array) == 9 * 2 * (144 + 30) - 1


def test_a_layer_too_large_to_be_followed_word_by_word_is_refused() -> None:
    layer = Gemm(m=4096, n=4096, k=4096)
    with pytest.raises(UnsupportedError, match="moves 1,090,519,040 words"):
        report(layer, Array(128, 128, "ws"), Buffers(1 << 20, 1 << 20, 1 << 20))


def tpu(device: Any = None, **settings: Any) -> Scenario:
    tree = {
        "workload": {"traces": "step.{rank}.et"},
        "cluster": {"name": "tpu-v5p", "ranks": 64} | ({"device": device} if device else {}),
    }
    paths = {path.replace("__", "."): value for path, value in settings.items()}
    read = with_settings(tree, paths, "")
    return scenarios.loads(json.dumps(read))


def test_a_named_cluster_gives_the_model_its_arrays() -> None:
    compute = tpu({"compute": "systolic"}).device.compute
    assert isinstance(compute, Plugin)
    assert dict(compute.options) == {"rows": 128, "columns": 128, "arrays": 8}
    chosen = {"compute": {"kind": "systolic", "options": {"rows": 256, "dataflow": "os"}}}
    compute = tpu(chosen).device.compute
    assert isinstance(compute, Plugin)
    assert dict(compute.options) == {"rows": 256, "columns": 128, "arrays": 8, "dataflow": "os"}


def test_a_setting_gets_the_arrays_too() -> None:
    compute = tpu(cluster__device__compute="systolic").device.compute
    assert isinstance(compute, Plugin)
    assert dict(compute.options)["arrays"] == 8


def test_other_models_of_the_cluster_are_left_alone() -> None:
    assert kind_of(tpu().device.compute) == "measured"
    assert tpu({"compute": "fixed_efficiency"}).device.compute == "fixed_efficiency"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            "{dataflow: os, weight_load: hidden}",
            "cluster.device.compute.options.weight_load: only with dataflow ws or is; outputs that "
            "stay are not loaded",
        ),
        ("{rows: 0}", "cluster.device.compute.options.rows: must be at least 1; got 0"),
        ("{clock: 940}", 'a number needs its unit; expected a frequency such as "1.41 GHz"'),
        ("{dataflow: rs}", 'options.dataflow: expected one of os, ws, is, got "rs"'),
    ],
)
def test_what_an_array_cannot_be_is_refused_at_its_key(options: str, problem: str) -> None:
    text = f"""
workload: {{traces: "step.{{rank}}.et"}}
cluster:
  topology: [{{kind: ring, size: 2, bandwidth: 50 GB/s, latency: 1 us}}]
  device:
    peak: 1 TFLOP/s
    memory_bandwidth: 1 GB/s
    compute: {{kind: systolic, options: {options}}}
"""
    with pytest.raises(ConfigError) as refused:
        scenarios.loads(text)
    assert problem in str(refused.value)
