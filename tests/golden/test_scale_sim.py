"""Systolic arrays against SCALE-Sim 3.0.0 (`data/scale_sim.csv`): every column of its reports."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.zoo import some
from yantra.compute.arrays import Array, Convolution, Gemm
from yantra.compute.arrays.layers import Layer
from yantra.compute.arrays.report import Buffers, report

DATA = Path(__file__).parent / "data" / "scale_sim.csv"
LINES = [line for line in DATA.read_text().splitlines() if not line.startswith("#")]
ROWS = list(csv.DictReader(LINES))
Row = dict[str, str]
LARGE = ("300x200x70", "512x64x100")


def is_small(row: Row) -> bool:
    return row["shape"] not in LARGE


def layer_of(row: Row) -> Layer:
    sizes = [int(size) for size in row["shape"].split("x")]
    if row["kind"] == "gemm":
        return Gemm(m=sizes[0], n=sizes[1], k=sizes[2])
    names = ("height", "width", "filter_height", "filter_width", "channels", "filters", "stride")
    return Convolution(**dict(zip(names, sizes, strict=True)))


@pytest.mark.parametrize("row", some(ROWS, is_small, lambda row: f"{row['case']}-{row['shape']}"))
def test_a_layer_is_reported_as_scale_sim_reports_it(row: Row) -> None:
    array = Array(int(row["rows"]), int(row["cols"]), row["dataflow"])  # type: ignore[arg-type]
    buffers = Buffers(*(1024 * int(row[f"{name}_kb"]) for name in ("ifmap", "filter", "ofmap")))
    is_limited = row["bandwidth_mode"] == "USER"
    bandwidth = int(row["bandwidth_words_per_cycle"]) if is_limited else None
    got = report(layer_of(row), array, buffers, bandwidth)
    wholes = {
        "cycles": got.cycles,
        "stall_cycles": got.stall_cycles,
        "sram_ifmap_reads": got.sram_input_reads,
        "sram_filter_reads": got.sram_weight_reads,
        "sram_ofmap_writes": got.sram_output_writes,
        "dram_ifmap_reads": got.dram_input_reads,
        "dram_filter_reads": got.dram_weight_reads,
        "dram_ofmap_writes": got.dram_output_writes,
    }
    assert wholes == {name: int(row[name]) for name in wholes}
    assert 100 * got.utilisation == pytest.approx(float(row["overall_util_pct"]), rel=1e-12)
    assert 100 * got.mapping_efficiency == pytest.approx(float(row["mapping_eff_pct"]), rel=1e-12)


def test_the_rows_have_all_dataflows_with_and_without_stalls() -> None:
    seen = {(row["dataflow"], row["stall_cycles"] == "0") for row in ROWS}
    assert len(seen) == 3 * 2
