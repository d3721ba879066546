"""Themis, figure 8: an all-reduce over 1024 accelerators under three schedulers, by its size.

    python examples/papers/themis_figure8.py [FOLDER]

Topologies are those of the paper's table 2, hops and hand-overs of 1 ns and 64 chunks as in its
artifact. A dimension is given by the bandwidth of all links of an accelerator in it, since Themis
balances by that. SCF is smallest chunk first. Under FIFO, what happens at the same instant has an
order that the paper does not say; hence 20 %.

Source: Rashidi et al., "Themis: a network bandwidth-aware collective scheduling policy for
distributed training of DL models", ISCA 2022; read from the figure with 0.2 % of its scale.
"""

from __future__ import annotations

from typing import Any

import figure
from comparison import Row, published, show
from network import MIB, Block, all_reduce_us

TOPOLOGIES = {
    "2D-SW_SW": [
        Block("switch", 16, 150, "halvingDoubling"),
        Block("switch", 64, 100, "halvingDoubling"),
    ],
    "3D-SW_SW_SW_hetero": [
        Block("switch", 16, 200, "halvingDoubling"),
        Block("switch", 8, 100, "halvingDoubling"),
        Block("switch", 8, 50, "halvingDoubling"),
    ],
    "4D-Ring_FC_Ring_SW": [
        Block("ring", 4, 375, "ring"),
        Block("fully_connected", 8, 175, "ring"),
        Block("ring", 4, 150, "ring"),
        Block("switch", 8, 100, "halvingDoubling"),
    ],
}
SCHEDULERS: dict[str, tuple[dict[str, Any], float]] = {
    "Baseline": ({}, 0.01),
    "Themis+FIFO": ({"inter_dimension": "themis"}, 0.20),
    "Themis+SCF": ({"inter_dimension": "themis", "intra_dimension": "smallest_first"}, 0.05),
}
READING_ERROR = 0.002


def row_of(row: dict[str, str], reading: float) -> Row:
    """Return a published point beside ours."""
    options, within = SCHEDULERS[row["scheduler"]]
    size_bytes = round(float(row["size"]) * 1000) * MIB
    blocks = TOPOLOGIES[row["topology"]]
    ours = all_reduce_us(blocks, size_bytes, chunks=64, endpoint_delay_ns=1, **options)
    case = f"{row['topology']} {row['scheduler']} {row['size']}"
    return Row(case, float(row["time_us"]), ours, within, reading)


def main() -> int:
    """Compare all points: three topologies, three schedulers, 19 sizes."""
    points = list(published("validation/data/themis_figure8.csv"))
    rows, panels = [], []
    for topology in TOPOLOGIES:
        here = [point for point in points if point["topology"] == topology]
        reading = READING_ERROR * max(float(point["time_us"]) for point in here)
        series = []
        for scheduler in SCHEDULERS:
            of_scheduler = [point for point in here if point["scheduler"] == scheduler]
            found = [row_of(point, reading) for point in of_scheduler]
            rows += found
            series.append(
                figure.Curve(
                    scheduler,
                    tuple(float(point["size"]) for point in of_scheduler),
                    tuple(row.published / 1000 for row in found),
                    tuple(row.ours / 1000 for row in found),
                )
            )
        panels.append(figure.curves(topology, "ms", "size, in 1000 MiB", series))
    title = "Themis, figure 8: an all-reduce over 1024 accelerators"
    return show("themis_figure8", title, "us", rows, panels)


if __name__ == "__main__":
    raise SystemExit(main())
