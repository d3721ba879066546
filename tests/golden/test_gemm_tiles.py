"""Tiles and waves of products against numbers computed independently."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from yantra.compute.arrays.law import up
from yantra.compute.devices.tiles import Tile, tile_efficiency, tiles, wave_efficiency

DATA = Path(__file__).parent / "data" / "gemm_tiles.csv"
ROWS = list(csv.DictReader(line for line in DATA.read_text().splitlines() if line[0] != "#"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['M']}x{row['N']}x{row['K']}")
def test_tiles_fill_waves(row: dict[str, str]) -> None:
    m, n = int(row["M"]), int(row["N"])
    tile = Tile(int(row["tile_m"]), int(row["tile_n"]), 1)
    slots = int(row["sms"]) * int(row["blocks_per_sm"])
    count = tiles(m, n, tile)
    assert count == int(row["tiles"])
    assert up(count, slots) == int(row["waves"])
    of_tiles, of_waves = tile_efficiency(m, n, tile), wave_efficiency(count, slots)
    assert of_tiles == pytest.approx(float(row["tile_efficiency"]), abs=1e-9)
    assert of_waves == pytest.approx(float(row["wave_efficiency"]), abs=1e-9)
    assert of_tiles * of_waves == pytest.approx(float(row["together"]), abs=1e-9)
