"""ASTRA-sim 2.0, table IV: an all-reduce of 1 GiB while a 4-D system grows from 512 to 4096 ranks.

    python examples/papers/astra_sim2_table4.py [FOLDER]

Not printed in the paper: 64 chunks, one at a time per dimension, the dimensions in their order;
hops and hand-overs of 1 ns. The fully connected dimension is given by the bandwidth of a rank's 7
links together.

Source: Won et al., "ASTRA-sim2.0: modeling hierarchical networks and disaggregated systems for
large-model training at scale", ISPASS 2023.
"""

from __future__ import annotations

import figure
from comparison import Row, published, show
from network import MIB, Block, all_reduce_us

WITHIN = 0.005


def ours_us(sizes: str) -> float:
    """Return the time on a system, in us."""
    ring, fully_connected, outer_ring, switch = map(int, sizes.split("_"))
    blocks = [
        Block("ring", ring, 1000, "ring"),
        Block("fully_connected", fully_connected, 200 / (fully_connected - 1), "direct"),
        Block("ring", outer_ring, 100, "ring"),
        Block("switch", switch, 50, "halvingDoubling"),
    ]
    return all_reduce_us(blocks, 1024 * MIB, chunks=64, endpoint_delay_ns=1)


def main() -> int:
    """Compare all systems."""
    rows = [
        Row(row["sizes"], float(row["time_us"]), ours_us(row["sizes"]), WITHIN)
        for row in published("validation/data/astra_sim2_table4.csv")
    ]
    panel = figure.bars(
        "ring_fully connected_ring_switch",
        "us",
        [row.case for row in rows],
        [row.published for row in rows],
        [row.ours for row in rows],
    )
    title = "ASTRA-sim 2.0, table IV: scaling up and out"
    return show("astra_sim2_table4", title, "us", rows, [panel])


if __name__ == "__main__":
    raise SystemExit(main())
