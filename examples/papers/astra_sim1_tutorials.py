"""The tutorials of ASTRA-sim 1.0: an all-reduce on a ring, a switch, a full mesh and more, by size.

    python examples/papers/astra_sim1_tutorials.py [FOLDER]

Hand-overs of 10 ns; 4 chunks over links of 50 GB/s and 500 ns unless stated. The links of a
dimension multiply its bandwidth where an algorithm uses them as one: a ring with 2 has 100 GB/s. A
direct exchange uses its 7 links side by side.

Source: slides of the tutorials at MLSys, ISCA and ASPLOS 2022 and ASPLOS 2023, astra-sim.github.io.
"""

from __future__ import annotations

from typing import Any

import figure
from comparison import Row, published, show
from network import MIB, Block, all_reduce_us

WITHIN = 0.001
SETUPS: dict[str, tuple[list[Block], dict[str, Any]]] = {
    "ring": ([Block("ring", 8, 100, "ring", 500)], {"chunks": 4}),
    "switch": ([Block("switch", 8, 50, "halvingDoubling", 500)], {"chunks": 4}),
    "fully_connected": ([Block("fully_connected", 8, 50, "direct", 500)], {"chunks": 4}),
    "three_switches": ([Block("switch", 8, 50, "halvingDoubling")] * 3, {"chunks": 64}),
    "direct_on_a_switch": ([Block("switch", 64, 50, "direct", 500)], {"chunks": 4}),
    "direct_on_a_switch_congested": (
        [Block("switch", 64, 50, "direct", 500)],
        {"chunks": 4, "network": "store_and_forward"},
    ),
}


def main() -> int:
    """Compare every setup; what needs a scheduler's ties is in tests/validation."""
    rows, panels = [], []
    points = list(published("validation/data/astra_sim1_tutorials.csv"))
    for setup, (blocks, options) in SETUPS.items():
        here = [point for point in points if point["setup"] == setup]
        found = [
            Row(
                f"{setup} {point['size_mib']} MiB",
                float(point["time_us"]),
                all_reduce_us(
                    blocks, int(point["size_mib"]) * MIB, endpoint_delay_ns=10, **options
                ),
                WITHIN,
            )
            for point in here
        ]
        rows += found
        panels.append(
            figure.bars(
                setup.replace("_", " "),
                "us",
                [f"{point['size_mib']} MiB" for point in here],
                [row.published for row in found],
                [row.ours for row in found],
                logarithmic=len(found) > 1,
            )
        )
    title = "Tutorials of ASTRA-sim 1.0: all-reduce"
    return show("astra_sim1_tutorials", title, "us", rows, panels)


if __name__ == "__main__":
    raise SystemExit(main())
